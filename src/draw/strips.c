/* strips.c: collects columns of integers as they come and draws them at the end, one chart per metric. */
#include "draw/strips.h"

#include <errno.h>
#include <math.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "model/metric.h"

#define STRIP_HEIGHT 220
#define STRIP_WIDTH  760
#define LEGEND_MAX   64 /* bytes of a name */

struct strip {
    char name[LEGEND_MAX], unit[24];
    size_t n, cap;
    struct plot_series *v;
    char (*names)[LEGEND_MAX];
};

struct strips {
    struct series_frame frame;
    char node[LEGEND_MAX]; /* the one all are of */
    bool nodes;            /* there are several */
    size_t n, points;
    struct strip v[STRIPS_MAX];
};

struct strips *strips_new(void)
{
    return mem_zero(1, sizeof(struct strips));
}

static void empty(struct strips *s)
{
    for (size_t i = 0; i < s->n; i++) {
        for (size_t k = 0; k < s->v[i].n; k++)
            free((double *)(uintptr_t)s->v[i].v[k].y);
        FREE_ALL(s->v[i].v, s->v[i].names);
    }
    memset(s, 0, sizeof(*s));
}

void strips_free(struct strips *s)
{
    if (!s)
        return;
    empty(s);
    free(s);
}

void strips_start(struct strips *s, const struct series_frame *f)
{
    empty(s);
    s->frame = *f;
}

/* A metric and how it was counted: "power", "power (max)". */
static struct strip *strip_of(struct strips *s, const struct series *one)
{
    char name[LEGEND_MAX];
    bool usual = strcmp(one->agg, "avg") == 0 || strcmp(one->agg, "rate") == 0;

    snprintf(name, sizeof(name), usual ? "%.40s" : "%.40s (%.10s)", metric_label(one->metric), one->agg);
    struct strip *to = FIND(s->v, s->n, e, strcmp(e->name, name) == 0);
    if (to || s->n == STRIPS_MAX)
        return to;
    to = &s->v[s->n++];
    memcpy(to->name, name, sizeof(name));
    snprintf(to->unit, sizeof(to->unit), "%s", one->unit ? one->unit : "");
    return to;
}

static void name_of(const struct series *one, char out[LEGEND_MAX])
{
    if (one->user)
        snprintf(out, LEGEND_MAX, "%s", one->user[0] ? one->user : "(not known)");
    else if (one->node && one->index >= 0 && one->mig >= 0)
        snprintf(out, LEGEND_MAX, "%.40s:%d.%d", one->node, one->index, one->mig);
    else if (one->node && one->index >= 0)
        snprintf(out, LEGEND_MAX, "%.48s:%d", one->node, one->index);
    else
        snprintf(out, LEGEND_MAX, "%s", one->node ? one->node : one->model ? one->model : "all");
}

void strips_add(struct strips *s, const struct series *one)
{
    struct strip *to = strip_of(s, one);

    if (!to || to->n == PLOT_SERIES_MAX || one->per <= 0)
        return;
    if (to->n == to->cap) {
        to->cap = to->cap ? 2 * to->cap : 8;
        to->v = mem_grow(to->v, to->cap, sizeof(*to->v));
        to->names = mem_grow(to->names, to->cap, sizeof(*to->names));
    }
    double *y = mem_zero(one->n + 1, sizeof(*y));
    for (size_t i = 0; i < one->n; i++)
        y[i] = one->v[i] == SERIES_NONE ? NAN : (double)one->v[i] / (double)one->per;
    s->points = s->points ? MIN(s->points, one->n) : one->n;
    name_of(one, to->names[to->n]);
    if (!s->node[0])
        snprintf(s->node, sizeof(s->node), "%s", one->node ? one->node : "");
    s->nodes |= !one->node || strncmp(s->node, one->node, sizeof(s->node) - 1) != 0;
    to->v[to->n++] = (struct plot_series){.y = y};
}

static void add_metrics(const struct strips *s, struct buf *above)
{
    for (size_t i = 0; i < s->n; i++)
        buf_addf(above, "%s%s", i ? ", " : ": ", s->v[i].name);
    if (!s->nodes)
        buf_addf(above, " of %s", s->node);
}

int strips_draw(const struct strips *s, const struct strips_head *head, const struct zone *zone,
                enum plot_format format, struct buf *ret, struct err *err)
{
    struct plot v[STRIPS_MAX] = {0};
    AUTO_FREE int64_t *at_ms = mem_zero(s->points + 1, sizeof(*at_ms));
    AUTO_BUF above = BUF_INIT(4096);

    if (!s->n || !s->points)
        return err_set(err, -ENOENT, "there is nothing to draw");
    buf_adds(&above, head->title);
    if (!head->lines)
        add_metrics(s, &above);
    for (size_t i = 0; i < s->points; i++)
        at_ms[i] = s->frame.from_ms + (int64_t)i * s->frame.step_ms;
    for (size_t i = 0; i < s->n; i++) {
        const struct strip *of = &s->v[i];
        for (size_t k = 0; k < of->n; k++)
            of->v[k].name = of->names[k];
        v[i] = (struct plot){.kind = PLOT_LINES,
                             .title = i ? NULL : above.p,
                             .subtitle = i ? NULL : head->lines,
                             .n = s->points,
                             .at_ms = at_ms,
                             .from_ms = s->frame.from_ms,
                             .to_ms = s->frame.to_ms,
                             .zone = zone,
                             .y = {.label = of->name, .unit = of->unit, .zero = true}, /* as on the page */
                             .n_series = of->n,
                             .series = of->v,
                             .width = STRIP_WIDTH,
                             .height = STRIP_HEIGHT * (double)s->n + 100};
        if (strcmp(of->unit, "ratio") == 0)
            v[i].y.max = 1;
    }
    return plot_draw_stack(v, s->n, format, ret, err);
}
