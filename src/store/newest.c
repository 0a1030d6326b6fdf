/*
 * newest.c: reads each node's newest batches. One scan of the rows of the last logs, without their bytes, finds the
 * newest few of each node; then only those rows are read.
 */
#include "store/newest.h"

#include <errno.h>

#include "base/lookup.h"
#include "base/mem.h"
#include "base/order.h"
#include "store/log_rows.h"
#include "store/past.h"

#define LOGS_MAX 4  /* a log usually covers ten minutes */
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
    size_t keep; /* batches per node */
    struct newest_node *nodes;
    size_t n, cap;
    struct lookup by_key; /* indices into nodes */
    /* of the current log */
    int64_t log;
    uint32_t *of; /* node's number there - 1 -> index */
    size_t n_of;
    /* read errors */
    struct err *err;
    int worst;
    int64_t told; /* the last log named in err */
};

/* A damaged log or row does not affect others; each log is named once in err. */
static void note_damage(struct newest *x, int64_t log, const struct err *why)
{
    if (x->worst && x->told == log)
        return;
    if (x->worst && x->err) {
        AUTO_FREE char *before = mem_str(x->err->msg);
        err_set(x->err, why->code, "%s; %s", before, why->msg);
    } else {
        err_set(x->err, why->code, "%s", why->msg);
    }
    x->worst = why->code;
    x->told = log;
}

static uint32_t intern_key(struct newest *x, const char *key)
{
    uint64_t hash = lookup_hash(key);
    size_t at = 0, i = lookup_next_place(&x->by_key, hash, &at);

    while (i != SIZE_MAX && !str_eq(str_of(key), x->nodes[i].key))
        i = lookup_next_place(&x->by_key, hash, &at);
    if (i == SIZE_MAX) {
        i = x->n;
        VEC_ADD(x->nodes, x->n, x->cap, (struct newest_node){0});
        mem_copy_str(x->nodes[i].key, NODE_KEY_MAX, key);
        lookup_add_place(&x->by_key, hash, i);
    }
    return (uint32_t)i;
}

static void see_row(void *arg, int64_t row, int64_t node, int64_t at_ms)
{
    struct newest *x = arg;

    if (node < 1 || node > (int64_t)x->n_of)
        return; /* the reader reports damage */
    struct newest_node *n = &x->nodes[x->of[node - 1]];
    if (!n->v)
        n->v = mem_alloc(x->keep * sizeof(*n->v));
    if (n->n == x->keep) {
        if (at_ms < n->v[0].at_ms)
            return;
        memmove(&n->v[0], &n->v[1], --n->n * sizeof(*n->v));
    }
    size_t i = n->n++;
    for (; i && n->v[i - 1].at_ms > at_ms; i--)
        n->v[i] = n->v[i - 1];
    n->v[i] = (struct pick){x->log, row, at_ms};
}

/* count: only count the nodes in it. Rows read before damage are used. */
static void walk_log(struct newest *x, const struct log_ref *ref, bool count)
{
    struct err why = {0};
    struct log_reader *l = NULL;
    AUTO_FREE struct log_key *keys = NULL;
    size_t n = 0;
    int r = log_reader_open(&l, x->dir, ref->n, ref->sealed, &why);

    if (r == -ENOENT || r == -ENODATA) /* compacted just now, or just created */
        return;
    if (r == 0)
        r = log_reader_nodes(l, &keys, &n, &why);
    AUTO_FREE uint32_t *of = r == 0 ? mem_alloc(MAX(n, 1u) * sizeof(*of)) : NULL;
    for (size_t i = 0; i < n && r == 0; i++)
        of[i] = intern_key(x, keys[i].key);
    x->log = ref->n;
    x->of = of;
    x->n_of = n;
    if (r == 0 && !count)
        r = log_reader_rows(l, INT64_MAX, see_row, x, &why);
    log_reader_close(l);
    x->of = NULL;
    if (r < 0 && !count)
        note_damage(x, ref->n, &why);
}

struct chosen {
    struct pick p;
    uint32_t node;
};

COMPARE(by_place, struct chosen, ORDER(x->p.log, y->p.log) ?: ORDER(x->p.row, y->p.row))

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
    SORT(v, n, by_place);
    *ret = v;
    return n;
}

/* Reads the chosen rows of one log. Returns the result of each if that was not 0. */
static int read_log(struct newest *x, bool sealed, const struct chosen *v, size_t n, const struct newest_to *to)
{
    struct log_reader *l = NULL;
    struct err why = {0};
    int r = log_reader_open(&l, x->dir, v[0].p.log, sealed, &why), stop = 0;

    if (r == -ENOENT || r == -ENODATA)
        return 0;
    if (r < 0)
        note_damage(x, v[0].p.log, &why);
    for (size_t i = 0; i < n && !stop && (r >= 0 || r == -EUCLEAN) && l; i++) {
        struct store_batch b;
        r = log_reader_get(l, 0, v[i].p.row, &b, &why);
        if (r < 0)
            note_damage(x, v[i].p.log, &why);
        if (r < 1)
            continue;
        b.node = alias_resolve(to->aliases, to->n_aliases, x->nodes[v[i].node].key, v[i].p.log, v[i].p.row);
        stop = to->each(to->arg, &b);
    }
    log_reader_close(l);
    return stop;
}

static int give_row(void *arg, const struct store_batch *b, int64_t log, int64_t row)
{
    const struct newest_to *to = arg;
    struct store_batch now = *b;

    now.node = alias_resolve(to->aliases, to->n_aliases, b->node, log, row);
    return to->each(to->arg, &now);
}

int newest_of_rows(struct batch_rows *x, const struct newest_query *ask, const struct newest_to *to, struct err *err)
{
    return rows_newest(x, ask->back_ms, ask->max, give_row, (void *)to, err);
}

int newest_each(const char *dir, const struct log_ref *logs, size_t n_logs, const struct alias *aliases,
                size_t n_aliases, int64_t back_ms, size_t max, int (*each)(void *arg, const struct store_batch *b),
                void *arg, struct err *err)
{
    struct newest x = {.dir = dir, .err = err};
    struct newest_to to = {aliases, n_aliases, each, arg};
    struct chosen *v = NULL;
    size_t first = n_logs > LOGS_MAX ? n_logs - LOGS_MAX : 0, at = first;
    int stop = 0;

    for (size_t i = first; i < n_logs; i++)
        walk_log(&x, &logs[i], true);
    x.keep = MIN(MAX(max / MAX(x.n, 1u), 1u), KEEP_MAX);
    for (size_t i = first; i < n_logs; i++)
        walk_log(&x, &logs[i], false);
    for (size_t i = 0, end, n = choose(&x, back_ms, &v); i < n && !stop; i = end) {
        for (end = i + 1; end < n && v[end].p.log == v[i].p.log;)
            end++;
        while (at < n_logs && logs[at].n < v[i].p.log)
            at++;
        stop = read_log(&x, at < n_logs && logs[at].sealed, &v[i], end - i, &to);
    }
    free(v);
    for (size_t i = 0; i < x.n; i++)
        free(x.nodes[i].v);
    free(x.nodes);
    lookup_fini(&x.by_key);
    return stop ? stop : x.worst;
}
