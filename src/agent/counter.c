/*
 * counter.c: a table of the last value and the base of each device's counter. At most COUNTERS_MAX devices; past that
 * the one longest unseen is forgotten.
 */
#include "agent/counter.h"

#include "base/mem.h"
#include "model/fact.h"

#define COUNTERS_MAX ((size_t)2 * DEVICES_MAX)

struct counter {
    char uuid[UUID_MAX];
    int64_t base, last;
    uint64_t seen; /* turn of the last call for it */
    unsigned process;
};

struct counters {
    unsigned process;
    uint64_t turn;
    size_t n, cap;
    struct counter *v;
};

struct counters *counters_new(void)
{
    return mem_zero(1, sizeof(struct counters));
}

void counters_free(struct counters *c)
{
    if (!c)
        return;
    free(c->v);
    free(c);
}

void counters_restart(struct counters *c)
{
    c->process++;
}

static struct counter *counters_find(struct counters *c, const char *uuid)
{
    struct counter *oldest = NULL;

    for (size_t i = 0; i < c->n; i++) {
        if (strcmp(c->v[i].uuid, uuid) == 0)
            return &c->v[i];
        if (!oldest || c->v[i].seen < oldest->seen)
            oldest = &c->v[i];
    }
    if (c->n < COUNTERS_MAX) {
        VEC_ROOM(c->v, c->n, c->cap);
        oldest = &c->v[c->n++];
    }
    *oldest = (struct counter){.process = c->process};
    mem_copy_str(oldest->uuid, sizeof(oldest->uuid), uuid);
    return oldest;
}

int64_t counters_take(struct counters *c, const char *uuid, int64_t v)
{
    struct counter *k = counters_find(c, uuid);

    if (k->process != c->process || v < k->last) {
        k->base += k->last;
        k->process = c->process;
    }
    k->last = v;
    k->seen = ++c->turn;
    return k->base + v;
}
