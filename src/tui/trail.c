/* trail.c: short rows of bytes by name; each tick drops rows without a new value, so that old ones need no memory. */
#include "tui/trail.h"

#include "base/lookup.h"
#include "base/mem.h"

#define UNKNOWN 255

struct trail {
    char key[UUID_MAX];
    uint64_t tick; /* of its newest value */
    size_t n;
    uint8_t v[TRAIL_LEN];
};

struct trails {
    uint64_t tick;
    struct lookup all;
};

struct trails *trails_new(void)
{
    return mem_zero(1, sizeof(struct trails));
}

/* Keeps only rows of this tick. */
static void drop_older(struct trails *t)
{
    struct lookup kept = {0};
    size_t at = 0;

    for (struct trail *r; (r = lookup_each(&t->all, &at));)
        if (r->tick == t->tick)
            lookup_add(&kept, lookup_hash(r->key), r);
        else
            free(r);
    lookup_fini(&t->all);
    t->all = kept;
}

void trails_free(struct trails *t)
{
    if (!t)
        return;
    t->tick++;
    drop_older(t);
    free(t);
}

static struct trail *find_trail(const struct trails *t, const char *key)
{
    return lookup_named(&t->all, key, offsetof(struct trail, key));
}

static void add_value(struct trails *t, const char *key, int64_t share)
{
    struct trail *r = find_trail(t, key);

    if (!r) {
        r = mem_zero(1, sizeof(*r));
        mem_copy_str(r->key, sizeof(r->key), key);
        lookup_add(&t->all, lookup_hash(key), r);
    }
    if (r->tick == t->tick) /* two with the same name */
        return;
    r->tick = t->tick;
    if (r->n == TRAIL_LEN)
        memmove(r->v, r->v + 1, --r->n);
    r->v[r->n++] = share < 0 ? UNKNOWN : (uint8_t)MIN((share + 50) / 100, 100);
}

int64_t node_util(const struct node_now *n)
{
    int64_t sum = 0, known = 0;

    for (size_t i = 0; i < n->n_devices; i++)
        if (n->devices[i].state <= DEV_IN_SIGHT && sample_has(&n->devices[i].now, M_util)) {
            sum += n->devices[i].now.v[M_util];
            known++;
        }
    return known ? sum / known : -1;
}

void trails_tick(struct trails *t, const struct view *v)
{
    t->tick++;
    for (size_t i = 0; i < v->n; i++) {
        const struct node_now *node = v->nodes[i];
        add_value(t, node->key, node_util(node));
        for (size_t k = 0; k < node->n_devices; k++) {
            const struct device_now *d = &node->devices[k];
            bool seen = d->state <= DEV_IN_SIGHT && sample_has(&d->now, M_util);
            add_value(t, d->fact.uuid, seen ? d->now.v[M_util] : -1);
        }
    }
    drop_older(t);
}

/* The newest values of both that fit. */
static void put_before(struct trails *t, const char *key, const uint8_t *v, size_t n)
{
    struct trail *r = find_trail(t, key);
    size_t more = r ? MIN(n, TRAIL_LEN - r->n) : 0;

    if (!more)
        return;
    memmove(r->v + more, r->v, r->n);
    memcpy(r->v, v + n - more, more);
    r->n += more;
}

/* Copies a lane and fills its gaps. */
static void hold_values(const struct lane *l, size_t bins, uint8_t out[LANE_BINS])
{
    enum { HOLD = 65 };
    size_t known = 0; /* 1 + index of the last known value */

    for (size_t i = 0; i < bins; i++) {
        if (l->util[i] != LANE_UNKNOWN)
            known = i + 1;
        out[i] = known && i + 1 - known < HOLD ? l->util[known - 1] : UNKNOWN;
    }
}

void trails_seed(struct trails *t, const struct view *v, const struct lanes *past)
{
    for (size_t i = 0; i < v->n; i++) {
        const struct node_now *node = v->nodes[i];
        unsigned sum[LANE_BINS] = {0}, known[LANE_BINS] = {0};
        uint8_t one[LANE_BINS];
        for (size_t k = 0; k < node->n_devices; k++) {
            const struct lane *l = lanes_find(past, node->devices[k].fact.uuid);
            if (!l)
                continue;
            hold_values(l, past->bins, one);
            put_before(t, node->devices[k].fact.uuid, one, past->bins);
            for (size_t b = 0; b < past->bins; b++)
                if (one[b] != UNKNOWN) {
                    sum[b] += one[b];
                    known[b]++;
                }
        }
        for (size_t b = 0; b < past->bins; b++)
            one[b] = known[b] ? (uint8_t)(sum[b] / known[b]) : UNKNOWN;
        put_before(t, node->key, one, past->bins);
    }
}

const uint8_t *trails_of(const struct trails *t, const char *key, size_t *ret_n)
{
    struct trail *r = find_trail(t, key);

    *ret_n = r ? r->n : 0;
    return r ? r->v : NULL;
}
