/* cmd_import_sink.c: batches into a data folder or to a hub. One thread, in order; the store's own threads do the rest.
 */
#include "history/cmd_import_sink.h"

#include <errno.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rand.h"
#include "hub/decode.h"
#include "uplink/packets.h"

enum {
    FLUSH_BYTES = 16 << 20, /* pending writes to the disk */
    POST_BYTES = 4 << 20,   /* in one request */
    POST_COST = 24 << 20,   /* maximum unpacked size of a request, well below the hub's own limit */
    POST_BATCHES = 64,
    TRIES_MS = 120000, /* maximum time a hub may be unreachable or busy */
};

struct import_sink_node {
    char key[NODE_KEY_MAX], name[NAME_MAX_LEN], address[64];
    struct node_id id;
    uint64_t run;
    struct enclosure *facts, *procs;
    int64_t first_ms, last_ms;
    bool seen;
    /* a hub: */
    char token[128];
    struct packets queue;
    struct sent_blobs blobs; /* of the newest request */
    int64_t cost;            /* of those that wait */
};

struct import_sink {
    struct store *store;
    const struct client_conf *client;
    struct wire_enc *enc;
    struct import_sink_node **nodes;
    size_t n, cap;
    struct buf frame;
    uint64_t flying; /* bytes of pending writes to the disk */
    int failed;      /* an append failed */
    struct answer answer;
};

int import_sink_open(struct import_sink **ret, const char *data, const struct client_conf *client, struct err *err)
{
    /* the store encodes the data again: speed counts here */
    struct import_sink *l =
        NEW(struct import_sink, .enc = wire_enc_new(1), .frame = BUF_INIT(WIRE_BODY_MAX), .client = client);
    int r = 0;
    if (data) /* without a clock: old data is kept until a hub with its own rules opens the folder */
        r = store_open(&l->store, &(struct store_conf){.dir = data, .decoder = &hub_decoder}, NULL, err);
    if (r < 0) {
        import_sink_close(l);
        return r;
    }
    *ret = l;
    return 0;
}

void import_sink_close(struct import_sink *l)
{
    if (!l)
        return;
    store_close(l->store);
    for (size_t i = 0; i < l->n; i++) {
        enclosure_unref(l->nodes[i]->facts);
        enclosure_unref(l->nodes[i]->procs);
        packets_fini(&l->nodes[i]->queue);
        free(l->nodes[i]->blobs.v);
        free(l->nodes[i]);
    }
    free(l->nodes);
    buf_fini(&l->frame);
    wire_enc_free(l->enc);
    free(l);
}

bool import_sink_is_hub(const struct import_sink *l)
{
    return !l->store;
}

struct store *import_sink_store(struct import_sink *l)
{
    return l->store;
}

int import_sink_node(struct import_sink *l, const char *key, const char *name, struct import_sink_node **ret,
                     struct err *err)
{
    struct node_id id;

    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->nodes[i]->key, key) == 0) {
            *ret = l->nodes[i];
            return 0;
        }
    if (!node_id_parse(str_of(key), &id)) {
        if (!l->store)
            return err_set(err, -EINVAL, "node '%s' did not come from an agent: it can only go into a data folder",
                           key);
        uint64_t half[2] = {fnv64(key, strlen(key)), strlen(key)};
        memcpy(id.b, half, sizeof(id.b));
    }
    VEC_ROOM(l->nodes, l->n, l->cap);
    struct import_sink_node *n = l->nodes[l->n++] = mem_zero(1, sizeof(*n));
    mem_copy_str(n->key, sizeof(n->key), key);
    mem_copy_str(n->name, sizeof(n->name), name);
    n->id = id;
    *ret = n;
    return 0;
}

void import_sink_address(struct import_sink_node *n, const char *address)
{
    mem_copy_str(n->address, sizeof(n->address), address);
}

/* ---- a hub ---- */

static int hub_try(struct import_sink *l, struct import_sink_node *n, struct err *err)
{
    struct hello h = {.node = n->id, .run = n->run, .sent_ms = clock_wall_ms(), .collect = COLLECT_OK};
    AUTO_BUF body = BUF_INIT(WIRE_BODY_MAX);
    AUTO_BUF text = {0};
    int status = 0;

    h.state_since_ms = h.sent_ms;
    mem_copy_str(h.name, sizeof(h.name), n->name);
    wire_start(&body);
    wire_put_hello(&body, &h);
    n->blobs.n = 0;
    if (n->facts && packets_want(&n->queue, &n->blobs, n->facts->id))
        buf_addstr(&body, buf_str(&n->facts->frame));
    if (!n->queue.n && !n->blobs.n)
        return 0;
    packets_fill(&n->queue, &n->blobs, &body, POST_BATCHES, SIZE_MAX);
    if (body.err)
        return err_set(err, -E2BIG, "a request would be too large");
    int r = client_post(l->client, n->token[0] ? n->token : NULL, "/api/v1/batches", "application/x-muster",
                        buf_str(&body), &text, &status, err);
    if (r < 0)
        return status == 429 || status == 409 || status >= 500 || status == 0 ? -EAGAIN : r;
    r = answer_parse(buf_str(&text), &l->answer, err);
    if (r < 0)
        return r;
    if (l->answer.token[0])
        mem_copy_str(n->token, sizeof(n->token), l->answer.token);
    packets_learn(&n->queue, &n->blobs, &l->answer);
    packets_stored(&n->queue, &l->answer, NULL, NULL);
    return n->queue.n ? err_set(err, -EAGAIN, "the hub did not keep everything") : 0;
}

/* Sends until the hub has stored all queued batches. */
static int hub_post(struct import_sink *l, struct import_sink_node *n, struct err *err)
{
    int64_t start_ms = clock_mono_ms(), wait_ms = 100;
    int r;

    while ((r = hub_try(l, n, err)) == -EAGAIN && clock_mono_ms() - start_ms < TRIES_MS) {
        usleep((useconds_t)wait_ms * 1000);
        wait_ms = MIN(wait_ms * 2, 2000);
    }
    if (r == 0)
        n->cost = 0;
    return r;
}

/* ---- puts ---- */

/* A blob that is new: into the store, or with the next batch to the hub. */
static void take_blob(struct import_sink *l, const struct import_sink_node *n, enum blob_kind kind, uint64_t id,
                      struct buf *frame, struct enclosure **ret)
{
    if (l->store && store_get_blob(l->store, n->key, id, NULL, NULL) != 1)
        store_put_blob(l->store, n->key, kind, id, buf_str(frame));
    enclosure_unref(*ret);
    *ret = enclosure_new(id, frame);
}

int import_sink_facts(struct import_sink *l, struct import_sink_node *n, const struct node_fact *f, struct err *err)
{
    AUTO_BUF b = BUF_INIT(WIRE_BODY_MAX);
    uint64_t id;
    int r = wire_put_facts(&b, &n->id, f, &id);

    if (r < 0)
        return err_set(err, r, "the facts of node '%s' cannot be coded: %s", n->name, strerror(-r));
    if (n->facts && n->facts->id == id)
        return 0;
    if (!l->store && (r = hub_post(l, n, err)) < 0) /* queued batches refer to the old facts */
        return r;
    take_blob(l, n, BLOB_FACTS, id, &b, &n->facts);
    return 0;
}

int import_sink_procs(struct import_sink *l, struct import_sink_node *n, const struct proc_list *p, struct err *err)
{
    AUTO_BUF b = BUF_INIT(WIRE_BODY_MAX);
    uint64_t id;
    int r = wire_put_procs(&b, &n->id, p, &id);

    if (r < 0)
        return err_set(err, r, "the processes of node '%s' cannot be coded: %s", n->name, strerror(-r));
    if (!n->procs || n->procs->id != id)
        take_blob(l, n, BLOB_PROCS, id, &b, &n->procs);
    return 0;
}

static void on_stored(void *arg, int result)
{
    struct import_sink *l = arg;

    if (result < 0 && !l->failed)
        l->failed = result;
}

int import_sink_sync(struct import_sink *l, struct err *err)
{
    int r = l->store ? store_flush(l->store, err) : 0;

    l->flying = 0;
    if (r == 0 && l->failed)
        r = err_set(err, l->failed, "cannot store: %s", strerror(-l->failed));
    return r;
}

static int data_batch(struct import_sink *l, struct import_sink_node *n, const struct batch *b, struct err *err)
{
    struct store_batch sb = {.node = n->key,
                             .run = b->key.run,
                             .number = b->key.number,
                             .facts = b->facts,
                             .procs = b->procs,
                             .at_ms = b->n_ticks ? b->at_ms[0] : 0,
                             .bytes = buf_str(&l->frame)};

    if (b->n_ticks)
        import_sink_mark(l, n->key, b->at_ms[0], b->at_ms[b->n_ticks - 1]);
    store_append(l->store, &sb, 1, on_stored, l);
    l->flying += l->frame.len;
    return l->flying > FLUSH_BYTES ? import_sink_sync(l, err) : 0;
}

static int hub_batch(struct import_sink *l, struct import_sink_node *n, const struct batch *b, struct err *err)
{
    AUTO_BUF frame = BUF_INIT(WIRE_BODY_MAX);

    n->run = b->key.run;
    n->cost += (int64_t)(b->n_ticks * b->n_columns * sizeof(int64_t)) + (int64_t)l->frame.len;
    buf_addstr(&frame, buf_str(&l->frame));
    struct packet *p = packet_new(&b->key, b->n_ticks ? b->at_ms[0] : 0, n->facts, n->procs, &frame);
    packets_push(&n->queue, p);
    packet_unref(p);
    bool full = n->queue.n == POST_BATCHES || n->cost > POST_COST / 2 || n->queue.bytes > POST_BYTES;
    return full ? hub_post(l, n, err) : 0;
}

int import_sink_batch(struct import_sink *l, struct import_sink_node *n, struct batch *b, struct err *err)
{
    b->key.node = n->id;
    b->facts = n->facts ? n->facts->id : 0;
    b->procs = n->procs ? n->procs->id : 0;
    buf_reset(&l->frame);
    int r = wire_put_batch(l->enc, &l->frame, b);
    if (r < 0)
        return err_set(err, r, "a batch of node '%s' cannot be coded: %s", n->name, strerror(-r));
    if (b->n_ticks) {
        n->first_ms = n->seen ? MIN(n->first_ms, b->at_ms[0]) : b->at_ms[0];
        n->last_ms = n->seen ? MAX(n->last_ms, b->at_ms[b->n_ticks - 1]) : b->at_ms[b->n_ticks - 1];
        n->seen = true;
    }
    return l->store ? data_batch(l, n, b, err) : hub_batch(l, n, b, err);
}

/* The hub that opens this folder next counts these hours; those around them too, for idle spells reach across. */
void import_sink_mark(struct import_sink *l, const char *node, int64_t first_ms, int64_t last_ms)
{
    const int64_t hour_ms = 3600000;

    for (int64_t at = (first_ms / hour_ms - 1) * hour_ms; l->store && at <= last_ms + hour_ms; at += hour_ms)
        store_put(l->store, STORE_USAGE_MARK, &(struct usage_mark){node, at, MAX(1, clock_wall_ms())}, 1, NULL, NULL);
}

/* Existing values are kept: an admin's name, the address, newer facts. */
struct find_node {
    const char *key;
    struct store_node rec;
};

static void take_node(void *arg, const struct store_node *n)
{
    struct find_node *f = arg;

    if (strcmp(n->key, f->key) == 0)
        f->rec = *n;
}

static int put_node(struct import_sink *l, struct import_sink_node *n, struct err *err)
{
    struct find_node f = {.key = n->key};
    int r = store_each(l->store, EACH_NODE(take_node, &f), err);

    if (r < 0)
        return r;
    mem_copy_str(f.rec.key, sizeof(f.rec.key), n->key);
    if (f.rec.own_name[0] == 0 || n->last_ms >= f.rec.last_ms) {
        mem_copy_str(f.rec.own_name, sizeof(f.rec.own_name), n->name);
        f.rec.facts = n->facts ? n->facts->id : f.rec.facts;
        f.rec.procs = n->procs ? n->procs->id : 0;
    }
    if (!f.rec.address[0])
        mem_copy_str(f.rec.address, sizeof(f.rec.address), n->address);
    if (!n->seen)
        n->first_ms = f.rec.first_ms; /* nothing was measured */
    f.rec.first_ms = f.rec.first_ms ? MIN(f.rec.first_ms, n->first_ms) : n->first_ms;
    f.rec.last_ms = MAX(f.rec.last_ms, n->last_ms);
    f.rec.sampled_ms = MAX(f.rec.sampled_ms, n->last_ms);
    store_put(l->store, STORE_NODE, &f.rec, 1, NULL, NULL);
    return 0;
}

int import_sink_finish(struct import_sink *l, struct err *err)
{
    int r = l->store ? import_sink_sync(l, err) : 0;

    for (size_t i = 0; i < l->n && r == 0; i++)
        r = l->store ? put_node(l, l->nodes[i], err) : hub_post(l, l->nodes[i], err);
    if (l->store && r == 0)
        r = import_sink_sync(l, err);
    if (l->store && r == 0)
        r = store_settle(l->store, err);
    return r;
}
