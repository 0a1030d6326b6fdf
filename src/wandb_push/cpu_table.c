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
};

/* A run-day that counts, by week and run. */
struct use {
    int32_t week;
    const struct run_day *r;
};

COMPARE(by_week_run, struct use, ORDER(y->week, x->week) ?: strcmp(x->r->run_id, y->r->run_id))

static size_t uses_of(const struct tables_ask *ask, const struct company *co, struct use *ret)
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

static void add_week(struct rows *to, const struct company *co, int32_t week, int32_t cpus, const struct use *v,
                     size_t n)
{
    __int128 minutes = 0;
    int64_t runs = 0, assigned = (int64_t)cpus * WEEK_HOURS * 10;
    struct cell *c = rows_add(to);
    char text[16];

    for (size_t i = 0; i < n; i++) {
        minutes += (__int128)v[i].r->minutes * MAX(v[i].r->cpus, 0);
        runs += i == 0 || strcmp(v[i].r->run_id, v[i - 1].r->run_id) != 0;
    }
    int64_t used = rounded(minutes, 6), total = MIN(used, assigned);
    cell_text(&c[0], str_of(co->name));
    cell_text(&c[1], str_of(date_text(week, text)));
    const int64_t numbers[] = {total, rounded((__int128)total * 1000, assigned), runs, used, cpus, assigned};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        cell_int(&c[2 + i], numbers[i]);
}

int cpu_tables_make(const struct tables_ask *ask, const struct company *co, int32_t cpus, const struct report *weekly,
                    struct table ret[2], struct err *err)
{
    AUTO_FREE struct use *uses = mem_zero(ask->n_runs + 1, sizeof(*uses));
    size_t n = uses_of(ask, co, uses), at = 0;
    AUTO_ROWS all = ROWS_OF(columns);

    for (size_t i = 0; i < weekly->n; i++) {
        if (strcmp(weekly->rows[i].company, co->name) != 0)
            continue;
        int32_t week = weekly->rows[i].day;
        at += FIRST(n - at, e, uses[at + e].week <= week);
        size_t of_week = FIRST(n - at, e, uses[at + e].week != week);
        add_week(&all, co, week, cpus, uses + at, of_week);
        at += of_week;
    }
    int r = tables_write("company_weekly_cpu_usage", &all, 0, &ret[0], err);
    if (r == 0 && (r = tables_write("company_weekly_cpu_usage_within_4weeks", &all, TABLES_WEEKS, &ret[1], err)) < 0)
        table_fini(&ret[0]);
    return r;
}
