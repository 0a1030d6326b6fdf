/* index.c: nodes by key. Nodes are never removed. */
#include "store/index.h"

#include "base/mem.h"
#include "base/order.h"

void index_fini(struct index *x)
{
    for (size_t i = 0; i < x->n; i++) {
        seen_fini(&x->v[i]->seen);
        free(x->v[i]->rows);
        free(x->v[i]);
    }
    free(x->v);
    lookup_fini(&x->by_key);
    *x = (struct index){0};
}

struct index_node *index_find(struct index *x, const char *key)
{
    if (!x->last || strcmp(x->last->key, key) != 0)
        x->last = lookup_named(&x->by_key, key, offsetof(struct index_node, key));
    return x->last;
}

struct index_node *index_get(struct index *x, const char *key)
{
    struct index_node *n = index_find(x, key);

    if (n || !*key || strlen(key) >= sizeof(n->key))
        return n;
    n = mem_zero(1, sizeof(*n));
    mem_copy_str(n->key, sizeof(n->key), key);
    VEC_ADD(x->v, x->n, x->cap, n);
    lookup_add(&x->by_key, lookup_hash(key), n);
    return n;
}

struct node_blob *index_blob(struct index_node *n, uint64_t id)
{
    return id ? FIND(n->blobs, NODE_BLOBS, b, b->id == id) : NULL;
}

struct node_blob *index_put_blob(struct index_node *n, uint64_t id)
{
    struct node_blob *b = index_blob(n, id);

    if (!b) {
        b = &n->blobs[n->next_blob++ % NODE_BLOBS];
        *b = (struct node_blob){.id = id};
    }
    return b;
}

void index_prune(struct index_node *n, int64_t oldest_log)
{
    seen_prune(&n->seen, oldest_log);
    for (size_t i = 0; i < NODE_BLOBS; i++)
        if (n->blobs[i].log < oldest_log)
            n->blobs[i].have = false; /* if it still exists, a read of the disk will find it */
}

void index_add_row(struct index_node *n, int64_t log, int64_t row)
{
    VEC_ADD(n->rows, n->n_rows, n->cap_rows, index_row(log, row));
}

void index_drop_rows(struct index_node *n, int64_t log)
{
    size_t kept = 0;

    for (size_t i = 0; i < n->n_rows; i++)
        if ((int64_t)(n->rows[i] >> 32) != log)
            n->rows[kept++] = n->rows[i];
    n->n_rows = kept;
    if (kept * 4 < n->cap_rows && n->cap_rows > 64) {
        n->cap_rows = MAX(kept * 2, 8);
        n->rows = mem_grow(n->rows, n->cap_rows, sizeof(*n->rows));
    }
}

/* ---- changes ---- */

#define CHANGE_MS 1000 /* resolution that callers need */

void changes_add(struct changes *c, int64_t from_ms)
{
    size_t half = ARRAY_LEN(c->v) / 2;

    from_ms = MAX(from_ms, -(1ll << 52));
    from_ms -= ((from_ms % CHANGE_MS) + CHANGE_MS) % CHANGE_MS;
    while (c->n && c->v[c->n - 1].from_ms >= from_ms)
        c->n--;
    if (c->n == ARRAY_LEN(c->v)) { /* in the older half, merge pairs into one that covers both */
        for (size_t i = 0; i < half / 2; i++)
            c->v[i] = (struct change){c->v[2 * i].from_ms, c->v[2 * i + 1].stamp};
        memmove(c->v + half / 2, c->v + half, (c->n - half) * sizeof(*c->v));
        c->n -= half / 2;
    }
    c->v[c->n++] = (struct change){from_ms, ++c->stamp};
}

uint64_t changes_before(const struct changes *c, int64_t to_ms)
{
    size_t i = c->n;

    while (i && c->v[i - 1].from_ms >= to_ms)
        i--;
    return i ? c->v[i - 1].stamp : 0;
}
