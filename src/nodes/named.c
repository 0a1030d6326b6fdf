/* named.c: finds the blobs a request's batches need that are not in memory, and reads them. */
#include "nodes/named.h"

#include "base/order.h"
#include "hub/record_fetch.h"
#include "nodes/feature.h"

struct named_blob {
    uint64_t id;
    struct buf bytes; /* empty: not stored */
};

struct named_blobs {
    struct record_fetch read; /* first */
    char key[NODE_KEY_MAX];
    struct named_blob *v;
    size_t n, cap;
};

void named_free(struct named_blobs *x)
{
    if (!x)
        return;
    for (size_t i = 0; i < x->n; i++)
        buf_fini(&x->v[i].bytes);
    FREE_ALL(x->v, x);
}

static void end_read(struct record_fetch *r)
{
    named_free((struct named_blobs *)r);
}

/* Reads the blobs. The agent must send again those beyond the limit of one request, like missing ones. */
static int read_blobs(struct record_fetch *r, struct store *s, UNUSED struct err *err)
{
    struct named_blobs *x = (struct named_blobs *)r;
    size_t room = WIRE_BODY_MAX;
    for (size_t i = 0; i < x->n; i++) {
        struct named_blob *b = &x->v[i];
        if (b->bytes.len || room == 0 || store_get_blob(s, x->key, b->id, NULL, NULL) != 1)
            continue;
        b->bytes = BUF_INIT(room);
        if (store_get_blob(s, x->key, b->id, &b->bytes, NULL) != 1)
            buf_fini(&b->bytes);
        room -= b->bytes.len;
    }
    return 0;
}

bool named_find(const struct named_blobs *x, int type, uint64_t id, struct frame *ret)
{
    struct err err = {0};
    const struct named_blob *b = x ? FIND(x->v, x->n, v, v->id == id && v->bytes.len) : NULL;
    return b && wire_one(buf_str(&b->bytes), ret, &err) == 0 && (int)ret->type == type;
}

static void want(const struct naming *a, struct named_blobs *x, uint64_t id)
{
    if (!id || x->n == BLOBS_MAX /* as in read_blobs */ || ANY(x->n, i, x->v[i].id == id) ||
        ANY(a->n_frames, i, a->frames[i].type != FRAME_BATCH && a->frames[i].id == id))
        return;
    struct named_blob b = {.id = id};
    store_get_blob(a->h->store, a->key, id, &b.bytes, NULL); /* it may be in the write queue */
    VEC_ADD(x->v, x->n, x->cap, b);
}

static uint64_t id_of(const struct frame *f, bool procs)
{
    return procs ? f->procs : f->facts;
}

static uint64_t known_facts(const struct naming *a, uint64_t id)
{
    return a->n ? dup_gpus_cached(a->h, a->peer, a->n, id, a->now_ms) : 0;
}

/* Whether the blob is in memory: no read needed. */
static bool at_hand(const struct naming *a, uint64_t id, bool procs)
{
    if (!a->n || store_get_blob(a->h->store, a->key, id, NULL, NULL) != 1)
        return false;
    if (procs)
        return live_knows(a->n, 0, id) || a->peer->told_procs == id;
    uint64_t own = known_facts(a, id);
    return own && live_knows(a->n, own, 0);
}

/* All blobs of a kind that batches refer to, unless all refer to one in memory. */
static void want_named(const struct naming *a, struct named_blobs *x, bool procs)
{
    const struct frame *first = FIND(a->frames, a->n_frames, f, f->type == FRAME_BATCH);
    if (!first)
        return;
    bool same =
        !ANY(a->n_frames, i, a->frames[i].type == FRAME_BATCH && id_of(&a->frames[i], procs) != id_of(first, procs));
    if (same && at_hand(a, id_of(first, procs), procs))
        return;
    for (size_t i = 0; i < a->n_frames; i++)
        if (a->frames[i].type == FRAME_BATCH)
            want(a, x, id_of(&a->frames[i], procs));
}

/* Stored facts, if they differ from the agent's: GPUs of two nodes have other uuids. */
static void want_own(const struct naming *a, struct named_blobs *x)
{
    bool batches = ANY(a->n_frames, i, a->frames[i].type == FRAME_BATCH);
    for (size_t i = 0; i < a->n_frames; i++) {
        const struct frame *f = &a->frames[i];
        uint64_t id = f->type == FRAME_BATCH ? f->facts : f->type == FRAME_FACTS ? f->id : 0, own = known_facts(a, id);
        if (own && own != id && !(batches && live_knows(a->n, own, 0)))
            want(a, x, own);
    }
}

int named_fetch(const struct naming *a, struct request *rq, struct named_blobs **ret)
{
    struct named_blobs *x = *ret = (struct named_blobs *)request_fetched(rq);
    if (x)
        return x->read.code;
    x = NEW(struct named_blobs, .read = {.read = read_blobs, .done = end_read, .blobs = true});
    mem_copy_str(x->key, sizeof(x->key), a->key);
    want_named(a, x, false);
    want_named(a, x, true);
    want_own(a, x);
    int r = ANY(x->n, i, !x->v[i].bytes.len) ? record_fetch_for(a->h, rq, &x->read, NULL) : 0;
    if (r == 0)
        *ret = x;
    else if (r != -EINPROGRESS)
        named_free(x);
    return r;
}
