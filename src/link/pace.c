/* pace.c: what a request costs is learned from how what remains falls; the rest is division. */
#include "link/pace.h"

#include "base/mem.h"

enum { FLOOR_MS = 10000, SAME_MS = 1500, MILLI = 1000 };

void pace_init(struct pace *p, double rate)
{
    *p = (struct pace){.rate = rate, .cost = 1};
}

/* Milliseconds from the newest request until the next at this many a second. */
static int64_t due(const struct pace *p, int64_t now_ms, double rate)
{
    double gap = rate > 0 ? 1000.0 / rate : FLOOR_MS;
    int64_t at = p->sent_ms + (int64_t)(gap + 0.999);

    return at > now_ms ? at - now_ms : 0;
}

int64_t pace_wait(const struct pace *p, int64_t now_ms, int under_way)
{
    int64_t wait = p->hold_ms > now_ms ? p->hold_ms - now_ms : 0, more = 0;

    if (p->rate > 0 && p->sent_ms)
        wait = MAX(wait, due(p, now_ms, p->rate));
    if (p->end_ms <= now_ms) /* nothing was told, or it is over: all of it is there again */
        return MAX(wait, p->limit > 0 && p->limit < (under_way + 1) * p->cost ? due(p, now_ms, 0) : 0);
    double left = p->remaining - p->cost * under_way;
    if (left < p->cost)
        more = MIN(p->end_ms - now_ms, due(p, now_ms, 0));
    else if (left * 2 < p->limit)
        more = MIN(p->end_ms - now_ms,
                   MIN(due(p, now_ms, left / p->cost * 1000 / (double)(p->end_ms - now_ms)), due(p, now_ms, 0)));
    return MAX(wait, more);
}

void pace_sent(struct pace *p, int64_t now_ms)
{
    p->sent_ms = now_ms;
}

void pace_told(struct pace *p, int64_t now_ms, struct str remaining, struct str reset)
{
    int64_t have = 0, until = 0;

    if (!str_fixed(remaining, MILLI, &have) || !str_fixed(reset, MILLI, &until) || have < 0 || until < 0 ||
        until > 24 * 3600 * (int64_t)MILLI)
        return;
    /* Whole seconds were rounded, who knows how: better late. */
    int64_t end = now_ms + until + (memchr(reset.p, '.', reset.len) ? 50 : 1000);
    double now_left = (double)have / MILLI;

    if (now_ms >= p->end_ms || end > p->end_ms + SAME_MS) {
        p->end_ms = end;
        p->remaining = now_left;
        p->answers = 0;
    } else {
        p->answers++;
        if (now_left < p->remaining) { /* more than before: an answer that was overtaken */
            double one = (p->remaining - now_left) / p->answers;
            p->cost = 0.7 * p->cost + 0.3 * one;
            p->remaining = now_left;
            p->answers = 0;
        }
    }
    p->limit = MAX(p->limit, now_left);
}

void pace_hold(struct pace *p, int64_t until_ms)
{
    p->hold_ms = MAX(p->hold_ms, until_ms);
}
