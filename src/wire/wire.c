/* wire.c: the stream, its frames, and the hello. Other frame contents: blob.c, batch.c. */
#include "wire/wire.h"

#include <errno.h>

#include "base/rand.h"
#include "wire/part.h"

static const char wire_magic[4] = {'M', 'U', 'S', 'T'};

int wire_start(struct buf *out)
{
    buf_add(out, wire_magic, sizeof(wire_magic));
    return buf_u8(out, WIRE_VERSION);
}

int wire_check_start(struct rd *r, struct err *err)
{
    const uint8_t *p = rd_bytes(r, sizeof(wire_magic) + 1);

    if (!p || memcmp(p, wire_magic, sizeof(wire_magic)) != 0)
        return err_set(err, -EBADMSG, "these bytes are not a muster stream");
    if (p[4] != WIRE_VERSION)
        return err_set(err, -EBADMSG, "the stream has version %u, this program reads version %d", p[4], WIRE_VERSION);
    return 0;
}

/* ---- frames ---- */

static bool frame_known(uint8_t type)
{
    return type >= FRAME_HELLO && type <= FRAME_BATCH;
}

/* Reads the fields that every frame of a type has at fixed positions. */
static int frame_fields(struct frame *f, struct err *err)
{
    struct rd r = rd_of(f->payload.p, f->payload.len);
    const uint8_t *node = rd_bytes(&r, NODE_ID_LEN);

    if (node)
        memcpy(f->node.b, node, NODE_ID_LEN);
    switch (f->type) {
    case FRAME_HELLO:
        f->key = (struct batch_key){.node = f->node, .run = rd_u64(&r)};
        break;
    case FRAME_FACTS:
    case FRAME_PROCS:
        f->id = rd_u64(&r);
        if (f->id == 0)
            r.bad = true;
        break;
    case FRAME_BATCH:
        f->key.node = f->node;
        f->key.run = rd_u64(&r);
        f->key.number = rd_u64(&r);
        f->facts = rd_u64(&r);
        f->procs = rd_u64(&r);
        break;
    }
    if (r.bad)
        return err_set(err, -EBADMSG, "a frame of type %u is too short for its fixed fields", f->type);
    return 0;
}

/* Reads one frame of any type from r. */
static int frame_take(struct rd *r, struct frame *ret, struct err *err)
{
    const uint8_t *start = r->p;
    uint8_t type = rd_u8(r);
    uint32_t len = rd_u32(r), crc = rd_u32(r);

    if (r->bad)
        return err_set(err, -EBADMSG, "the stream ends in the head of a frame");
    if (len > rd_left(r)) {
        size_t left = rd_left(r);
        r->bad = true;
        return err_set(err, -EBADMSG, "a frame of type %u wants %u bytes and %zu are left", type, len, left);
    }
    const uint8_t *p = rd_bytes(r, len);
    if (crc32c(crc32c(0, start, 1), p, len) != crc) {
        r->bad = true;
        return err_set(err, -EBADMSG, "a frame of type %u fails its checksum", type);
    }
    *ret = (struct frame){.type = type, .whole = str_n(start, len + FRAME_HEAD), .payload = str_n(p, len)};
    return 0;
}

int wire_next(struct rd *r, struct frame *ret, struct err *err)
{
    struct frame f = {0};
    int rc;

    if (r->bad)
        return err_set(err, -EBADMSG, "the stream was already found bad");
    do {
        if (rd_left(r) == 0)
            return 0;
        if ((rc = frame_take(r, &f, err)) < 0)
            return rc;
    } while (!frame_known(f.type)); /* W3 */
    if ((rc = frame_fields(&f, err)) < 0) {
        r->bad = true;
        return rc;
    }
    *ret = f;
    return 1;
}

int wire_one(struct str whole, struct frame *ret, struct err *err)
{
    struct rd r = rd_of(whole.p, whole.len);
    struct frame f = {0};
    int rc = frame_take(&r, &f, err);

    if (rc < 0)
        return rc;
    if (rd_left(&r))
        return err_set(err, -EBADMSG, "%zu bytes too many after a frame", rd_left(&r));
    if (!frame_known(f.type))
        return err_set(err, -EBADMSG, "a frame of type %u is not known here", f.type);
    if ((rc = frame_fields(&f, err)) < 0)
        return rc;
    *ret = f;
    return 0;
}

/* ---- hello ---- */

static bool time_ok(int64_t t)
{
    return t > 0 && t < WIRE_TIME_END;
}

int wire_put_hello(struct buf *out, const struct hello *h)
{
    if (!time_ok(h->sent_ms) || h->state_since_ms < 0 || h->state_since_ms >= WIRE_TIME_END ||
        h->collect >= COLLECT_STATES)
        return -EINVAL;
    size_t start = frame_begin(out, FRAME_HELLO);
    buf_add(out, h->node.b, NODE_ID_LEN);
    buf_u64(out, h->run);
    buf_varint(out, (uint64_t)h->sent_ms);
    buf_zigzag(out, h->state_since_ms);
    buf_u8(out, h->collect);
    buf_u8(out, h->stuck);
    buf_u32(out, h->backlog);
    int rc = put_name(out, h->name, sizeof(h->name));
    put_text(out, h->why, sizeof(h->why));
    return frame_end(out, start, rc);
}

int wire_hello(const struct frame *f, struct hello *ret, struct err *err)
{
    struct in in = {.r = rd_of(f->payload.p, f->payload.len)};
    struct hello h = {.node = f->node};

    if (f->type != FRAME_HELLO)
        return err_set(err, -EINVAL, "a frame of type %u is no hello", f->type);
    rd_bytes(&in.r, NODE_ID_LEN);
    h.run = rd_u64(&in.r);
    h.sent_ms = in_time(&in, "the time it was sent");
    h.state_since_ms = in_range(&in, 0, WIRE_TIME_END - 1, "the time of its state");
    h.collect = rd_u8(&in.r);
    h.stuck = rd_u8(&in.r);
    h.backlog = rd_u32(&in.r);
    in_name(&in, h.name, sizeof(h.name), "the node's name");
    in_text(&in, h.why, sizeof(h.why), "the reason");
    if (h.collect >= COLLECT_STATES)
        in_bad(&in, "the collector's state", "is not known here");
    int rc = in_end(&in, "hello", err);
    if (rc == 0)
        *ret = h;
    return rc;
}
