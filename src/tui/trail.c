/* trail.c: a hash table of short rows of bytes; it is rebuilt at each tick, so that what is gone costs nothing. */
#include "tui/trail.h"

#include <stdlib.h>

#include "base/mem.h"

#define UNKNOWN 255

struct trail {
    uint64_t hash; /* odd */
    char key[UUID_MAX];
    size_t n;
    uint8_t v[TRAIL_LEN];
};

struct trails {
    size_t size; /* a power of two, or 0 */
    struct trail **v;
};

struct trails *trails_new(void)
{
    return mem_zero(1, sizeof(struct trails));
}

static struct trail moved; /* in the place of one that is in the next table: matches no key */

static void table_free(struct trails *t)
{
    for (size_t i = 0; i < t->size; i++)
        if (t->v[i] != &moved)
            free(t->v[i]);
    free(t->v);
}

void trails_free(struct trails *t)
{
    if (!t)
        return;
    table_free(t);
    free(t);
}

static uint64_t hash_of(const char *key)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (; *key; key++)
        h = (h ^ (unsigned char)*key) * 0x100000001b3u;
    return h | 1;
}

static struct trail **place_of(const struct trails *t, const char *key, uint64_t hash)
{
    size_t i = (hash >> 8) & (t->size - 1);

    while (t->v[i] && (t->v[i]->hash != hash || strcmp(t->v[i]->key, key) != 0))
        i = (i + 1) & (t->size - 1);
    return &t->v[i];
}

static void add(struct trails *to, struct trails *from, const char *key, int64_t share)
{
    uint64_t hash = hash_of(key);
    struct trail **new = place_of(to, key, hash), **old = from->size ? place_of(from, key, hash) : NULL;

    if (*new) /* two of one name */
        return;
    if (old && *old) {
        *new = *old;
        *old = &moved;
    } else {
        *new = mem_zero(1, sizeof(**new));
        (*new)->hash = hash;
        mem_copy_str((*new)->key, sizeof((*new)->key), key);
    }
    struct trail *r = *new;
    if (r->n == TRAIL_LEN)
        memmove(r->v, r->v + 1, --r->n);
    r->v[r->n++] = share < 0 ? UNKNOWN : (uint8_t)MIN((share + 50) / 100, 100);
}

int64_t node_util(const struct node_now *n)
{
    int64_t sum = 0, known = 0;

    for (size_t i = 0; i < n->n_devices; i++)
        if (n->devices[i].state <= DEV_BUSY && sample_has(&n->devices[i].now, M_util)) {
            sum += n->devices[i].now.v[M_util];
            known++;
        }
    return known ? sum / known : -1;
}

void trails_tick(struct trails *t, const struct view *v)
{
    struct trails next = {.size = 64};
    size_t n = v->n;

    for (size_t i = 0; i < v->n; i++)
        n += v->nodes[i]->n_devices;
    while (next.size < 2 * n)
        next.size *= 2;
    next.v = mem_zero(next.size, sizeof(*next.v));
    for (size_t i = 0; i < v->n; i++) {
        const struct node_now *node = v->nodes[i];
        add(&next, t, node->key, node_util(node));
        for (size_t k = 0; k < node->n_devices; k++) {
            const struct device_now *d = &node->devices[k];
            bool seen = d->state <= DEV_BUSY && sample_has(&d->now, M_util);
            add(&next, t, d->fact.uuid, seen ? d->now.v[M_util] : -1);
        }
    }
    table_free(t);
    *t = next;
}

const uint8_t *trails_of(const struct trails *t, const char *key, size_t *ret_n)
{
    struct trail *r = t->size ? *place_of(t, key, hash_of(key)) : NULL;

    *ret_n = r ? r->n : 0;
    return r ? r->v : NULL;
}
