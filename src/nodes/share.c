/* share.c: converts messages between hubs to bytes and back. */
#include "nodes/share.h"

#include <errno.h>

#include "model/fact.h"

#define VERSION     1
#define ADDRESS_MAX 64

static const char magic[] = {'M', 'U', 'S', 'H'};
_Static_assert(sizeof(magic) + 1 == SHARE_START, "magic and version");

int share_start(struct buf *out)
{
    buf_add(out, magic, sizeof(magic));
    return buf_u8(out, VERSION);
}

int share_put(struct buf *out, const struct hub_share *t)
{
    size_t before = out->len;

    buf_text(out, t->key);
    buf_text(out, t->address);
    buf_varint(out, t->n);
    for (size_t i = 0; i < t->n; i++) {
        buf_varint(out, t->v[i].facts);
        buf_varint(out, t->v[i].procs);
        buf_zigzag(out, t->v[i].shift_ms);
        buf_text(out, t->v[i].whole);
    }
    if (!out->err)
        return 0;
    out->err = 0;
    buf_cut(out, before);
    return -EMSGSIZE;
}

int share_check_start(struct rd *r, struct err *err)
{
    const uint8_t *start = rd_bytes(r, sizeof(magic));
    uint8_t version = rd_u8(r);

    if (r->bad || memcmp(start, magic, sizeof(magic)) != 0)
        return err_set(err, -EBADMSG, "this is no message of a hub");
    if (version != VERSION)
        return err_set(err, -EBADMSG, "a hub's message has version %u, and this one knows %u: update the older of both",
                       version, VERSION);
    return 0;
}

int share_next(struct rd *r, struct hub_share *ret, struct err *err)
{
    if (rd_left(r) == 0 && !r->bad)
        return 0;
    ret->key = rd_text(r, NODE_KEY_MAX - 1);
    ret->address = rd_text(r, ADDRESS_MAX - 1);
    uint64_t n = rd_varint(r);
    if (n > SHARE_FRAMES)
        r->bad = true;
    ret->n = r->bad ? 0 : (size_t)n;
    for (size_t i = 0; i < ret->n && !r->bad; i++) {
        ret->v[i].facts = rd_varint(r);
        ret->v[i].procs = rd_varint(r);
        ret->v[i].shift_ms = rd_zigzag(r);
        ret->v[i].whole = rd_text(r, SHARE_MAX);
    }
    return r->bad || !ret->key.len ? err_set(err, -EBADMSG, "a hub's message is cut or damaged") : 1;
}
