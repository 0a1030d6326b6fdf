/* lookup.c: a hash table with open addressing, at most half full. */
#include "base/lookup.h"

#include "base/mem.h"
#include "base/rand.h"

#define MIX 0x9e3779b97f4a7c15u

struct lookup_slot {
    uint64_t hash;
    void *thing; /* NULL: free */
};

uint64_t lookup_hash_str(struct str name)
{
    uint64_t h = 0xc2b2ae3d27d4eb4fu ^ name.len, w;
    size_t i = 0;

    for (; i + sizeof(w) <= name.len; i += sizeof(w)) {
        memcpy(&w, name.p + i, sizeof(w));
        h = fold64(h ^ w, MIX);
    }
    w = 0;
    if (i < name.len)
        memcpy(&w, name.p + i, name.len - i);
    return fold64(h ^ w, MIX);
}

static void put_slot(struct lookup *l, struct lookup_slot s)
{
    size_t i = s.hash & (l->cap - 1);

    while (l->v[i].thing)
        i = (i + 1) & (l->cap - 1);
    l->v[i] = s;
}

void lookup_add(struct lookup *l, uint64_t hash, void *thing)
{
    if (2 * (l->n + 1) > l->cap) {
        struct lookup old = *l;
        l->cap = MAX(64u, old.cap * 2);
        l->v = mem_zero(l->cap, sizeof(*l->v));
        for (size_t i = 0; i < old.cap; i++)
            if (old.v[i].thing)
                put_slot(l, old.v[i]);
        free(old.v);
    }
    put_slot(l, (struct lookup_slot){hash, thing});
    l->n++;
}

void lookup_drop(struct lookup *l, uint64_t hash, const void *thing)
{
    size_t i = hash & (l->cap - 1);

    while (l->cap && l->v[i].thing && (l->v[i].thing != thing || l->v[i].hash != hash))
        i = (i + 1) & (l->cap - 1);
    if (!l->cap || !l->v[i].thing)
        return;
    l->v[i].thing = NULL;
    l->n--;
    for (i = (i + 1) & (l->cap - 1); l->v[i].thing; i = (i + 1) & (l->cap - 1)) { /* entries after it may move up */
        struct lookup_slot s = l->v[i];
        l->v[i].thing = NULL;
        put_slot(l, s);
    }
}

void lookup_fini(struct lookup *l)
{
    free(l->v);
    *l = (struct lookup){0};
}

void *lookup_next(const struct lookup *l, uint64_t hash, size_t *at)
{
    for (size_t i = *at; l->cap && l->v[(hash + i) & (l->cap - 1)].thing; i++) {
        const struct lookup_slot *s = &l->v[(hash + i) & (l->cap - 1)];
        *at = i + 1;
        if (s->hash == hash)
            return s->thing;
    }
    return NULL;
}

void *lookup_next_named(const struct lookup *l, const char *name, size_t offset, size_t *at)
{
    uint64_t hash = lookup_hash(name);
    char *thing = lookup_next(l, hash, at);

    while (thing && strcmp(thing + offset, name) != 0)
        thing = lookup_next(l, hash, at);
    return thing;
}

void *lookup_each(const struct lookup *l, size_t *at)
{
    while (*at < l->cap) {
        const struct lookup_slot *s = &l->v[(*at)++];
        if (s->thing)
            return s->thing;
    }
    return NULL;
}
