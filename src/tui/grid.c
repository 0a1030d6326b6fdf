/* grid.c: compact lists of nodes and devices, as many cells per line as fit. */
#include "base/mem.h"
#include "format/words.h"
#include "tui/top.h"

/* Width of the name, and in *ret_marks of the text after it. */
static int name_width(const struct top *t, enum top_view look, int *ret_marks)
{
    int name = MIN(MAX(line_longest(t, ret_marks), 4), 16);

    *ret_marks = look == LOOK_DEVICES ? 2 + 7 + 1 + 4 : MIN(MAX(*ret_marks, 4), 16);
    return name + (look == LOOK_DEVICES ? 2 : 0);
}

int grid_cell(const struct top *t, enum top_view look)
{
    int marks, name = name_width(t, look, &marks);

    return 1 + name + 1 + marks + 1;
}

int grid_columns(const struct top *t, const struct sheet *s, enum top_view look)
{
    bool cells = t->compact && (look == LOOK_OVERVIEW || look == LOOK_DEVICES);

    return cells ? MAX(1, s->w / grid_cell(t, look)) : 1;
}

void grid_item(const struct top *t, struct sheet *s, int y, int x, enum top_view look, const struct item *i)
{
    int marks, name = name_width(t, look, &marks);
    char who[160];

    if (look == LOOK_OVERVIEW) {
        enum dev_state st = i->n->state == NODE_HUNG ? DEV_HUNG : DEV_STALE;
        sheet_put(s, y, x + 1, name, STYLE_PLAIN | STYLE_BOLD, node_shown(i->n));
        if (node_is_dark(i->n))
            sheet_putf(s, y, x + name + 2, marks, (uint8_t)(STYLE_STATE + st), "%s %s", sheet_mark(s, st),
                       state_shown(node_words[i->n->state]));
        else
            line_marks(s, y, x + name + 2, marks, i->n);
        return;
    }
    uint8_t state = (uint8_t)(STYLE_STATE + i->d->state);
    line_place(s, y, x + 1, name, STYLE_PLAIN | STYLE_BOLD, i->n, i->d);
    x += name + 2;
    sheet_put(s, y, x, 1, state, sheet_mark(s, i->d->state));
    sheet_put(s, y, x + 2, i->d->state <= DEV_IN_SIGHT ? 7 : 8, state,
              holders(i->d, who).len    ? who
              : i->d->state == DEV_HUNG ? "driver"
                                        : state_shown(dev_states[i->d->state].word));
    if (i->d->state <= DEV_IN_SIGHT && sample_has(&i->d->now, M_util)) {
        snprintf(who, sizeof(who), "%lld%%", (long long)((i->d->now.v[M_util] + 50) / 100));
        sheet_right(s, y, x + 10, 4, STYLE_PLAIN, who);
    }
}
