/* pace.c: learns what a request costs from how the server's remainder falls, and divides the rest of the time by it. */
#include "net/pace.h"

#include "base/mem.h"

enum { FLOOR_MS = 10000, SAME_MS = 1500, MILLI = 1000, HINTS = 4 };

void pace_init(struct pace *p, double rate)
{
    *p = (struct pace){.rate = rate, .cost = 1};
}

/* Milliseconds from the newest request until the next at this many a second. */
static int64_t due(int64_t sent_ms, int64_t now_ms, double rate)
{
    double gap = rate > 0 ? 1000.0 / rate : FLOOR_MS;
    int64_t at = sent_ms + (int64_t)(gap + 0.999);

    return at > now_ms ? at - now_ms : 0;
}

int64_t pace_wait(const struct pace *p, int64_t now_ms, int under_way)
{
    int64_t wait = p->hold_ms > now_ms ? p->hold_ms - now_ms : 0, more = 0;

    if (p->rate > 0 && p->sent_ms)
        wait = MAX(wait, due(p->sent_ms, now_ms, p->rate));
    if (p->end_ms <= now_ms) { /* nothing was told, or it is over: all of it is there again */
        bool probed = p->end_ms && p->remaining <= 0 && under_way > 0; /* it was empty: one goes first */
        bool most = p->limit > 0 && p->limit < (under_way + 1) * p->cost;
        return MAX(wait, probed || most ? due(p->sent_ms, now_ms, 0) : 0);
    }
    double left = p->remaining - p->cost * under_way;
    if (p->remaining <= 0) /* the server said so, and when there is more */
        more = p->end_ms - now_ms;
    else if (left < p->cost)
        more = MIN(p->end_ms - now_ms, due(p->sent_ms, now_ms, 0));
    else if (left * 2 < p->limit)
        more =
            MIN(p->end_ms - now_ms, MIN(due(p->sent_ms, now_ms, left / p->cost * 1000 / (double)(p->end_ms - now_ms)),
                                        due(p->sent_ms, now_ms, 0)));
    return MAX(wait, more);
}

void pace_sent(struct pace *p, int64_t now_ms)
{
    p->sent_ms = now_ms;
}

void pace_update(struct pace *p, int64_t now_ms, struct str remaining, struct str reset)
{
    int64_t have = 0, until = 0;

    if (!str_fixed(remaining, MILLI, &have) || !str_fixed(reset, MILLI, &until) || have < 0 || until < 0 ||
        until > (int64_t)24 * 3600 * MILLI)
        return;
    /* Whole seconds were rounded, who knows how: better late. */
    int64_t end = now_ms + until + (memchr(reset.p, '.', reset.len) ? 50 : 1000);
    double left = (double)have / MILLI;

    if (now_ms >= p->end_ms || end > p->end_ms + SAME_MS) {
        p->end_ms = end;
        p->remaining = p->first = left;
        p->answers = 0;
    } else {
        /* perhaps the next window: what is told of that counts until it is over, too */
        p->end_ms = have ? MAX(p->end_ms, end) : end; /* with nothing left: when this one says */
        p->answers += left <= p->first;               /* more: it was made before what is counted from here */
        if (left < p->remaining) {                    /* more than before: an answer that was overtaken */
            double one = (p->remaining - left) / p->answers;
            p->cost = 0.7 * p->cost + 0.3 * one;
            p->remaining = left;
            p->answers = 0;
        }
    }
    p->limit = MAX(p->limit, left);
}

void pace_hold(struct pace *p, int64_t until_ms)
{
    p->hold_ms = MAX(p->hold_ms, until_ms);
}

/* ---- parts ---- */

void pace_parts_init(struct pace_parts *p, double rate)
{
    *p = (struct pace_parts){0};
    pace_init(&p->all, rate);
}

void pace_parts_fini(struct pace_parts *p)
{
    free(p->v);
    *p = (struct pace_parts){0};
}

static struct pace_part *part_of(struct pace_parts *p, uint64_t name)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].name == name)
            return &p->v[i];
    VEC_ROOM(p->v, p->n, p->cap);
    p->v[p->n] = (struct pace_part){.name = name};
    pace_init(&p->v[p->n].pace, 0);
    return &p->v[p->n++];
}

int64_t pace_parts_wait(struct pace_parts *p, uint64_t part, int64_t now_ms)
{
    int64_t all = p->known && !p->one ? 0 : pace_wait(&p->all, now_ms, p->under_way);
    if (p->one)
        return all;
    all = MAX(all, p->empty_ms - now_ms);
    struct pace_part *own = part_of(p, part);
    int64_t wait = MAX(all, pace_wait(&own->pace, now_ms, own->under_way));
    if (p->all.rate > 0 && p->all.sent_ms) /* that one is ours, and for all */
        wait = MAX(wait, due(p->all.sent_ms, now_ms, p->all.rate));
    return wait;
}

void pace_parts_sent(struct pace_parts *p, uint64_t part, int64_t now_ms)
{
    struct pace_part *own = part_of(p, part);

    pace_sent(&p->all, now_ms);
    pace_sent(&own->pace, now_ms);
    own->under_way++;
    p->under_way++;
}

void pace_parts_back(struct pace_parts *p, uint64_t part)
{
    part_of(p, part)->under_way--;
    p->under_way--;
}

/* By how much it fell since the part's last answer: as many as it was asked itself, or as all were? */
static void compare(struct pace_parts *p, double fell, int64_t own, int64_t all)
{
    if (fell <= 0 || all < own + 2)
        return;
    double as_own = fell > (double)own ? fell - (double)own : (double)own - fell;
    double as_all = fell > (double)all ? fell - (double)all : (double)all - fell;
    p->hint += as_all < as_own ? 1 : -1;
    p->hint = MAX(-HINTS, MIN(HINTS, p->hint));
    if (p->hint == HINTS || p->hint == -HINTS) {
        p->known = true;
        p->one = p->hint > 0;
    }
}

void pace_parts_update(struct pace_parts *p, uint64_t part, int64_t now_ms, struct str remaining, struct str reset)
{
    struct pace_part *own = part_of(p, part);
    double before = own->pace.remaining;
    int64_t window = own->pace.end_ms;

    p->answers++;
    own->answers++;
    pace_update(&p->all, now_ms, remaining, reset);
    pace_update(&own->pace, now_ms, remaining, reset);
    p->empty_ms = 0;
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].pace.remaining <= 0)
            p->empty_ms = MAX(p->empty_ms, p->v[i].pace.end_ms);
    if (own->pace.end_ms == window && own->pace.remaining < before)
        compare(p, before - own->pace.remaining, own->answers, p->answers - own->others);
    if (own->pace.end_ms != window || own->pace.remaining < before) {
        own->answers = 0;
        own->others = p->answers;
    }
}

void pace_parts_hold(struct pace_parts *p, uint64_t part, int64_t until_ms)
{
    pace_hold(p->one ? &p->all : &part_of(p, part)->pace, until_ms);
}
