/*
 * newest.c: one walk over the rows of the last logs without their bytes, which tells the newest few of each node; then
 * those rows alone are read. See newest.h.
 */
#include "store/newest.h"

#include <errno.h>

#include "base/mem.h"
#include "base/rand.h"
#include "store/past.h"

#define LOGS_MAX 4  /* a log is ten minutes, as a rule */
#define KEEP_MAX 32 /* of a node */

struct pick {
    int64_t log, row, at_ms;
};

struct newest_node {
    char key[NODE_KEY_MAX];
    size_t n;
    struct pick *v; /* by time */
};

struct newest {
    const char *dir;
    size_t keep; /* of each node */
    struct newest_node *nodes;
    size_t n, cap;
    uint32_t *slots; /* position + 1 in nodes, by hash of the key */
    size_t n_slots;
    /* of the log being walked over */
    int64_t log;
    uint32_t *of; /* node's number there, less one -> position */
    size_t n_of;
};

static size_t slot_of(const struct newest *x, const char *key)
{
    size_t at = fnv64(key, strlen(key)) & (x->n_slots - 1);

    while (x->slots[at] && strcmp(x->nodes[x->slots[at] - 1].key, key) != 0)
        at = (at + 1) & (x->n_slots - 1);
    return at;
}

static uint32_t intern_key(struct newest *x, const char *key)
{
    if (x->n * 2 >= x->n_slots) {
        free(x->slots);
        x->n_slots = x->n_slots ? x->n_slots * 4 : 256;
        x->slots = mem_zero(x->n_slots, sizeof(*x->slots));
        for (size_t i = 0; i < x->n; i++)
            x->slots[slot_of(x, x->nodes[i].key)] = (uint32_t)i + 1;
    }
    size_t at = slot_of(x, key);
    if (!x->slots[at]) {
        VEC_ROOM(x->nodes, x->n, x->cap);
        x->nodes[x->n] = (struct newest_node){0};
        mem_copy_str(x->nodes[x->n].key, NODE_KEY_MAX, key);
        x->slots[at] = (uint32_t)++x->n;
    }
    return x->slots[at] - 1;
}

static int see_row(void *arg, int64_t row, int64_t node, int64_t at_ms)
{
    struct newest *x = arg;

    if (node < 1 || node > (int64_t)x->n_of)
        return 0; /* damage is the reader's to tell */
    struct newest_node *n = &x->nodes[x->of[node - 1]];
    if (!n->v)
        n->v = mem_alloc(x->keep * sizeof(*n->v));
    if (n->n == x->keep) {
        if (at_ms < n->v[0].at_ms)
            return 0;
        memmove(&n->v[0], &n->v[1], --n->n * sizeof(*n->v));
    }
    size_t i = n->n++;
    for (; i && n->v[i - 1].at_ms > at_ms; i--)
        n->v[i] = n->v[i - 1];
    n->v[i] = (struct pick){x->log, row, at_ms};
    return 0;
}

/* count: only the nodes in it. */
static int walk_log(struct newest *x, const struct log_ref *ref, bool count, struct err *err)
{
    struct log_reader *l = NULL;
    AUTO_FREE struct log_key *keys = NULL;
    size_t n = 0;
    int r = log_reader_open(&l, x->dir, ref->n, ref->sealed, err);

    if (r == -ENOENT || r == -ENODATA) /* in chunks since a moment ago, or just made */
        return 0;
    if (r == 0)
        r = log_reader_nodes(l, &keys, &n, err);
    AUTO_FREE uint32_t *of = r == 0 ? mem_alloc(MAX(n, 1u) * sizeof(*of)) : NULL;
    for (size_t i = 0; i < n && r == 0; i++)
        of[i] = intern_key(x, keys[i].key);
    x->log = ref->n;
    x->of = of;
    x->n_of = n;
    if (r == 0 && !count)
        r = log_reader_times(l, see_row, x, err);
    log_reader_close(l);
    x->of = NULL;
    return r;
}

struct chosen {
    struct pick p;
    uint32_t node;
};

static int by_place(const void *pa, const void *pb)
{
    const struct chosen *a = pa, *b = pb;

    if (a->p.log != b->p.log)
        return a->p.log < b->p.log ? -1 : 1;
    return (a->p.row > b->p.row) - (a->p.row < b->p.row);
}

static size_t choose(const struct newest *x, int64_t back_ms, struct chosen **ret)
{
    size_t n = 0;

    for (size_t i = 0; i < x->n; i++)
        n += x->nodes[i].n;
    struct chosen *v = mem_alloc(MAX(n, 1u) * sizeof(*v));
    n = 0;
    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < x->nodes[i].n; k++)
            if (x->nodes[i].v[k].at_ms >= x->nodes[i].v[x->nodes[i].n - 1].at_ms - back_ms)
                v[n++] = (struct chosen){x->nodes[i].v[k], (uint32_t)i};
    if (n)
        qsort(v, n, sizeof(*v), by_place);
    *ret = v;
    return n;
}

int newest_each(const char *dir, const struct log_ref *logs, size_t n_logs, const struct alias *aliases,
                size_t n_aliases, int64_t back_ms, size_t max, int (*each)(void *arg, const struct store_batch *b),
                void *arg, struct err *err)
{
    struct newest x = {.dir = dir};
    struct log_reader *l = NULL;
    struct chosen *v = NULL;
    size_t first = n_logs > LOGS_MAX ? n_logs - LOGS_MAX : 0, n = 0, at = first;
    int r = 0, opened = 0;

    for (size_t i = first; i < n_logs && r == 0; i++)
        r = walk_log(&x, &logs[i], true, err);
    x.keep = MIN(MAX(max / MAX(x.n, 1u), 1u), KEEP_MAX);
    for (size_t i = first; i < n_logs && r == 0; i++)
        r = walk_log(&x, &logs[i], false, err);
    n = r == 0 ? choose(&x, back_ms, &v) : 0;
    for (size_t i = 0; i < n && r == 0; i++) {
        struct store_batch b;
        if (i == 0 || v[i].p.log != v[i - 1].p.log) {
            log_reader_close(l);
            l = NULL;
            while (at < n_logs && logs[at].n < v[i].p.log)
                at++;
            opened = log_reader_open(&l, dir, v[i].p.log, at < n_logs && logs[at].sealed, err);
        }
        if (opened < 0)
            continue;
        int got = log_reader_get(l, v[i].p.row, &b, err);
        b.node = alias_resolve(aliases, n_aliases, x.nodes[v[i].node].key, v[i].p.log, v[i].p.row);
        r = got < 0 ? got : got ? each(arg, &b) : 0;
    }
    log_reader_close(l);
    free(v);
    for (size_t i = 0; i < x.n; i++)
        free(x.nodes[i].v);
    free(x.nodes);
    free(x.slots);
    return r;
}
