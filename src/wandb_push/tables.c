/* tables.c: cuts the report of report/ into the tables of W&B runs. */
#include "wandb_push/tables.h"

#include <errno.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "wandb_push/cpu_table.h"

#define FILE_MAX (256u << 20)

/* Which tables a run has, in the order they are logged. */
struct plan {
    const char *key;
    enum report_period period;
    size_t first; /* rows at most, of a company; 0: all */
};
static const struct plan overall_plan[] = {
    {"overall_gpu_usage", REPORT_OVERALL, 0},
    {"monthly_gpu_usage", REPORT_MONTHLY, 0},
    {"weekly_gpu_usage", REPORT_WEEKLY, 0},
    {"daily_gpu_usage", REPORT_DAILY, 0},
};
static const struct plan company_plan[] = {
    {"company_daily_gpu_usage", REPORT_DAILY, 0},
    {"company_daily_gpu_usage_within_30days", REPORT_DAILY, 30},
    {"company_weekly_gpu_usage", REPORT_WEEKLY, 0},
    {"company_weekly_gpu_usage_within_4weeks", REPORT_WEEKLY, TABLES_WEEKS},
    {"company_summary", REPORT_SUMMARY, 0},
};
_Static_assert(ARRAY_LEN(overall_plan) <= TABLES_MAX && ARRAY_LEN(company_plan) + 2 <= TABLES_MAX, "room for each");

/* ---- one table ---- */

static void cell_json(struct json *j, const struct column_spec *col, const struct cell *c)
{
    if (c->absent)
        json_none(j, NULL);
    else if (col->type == CELL_TEXT)
        json_cstr(j, NULL, c->json_text);
    else if (col->type == CELL_INT)
        json_int(j, NULL, c->i);
    else {
        AUTO_BUF text = BUF_INIT(64);
        buf_float(&text, c->i, col->per);
        json_raw(j, NULL, buf_str(&text));
    }
}

static void columns_json(struct json *j, const struct rows *r)
{
    json_arr(j, "columns");
    for (size_t i = 0; i < r->n_cols; i++)
        json_cstr(j, NULL, r->cols[i].name);
    json_end_arr(j);
}

static void data_json(struct json *j, const struct rows *r, size_t max)
{
    json_arr(j, "data");
    for (size_t i = 0; i < MIN(r->n, max); i++) {
        json_arr(j, NULL);
        for (size_t c = 0; c < r->n_cols; c++)
            cell_json(j, &r->cols[c], &r->cells[i * r->n_cols + c]);
        json_end_arr(j);
    }
    json_end_arr(j);
}

/* Each column may have nulls, like a data frame in W&B. */
static void types_json(struct json *j, const struct rows *r, bool known)
{
    AUTO_BUF types = BUF_INIT(1u << 20);

    for (size_t i = 0; i < r->n_cols; i++)
        json_print(&types, "%.*s%s:{'wb_type':'union','params':{'allowed_types':[{'wb_type':'none'},{'wb_type':%s}]}}",
                   i > 0, ",", r->cols[i].name,
                   !known                         ? "unknown"
                   : r->cols[i].type == CELL_TEXT ? "string"
                                                  : "number");
    AUTO_FREE char *all = mem_fmt("{\"wb_type\":\"typedDict\",\"params\":{\"type_map\":{%s}}}", types.p);
    json_raw(j, "column_types", str_of(all));
}

int tables_write(const char *key, const struct rows *rows, size_t first, struct table *ret, struct err *err)
{
    static const struct column_spec column[] = {{.name = "column"}};
    struct rows none, r;
    struct table t = {.key = key, .file = BUF_INIT(FILE_MAX), .media = BUF_INIT(FILE_MAX)};

    rows_init(&none, column, 1);
    r = rows ? *rows : none;
    if (first)
        r.n = MIN(r.n, first);
    if (r.n > TABLE_ROWS_MAX)
        return err_set(err, -E2BIG, "table '%s' has %zu rows, and W&B shows %d at most", key, r.n, TABLE_ROWS_MAX);
    t.n_cols = r.n_cols;
    t.n_rows = r.n;
    struct json j = json_on(&t.file);
    json_obj(&j, NULL);
    json_cstr(&j, "_type", "table");
    columns_json(&j, &r);
    data_json(&j, &r, SIZE_MAX);
    json_int(&j, "ncols", (int64_t)r.n_cols);
    json_int(&j, "nrows", (int64_t)r.n);
    types_json(&j, &r, r.n > 0);
    json_cstr(&j, "log_mode", "IMMUTABLE");
    json_end_obj(&j);
    j = json_on(&t.media);
    json_obj(&j, NULL);
    columns_json(&j, &r);
    data_json(&j, &r, TABLE_MEDIA_MAX);
    json_end_obj(&j);
    if (t.file.err || t.media.err) {
        table_fini(&t);
        return err_set(err, -E2BIG, "table '%s' is longer than %u MiB", key, FILE_MAX >> 20);
    }
    *ret = t;
    return 0;
}

/* The summary's row of a company without runs has no values. */
static bool nothing(const struct report *r, size_t first, size_t n)
{
    return r->period == REPORT_SUMMARY ? !ANY(n, i, r->projects[first + i].project) : n == 0;
}

/* But a note that its runs are unknown must be shown. */
static bool noted(const struct report *r, size_t first, size_t n)
{
    return r->period == REPORT_SUMMARY && ANY(n, i, report_noted(&r->projects[first + i].gap));
}

static int table_of(const char *key, const struct report *r, size_t first, size_t n, struct table *ret, struct err *err)
{
    struct report part = *r;
    struct report_table shown;
    bool empty = nothing(r, first, n) && !noted(r, first, n);

    if (empty && r->period != REPORT_SUMMARY)
        return tables_write(key, NULL, 0, ret, err);
    part.n = empty ? 0 : n;
    part.rows = r->rows ? r->rows + first : NULL;
    part.projects = r->projects ? r->projects + first : NULL;
    report_table(&part, NAMING_FULL, HEADINGS_JA, &shown);
    int done = tables_write(key, &shown.rows, 0, ret, err);
    report_table_fini(&shown);
    return done;
}

void table_fini(struct table *t)
{
    if (!t)
        return;
    buf_fini(&t->file);
    buf_fini(&t->media);
}

/* ---- all tables ---- */

bool tables_active(const struct company *co, int32_t from, int32_t to)
{
    const struct company_step *v = co->steps;

    return from <= to &&
           (company_nodes_on(co, from) > 0 || ANY(co->n_steps, i, v[i].day > from && v[i].day <= to && v[i].nodes > 0));
}

int32_t tables_last_day(const struct company *co, int32_t to)
{
    size_t n = co->n_steps;
    int32_t day = to;

    while (n && co->steps[n - 1].day > to)
        n--;
    for (; n && co->steps[n - 1].nodes <= 0; n--)
        day = co->steps[n - 1].day - 1;
    return n ? day : INT32_MIN;
}

static const char *row_company(const struct report *r, size_t i)
{
    return r->period == REPORT_SUMMARY ? r->projects[i].company : r->rows[i].company;
}

static int set_make(const struct report *reports, const char *company, const struct plan *plan, size_t n_plan,
                    struct table_set *ret, struct err *err)
{
    int r = 0;

    ret->tag = company ? company : TABLES_OVERALL;
    for (size_t i = 0; i < n_plan && r == 0; i++) {
        const struct report *from = &reports[plan[i].period];
        size_t first = 0, n = from->n;
        if (company) {
            first = FIRST(from->n, e, strcmp(row_company(from, e), company) == 0);
            n = FIRST(from->n - first, e, strcmp(row_company(from, first + e), company) != 0);
        }
        if (plan[i].first)
            n = MIN(n, plan[i].first);
        r = table_of(plan[i].key, from, first, n, &ret->v[ret->n], err);
        if (r == 0)
            ret->n++;
        ret->warning = ret->warning || nothing(from, first, n);
    }
    return r;
}

static int32_t first_day(const struct tables_params *ask)
{
    int32_t day = ask->to, first, end;

    for (size_t i = 0; i < ask->n_companies; i++)
        if (company_period(&ask->companies[i], &first, &end))
            day = MIN(day, first);
    return day;
}

/* last: the last day with nodes, of a summary. */
static int one_report(const struct tables_params *ask, enum report_period period, const char *company, int32_t last,
                      struct report *ret, struct err *err)
{
    struct report_query one = {.period = period,
                               .company = company,
                               .from = first_day(ask),
                               .to = ask->to,
                               .week_start = TABLES_WEEK,
                               .partial = ask->partial,
                               .day_minutes = ask->day_minutes,
                               .arg = ask->arg,
                               .known = ask->known};

    if (period == REPORT_SUMMARY) {
        one.from = report_week(last, TABLES_WEEK);
        one.from -= ask->last_week && one.from + 6 > ask->to ? 7 : 0;
        one.to = MIN(one.from + 6, last);
    }
    return report_make(&one, ask->companies, ask->n_companies, ask->runs, ask->n_runs, ret, err);
}

/*
 * Adds the tables of CPUs if CPUs are lent to the company. If its assignment is over, the summary is of its last week.
 */
static int company_set(const struct tables_params *ask, const struct company *co, const struct report *reports,
                       struct table_set *ret, struct err *err)
{
    struct report own[REPORT_PERIODS], week = {0};
    int32_t last = tables_last_day(co, ask->to);
    int r = 0;

    memcpy(own, reports, sizeof(own));
    if (last < ask->to) {
        r = one_report(ask, REPORT_SUMMARY, co->name, last, &week, err);
        own[REPORT_SUMMARY] = week;
    }
    r = r ?: set_make(own, co->name, company_plan, ARRAY_LEN(company_plan), ret, err);
    report_fini(&week);

    const struct cpu_lent *lent = FIND(ask->cpus, ask->n_cpus, e, strcmp(e->company, co->name) == 0);
    if (r == 0 && lent) {
        r = cpu_tables_make(ask, co, lent->cpus, &reports[REPORT_WEEKLY], &ret->v[ret->n], err);
        ret->n += r == 0 ? 2 : 0;
    }
    return r;
}

COMPARE(by_tag, struct table_set, strcmp(x->tag, y->tag))

static int sets_make(const struct tables_params *ask, const struct report *reports, struct tables *to, struct err *err)
{
    const struct report *overall = &reports[REPORT_OVERALL];
    int r = set_make(reports, NULL, overall_plan, ARRAY_LEN(overall_plan), &to->sets[to->n++], err);

    to->sets[0].warning = !ANY(overall->n, i, overall->rows[i].runs);
    for (size_t i = 0; i < ask->n_companies && r == 0; i++)
        if (tables_active(&ask->companies[i], ask->from, ask->to))
            r = company_set(ask, &ask->companies[i], reports, &to->sets[to->n++], err);
    if (r == 0)
        qsort(to->sets + 1, to->n - 1, sizeof(*to->sets), by_tag);
    return r;
}

int tables_make(const struct tables_params *ask, struct tables *ret, struct err *err)
{
    struct report reports[REPORT_PERIODS] = {0};
    struct tables to = {.sets = mem_zero(ask->n_companies + 1, sizeof(*to.sets))};
    int r = 0;

    for (int p = 0; p < REPORT_PERIODS && r == 0; p++)
        r = one_report(ask, (enum report_period)p, NULL, ask->to, &reports[p], err);
    r = r ?: sets_make(ask, reports, &to, err);
    for (int p = 0; p < REPORT_PERIODS; p++)
        report_fini(&reports[p]);
    if (r < 0)
        tables_fini(&to);
    else
        *ret = to;
    return r;
}

void tables_fini(struct tables *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n; i++)
        for (size_t k = 0; k < t->sets[i].n; k++)
            table_fini(&t->sets[i].v[k]);
    free(t->sets);
    *t = (struct tables){0};
}
