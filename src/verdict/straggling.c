/* straggling.c: joins the minutes in which a GPU is found apart, and adds up those that lasted. */
#include "verdict/straggling.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"

static void count_stretch(struct straggling *s, size_t n)
{
    const struct advice *a = &s->now.a;
    if (!s->gpus)
        s->gpus = mem_zero(n, 1);
    s->gpus[s->now.gpu] = 1;
    int64_t from_ms = s->all.ms ? s->all.from_ms : a->from_ms, ms = s->all.ms + a->ms;
    double lost = s->all.lost + a->lost;
    if (s->now.most > s->most) {
        s->most = s->now.most;
        s->all = *a;
    }
    s->all.from_ms = from_ms;
    s->all.to_ms = a->to_ms;
    s->all.ms = ms;
    s->all.lost = lost;
}

static void end_stretch(struct straggling *s, size_t n)
{
    if (s->now.found >= STRAGGLING_LEAST)
        count_stretch(s, n);
    s->now = (struct straggling_stretch){.to_ms = s->now.to_ms};
}

/* Adds its last minutes; minutes that were added before are not counted again. */
static void add_minute(struct straggling_stretch *t, size_t gpu, const struct advice *a, int64_t end_ms)
{
    int64_t from_ms = MAX(end_ms - STRAGGLER_LAST * MINUTE_MS, t->to_ms), ms = t->found ? MINUTE_MS : end_ms - from_ms;
    struct advice sum = a->lost > t->most ? *a : t->a;
    sum.from_ms = t->found ? t->a.from_ms : from_ms;
    sum.to_ms = end_ms;
    sum.ms = t->a.ms + ms;
    sum.lost = t->a.lost + a->lost * (double)ms;
    t->most = MAX(t->most, a->lost);
    t->a = sum;
    t->gpu = gpu;
    t->to_ms = end_ms;
    t->found++;
    t->missed = 0;
}

void straggling_minute(struct straggling *s, const struct sibling *const *g, size_t n, int64_t end_ms)
{
    struct advice a;
    int found = straggler_find(g, n, &a);
    s->asked_ms = end_ms;
    bool same = found >= 0 && (size_t)found == s->now.gpu;
    if (s->now.found && !same && (found >= 0 || ++s->now.missed >= STRAGGLING_BREAK))
        end_stretch(s, n);
    if (found >= 0)
        add_minute(&s->now, (size_t)found, &a, end_ms);
}

bool straggling_end(struct straggling *s, size_t n, struct advice *ret)
{
    bool now = s->now.found && !s->now.missed;
    if (now)
        count_stretch(s, n);
    else
        end_stretch(s, n);
    s->now = (struct straggling_stretch){0};
    if (!s->all.ms)
        return false;
    *ret = s->all;
    ret->now = now;
    ret->lost = s->all.lost / (double)s->all.ms;
    return true;
}

void straggling_fini(struct straggling *s)
{
    free(s->gpus);
    *s = (struct straggling){0};
}
