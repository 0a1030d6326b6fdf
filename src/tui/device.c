/* device.c: the screen of one GPU: its state as a sentence, its utilisation as a plot, and every reported value. */
#include "base/buf.h"
#include "base/mem.h"
#include "format/words.h"
#include "tui/top.h"

#define LABEL  20 /* the longest of metrics.def */
#define COLUMN 38

int device_page(const struct top *t, struct sheet *s, int y, int h, const struct node_now *n,
                const struct device_now *d)
{
    AUTO_BUF b = BUF_INIT(1024);
    uint8_t state = (uint8_t)(STYLE_STATE + d->state);
    int plot = h >= 40 ? 8 : h >= 16 ? 4 : 2;
    size_t len;

    int x = sheet_putf(s, y, 1, s->w / 2, STYLE_PLAIN | STYLE_BOLD, "%s:%d", node_shown(n), d->fact.index);
    x = sheet_putf(s, y, x + 2, s->w - x - 2, STYLE_PLAIN, "%s", device_shown(d));
    sheet_putf(s, y++, x + 2, s->w - x - 2, STYLE_PLAIN | STYLE_DIM, "%s", d->fact.uuid);
    device_sentence(&b, d, t->all.at_ms);
    sheet_put(s, y, 1, 1, state, sheet_mark(s, d->state));
    for (struct str rest = buf_str(&b), line; words_line(&rest, s->w - 3, &line);)
        sheet_putf(s, y++, 3, s->w - 3, state, "%.*s", STR_ARG(line));
    for (size_t i = 0; i < d->n_advice && d->state <= DEV_IN_SIGHT; i++) {
        const struct advice_info *rule = &advice_rules[d->advice[i].rule];
        sheet_putf(s, y++, 3, s->w - 3, STYLE_PLAIN, "%s: %s", rule->title, rule->remedy);
    }
    for (struct str rest = str_of(device_note(d) ? device_note(d) : ""), line; words_line(&rest, s->w - 3, &line);)
        sheet_putf(s, y++, 3, s->w - 3, STYLE_PLAIN | STYLE_DIM, "%.*s", STR_ARG(line));
    const uint8_t *v = trails_of(t->trails, d->fact.uuid, &len);
    if (v)
        sheet_plot(s, y, 1, MIN(s->w - 2, TRAIL_LEN / (s->ascii ? 1 : 2)), plot, v, len, STYLE_METER);
    y += plot;
    /* Known values in columns, top down. */
    int columns = MAX(1, (s->w - 1) / COLUMN), shown = 0, most = MAX(2, h / 3) * columns;
    for (enum metric m = 0; m < M_COUNT && shown < most && d->state <= DEV_IN_SIGHT; m++) {
        if (metrics[m].scope == SCOPE_NODE || !sample_has(&d->now, m))
            continue;
        buf_reset(&b);
        metric_human(&b, m, d->now.v[m]);
        int at = 1 + shown % columns * COLUMN;
        sheet_put(s, y + shown / columns, at, LABEL, STYLE_PLAIN | STYLE_DIM, metrics[m].label);
        sheet_put(s, y + shown / columns, at + LABEL + 1, COLUMN - LABEL - 2, STYLE_PLAIN, b.p);
        shown++;
    }
    return y + (shown + columns - 1) / columns;
}
