/* lanes.c: the history screen's table of devices and bins, and its lines. */
#include "tui/lanes.h"

#include "base/mem.h"
#include "base/order.h"
#include "format/words.h"

struct lanes *lanes_new(const struct lanes_query *ask)
{
    struct lanes *p = NEW(struct lanes, .from_ms = ask->from_ms, .step_ms = ask->step_ms,
                          .bins = MIN(ask->bins, (size_t)LANE_BINS), .n = MIN(ask->n, (size_t)LANE_ROWS));

    p->rows = mem_zero(p->n + 1, sizeof(*p->rows));
    p->users = mem_zero(LANE_USERS, sizeof(*p->users));
    for (size_t i = 0; i < p->n; i++) {
        memcpy(p->rows[i].device, ask->devices[i], UUID_MAX);
        memset(p->rows[i].util, LANE_UNKNOWN, sizeof(p->rows[i].util));
    }
    return p;
}

void lanes_free(struct lanes *p)
{
    if (!p)
        return;
    FREE_ALL(p->rows, p->users, p);
}

const struct lane *lanes_find(const struct lanes *p, const char *device)
{
    return FIND(p->rows, p->n, r, strcmp(r->device, device) == 0);
}

static uint8_t user_at(struct lanes *p, const char *user)
{
    size_t i = FIRST(p->n_users, k, strcmp(p->users[k], user) == 0);

    if (i == LANE_USERS)
        return LANE_USERS; /* the last entry represents all others */
    if (i == p->n_users) {
        p->n_users++;
        mem_copy_str(p->users[i], sizeof(p->users[i]), i + 1 == LANE_USERS || !user[0] ? "?" : user);
    }
    return (uint8_t)(i + 1);
}

void lanes_held(struct lanes *p, const char *device, const char *user, int64_t first_ms, int64_t last_ms)
{
    struct lane *r = (struct lane *)lanes_find(p, device);
    int64_t end = p->from_ms + (int64_t)p->bins * p->step_ms;

    if (!r || last_ms < p->from_ms || first_ms >= end || first_ms > last_ms)
        return;
    size_t i = (size_t)(MAX(first_ms - p->from_ms, 0) / p->step_ms);
    size_t last = (size_t)(MIN(last_ms - p->from_ms, end - 1 - p->from_ms) / p->step_ms);
    uint8_t who = user_at(p, user);
    for (; i <= last; i++)
        r->who[i] = who;
}

/* ---- lines ---- */

/* Highlights idle GPUs that are in use by a process. */
static uint8_t style_of(uint8_t util, bool held)
{
    return util > 100 ? STYLE_PLAIN | STYLE_DIM : held && util < 5 ? STYLE_WARN : STYLE_METER;
}

static uint32_t level(uint8_t util, bool held, bool ascii)
{
    static const char steps[] = ".:-=+*%@#";

    if (util > 100)
        return held ? (ascii ? '?' : 0x2592) : ' ';
    if (!held && util < 5)
        return ascii ? '.' : 0xb7;
    return ascii ? (uint32_t)steps[MIN(util * 8 / 100, 8)] : 0x2581u + (uint32_t)MIN(util * 8 / 100, 7);
}

void lane_draw(const struct lanes *p, const struct lane *r, struct sheet *s, int y, int x, int width)
{
    size_t skip = p->bins > (size_t)MAX(width, 0) ? p->bins - (size_t)MAX(width, 0) : 0;

    for (size_t i = skip; i < p->bins; i++) {
        bool held = r->who[i] != LANE_NOBODY;
        sheet_glyph(s, y, x + (int)(i - skip), level(r->util[i], held, s->ascii), style_of(r->util[i], held));
    }
    for (size_t i = skip; i < p->bins;) {
        size_t end = i + 1;
        while (end < p->bins && r->who[end] == r->who[i])
            end++;
        /* leave at least two columns of the values visible */
        if (r->who[i] != LANE_NOBODY && end - i >= 4)
            sheet_put(s, y, x + (int)(i - skip), (int)(end - i) - 2, STYLE_PLAIN | STYLE_BOLD, p->users[r->who[i] - 1]);
        i = end;
    }
}

void lanes_axis(const struct lanes *p, struct sheet *s, int y, int x, int width)
{
    enum { APART = 12 };
    size_t shown = MIN(p->bins, (size_t)MAX(width, 0)), skip = p->bins - shown;
    bool days = (int64_t)p->bins * p->step_ms > 2 * 86400000ll;
    char when[32];

    for (size_t i = 0; i + APART <= shown; i += APART) {
        local_time(p->from_ms + (int64_t)(skip + i) * p->step_ms, when); /* 2026-11-15 10:20:30 */
        when[days ? 10 : 16] = 0;
        sheet_put(s, y, x + (int)i, APART - 1, STYLE_PLAIN | STYLE_DIM, when + (days ? 5 : 11));
    }
}
