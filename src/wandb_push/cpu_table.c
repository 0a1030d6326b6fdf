/*
 * cpu_table.c: adds up hours times CPUs, week by week. A run of which W&B does not know the CPUs counts as a run alone.
 */
#include "wandb_push/cpu_table.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/zone.h"

#define WEEK_HOURS 168

static const struct column_spec columns[] = {
    {.name = "企業名", .type = CELL_TEXT},
    {.name = "週開始日", .type = CELL_TEXT},
    {.name = "合計CPU使用時間(h)", .type = CELL_FIXED, .per = 10},
    {.name = "CPU稼働率(%)", .type = CELL_FIXED, .per = 10},
    {.name = "n_runs", .type = CELL_INT},
    {.name = "_total_cpu_hour", .type = CELL_FIXED, .per = 10},
    {.name = "assigned_cpus", .type = CELL_INT},
    {.name = "assigned_cpu_hour", .type = CELL_FIXED, .per = 10},
    {.name = "備考", .type = CELL_TEXT}, /* where a row has one */
};

/* A run-day that counts, by week and run. */
struct use {
    int32_t week;
    const struct run_day *r;
};

COMPARE(by_week_run, struct use, ORDER(y->week, x->week) ?: strcmp(x->r->run_id, y->r->run_id))

static size_t uses_of(const struct tables_params *ask, const struct company *co, struct use *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < ask->n_runs; i++) {
        const struct run_day *r = &ask->runs[i];
        if (r->ignored || r->day > ask->to || company_nodes_on(co, r->day) <= 0)
            continue;
        if (report_company(ask->companies, ask->n_companies, r) == co && company_counts(co, r->project))
            ret[n++] = (struct use){report_week(r->day, TABLES_WEEK), r};
    }
    SORT(ret, n, by_week_run);
    return n;
}

/* n / d, half away from zero, of numbers that are not below it. */
static int64_t rounded(__int128 n, __int128 d)
{
    return d ? (int64_t)((n * 2 + d) / (d * 2)) : 0;
}

static void add_week(struct rows *to, const struct report_row *week, int32_t cpus, const struct use *v, size_t n)
{
    enum { CPUS = 4 }; /* this and what follows is known in any case */
    __int128 minutes = 0;
    int64_t runs = 0, assigned = (int64_t)cpus * WEEK_HOURS * 10;
    struct cell *c = rows_add(to);
    char text[16];

    for (size_t i = 0; i < n; i++) {
        minutes += (__int128)v[i].r->minutes * MAX(v[i].r->cpus, 0);
        runs += i == 0 || strcmp(v[i].r->run_id, v[i - 1].r->run_id) != 0;
    }
    int64_t used = rounded(minutes, 6), total = MIN(used, assigned);
    cell_text(&c[0], str_of(week->company));
    cell_text(&c[1], str_of(date_text(week->day, text)));
    const int64_t numbers[] = {total, rounded((__int128)total * 1000, assigned), runs, used, cpus, assigned};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (i >= CPUS || !report_unknown(week))
            cell_int(&c[2 + i], numbers[i]);
    report_note(to, c, &week->gap);
}

/* Of the company's weeks. */
static int make_one(const char *key, const struct report_row *weeks, size_t n_weeks, int32_t cpus,
                    const struct use *uses, size_t n, struct table *ret, struct err *err)
{
    AUTO_ROWS rows = ROWS_OF(columns);
    size_t at = 0;

    rows.n_cols -= !ANY(n_weeks, i, report_noted(&weeks[i].gap));
    for (size_t i = 0; i < n_weeks; i++) {
        at += FIRST(n - at, e, uses[at + e].week <= weeks[i].day);
        size_t of_week = FIRST(n - at, e, uses[at + e].week != weeks[i].day);
        add_week(&rows, &weeks[i], cpus, uses + at, of_week);
        at += of_week;
    }
    return tables_write(key, rows.n ? &rows : NULL, 0, ret, err);
}

int cpu_tables_make(const struct tables_params *ask, const struct company *co, int32_t cpus,
                    const struct report *weekly, struct table ret[2], struct err *err)
{
    AUTO_FREE struct use *uses = mem_zero(ask->n_runs + 1, sizeof(*uses));
    size_t n = uses_of(ask, co, uses), first = FIRST(weekly->n, i, strcmp(weekly->rows[i].company, co->name) == 0);
    const struct report_row *weeks = weekly->rows + first;
    size_t n_weeks = FIRST(weekly->n - first, i, strcmp(weeks[i].company, co->name) != 0);
    int r = make_one("company_weekly_cpu_usage", weeks, n_weeks, cpus, uses, n, &ret[0], err);

    if (r < 0)
        return r;
    r = make_one("company_weekly_cpu_usage_within_4weeks", weeks, MIN(n_weeks, TABLES_WEEKS), cpus, uses, n, &ret[1],
                 err);
    if (r < 0)
        table_fini(&ret[0]);
    return r;
}
