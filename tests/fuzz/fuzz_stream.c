/*
 * What an agent on another machine writes, in pieces of any size: whatever is sent on of it, a hub can take. Checksums
 * are put right first, or nothing but they would ever be tried.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "base/rand.h"
#include "uplink/forward.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEAD 9

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void put_right(uint8_t *p, size_t n)
{
    for (size_t at = 5; at + HEAD <= n;) {
        uint8_t *head = p + at, *rest = head + HEAD;
        size_t len = head[1] | (size_t)head[2] << 8 | (size_t)head[3] << 16 | (size_t)head[4] << 24;
        if (len > n - at - HEAD)
            return;
        uint32_t crc = crc32c(crc32c(0, head, 1), rest, len);
        for (int i = 0; i < 4; i++)
            head[5 + i] = (uint8_t)(crc >> 8 * i);
        at += HEAD + len;
    }
}

static void check(const struct buf *b, struct wire_dec *dec, const struct node_id *id)
{
    struct frame f;
    struct batch batch;
    struct node_fact facts = {0};
    struct proc_list procs = {0};
    must(wire_one(buf_str(b), &f, NULL) == 0);
    must(memcmp(&f.node, id, sizeof(*id)) == 0);
    must(f.type != FRAME_BATCH || wire_batch(dec, &f, &batch, NULL) == 0);
    must(f.type != FRAME_FACTS || wire_facts(&f, &facts, NULL) == 0);
    must(f.type != FRAME_PROCS || wire_procs(&f, &procs, NULL) == 0);
    node_fact_fini(&facts);
    proc_list_fini(&procs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct batch_key next = {.node = {.b = "ours"}, .run = 1, .number = 2};
    if (size < 1)
        return 0;
    size_t piece = 1 + (size_t)data[0] * 16, n = size - 1;
    uint8_t *bytes = mem_alloc(n + 1);
    struct wire_dec *dec = wire_dec_new(), *again = wire_dec_new();
    struct forward c;
    int got = 1;
    memcpy(bytes, data + 1, n);
    put_right(bytes, n);
    forward_init(&c, &next.node, "gpu01");
    forward_begin(&c);
    for (size_t at = 0; at < n && got >= 0; at += piece) {
        struct packet *p = NULL;
        struct err err = {0};
        forward_add(&c, str_n(bytes + at, MIN(piece, n - at)));
        while ((got = forward_next(&c, dec, &next, &p, &err)) > 0) {
            must(got == FORWARD_HELLO || got == FORWARD_PACKET);
            if (got == FORWARD_HELLO)
                continue;
            check(&p->frame, again, &next.node);
            if (p->facts)
                check(&p->facts->frame, again, &next.node);
            if (p->procs)
                check(&p->procs->frame, again, &next.node);
            packet_unref(p);
        }
        must(got == 0 || err.msg[0]);
    }
    forward_fini(&c);
    wire_dec_free(dec);
    wire_dec_free(again);
    free(bytes);
    return 0;
}
