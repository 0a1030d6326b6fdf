/*
 * report.c: run-days and assignments -> rows. Everything is counted in GPU-minutes, node-days and billionths of a
 * percent, and turned into the tenths people see at the very end, but for the hours of a day: those are rounded to
 * tenths before they are capped and added up, as the tables always were.
 */
#include "report/report.h"

#include <errno.h>

#include "base/mem.h"
#include "base/order.h"
#include "base/zone.h"
#include "report/overlap.h"

#define DAY_MINUTES 1440
#define MASTER_GPUS 9 /* a run with so many spans nodes */

typedef __int128 wide; /* percent * minutes * runs does not fit 64 bits for certain */

const char *const report_words[REPORT_PERIODS + 2] = {"daily", "weekly", "monthly", "overall", "summary", "runs", NULL};

/* ---- numbers ---- */

/* n / d, half away from zero; d above 0. */
static int64_t rounded(wide n, wide d)
{
    return (int64_t)(n < 0 ? -((-n * 2 + d) / (d * 2)) : (n * 2 + d) / (d * 2));
}

static int64_t tenths_of_hours(int64_t minutes)
{
    return rounded(minutes, 6);
}

int32_t run_minutes(int64_t from_ms, int64_t until_ms, int64_t day_ms, int64_t next_ms)
{
    if (until_ms < from_ms || next_ms <= from_ms || until_ms < day_ms)
        return 0;
    int64_t first = day_ms <= from_ms ? 0 : (day_ms - from_ms + 59999) / 60000;
    int64_t last = (MIN(until_ms, next_ms - 1) - from_ms) / 60000;
    return last < first ? 0 : (int32_t)MIN(last - first + 1, INT32_MAX);
}

int32_t report_week(int32_t day, int week_start)
{
    return day - (date_weekday(day) - week_start + 7) % 7;
}

int32_t report_day_minutes(void *zone, int32_t day)
{
    return (int32_t)((zone_date_ms(zone, day + 1) - zone_date_ms(zone, day)) / 60000);
}

int32_t report_month(int32_t day)
{
    struct civil c;

    date_civil(day, &c);
    return day - (c.day - 1);
}

/* ---- which run-days count, and for whom ---- */

struct use {
    size_t company;
    const struct run_day *r;
};

struct making {
    const struct report_query *ask;
    const struct company **companies; /* by name */
    size_t n_companies;
    struct use *uses; /* by company, day */
    size_t n_uses;
    size_t cap_rows;
    const char **ids; /* of the runs of a period */
    size_t n_ids, cap_ids;
    struct report *to;
};

static bool is_of(const struct company *co, const struct run_day *r)
{
    if (r->company)
        return strcmp(co->name, r->company) == 0;
    return r->team && ANY(co->n_teams, t, strcmp(co->teams[t], r->team) == 0);
}

const struct company *report_company(const struct company *companies, size_t n, const struct run_day *r)
{
    return FIND(companies, n, co, is_of(co, r));
}

static int64_t gpu_minutes(const struct run_day *r)
{
    return (int64_t)r->minutes * r->gpus;
}

static bool wanted(const struct making *k, const struct company *co)
{
    return !k->ask->company || strcmp(co->name, k->ask->company) == 0;
}

COMPARE(by_company_day, struct use, ORDER(x->company, y->company) ?: ORDER(x->r->day, y->r->day))

static void sort_out(struct making *k, const struct run_day *runs, size_t n)
{
    k->uses = mem_zero(n + 1, sizeof(*k->uses));
    for (size_t i = 0; i < n; i++) {
        const struct run_day *r = &runs[i];
        if (r->day < k->ask->from || r->day > k->ask->to)
            continue;
        size_t c = FIRST(k->n_companies, at, is_of(k->companies[at], r));
        if (c == k->n_companies) {
            k->to->no_company += k->ask->company ? 0 : gpu_minutes(r);
            continue;
        }
        const struct company *co = k->companies[c];
        if (!wanted(k, co))
            continue;
        if (company_nodes_on(co, r->day) <= 0) {
            k->to->unassigned += gpu_minutes(r);
            continue;
        }
        bool counts = company_counts(co, r->project);
        if (r->ignored || !counts)
            k->to->not_counted += gpu_minutes(r);
        if (counts)
            k->uses[k->n_uses++] = (struct use){c, r};
    }
    SORT(k->uses, k->n_uses, by_company_day);
}

COMPARE(by_name, struct company *const, strcmp((*x)->name, (*y)->name))

/* ---- what is not known ---- */

/* What is known of one company. */
struct own_known {
    const struct company *co;
    const struct known_span **v, **stale;
    size_t n, n_stale;
    bool all;
};

/* The spans of a company's teams. */
static const struct known_span **own_spans(const struct company *co, const struct known_spans *all, size_t *ret_n)
{
    const struct known_span **own = mem_zero(all->n + 1, sizeof(*own));

    for (size_t i = 0; i < all->n; i++) {
        const struct known_span *s = &all->v[i];
        bool its = !s->team[0] || ANY(co->n_teams, t, strcmp(co->teams[t], s->team) == 0);
        if (its && (!s->project[0] || company_counts(co, s->project)))
            own[(*ret_n)++] = s;
    }
    return own;
}

static void known_init(struct own_known *k, const struct known *known, const struct company *co)
{
    *k = (struct own_known){.co = co, .all = !known};
    if (!known)
        return;
    k->v = own_spans(co, &known->days, &k->n);
    k->stale = own_spans(co, &known->stale, &k->n_stale);
}

static bool covers(const struct known_span *s, int32_t day)
{
    return s->from <= day && day <= s->to;
}

static bool knows_team(const struct own_known *k, const char *team, int32_t day)
{
    return ANY(k->n, i, covers(k->v[i], day) && (!k->v[i]->team[0] || strcmp(k->v[i]->team, team) == 0));
}

static void gap_add(struct report_gap *g, const struct own_known *k, int32_t day)
{
    g->days++;
    if (k->all)
        return;
    bool stale = ANY(k->n_stale, i, covers(k->stale[i], day));
    g->stale_days += stale;
    g->unknown += !stale && ANY(k->co->n_teams, t, !knows_team(k, k->co->teams[t], day));
    for (size_t i = 0; stale && i < k->n_stale; i++)
        if (covers(k->stale[i], day) && (!g->stale || k->stale[i]->from < g->stale))
            g->stale = k->stale[i]->from;
}

/* ---- daily, weekly, monthly, overall ---- */

/* What a period gathers. */
struct sum {
    struct report_gap gap;
    bool any;
    int32_t key;
    int64_t total, uncapped;     /* 0.1 h */
    int64_t nodes, assigned;     /* node-days, GPU-minutes */
    wide util, mem;              /* 1e-9 % * minutes */
    wide busy, work[WORK_KINDS]; /* * GPUs */
    int64_t util_minutes, mem_minutes, work_minutes[WORK_KINDS];
    int64_t util_max, mem_max;
};

static int32_t key_of(const struct making *k, int32_t day)
{
    switch (k->ask->period) {
    case REPORT_WEEKLY:
        return report_week(day, k->ask->week_start);
    case REPORT_MONTHLY:
        return report_month(day);
    case REPORT_OVERALL:
        return k->ask->from;
    default:
        return day;
    }
}

static int64_t distinct(struct making *k)
{
    int64_t n = 0;

    SORT(k->ids, k->n_ids, order_texts);
    for (size_t i = 0; i < k->n_ids; i++)
        n += i == 0 || strcmp(k->ids[i], k->ids[i - 1]) != 0;
    k->n_ids = 0;
    return n;
}

static int row_add(struct making *k, const struct company *co, struct sum *s, struct err *err)
{
    if (!s->any)
        return 0;
    struct report *to = k->to;
    if (to->n == REPORT_ROWS_MAX)
        return err_set(err, -E2BIG, "the report has more than %d rows: request a shorter period or one company",
                       REPORT_ROWS_MAX);
    VEC_ROOM(to->rows, to->n, k->cap_rows);
    int64_t assigned = tenths_of_hours(s->assigned);
    to->rows[to->n++] = (struct report_row){
        .company = co->name,
        .day = s->key,
        .total = s->total,
        .rate = assigned ? rounded((wide)s->total * 1000, assigned) : 0, /* total is never more */
        .util_avg = s->util_minutes ? rounded(s->util * 10, (wide)s->util_minutes * PERCENT_ONE) : 0,
        .util_max = rounded((wide)s->util_max * 10, PERCENT_ONE),
        .mem_avg = s->mem_minutes ? rounded(s->mem * 10, (wide)s->mem_minutes * PERCENT_ONE) : 0,
        .mem_max = rounded((wide)s->mem_max * 10, PERCENT_ONE),
        .runs = distinct(k),
        .nodes = s->nodes,
        .assigned = assigned,
        .uncapped = s->uncapped,
        .metrics = tenths_of_hours(s->util_minutes),
        .busy = rounded(s->busy, (wide)6 * 100 * PERCENT_ONE),
        .gap = s->gap,
    };
    for (size_t w = 0; w < WORK_KINDS; w++)
        to->rows[to->n - 1].work[w] =
            (struct work_hours){rounded(s->work[w], (wide)6 * 100 * PERCENT_ONE), tenths_of_hours(s->work_minutes[w])};
    *s = (struct sum){0};
    return 0;
}

static void run_add(struct making *k, struct sum *s, const struct run_day *r)
{
    if (r->have & RUN_UTIL) {
        s->util += (wide)r->util_avg * r->minutes;
        s->util_minutes += r->minutes;
        s->busy += (wide)r->util_avg * gpu_minutes(r);
        s->util_max = MAX(s->util_max, r->util_max);
    }
    if (r->have & RUN_MEM) {
        s->mem += (wide)r->mem_avg * r->minutes;
        s->mem_minutes += r->minutes;
        s->mem_max = MAX(s->mem_max, r->mem_max);
    }
    for (size_t w = 0; w < WORK_KINDS; w++) {
        s->work[w] += (wide)r->work[w].avg * r->work[w].minutes;
        s->work_minutes[w] += r->work[w].minutes;
    }
    VEC_ADD(k->ids, k->n_ids, k->cap_ids, r->run_id);
}

static int company_rows(struct making *k, const struct own_known *known, const struct use *uses, size_t n,
                        struct err *err)
{
    const struct company *co = known->co;
    const struct report_query *ask = k->ask;
    int32_t first, end;
    size_t head = k->to->n, at = 0;
    struct sum s = {0};

    if (!company_period(co, &first, &end))
        return 0;
    int32_t month = report_month(ask->to), next = report_month(month + 31);
    bool whole = ask->partial || ask->to == next - 1;
    for (int64_t d = MAX(ask->from, first); d <= ask->to; d++) {
        int32_t day = (int32_t)d;
        int32_t nodes = company_nodes_on(co, day), key = key_of(k, day);
        int64_t minutes = 0, length = ask->day_minutes ? ask->day_minutes(ask->arg, day) : DAY_MINUTES;
        while (at < n && uses[at].r->day < day)
            at++;
        if (nodes <= 0)
            continue;
        if (ask->period == REPORT_MONTHLY && key == month && !whole) {
            k->to->month_left_out = true;
            break;
        }
        if (s.any && s.key != key) {
            int r = row_add(k, co, &s, err);
            if (r < 0)
                return r;
        }
        s.any = true;
        s.key = key;
        gap_add(&s.gap, known, day);
        for (; at < n && uses[at].r->day == day; at++) {
            if (uses[at].r->ignored)
                continue;
            minutes += gpu_minutes(uses[at].r);
            run_add(k, &s, uses[at].r);
        }
        int64_t used = tenths_of_hours(minutes), assigned = (int64_t)nodes * co->gpus_per_node * length;
        s.uncapped += used;
        s.total += MIN(used, tenths_of_hours(assigned));
        s.nodes += nodes;
        s.assigned += assigned;
    }
    int r = row_add(k, co, &s, err);
    for (size_t a = head, b = k->to->n; r == 0 && a + 1 < b; a++, b--) { /* newest first */
        struct report_row swap = k->to->rows[a];
        k->to->rows[a] = k->to->rows[b - 1];
        k->to->rows[b - 1] = swap;
    }
    return r;
}

/* ---- summary ---- */

static const char *text(const char *s)
{
    return s ? s : "";
}

COMPARE(by_project_run, struct use,
        strcmp(text(x->r->project), text(y->r->project)) ?: strcmp(x->r->run_id, y->r->run_id))

/* A run of a project, its days together: uses are one project's, by run. *at: the first of it, then of the next. */
static bool whole_run(const struct use *uses, size_t n, size_t *at, size_t of, struct overlap_run *ret,
                      struct summary_row *row)
{
    struct overlap_run w = {.host = "", .from_ms = INT64_MAX, .until_ms = INT64_MIN, .of = of};
    bool master = false, ignored = false;
    int64_t minutes = 0;
    size_t i = *at, next;

    for (next = i; next < n && strcmp(uses[next].r->run_id, uses[i].r->run_id) == 0; next++) {
        const struct run_day *r = uses[next].r;
        ignored = ignored || r->ignored;
        if (r->ignored)
            continue;
        minutes += gpu_minutes(r);
        master = master || r->gpus >= MASTER_GPUS;
        w.host = w.host[0] ? w.host : text(r->host);
        w.from_ms = MIN(w.from_ms, r->from_ms);
        w.until_ms = MAX(w.until_ms, r->until_ms);
        w.devices |= r->devices;
    }
    *at = next;
    *ret = w;
    row->total += minutes; /* until all of them are known */
    row->ignored_runs += ignored;
    row->runs += !ignored;
    row->master_runs += !ignored && master;
    return !ignored;
}

static int summary_add(struct making *k, const struct summary_row *row, struct err *err)
{
    struct report *to = k->to;

    if (to->n == REPORT_ROWS_MAX)
        return err_set(err, -E2BIG, "the summary has more than %d rows", REPORT_ROWS_MAX);
    VEC_ADD(to->projects, to->n, k->cap_rows, *row);
    return 0;
}

static int company_summary(struct making *k, const struct own_known *known, struct use *uses, size_t n, struct err *err)
{
    const struct company *co = known->co;
    struct summary_row none = {.company = co->name};
    int r = 0;

    for (int64_t day = k->ask->from; day <= k->ask->to; day++)
        if (company_nodes_on(co, (int32_t)day) > 0)
            gap_add(&none.gap, known, (int32_t)day);
    if (n == 0)
        return none.gap.days ? summary_add(k, &none, err) : 0;
    qsort(uses, n, sizeof(*uses), by_project_run);
    AUTO_FREE struct overlap_run *runs = mem_zero(n, sizeof(*runs));
    size_t n_runs = 0;
    for (size_t i = 0, next; i < n && r == 0; i = next) {
        struct summary_row row = {.company = co->name, .project = text(uses[i].r->project), .gap = none.gap};
        next = i + FIRST(n - i, e, strcmp(text(uses[i + e].r->project), row.project) != 0);
        for (size_t at = 0; at < next - i;)
            n_runs += whole_run(uses + i, next - i, &at, k->to->n, &runs[n_runs], &row);
        row.total = rounded((wide)row.total * 5, 3);
        r = summary_add(k, &row, err);
    }
    overlap_find(runs, n_runs); /* whichever projects they are of */
    for (size_t i = 0; r == 0 && i < n_runs; i++)
        k->to->projects[runs[i].of].overlap_runs += runs[i].late;
    return r;
}

/* ---- the whole ---- */

static int make(struct making *k, struct err *err)
{
    bool found = !k->ask->company;
    int r = 0;

    for (size_t i = 0, at = 0, next; i < k->n_companies && r == 0; i++, at = next) {
        next = at + FIRST(k->n_uses - at, e, k->uses[at + e].company != i);
        if (!wanted(k, k->companies[i]))
            continue;
        struct own_known known;
        found = true;
        known_init(&known, k->ask->known, k->companies[i]);
        r = k->ask->period == REPORT_SUMMARY ? company_summary(k, &known, k->uses + at, next - at, err)
                                             : company_rows(k, &known, k->uses + at, next - at, err);
        FREE_ALL(known.v, known.stale);
    }
    if (r == 0 && !found)
        r = err_set(err, -EINVAL, "no company is called '%.100s'", k->ask->company);
    return r;
}

int report_make(const struct report_query *ask, const struct company *companies, size_t n_companies,
                const struct run_day *runs, size_t n_runs, struct report *ret, struct err *err)
{
    struct report to = {.period = ask->period, .from = ask->from, .to = ask->to, .known = ask->known};
    struct making k = {.ask = ask, .n_companies = n_companies, .to = &to};

    if (ask->from > ask->to)
        return err_set(err, -EINVAL, "the report's start is after its end");
    k.companies = mem_zero(n_companies + 1, sizeof(const struct company *));
    for (size_t i = 0; i < n_companies; i++)
        k.companies[i] = &companies[i];
    SORT(k.companies, n_companies, by_name);
    sort_out(&k, runs, n_runs);
    int r = make(&k, err);
    FREE_ALL(k.companies, k.uses, k.ids);
    if (r < 0)
        report_fini(&to);
    else
        *ret = to;
    return r;
}

void report_fini(struct report *r)
{
    if (!r)
        return;
    free(r->rows);
    free(r->projects);
    *r = (struct report){0};
}
