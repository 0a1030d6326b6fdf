/*
 * test_wire_golden: P7, streams written by every released version are still read, to the last value. The text beside a
 * stream was written by tests/kit/wire_reader.py, which shares no code with this; its lines are made here
 * again.
 */
#include <string.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "test.h"
#include "wire/wire.h"

static void put_le(uint8_t *p, uint64_t v, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

static uint64_t checksum(const struct batch *b, size_t *ret_n)
{
    uint64_t sum = 0;
    size_t n = 0;

    for (size_t i = 0; i < b->n_columns; i++)
        for (size_t t = 0; t < b->n_ticks; t++) {
            const struct column *c = &b->columns[i];
            uint8_t one[36];
            if (!column_has(c, t))
                continue;
            memcpy(one, b->key.node.b, NODE_ID_LEN);
            put_le(one + 16, (uint64_t)b->at_ms[t], 8);
            put_le(one + 24, c->slot, 2);
            put_le(one + 26, c->metric, 2);
            put_le(one + 28, (uint64_t)c->v[t], 8);
            sum += crc32(0, one, sizeof(one));
            n++;
        }
    *ret_n = n;
    return sum;
}

#define ULL(v) ((unsigned long long)(v))

static void batch_line(struct buf *out, const struct batch *b, size_t n, uint64_t sum)
{
    char node[33];

    buf_addf(out, "batch %s %016llx %llu facts=%016llx procs=%016llx ticks=%zu ", node_id_text(&b->key.node, node),
             ULL(b->key.run), ULL(b->key.number), ULL(b->facts), ULL(b->procs), b->n_ticks);
    if (b->n_ticks)
        buf_addf(out, "%lld..%lld", (long long)b->at_ms[0], (long long)b->at_ms[b->n_ticks - 1]);
    else
        buf_adds(out, "-");
    buf_addf(out, " columns=%zu uses=%zu events=%zu samples=%zu checksum=%016llx\n", b->n_columns, b->n_uses,
             b->n_events, n, ULL(sum));
}

static void p7_version_1_is_read_as_a_second_reader_reads_it(void **unused)
{
    struct wire_dec *d = wire_dec_new();
    AUTO_BUF stream = {0}, want = {0}, got = BUF_INIT(1 << 20);
    struct err err = {0};
    struct frame f;
    size_t batches = 0, samples = 0, n;
    uint64_t sum = 0;
    int rc;
    (void)unused;

    assert_int_equal(file_read("tests/golden/wire/v1.stream", 1 << 20, &stream, &err), 0);
    assert_int_equal(file_read("tests/golden/wire/v1.txt", 1 << 20, &want, &err), 0);
    struct rd r = rd_of(stream.p, stream.len);
    assert_int_equal(wire_check_start(&r, &err), 0);
    while ((rc = wire_next(&r, &f, &err)) > 0) {
        struct hello h;
        struct node_fact facts;
        struct proc_list procs;
        struct batch b;
        switch (f.type) {
        case FRAME_HELLO:
            assert_int_equal(wire_hello(&f, &h, &err), 0);
            assert_string_equal(h.name, "dgx-1");
            break;
        case FRAME_FACTS:
            assert_int_equal(wire_facts(&f, &facts, &err), 0);
            assert_string_equal(facts.cpu, "Xeon®");
            node_fact_fini(&facts);
            break;
        case FRAME_PROCS:
            assert_int_equal(wire_procs(&f, &procs, &err), 0);
            assert_int_equal(procs.n, 3);
            proc_list_fini(&procs);
            break;
        default:
            assert_int_equal(wire_batch(d, &f, &b, &err), 0);
            uint64_t one = checksum(&b, &n);
            batch_line(&got, &b, n, one);
            batches++;
            samples += n;
            sum += one;
        }
    }
    assert_int_equal(rc, 0);
    buf_addf(&got, "total batches=%zu repeated=0 samples=%zu checksum=%016llx\n", batches, samples, ULL(sum));
    assert_string_equal(got.p, want.p);
    wire_dec_free(d);
}

TESTS(cmocka_unit_test(p7_version_1_is_read_as_a_second_reader_reads_it))
