/* test_wire: W1 to W4 of wire/wire.h. */
#include "wire/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/rand.h"
#include "test.h"

#define T0 1794700803555

static const struct node_id node = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};

/* ---- batches made up ---- */

/* A batch of random shape, everything in one arena. */
static struct batch made_batch(struct prng *g, struct arena *a)
{
    size_t n_ticks = prng_next(g) % (prng_next(g) % 8 == 0 ? 200 : 12), n_slots = prng_next(g) % 10;
    struct batch b = {.key = {node, prng_next(g), prng_next(g)}, .facts = prng_next(g), .procs = prng_next(g)};
    int64_t *at = arena_alloc(a, n_ticks, sizeof(*at)), t = T0;

    for (size_t i = 0; i < n_ticks; i++)
        at[i] = t += 1 + (int64_t)(prng_next(g) % 3 ? 999 : prng_next(g) % 5000);
    struct column *c = arena_alloc(a, 20 * 11, sizeof(*c));
    for (uint16_t metric = 1; n_ticks && metric < 20; metric++) {
        unsigned temper = (unsigned)(prng_next(g) % 6), width = (unsigned)(prng_next(g) % 64);
        uint64_t common[4] = {prng_next(g), prng_next(g), prng_next(g), prng_next(g)};
        for (uint16_t slot = 0; slot <= n_slots; slot++) {
            uint64_t *have = arena_alloc(a, 4, sizeof(*have));
            int64_t *v = arena_alloc(a, n_ticks, sizeof(*v));
            if (temper == 0 && prng_next(g) % 3 == 0)
                continue; /* not every slot has it */
            for (size_t i = 0; i < 4; i++)
                have[i] = temper == 1 ? common[i] : temper == 2 ? prng_next(g) : UINT64_MAX;
            c[b.n_columns] = (struct column){metric == 19 ? METRIC_CUSTOM : metric, slot, temper < 4 ? have : NULL, v};
            for (size_t i = 0; i < n_ticks; i++)
                v[i] = (int64_t)(prng_next(g) >> width) * (column_has(&c[b.n_columns], i) ? 1 : 0);
            b.n_columns++;
        }
    }
    b.n_uses = prng_next(g) % 12;
    struct proc_use *u = arena_alloc(a, b.n_uses, sizeof(*u));
    for (size_t i = 0; i < b.n_uses; i++)
        u[i] = (struct proc_use){(uint16_t)(prng_next(g) % PROCS_MAX), (uint16_t)(prng_next(g) % DEVICES_MAX + 1),
                                 (uint8_t)(prng_next(g) % 8), (int64_t)(prng_next(g) >> 24) - 1,
                                 (int32_t)(prng_next(g) % 10002) - 1};
    b.n_events = prng_next(g) % 4;
    struct node_event *e = arena_alloc(a, b.n_events, sizeof(*e));
    for (size_t i = 0; i < b.n_events; i++) {
        e[i] = (struct node_event){T0 + (int64_t)i, (uint16_t)(prng_next(g) % (EVENT_KINDS - 1) + 1),
                                   (uint16_t)(prng_next(g) % (DEVICES_MAX + 1)), (int64_t)prng_next(g), ""};
        snprintf(e[i].text, sizeof(e[i].text), "Xid 79 · GPU fell off the bus %zu", i);
    }
    b.n_ticks = n_ticks;
    b.at_ms = at;
    b.columns = c;
    b.uses = u;
    b.events = e;
    return b;
}

static void same_batch(const struct batch *a, const struct batch *b)
{
    assert_memory_equal(&a->key.node, &b->key.node, sizeof(node));
    assert_true(a->key.run == b->key.run && a->key.number == b->key.number);
    assert_true(a->facts == b->facts && a->procs == b->procs);
    assert_int_equal(a->n_ticks, b->n_ticks);
    assert_int_equal(a->n_columns, b->n_columns);
    assert_int_equal(a->n_uses, b->n_uses);
    assert_int_equal(a->n_events, b->n_events);
    if (a->n_ticks)
        assert_memory_equal(a->at_ms, b->at_ms, a->n_ticks * sizeof(*a->at_ms));
    for (size_t i = 0; i < a->n_columns; i++) {
        assert_int_equal(a->columns[i].metric, b->columns[i].metric);
        assert_int_equal(a->columns[i].slot, b->columns[i].slot);
        for (size_t t = 0; t < a->n_ticks; t++) {
            assert_int_equal(column_has(&a->columns[i], t), column_has(&b->columns[i], t));
            assert_true(a->columns[i].v[t] == b->columns[i].v[t]); /* absent ones are 0 in both */
        }
    }
    for (size_t i = 0; i < a->n_uses; i++) {
        const struct proc_use *x = &a->uses[i], *y = &b->uses[i];
        assert_true(x->proc == y->proc && x->slot == y->slot && x->kind == y->kind && x->mem == y->mem &&
                    x->sm == y->sm);
    }
    for (size_t i = 0; i < a->n_events; i++) {
        const struct node_event *x = &a->events[i], *y = &b->events[i];
        assert_true(x->at_ms == y->at_ms && x->kind == y->kind && x->slot == y->slot && x->code == y->code);
        assert_string_equal(x->text, y->text);
    }
}

/* A batch with nothing odd in it: 5 ticks, 8 devices. */
static struct batch plain_batch(struct arena *a)
{
    struct prng g = {77};
    struct batch b = {.key = {node, 42, 7}, .facts = 5, .procs = 6, .n_ticks = 5};
    int64_t *at = arena_alloc(a, 5, sizeof(*at));
    struct column *c = arena_alloc(a, 240, sizeof(*c));
    struct proc_use *u = arena_alloc(a, 2, sizeof(*u));
    struct node_event *e = arena_alloc(a, 1, sizeof(*e));
    uint64_t *have = arena_alloc(a, 1, sizeof(*have));

    have[0] = 0x15;
    for (int i = 0; i < 5; i++)
        at[i] = T0 + 1000 * i;
    for (uint16_t metric = 1; metric <= 30; metric++)
        for (uint16_t slot = 1; slot <= 8; slot++) {
            int64_t *v = arena_alloc(a, 5, sizeof(*v));
            for (int i = 0; i < 5; i++)
                v[i] = metric % 3 == 0 ? metric * 1000 : (int64_t)(prng_next(&g) % (50u << metric % 20));
            c[b.n_columns++] = (struct column){metric, slot, metric == 18 ? have : NULL, v};
            for (int i = 0; metric == 18 && i < 5; i++)
                v[i] = have[0] >> i & 1 ? v[i] : 0;
        }
    u[0] = (struct proc_use){0, 1, PROC_COMPUTE, 1 << 30, 5000};
    u[1] = (struct proc_use){1, 2, PROC_GRAPHICS, -1, -1};
    e[0] = (struct node_event){T0 + 1, EVENT_XID, 1, 79, "fell off the bus"};
    b.n_uses = 2;
    b.n_events = 1;
    b.at_ms = at;
    b.columns = c;
    b.uses = u;
    b.events = e;
    return b;
}

static int decode(struct wire_dec *d, struct str whole, struct batch *ret, struct err *err)
{
    struct frame f;
    int rc = wire_one(whole, &f, err);

    return rc < 0 ? rc : wire_batch(d, &f, ret, err);
}

static void w1_any_batch_comes_back(void **unused)
{
    struct prng g = {1};
    struct wire_enc *enc = wire_enc_new(1);
    struct wire_dec *dec = wire_dec_new();
    (void)unused;

    for (int round = 0; round < 1000; round++) {
        AUTO_ARENA a = {0};
        AUTO_BUF out = BUF_INIT(WIRE_BODY_MAX), again = BUF_INIT(WIRE_BODY_MAX);
        struct batch b = made_batch(&g, &a), got;
        struct err err = {0};
        assert_int_equal(wire_put_batch(enc, &out, &b), 0);
        assert_int_equal(decode(dec, buf_str(&out), &got, &err), 0);
        same_batch(&b, &got);
        assert_int_equal(wire_put_batch(enc, &again, &got), 0); /* and the bytes are the same each time */
        assert_int_equal(out.len, again.len);
        assert_memory_equal(out.p, again.p, out.len);
    }
    wire_enc_free(enc);
    wire_dec_free(dec);
}

static void w1_an_empty_batch_comes_back(void **unused)
{
    struct wire_enc *enc = wire_enc_new(3);
    struct wire_dec *dec = wire_dec_new();
    AUTO_BUF out = BUF_INIT(WIRE_BODY_MAX);
    struct batch b = {.key = {node, 1, 1}}, got;
    struct err err = {0};
    (void)unused;

    assert_int_equal(wire_put_batch(enc, &out, &b), 0);
    assert_int_equal(decode(dec, buf_str(&out), &got, &err), 0);
    same_batch(&b, &got);
    wire_enc_free(enc);
    wire_dec_free(dec);
}

/* ---- facts ---- */

static struct node_fact made_facts(struct prng *g)
{
    struct node_fact f = {.name = "dgx-1.example",
                          .os = "Debian GNU/Linux 12",
                          .kernel = "6.1.0",
                          .arch = "x86_64",
                          .cpu = "Xeon®",
                          .cpus = 224,
                          .driver = "580.95.05",
                          .cuda = "13.0",
                          .agent = "0.1.0",
                          .boot_id = "b",
                          .machine_id = "m",
                          .collector = "nvml,exec",
                          .tick_ms = 1000};
    f.n_devices = prng_next(g) % 20;
    f.n_custom = prng_next(g) % 5;
    f.devices = mem_zero(f.n_devices, sizeof(*f.devices));
    f.custom = mem_zero(f.n_custom, sizeof(*f.custom));
    for (size_t i = 0; i < f.n_devices; i++) {
        struct device_fact *d = &f.devices[i];
        snprintf(d->uuid, sizeof(d->uuid), "GPU-%016llx/%zu", (unsigned long long)prng_next(g), i);
        snprintf(d->parent, sizeof(d->parent), "%s", i % 3 ? "" : "GPU-1");
        snprintf(d->name, sizeof(d->name), "NVIDIA H200");
        snprintf(d->serial, sizeof(d->serial), "16532%zu", i);
        snprintf(d->pci, sizeof(d->pci), "0000:%02zx:00.0", i);
        d->index = (int32_t)i;
        d->minor = -1;
        d->mig = -1;
        d->vendor = VENDOR_NVIDIA;
        d->lost = prng_next(g) & 1;
        d->asleep = prng_next(g) & 1;
        snprintf(d->note, sizeof(d->note), "%s", i % 4 ? "" : "permission denied: µ");
    }
    for (size_t i = 0; i < f.n_custom; i++) {
        snprintf(f.custom[i].name, sizeof(f.custom[i].name), "loss_%zu", i);
        f.custom[i].unit = UNIT_RATIO;
        f.custom[i].kind = KIND_COUNTER;
        f.custom[i].per = 1000;
    }
    return f;
}

static void w1_facts_come_back_under_their_name(void **unused)
{
    struct prng g = {5};
    (void)unused;

    for (int round = 0; round < 50; round++) {
        struct node_fact f = made_facts(&g), got = {0};
        AUTO_BUF out = BUF_INIT(WIRE_BODY_MAX), again = BUF_INIT(WIRE_BODY_MAX);
        struct frame fr;
        struct err err = {0};
        uint64_t id = 0, id2 = 0;
        assert_int_equal(wire_put_facts(&out, &node, &f, &id), 0);
        assert_int_equal(wire_one(buf_str(&out), &fr, &err), 0);
        assert_int_equal(fr.type, FRAME_FACTS);
        assert_true(fr.id == id && id != 0);
        assert_int_equal(wire_facts(&fr, &got, &err), 0);
        assert_string_equal(got.cpu, "Xeon®");
        assert_int_equal(got.n_devices, f.n_devices);
        if (f.n_devices)
            assert_memory_equal(got.devices, f.devices, f.n_devices * sizeof(*f.devices));
        assert_int_equal(wire_put_facts(&again, &node, &got, &id2), 0); /* the whole of it: same name, same bytes */
        assert_true(id2 == id);
        assert_int_equal(again.len, out.len);
        assert_memory_equal(again.p, out.p, out.len);
        f.tick_ms++;
        assert_int_equal(wire_put_facts(&again, &node, &f, &id2), 0);
        assert_true(id2 != id);
        node_fact_fini(&f);
        node_fact_fini(&got);
    }
}

static struct proc_list made_procs(size_t n)
{
    struct proc_list l = {n, mem_zero(n, sizeof(*l.v))};

    for (size_t i = 0; i < n; i++) {
        struct proc_fact *p = &l.v[i];
        *p = (struct proc_fact){.pid = (int32_t)(4000 + i),
                                .ppid = 1,
                                .start_ms = T0 - 1,
                                .uid = -1,
                                .user = "ada",
                                .name = "python3",
                                .runtime = "podman",
                                .container = "c0ffee",
                                .pod = "pod",
                                .slurm_job = 99,
                                .root_pid = 4000};
        snprintf(p->cmd, sizeof(p->cmd), "python3 train.py --rank %zu --prompt \"naïve \\ ☃\"", i);
    }
    return l;
}

static void w1_processes_come_back(void **unused)
{
    static const size_t sizes[] = {0, 1, 8, PROCS_MAX};
    (void)unused;

    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct proc_list l = made_procs(sizes[i]), got = {0};
        AUTO_BUF out = BUF_INIT(WIRE_BODY_MAX);
        struct frame fr;
        struct err err = {0};
        uint64_t id = 0, again = 0;
        assert_int_equal(wire_put_procs(&out, &node, &l, &id), 0);
        assert_int_equal(wire_one(buf_str(&out), &fr, &err), 0);
        assert_int_equal(wire_procs(&fr, &got, &err), 0);
        assert_int_equal(got.n, l.n);
        if (l.n) {
            const struct proc_fact *p = &got.v[l.n - 1];
            assert_true(p->pid == (int32_t)(4000 + l.n - 1) && p->uid == -1 && p->slurm_job == 99);
            assert_string_equal(p->cmd, l.v[l.n - 1].cmd);
        }
        buf_reset(&out);
        assert_int_equal(wire_put_procs(&out, &node, &got, &again), 0); /* every field: the name is of all of it */
        assert_true(again == id);
        proc_list_fini(&l);
        proc_list_fini(&got);
    }
}

/* The bytes of a list up to where the launches stand, as a reader of before them reads it: zstd skips the rest. */
static void launches_stand_where_older_readers_pass_over_them(void **unused)
{
    static const size_t sizes[] = {1, 3, PROCS_MAX};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct proc_list l = made_procs(sizes[i]), got = {0};
        AUTO_BUF plain = BUF_INIT(WIRE_BODY_MAX), out = BUF_INIT(WIRE_BODY_MAX);
        struct frame fr;
        struct err err = {0};
        uint64_t id = 0, with = 0;
        for (size_t k = 0; k < l.n; k++)
            l.v[k].launch[0] = 0;
        assert_int_equal(wire_put_procs(&plain, &node, &l, &id), 0);
        mem_copy_str(l.v[l.n - 1].launch, LAUNCH_MAX, "dgx1:29500");
        assert_int_equal(wire_put_procs(&out, &node, &l, &with), 0);
        assert_true(id == with); /* the same list */
        assert_int_equal(wire_one(buf_str(&out), &fr, &err), 0);
        size_t head = NODE_ID_LEN + 8 + 1, raw = (uint8_t)fr.payload.p[head] | (uint8_t)fr.payload.p[head + 1] << 8 |
                                                 (uint8_t)fr.payload.p[head + 2] << 16;
        AUTO_FREE void *room = mem_alloc(raw);
        assert_int_equal(ZSTD_decompress(room, raw, fr.payload.p + head + 4, fr.payload.len - head - 4), raw);
        assert_int_equal(wire_procs(&fr, &got, &err), 0);
        assert_int_equal(got.n, l.n);
        assert_string_equal(got.v[l.n - 1].launch, "dgx1:29500");
        assert_true(l.n == 1 || !got.v[0].launch[0]);
        proc_list_fini(&l);
        proc_list_fini(&got);
    }
}

static void w4_text_that_is_not_clean_is_cleaned_where_it_is_written(void **unused)
{
    static const struct {
        const char *in, *want;
    } cases[] = {
        {"plain", "plain"},
        {"two\nlines", "two?lines"},
        {"tab\tin it", "tab?in it"},
        {"bad \xff byte", "bad ? byte"},
        {"cut \xe2\x98", "cut ??"},
        {"esc \x1b[31m", "esc ?[31m"},
        {"c1 \xc2\x9b"
         "31m",
         "c1 ??31m"},
        {"☃ ok", "☃ ok"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct proc_list l = made_procs(1), got = {0};
        AUTO_BUF out = BUF_INIT(WIRE_BODY_MAX);
        struct frame fr;
        struct err err = {0};
        uint64_t id = 0;
        print_message("%s\n", cases[i].want);
        mem_copy_str(l.v[0].cmd, sizeof(l.v[0].cmd), cases[i].in);
        assert_int_equal(wire_put_procs(&out, &node, &l, &id), 0);
        assert_int_equal(wire_one(buf_str(&out), &fr, &err), 0);
        assert_int_equal(wire_procs(&fr, &got, &err), 0);
        assert_string_equal(got.v[0].cmd, cases[i].want);
        proc_list_fini(&l);
        proc_list_fini(&got);
    }
}

/* ---- hello ---- */

static struct hello made_hello(void)
{
    return (struct hello){.node = node,
                          .run = 9,
                          .sent_ms = T0,
                          .state_since_ms = T0 - 5,
                          .collect = COLLECT_HUNG,
                          .stuck = 2,
                          .backlog = 17280,
                          .name = "dgx-1",
                          .why = "no answer for 12 s"};
}

static void w1_hello_comes_back(void **unused)
{
    AUTO_BUF out = BUF_INIT(4096);
    struct hello h = made_hello(), got = {0};
    struct frame f;
    struct err err = {0};
    (void)unused;

    assert_int_equal(wire_put_hello(&out, &h), 0);
    assert_int_equal(wire_one(buf_str(&out), &f, &err), 0);
    assert_true(f.key.run == 9);
    assert_int_equal(wire_hello(&f, &got, &err), 0);
    assert_memory_equal(&got.node, &node, sizeof(node));
    assert_true(got.run == h.run && got.sent_ms == h.sent_ms && got.state_since_ms == h.state_since_ms);
    assert_true(got.collect == h.collect && got.stuck == h.stuck && got.backlog == h.backlog);
    assert_string_equal(got.name, h.name);
    assert_string_equal(got.why, h.why);
}

static void names_that_cannot_be_shown_are_refused_or_cleaned(void **unused)
{
    AUTO_BUF out = BUF_INIT(4096);
    struct hello h = made_hello(), got;
    struct frame f;
    struct err err = {0};
    (void)unused;

    h.name[0] = 0;
    assert_int_equal(wire_put_hello(&out, &h), -EINVAL);
    assert_int_equal(out.len, 0);
    mem_copy_str(h.name, sizeof(h.name), "a/\"b\\");
    assert_int_equal(wire_put_hello(&out, &h), 0);
    assert_int_equal(wire_one(buf_str(&out), &f, &err), 0);
    assert_int_equal(wire_hello(&f, &got, &err), 0);
    assert_string_equal(got.name, "a--b-");
}

/* ---- streams ---- */

/* hello, facts, procs, batch */
static void made_stream(struct buf *out)
{
    AUTO_ARENA a = {0};
    struct prng g = {9};
    struct wire_enc *enc = wire_enc_new(1);
    struct hello h = made_hello();
    struct node_fact f = made_facts(&g);
    struct proc_list l = made_procs(2);
    struct batch b = plain_batch(&a);

    assert_int_equal(wire_start(out), 0);
    assert_int_equal(wire_put_hello(out, &h), 0);
    assert_int_equal(wire_put_facts(out, &node, &f, &b.facts), 0);
    assert_int_equal(wire_put_procs(out, &node, &l, &b.procs), 0);
    assert_int_equal(wire_put_batch(enc, out, &b), 0);
    node_fact_fini(&f);
    proc_list_fini(&l);
    wire_enc_free(enc);
}

/* Read a stream to its end: frames read, or -EBADMSG. */
static int read_stream(struct wire_dec *d, const void *p, size_t n)
{
    struct rd r = rd_of(p, n);
    struct frame f;
    struct err err = {0};
    int rc = wire_check_start(&r, &err), frames = 0;

    while (rc == 0 && (rc = wire_next(&r, &f, &err)) > 0) {
        struct hello h;
        struct node_fact nf = {0};
        struct proc_list l = {0};
        struct batch b;
        frames++;
        rc = f.type == FRAME_HELLO   ? wire_hello(&f, &h, &err)
             : f.type == FRAME_FACTS ? wire_facts(&f, &nf, &err)
             : f.type == FRAME_PROCS ? wire_procs(&f, &l, &err)
                                     : wire_batch(d, &f, &b, &err);
        node_fact_fini(&nf);
        proc_list_fini(&l);
    }
    if (rc < 0) {
        assert_int_equal(rc, -EBADMSG);
        assert_true(err.msg[0] != 0); /* W2: with a reason */
        return rc;
    }
    return frames;
}

static void a_stream_is_read_frame_by_frame(void **unused)
{
    AUTO_BUF out = BUF_INIT(WIRE_BODY_MAX);
    struct wire_dec *d = wire_dec_new();
    (void)unused;

    made_stream(&out);
    assert_int_equal(read_stream(d, out.p, out.len), 4);
    assert_int_equal(read_stream(d, "MUST\1", 5), 0);
    assert_int_equal(read_stream(d, "MUST\2", 5), -EBADMSG);
    assert_int_equal(read_stream(d, "GET /", 5), -EBADMSG);
    assert_int_equal(read_stream(d, "MUS", 3), -EBADMSG);
    wire_dec_free(d);
}

static void w2_cut_anywhere_no_stream_is_misread(void **unused)
{
    AUTO_BUF out = BUF_INIT(WIRE_BODY_MAX);
    struct wire_dec *d = wire_dec_new();
    struct rd r;
    struct frame f;
    struct err err = {0};
    bool whole[1 << 16] = {false};
    (void)unused;

    made_stream(&out);
    assert_true(out.len < ARRAY_LEN(whole));
    r = rd_of(out.p, out.len);
    assert_int_equal(wire_check_start(&r, &err), 0);
    do
        whole[(const char *)r.p - out.p] = true;
    while (wire_next(&r, &f, &err) > 0);
    for (size_t cut = 0; cut < out.len; cut++) {
        AUTO_FREE char *copy = mem_strn(out.p, cut);
        assert_true((read_stream(d, copy, cut) >= 0) == whole[cut]);
    }
    wire_dec_free(d);
}

static void w2_a_flipped_bit_anywhere_is_found(void **unused)
{
    AUTO_BUF out = BUF_INIT(WIRE_BODY_MAX);
    struct wire_dec *d = wire_dec_new();
    (void)unused;

    made_stream(&out);
    for (size_t bit = 0; bit < out.len * 8; bit++) {
        out.p[bit / 8] ^= (char)(1 << bit % 8);
        assert_int_equal(read_stream(d, out.p, out.len), -EBADMSG);
        out.p[bit / 8] ^= (char)(1 << bit % 8);
    }
    assert_int_equal(read_stream(d, out.p, out.len), 4);
    wire_dec_free(d);
}

static void put_frame(struct buf *out, uint8_t type, struct str payload)
{
    buf_u8(out, type);
    buf_u32(out, (uint32_t)payload.len);
    buf_u32(out, crc32c(crc32c(0, &type, 1), payload.p, payload.len));
    buf_addstr(out, payload);
}

static void w3_frames_of_unknown_type_are_skipped(void **unused)
{
    AUTO_BUF out = BUF_INIT(WIRE_BODY_MAX);
    struct wire_dec *d = wire_dec_new();
    struct hello h = made_hello();
    struct frame f;
    struct err err = {0};
    (void)unused;

    wire_start(&out);
    put_frame(&out, 99, STR("whatever a newer agent says"));
    put_frame(&out, 0, STR(""));
    wire_put_hello(&out, &h);
    put_frame(&out, 255, STR("and more"));
    assert_int_equal(read_stream(d, out.p, out.len), 1);
    buf_reset(&out);
    put_frame(&out, 99, STR("alone"));
    assert_int_equal(wire_one(buf_str(&out), &f, &err), -EBADMSG);
    wire_dec_free(d);
}

/* ---- bodies out of bounds: written by hand, behind a good checksum ---- */

static void put_fixed(struct buf *out)
{
    buf_add(out, node.b, sizeof(node.b));
    for (int i = 0; i < 4; i++)
        buf_u64(out, (uint64_t)i + 1);
}

/* Decode a batch whose body is these bytes, not packed. */
static int read_body(struct wire_dec *d, const struct buf *body, struct batch *ret, struct err *err)
{
    AUTO_BUF payload = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);

    put_fixed(&payload);
    buf_u8(&payload, 0);
    buf_u32(&payload, (uint32_t)body->len);
    buf_addstr(&payload, buf_str(body));
    put_frame(&out, FRAME_BATCH, buf_str(&payload));
    return decode(d, buf_str(&out), ret, err);
}

static void w2_bodies_out_of_bounds_are_refused_with_a_reason(void **unused)
{
    /* T: two ticks, 1000 ms apart. Numbers above 127 are varints by hand. */
#define T  "\2\x80\x94\xeb\xdc\x03\0\xd0\x0f"
#define NO "\0"
    static const struct {
        const char *why; /* NULL: taken */
        struct str body;
    } cases[] = {
        {NULL, STR(NO NO NO NO)},
        {NULL, STR(T NO NO NO)},
        {"bytes too many", STR(T NO NO NO "x")},
        {"ends too early", STR(T NO NO)},
        {"the ticks are too many", STR("\x81\x20\1\0\2" NO NO NO)},
        {"the first tick is not a time", STR("\1\0" NO NO NO)},
        {"the first tick is not a time", STR("\1\x80\x80\x80\x80\x80\x80\x80\2" NO NO NO)},
        {"the ticks do not ascend", STR("\2\5\0\0" NO NO NO)},
        {"the ticks do not ascend", STR("\2\5\0\1" NO NO NO)},
        {"the ticks do not decode", STR("\2\5\7\1" NO NO NO)},
        {NULL, STR(T "\1"
                     "\1\0\1\1"
                     "\0\6" NO NO)},
        {"are too many for the ticks", STR(NO "\1"
                                              "\1\0\1\1"
                                              "\0\6" NO NO)},
        {"a metric's number is out of range", STR(T "\1"
                                                    "\0\0\1\1"
                                                    "\0\6" NO NO)},
        {"a metric's number is out of range", STR(T "\2"
                                                    "\1\0\1\1"
                                                    "\0\6"
                                                    "\0\0\1\2"
                                                    "\0\6" NO NO)},
        {"a metric's number is out of range", STR(T "\1"
                                                    "\xe8\x09\0\1\1"
                                                    "\0\6" NO NO)},
        {NULL, STR(T "\1"
                     "\xe7\x09\0\1\1"
                     "\0\6" NO NO)},
        {"a metric's shape is not known", STR(T "\1"
                                                "\1\3\1\1"
                                                "\0\6" NO NO)},
        {"a metric's shape is not known", STR(T "\1"
                                                "\1\x08\1\1"
                                                "\0\6" NO NO)},
        {"do not add up", STR(T "\1"
                                "\1\0\2\1"
                                "\0\6" NO NO)},
        {"do not add up", STR(T "\1"
                                "\1\0\0\1"
                                "\0\6" NO NO)},
        {NULL, STR(T "\1"
                     "\1\0\1\x80\2"
                     "\0\6" NO NO)},
        {"a slot is out of range", STR(T "\1"
                                         "\1\0\1\x81\2"
                                         "\0\6" NO NO)},
        {"a slot is out of range", STR(T "\2"
                                         "\1\0\2\x80\2"
                                         "\0\6" NO NO)},
        {"a slot is out of range", STR(T "\2"
                                         "\1\4\2\1\0"
                                         "\0\6" NO NO)},
        {NULL, STR(T "\2"
                     "\1\4\2\1\3"
                     "\0\6" NO NO)},
        {NULL, STR(T "\1"
                     "\1\1\1\1"
                     "\2"
                     "\0\6" NO NO)},
        {"has bits behind the last tick", STR(T "\1"
                                                "\1\1\1\1"
                                                "\6"
                                                "\0\6" NO NO)},
        {"a metric's values do not decode", STR(T "\1"
                                                  "\1\0\1\1"
                                                  "\x09\6" NO NO)},
        {NULL, STR(T NO "\1"
                        "\0\0"
                        "\0\2"
                        "\0\x0e"
                        "\0\1"
                        "\0\1" NO)},
        {"a process in use is out of range", STR(T NO "\1"
                                                      "\0\0"
                                                      "\0\0"
                                                      "\0\2"
                                                      "\0\0"
                                                      "\0\0" NO)},
        {"a process in use is out of range", STR(T NO "\1"
                                                      "\0\0"
                                                      "\0\2"
                                                      "\0\x10"
                                                      "\0\0"
                                                      "\0\0" NO)},
        {"a process in use is out of range", STR(T NO "\1"
                                                      "\0\1"
                                                      "\0\2"
                                                      "\0\2"
                                                      "\0\0"
                                                      "\0\0" NO)},
        {"a process in use is out of range", STR(T NO "\1"
                                                      "\0\x80\x10"
                                                      "\0\2"
                                                      "\0\2"
                                                      "\0\0"
                                                      "\0\0" NO)},
        {"a process in use is out of range", STR(T NO "\1"
                                                      "\0\0"
                                                      "\0\2"
                                                      "\0\2"
                                                      "\0\3"
                                                      "\0\0" NO)},
        {"the processes in use are too many", STR(T NO "\x81\x80\1"
                                                       "\0\0"
                                                       "\0\2"
                                                       "\0\2"
                                                       "\0\0"
                                                       "\0\0" NO)},
        {NULL, STR(T NO NO "\1"
                           "\5\1\0\0\2ok")},
        {"an event's time is not a time", STR(T NO NO "\1"
                                                      "\0\1\0\0\2ok")},
        {"an event's kind is out of range", STR(T NO NO "\1"
                                                        "\5\0\0\0\2ok")},
        {"an event's text is not clean", STR(T NO NO "\1"
                                                     "\5\1\0\0\2o\n")},
        {"an event's text is not clean", STR(T NO NO "\1"
                                                     "\5\1\0\0\2o\xff")},
        {"the events are too many", STR(T NO NO "\x81\x20"
                                                "\5\1\0\0\2ok")},
        {"the events end too early", STR(T NO NO "\2"
                                                 "\5\1\0\0\2ok")},
    };
#undef T
#undef NO
    struct wire_dec *d = wire_dec_new();
    (void)unused;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF body = BUF_INIT(1 << 16);
        struct err err = {0};
        struct batch b = {.facts = 1234};
        buf_addstr(&body, cases[i].body);
        int rc = read_body(d, &body, &b, &err);
        print_message("%zu: %s: %s\n", i, cases[i].why ? cases[i].why : "taken", err.msg);
        assert_int_equal(rc, cases[i].why ? -EBADMSG : 0);
        if (cases[i].why) {
            assert_non_null(strstr(err.msg, cases[i].why));
            assert_int_equal(b.facts, 1234); /* untouched */
        }
    }
    wire_dec_free(d);
}

static void w2_a_few_bytes_cannot_ask_for_much_memory(void **unused)
{
    struct wire_dec *d = wire_dec_new();
    AUTO_BUF body = BUF_INIT(1 << 20);
    struct batch b;
    struct err err = {0};
    (void)unused;

    buf_varint(&body, TICKS_MAX);
    buf_varint(&body, 1);
    buf_add(&body, "\0\2", 2); /* TICKS_MAX - 1 steps of 1 ms */
    size_t head = body.len;
    buf_varint(&body, WIRE_CELLS_MAX / TICKS_MAX + 1);
    assert_int_equal(read_body(d, &body, &b, &err), -EBADMSG);
    assert_non_null(strstr(err.msg, "too many for the ticks"));
    buf_cut(&body, head);
    buf_varint(&body, WIRE_CELLS_MAX / TICKS_MAX); /* the most there may be */
    for (unsigned left = WIRE_CELLS_MAX / TICKS_MAX, metric = 0; left; metric++) {
        unsigned n = MIN(left, 257u);
        buf_add(&body, "\1\0", 2);
        buf_varint(&body, n);
        buf_add(&body, "\0\0\2", 3);
        left -= n;
    }
    buf_add(&body, "\0\0", 2);
    assert_int_equal(read_body(d, &body, &b, &err), 0);
    assert_int_equal(b.n_columns * b.n_ticks, WIRE_CELLS_MAX);
    wire_dec_free(d);
}

static void an_event_of_a_kind_from_the_future_is_left_out(void **unused)
{
    struct wire_dec *d = wire_dec_new();
    AUTO_BUF body = BUF_INIT(1 << 20);
    struct batch b;
    struct err err = {0};
    (void)unused;

    buf_add(&body,
            "\0\0\0\2"
            "\5\x7f\0\0\2no"
            "\6\1\0\0\2ok",
            18);
    assert_int_equal(read_body(d, &body, &b, &err), 0);
    assert_int_equal(b.n_events, 1);
    assert_string_equal(b.events[0].text, "ok");
    assert_int_equal(b.events[0].at_ms, 6);
    wire_dec_free(d);
}

static void w2_a_body_that_lies_about_its_packing_is_refused(void **unused)
{
    static const struct {
        const char *why;
        uint8_t how;
        uint32_t raw_len;
        struct str body;
    } cases[] = {
        {"packed in a way", 2, 4, STR("\0\0\0\0")},
        {"announces 5 bytes and has 4", 0, 5, STR("\0\0\0\0")},
        {"announces 3 bytes and has 4", 0, 3, STR("\0\0\0\0")},
        {"does not unpack", 1, 4, STR("\0\0\0\0")},
        {"more than", 0, 0xffffffff, STR("\0\0\0\0")},
        {"does not unpack", 1, 8 << 20, STR("")},
    };
    struct wire_dec *d = wire_dec_new();
    (void)unused;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF payload = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
        struct batch b;
        struct err err = {0};
        put_fixed(&payload);
        buf_u8(&payload, cases[i].how);
        buf_u32(&payload, cases[i].raw_len);
        buf_addstr(&payload, cases[i].body);
        put_frame(&out, FRAME_BATCH, buf_str(&payload));
        assert_int_equal(decode(d, buf_str(&out), &b, &err), -EBADMSG);
        assert_non_null(strstr(err.msg, cases[i].why));
    }
    wire_dec_free(d);
}

/* ---- caps where it is written ---- */

static void what_no_reader_takes_is_not_written(void **unused)
{
    struct wire_enc *enc = wire_enc_new(1);
    AUTO_BUF out = BUF_INIT(1 << 20);
    static const int64_t falls[2] = {5, 5}, fine[2] = {5, 6}, zero[1] = {0}, v[2];
    static const struct column twice[2] = {{1, 1, NULL, v}, {1, 1, NULL, v}},
                               back[2] = {{2, 1, NULL, v}, {1, 1, NULL, v}}, far[1] = {{1, DEVICES_MAX + 1, NULL, v}};
    static const struct proc_use on_node[1] = {{.proc = 0, .slot = 0}};
    static const struct node_event no_time[1] = {{.kind = 1}};
    const struct batch bad[] = {
        {.n_ticks = 2, .at_ms = falls},
        {.n_ticks = 1, .at_ms = zero},
        {.n_ticks = 2, .at_ms = fine, .n_columns = 2, .columns = twice},
        {.n_ticks = 2, .at_ms = fine, .n_columns = 2, .columns = back},
        {.n_ticks = 2, .at_ms = fine, .n_columns = 1, .columns = far},
        {.n_columns = 1, .columns = twice},
        {.n_uses = 1, .uses = on_node},
        {.n_events = 1, .events = no_time},
    };
    (void)unused;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        print_message("%zu\n", i);
        assert_int_equal(wire_put_batch(enc, &out, &bad[i]), -EINVAL);
    }
    assert_int_equal(wire_put_batch(enc, &out, &(struct batch){.n_ticks = TICKS_MAX + 1, .at_ms = fine}), -E2BIG);
    assert_int_equal(out.len, 0);
    wire_enc_free(enc);
}

static void a_frame_that_does_not_fit_leaves_nothing_behind(void **unused)
{
    AUTO_ARENA a = {0};
    struct wire_enc *enc = wire_enc_new(1);
    struct batch b = plain_batch(&a);
    AUTO_BUF out = BUF_INIT(100);
    (void)unused;

    buf_adds(&out, "before");
    assert_int_equal(wire_put_batch(enc, &out, &b), -EMSGSIZE);
    assert_int_equal(out.len, 6);
    wire_enc_free(enc);
}

static void devices_come_once_and_have_a_uuid(void **unused)
{
    struct prng g = {5};
    AUTO_BUF out = BUF_INIT(WIRE_BODY_MAX);
    struct node_fact f = {0};
    uint64_t id = 0;
    (void)unused;

    do {
        node_fact_fini(&f);
        f = made_facts(&g);
    } while (f.n_devices < 2);
    f.devices[1] = f.devices[0];
    assert_int_equal(wire_put_facts(&out, &node, &f, &id), -EINVAL);
    f.devices[1].uuid[0] = 0;
    assert_int_equal(wire_put_facts(&out, &node, &f, &id), -EINVAL);
    f.devices[1].uuid[0] = '"';
    assert_int_equal(wire_put_facts(&out, &node, &f, &id), -EINVAL);
    f.n_devices = DEVICES_MAX + 1;
    assert_int_equal(wire_put_facts(&out, &node, &f, &id), -E2BIG);
    f.n_devices = 0;
    assert_int_equal(wire_put_facts(&out, &node, &f, &id), 0);
    node_fact_fini(&f);
}

static void a_batch_is_repeated_under_another_key(void **unused)
{
    AUTO_BUF one = BUF_INIT(1u << 20), two = BUF_INIT(1u << 20), want = BUF_INIT(1u << 20);
    struct wire_enc *enc = wire_enc_new(3);
    static const int64_t at[] = {1794700803555, 1794700804555}, v[] = {7, 9};
    struct column c = {.metric = 1, .slot = 1, .v = v};
    struct batch b = {.n_ticks = 2, .at_ms = at, .n_columns = 1, .columns = &c, .facts = 3, .procs = 4};
    struct batch_key key = {.run = 5, .number = 6};
    (void)unused;
    b.key = (struct batch_key){.run = 1, .number = 2};
    memset(key.node.b, 9, sizeof(key.node.b));
    assert_int_equal(wire_put_batch(enc, &one, &b), 0);
    assert_int_equal(wire_put_copy(&two, buf_str(&one), &key, 7, 8), 0);
    b.key = key;
    b.facts = 7;
    b.procs = 8;
    assert_int_equal(wire_put_batch(enc, &want, &b), 0);
    assert_true(str_eq_str(buf_str(&two), buf_str(&want)));
    assert_int_equal(wire_put_copy(&two, str_n(one.p, 20), &key, 7, 8), -EINVAL);
    wire_enc_free(enc);
}

TESTS(cmocka_unit_test(a_batch_is_repeated_under_another_key), cmocka_unit_test(w1_any_batch_comes_back),
      cmocka_unit_test(w1_an_empty_batch_comes_back), cmocka_unit_test(w1_facts_come_back_under_their_name),
      cmocka_unit_test(w1_processes_come_back), cmocka_unit_test(launches_stand_where_older_readers_pass_over_them),
      cmocka_unit_test(w4_text_that_is_not_clean_is_cleaned_where_it_is_written), cmocka_unit_test(w1_hello_comes_back),
      cmocka_unit_test(names_that_cannot_be_shown_are_refused_or_cleaned),
      cmocka_unit_test(a_stream_is_read_frame_by_frame), cmocka_unit_test(w2_cut_anywhere_no_stream_is_misread),
      cmocka_unit_test(w2_a_flipped_bit_anywhere_is_found), cmocka_unit_test(w3_frames_of_unknown_type_are_skipped),
      cmocka_unit_test(w2_bodies_out_of_bounds_are_refused_with_a_reason),
      cmocka_unit_test(w2_a_few_bytes_cannot_ask_for_much_memory),
      cmocka_unit_test(an_event_of_a_kind_from_the_future_is_left_out),
      cmocka_unit_test(w2_a_body_that_lies_about_its_packing_is_refused),
      cmocka_unit_test(what_no_reader_takes_is_not_written),
      cmocka_unit_test(a_frame_that_does_not_fit_leaves_nothing_behind),
      cmocka_unit_test(devices_come_once_and_have_a_uuid))
