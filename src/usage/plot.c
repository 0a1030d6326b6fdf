/*
 * plot.c: usage as a chart and as a document. Over periods: GPU-hours held, stacked by key, the largest first and
 * the others in one; in all: a bar per key, busy below idle.
 */

#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "draw/paper.h"
#include "usage/table.h"

#define KEYS_MOST 11 /* each with a colour; the rest is "others" */
#define BARS_MOST 40

static const char *shown(const struct usage_table *t, const struct usage_row *r)
{
    return r->name ? r->name : r->key ? r->key : t->by == BY_PERSON ? "(unknown)" : "(none)";
}

static double hours(int64_t ms)
{
    return (double)ms / 3600000.0;
}

/* Keys by what they held in all, the largest first. */
struct held {
    const char *name;
    int64_t ms;
};

COMPARE(by_held, struct held, ORDER(y->ms, x->ms) ?: strcmp(x->name, y->name))

COMPARE(by_name, struct held, strcmp(x->name, y->name))

static size_t largest(const struct usage_table *t, struct held *v)
{
    size_t n = 0, rows = 0;

    for (size_t i = 0; i < t->n; i++)
        if (!usage_is_nobody(&t->v[i])) /* held nothing */
            v[rows++] = (struct held){shown(t, &t->v[i]), t->v[i].s.held_ms};
    SORT(v, rows, by_name);
    for (size_t i = 0; i < rows; i++)
        if (n && strcmp(v[n - 1].name, v[i].name) == 0)
            v[n - 1].ms += v[i].ms;
        else
            v[n++] = v[i];
    SORT(v, n, by_held);
    return n;
}

static int draw(const struct plot *p, struct paper *paper, enum plot_format format, struct buf *out, struct err *err)
{
    if (!paper)
        return plot_draw(p, format, out, err);
    paper_plot(paper, p);
    return 0;
}

/* One bar per key. */
static int plot_all(const struct usage_table *t, struct plot p, struct paper *paper, enum plot_format format,
                    struct buf *out, struct err *err)
{
    size_t all = t->n - (t->n && usage_is_nobody(&t->v[t->n - 1])), n = MIN(all, (size_t)BARS_MOST);
    AUTO_FREE double *busy = mem_zero(n + 1, sizeof(*busy)), *idle = mem_zero(n + 1, sizeof(*idle));
    AUTO_FREE const char **labels = mem_zero(n + 1, sizeof(*labels));

    for (size_t i = 0; i < n; i++) { /* rows come by time held */
        busy[i] = hours(t->v[i].s.busy_ms);
        idle[i] = hours(t->v[i].s.held_ms - t->v[i].s.busy_ms);
        labels[i] = shown(t, &t->v[i]);
    }
    struct plot_series series[] = {{.name = "busy", .y = busy, .colour = 1}, {.name = "idle", .y = idle, .colour = 4}};
    p.n = n;
    p.labels = labels;
    p.series = series;
    p.n_series = 2;
    if (all > n)
        p.note = "only those who held most";
    return draw(&p, paper, format, out, err);
}

/* A stack per period. */
static int plot_periods(const struct usage_table *t, struct plot p, struct paper *paper, enum plot_format format,
                        struct buf *out, struct err *err)
{
    AUTO_FREE struct held *keys = mem_zero(t->n + 1, sizeof(*keys));
    size_t all = largest(t, keys), n_keys = MIN(all, (size_t)KEYS_MOST), n = 0;
    AUTO_FREE const char **labels = mem_zero(t->n + 1, sizeof(*labels));
    AUTO_FREE double *y = mem_zero((n_keys + 1) * (t->n + 1), sizeof(*y));
    AUTO_FREE struct plot_series *series = mem_zero(n_keys + 1, sizeof(*series));

    for (size_t i = 0; i < t->n; i++) { /* by time */
        size_t k = FIRST(n_keys, e, strcmp(keys[e].name, shown(t, &t->v[i])) == 0);
        if (!n || t->v[i].at_ms != t->v[i - 1].at_ms)
            labels[n++] = t->v[i].label;
        y[k * (t->n + 1) + n - 1] += hours(t->v[i].s.held_ms);
    }
    for (size_t k = 0; k <= n_keys; k++)
        series[k] = (struct plot_series){.name = k < n_keys ? keys[k].name : "others",
                                         .y = y + k * (t->n + 1),
                                         .colour = k < n_keys ? 0 : -1};
    p.n = n;
    p.labels = labels;
    p.series = series;
    p.n_series = n_keys + (all > n_keys);
    return draw(&p, paper, format, out, err);
}

static int usage_plot(const struct usage_table *t, struct plot *p, struct paper *paper, enum plot_format format,
                      struct buf *out, struct err *err)
{
    p->kind = PLOT_BARS;
    p->y = (struct plot_axis){.label = "GPU-hours held"};
    return strcmp(t->period, "all") == 0 ? plot_all(t, *p, paper, format, out, err)
                                         : plot_periods(t, *p, paper, format, out, err);
}

/* The first and the last day, in the table's zone. */
static void between(const struct usage_table *t, char *out, size_t size)
{
    struct zone *z = NULL;
    char from[16], to[16];

    if (zone_load(t->zone, &z, NULL) < 0)
        z = zone_utc();
    date_text(zone_date(z, t->from_ms), from);
    date_text(zone_date(z, MAX(t->to_ms - 1, t->from_ms)), to);
    zone_free(z);
    bool one = strcmp(from, to) == 0;
    snprintf(out, size, "%s%s%s, days of %s; shared GPUs split by %s", from, one ? "" : " to ", one ? "" : to, t->zone,
             t->split);
}

int render_usage_plot(struct buf *out, const struct usage_table *t, const char *title, enum plot_format format,
                      struct err *err)
{
    char heading[200], when[200];
    struct plot p = {.title = heading, .subtitle = when};

    snprintf(heading, sizeof(heading), "%.120s: usage by %s", title, usage_by_words[t->by]);
    between(t, when, sizeof(when));
    return usage_plot(t, &p, NULL, format, out, err);
}

int render_usage_pdf(struct buf *out, const struct usage_table *t, const char *title, int64_t now_ms, struct err *err)
{
    char heading[200], when[200], made[64], iso[32];
    struct paper_conf conf = {.title = heading, .foot = made, .at_ms = now_ms, .landscape = true};
    struct paper *paper = NULL;
    AUTO_ROWS rows = {0};
    struct plot p = {0};

    snprintf(heading, sizeof(heading), "%.120s: usage by %s", title, usage_by_words[t->by]);
    snprintf(made, sizeof(made), "made %.16sZ", clock_iso(now_ms, iso));
    between(t, when, sizeof(when));
    int r = paper_open(&conf, out, &paper, err);
    if (r < 0)
        return r;
    paper_heading(paper, heading, 1);
    paper_text(paper, when);
    if (t->total.s.work_of_ms > 0)
        paper_text(paper, USAGE_EFFECTIVE);
    if (t->n)
        usage_plot(t, &p, paper, PLOT_PDF, out, err);
    usage_rows(t, &rows);
    paper_rows(paper, &rows, t->n > 0);
    return paper_close(paper, err);
}
