/* history.c: the history screen: a line per GPU, a column per time bin: utilisation and users. */
#include "base/mem.h"
#include "format/words.h"
#include "tui/top.h"

static const struct {
    int64_t ms;
    const char *words;
} spans[] = {{3600000, "the last hour"},
             {21600000, "6 hours"},
             {86400000, "the last day"},
             {604800000, "the last week"}};

const char *const history_words[] = {"hour", "6h", "day", "week", NULL};

const char *history_span(const struct top *t)
{
    return t->feed->past ? spans[t->span].words : "since the start";
}

void history_next(struct top *t)
{
    t->span = (t->span + 1) % ARRAY_LEN(spans);
}

static int place_width(const struct sheet *s)
{
    return s->w >= 120 ? 18 : 9;
}

static int plot_x(const struct sheet *s)
{
    return 1 + place_width(s) + 3;
}

/* The smallest round step that covers the whole span. */
static int64_t step_for(int64_t span, int64_t columns)
{
    static const int64_t steps[] = {10000,  20000,   30000,   60000,   120000,   300000,   600000,
                                    900000, 1800000, 3600000, 7200000, 14400000, 21600000, 43200000};

    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        if (span / steps[i] <= columns)
            return steps[i];
    return 86400000;
}

void top_fetch_history(struct top *t, const struct sheet *s)
{
    const struct place *p = top_place(t);
    int64_t columns = MIN(MAX(s->w - plot_x(s) - 1, 1), LANE_BINS), span = spans[t->span].ms,
            step = step_for(span, columns);

    if (!t->feed->past || !t->all.at_ms)
        return;
    t->ask.step_ms = step;
    t->ask.bins = (size_t)(span / step);
    t->ask.from_ms = (t->all.at_ms / step + 1) * step - span;
    t->ask.n = 0;
    for (size_t i = p->first; i < t->n_items && i < p->first + (size_t)t->list_h && t->ask.n < LANE_ROWS; i++)
        mem_copy_str(t->ask.devices[t->ask.n++], UUID_MAX, t->items[i].d->fact.uuid);
    t->past = t->feed->past(t->feed->arg, &t->ask);
}

void history_title(const struct top *t, struct sheet *s, int y)
{
    sheet_put(s, y, 1, place_width(s), STYLE_TITLE, "GPU");
    if (t->past && t->feed->past)
        lanes_axis(t->past, s, y, plot_x(s), s->w - plot_x(s) - 1);
}

/* Without a hub: data since the start, one second per column. */
static void trail_line(const struct top *t, struct sheet *s, int y, const struct device_now *d)
{
    size_t n, columns = (size_t)MAX(s->w - plot_x(s) - 1, 1);
    const uint8_t *v = trails_of(t->trails, d->fact.uuid, &n);
    struct lane r = {0};
    struct lanes p = {.bins = MIN(n, MIN(columns, (size_t)LANE_BINS))};

    if (!v)
        return;
    memcpy(r.util, v + n - p.bins, p.bins);
    lane_draw(&p, &r, s, y, plot_x(s), (int)columns);
}

void history_line(const struct top *t, struct sheet *s, int y, const struct item *i)
{
    int wide = place_width(s);
    const struct lane *r;

    line_place(s, y, 1, wide, STYLE_PLAIN | STYLE_BOLD, i->n, i->d);
    sheet_put(s, y, 1 + wide + 1, 1, (uint8_t)(STYLE_STATE + i->d->state), sheet_mark(s, i->d->state));
    if (!t->feed->past)
        trail_line(t, s, y, i->d);
    else if (t->past && (r = lanes_find(t->past, i->d->fact.uuid)))
        lane_draw(t->past, r, s, y, plot_x(s), s->w - plot_x(s) - 1);
}
