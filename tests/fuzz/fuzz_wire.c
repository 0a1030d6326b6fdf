/*
 * A stream of frames: every frame of it is decoded, and what was taken must be written and taken again. Checksums and
 * names of blobs that are not packed are put right first, or nothing but they would ever be tried.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/rand.h"
#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEAD      9
#define BLOB_HEAD (16 + 8 + 1 + 4)

static void put_le(uint8_t *p, uint64_t v, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

static void put_right(uint8_t *p, size_t n)
{
    for (size_t at = 5; at + HEAD <= n;) {
        uint8_t *head = p + at, *rest = head + HEAD;
        size_t len = head[1] | (size_t)head[2] << 8 | (size_t)head[3] << 16 | (size_t)head[4] << 24;
        if (len > n - at - HEAD)
            return;
        if ((head[0] == FRAME_FACTS || head[0] == FRAME_PROCS) && len >= BLOB_HEAD && rest[24] == 0) {
            uint64_t id = fnv64(rest + BLOB_HEAD, len - BLOB_HEAD);
            put_le(rest + 16, id ? id : 1, 8);
        }
        put_le(head + 5, crc32c(crc32c(0, head, 1), rest, len), 4);
        at += HEAD + len;
    }
}

static void must(bool ok)
{
    if (!ok)
        abort();
}

/* One frame, decoded; when that works, encoded and decoded again. */
static void frame_once(struct wire_enc *enc, struct wire_dec *dec, const struct frame *f)
{
    struct hello h;
    struct node_fact facts = {0};
    struct proc_list procs = {0};
    struct batch b;
    struct err err = {0};
    struct frame again;
    uint64_t id;
    AUTO_BUF out = BUF_INIT(2 * WIRE_BODY_MAX);
    int rc, put = 0;

    switch (f->type) {
    case FRAME_HELLO:
        if ((rc = wire_hello(f, &h, &err)) == 0)
            put = wire_put_hello(&out, &h);
        break;
    case FRAME_FACTS:
        if ((rc = wire_facts(f, &facts, &err)) == 0)
            put = wire_put_facts(&out, &f->node, &facts, &id);
        break;
    case FRAME_PROCS:
        if ((rc = wire_procs(f, &procs, &err)) == 0)
            put = wire_put_procs(&out, &f->node, &procs, &id);
        break;
    default:
        if ((rc = wire_batch(dec, f, &b, &err)) == 0)
            put = wire_put_batch(enc, &out, &b);
    }
    must(rc == 0 || (rc == -EBADMSG && err.msg[0]));
    must(put == 0);
    if (rc == 0) {
        must(wire_one(buf_str(&out), &again, &err) == 0 && again.type == f->type);
        must(f->type != FRAME_BATCH || wire_batch(dec, &again, &b, &err) == 0);
    }
    node_fact_fini(&facts);
    proc_list_fini(&procs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE uint8_t *copy = mem_alloc(size);
    struct frame f;
    struct err err = {0};

    if (size)
        memcpy(copy, data, size);
    put_right(copy, size);
    struct rd r = rd_of(copy, size);
    if (wire_check_start(&r, &err) < 0)
        return 0;
    struct wire_enc *enc = wire_enc_new(1);
    struct wire_dec *dec = wire_dec_new();
    while (wire_next(&r, &f, &err) > 0)
        frame_once(enc, dec, &f);
    wire_enc_free(enc);
    wire_dec_free(dec);
    return 0;
}
