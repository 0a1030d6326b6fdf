/* check.c: compares the newest runs with the expected ones. */
#include "wandb_push/check.h"

#include <stdarg.h>

#include "base/mem.h"
#include "base/order.h"
#include "wandb_push/tables.h"

#define LINE_MAX 4000
#define ROWS_KEY "company_daily_gpu_usage"

/* ---- findings ---- */

void finding_add(struct findings *f, enum wandb_event_kind kind, const char *company, const char *fmt, ...)
{
    AUTO_BUF line = BUF_INIT(LINE_MAX + 1);
    va_list ap;

    va_start(ap, fmt);
    buf_vaddf(&line, fmt, ap);
    va_end(ap);
    VEC_ROOM(f->v, f->n, f->cap);
    f->v[f->n++] = (struct check_finding){kind, company,
                                          line.err ? mem_str("A line of what is wrong is too long") : buf_take(&line)};
}

void findings_fini(struct findings *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->n; i++)
        free(f->v[i].text);
    free(f->v);
    *f = (struct findings){0};
}

/* Adds a name: "a, b, c"; cuts the list if it is too long. */
static void add_name(struct buf *names, const char *s)
{
    if (names->len < LINE_MAX / 2)
        buf_addf(names, "%s%.100s", names->len ? ", " : "", s);
    else if (!str_ends(buf_str(names), " ..."))
        buf_adds(names, " ...");
}

/* ---- the set of runs ---- */

/* The only tag in addition to that of the newest; NULL if none or several. */
static const char *subject(const struct tagged_run *r, const char *latest)
{
    const char *tag = NULL;

    for (size_t i = 0; i < r->n_tags; i++) {
        if (strcmp(r->tags[i], latest) == 0)
            continue;
        if (tag)
            return NULL;
        tag = r->tags[i];
    }
    return tag;
}

/* The end of the name, after the last _. */
static struct str suffix(const struct tagged_run *r)
{
    const char *name = r->display ? r->display : "", *at = strrchr(name, '_');

    return str_of(at ? at + 1 : "");
}

/* The day a run with this tag must be of; INT32_MIN: there must be no such run. */
static int32_t expected_day(const struct check_board *b, const char *tag)
{
    const struct company *co = people_company(b->config->people, tag);

    if (strcmp(tag, TABLES_OVERALL) == 0)
        return b->day;
    return co ? tables_last_day(co, b->day) : INT32_MIN;
}

static void check_one(const struct check_board *b, const struct tagged_run *r, struct findings *ret,
                      struct buf *unexpected)
{
    const char *tag = subject(r, b->tagged->tag), *name = r->display ? r->display : "";
    char text[16];

    if (!tag) {
        AUTO_BUF tags = BUF_INIT(LINE_MAX);
        for (size_t i = 0; i < r->n_tags; i++)
            add_name(&tags, r->tags[i]);
        finding_add(ret, WANDB_EVENT_CHECK, "", "Error of number of tags: run %.60s (%.100s) has the tags %s", r->id,
                    name, tags.p);
        return;
    }
    int32_t day = expected_day(b, tag), is;
    if (day == INT32_MIN) {
        add_name(unexpected, tag);
        return;
    }
    if (date_parse(suffix(r), &is) && is == day)
        return;
    date_text(day, text);
    finding_add(ret, WANDB_EVENT_CHECK, "", "Error of target date: %.100s: run %.60s is called '%.100s', expected %s%s",
                tag, r->id, name, text, day == b->day ? "" : ", the last day it had nodes");
}

static void check_count(const struct check_board *b, const char *tag, bool needed, struct findings *ret,
                        struct buf *missing)
{
    AUTO_BUF ids = BUF_INIT(LINE_MAX);
    size_t n = 0;

    for (size_t i = 0; i < b->tagged->n; i++)
        if (tagged_has(&b->tagged->v[i], tag)) {
            add_name(&ids, b->tagged->v[i].id);
            n++;
        }
    if (n == 0 && needed)
        add_name(missing, tag);
    if (n > 1)
        finding_add(ret, WANDB_EVENT_CHECK, "", "Error of number of latest runs: %.100s has %zu: %s", tag, n, ids.p);
}

void check_runs(const struct check_board *b, struct findings *ret)
{
    AUTO_BUF missing = BUF_INIT(LINE_MAX), unexpected = BUF_INIT(LINE_MAX);
    char text[16];
    size_t n;
    const struct company *v = people_companies(b->config->people, &n);
    bool any = ANY(n, i, company_nodes_on(&v[i], b->day) > 0);

    if (!any)
        finding_add(ret, WANDB_EVENT_CHECK, "", "No active companies: nobody has nodes on %s", date_text(b->day, text));
    check_count(b, TABLES_OVERALL, any, ret, &missing);
    for (size_t i = 0; i < n; i++)
        check_count(b, v[i].name, company_nodes_on(&v[i], b->day) > 0, ret, &missing);
    for (size_t i = 0; i < b->tagged->n; i++)
        check_one(b, &b->tagged->v[i], ret, &unexpected);
    if (missing.len)
        finding_add(ret, WANDB_EVENT_CHECK, "", "Missing latest runs: %s", missing.p);
    if (unexpected.len)
        finding_add(ret, WANDB_EVENT_CHECK, "", "Unexpected latest runs: %s", unexpected.p);
}

/* ---- a company's table ---- */

static const json_t *cell(const json_t *table, const json_t *row, const char *name)
{
    const json_t *columns = json_object_get(table, "columns");
    size_t n = json_array_size(columns);
    size_t at = FIRST(n, i, str_same(json_string_value(json_array_get(columns, i)), name));

    return at < n ? json_array_get(row, at) : NULL;
}

void check_table(const struct check_board *b, const struct company *co, const char *id, struct str json,
                 struct findings *ret)
{
    char want[16], why[200] = "";
    json_error_t where;
    json_auto_t *table = json_loadb(json.p, json.len, 0, &where);
    const json_t *row = json_array_get(json_object_get(table, "data"), 0);
    const json_t *day = cell(table, row, "日付"), *rate = cell(table, row, "GPU稼働率(%)");
    const char *note = json_string_value(cell(table, row, "備考"));

    date_text(b->day, want);
    if (!table)
        snprintf(why, sizeof(why), "it is no JSON");
    else if (!row)
        snprintf(why, sizeof(why), "it has no rows");
    else if (!json_is_string(day) || (!json_is_number(rate) && !note))
        snprintf(why, sizeof(why), "its first row has no date or no rate");
    else if (strcmp(json_string_value(day), want) != 0)
        snprintf(why, sizeof(why), "its newest day is %.40s, expected %s", json_string_value(day), want);
    else if (note) /* its usage is unknown */
        finding_add(ret, WANDB_EVENT_CHECK, co->name, "Stale table of %.100s: %.200s", co->name, note);
    else if (json_number_value(rate) * 10 <= CHECK_LOW)
        finding_add(ret, WANDB_EVENT_LOW, co->name, "Low GPU Usage for %.100s: %.1f %% on %s", co->name,
                    json_number_value(rate), want);
    if (why[0])
        finding_add(ret, WANDB_EVENT_CHECK, "", "Error of artifact: table " ROWS_KEY " of %.100s (run %.60s): %s",
                    co->name, id, why);
}
