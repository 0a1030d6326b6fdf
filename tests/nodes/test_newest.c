/* What is shown of a batch, as hubs tell it each other: a screen must not see the difference. */
#include "test.h"

#include <errno.h>

#include "model/batch.h"
#include "nodes/newest.h"

#define GPUS  3
#define TICKS 5
#define T0    1700000000000ll

static const enum metric kinds[] = {M_util, M_mem_used, M_power, M_sm_active};
enum { COLUMNS = GPUS * 4 };

struct made {
    int64_t at_ms[TICKS], v[COLUMNS][TICKS];
    uint64_t have[COLUMNS];
    struct column columns[COLUMNS];
    struct proc_use uses[2];
    struct batch b;
};

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void make(struct made *m, uint32_t *seed, int64_t from_ms)
{
    size_t k = 0;

    for (size_t i = 0; i < TICKS; i++)
        m->at_ms[i] = from_ms + (int64_t)i * 1000;
    for (size_t kind = 0; kind < ARRAY_LEN(kinds); kind++)
        for (size_t slot = 1; slot <= GPUS; slot++, k++) {
            m->have[k] = next(seed) % 3 ? (1u << TICKS) - 1 : next(seed) % (1u << TICKS);
            for (size_t i = 0; i < TICKS; i++)
                m->v[k][i] = next(seed) % 4 ? 0 : (int64_t)(next(seed) % 9000);
            m->columns[k] =
                (struct column){metrics[kinds[kind]].no, (uint16_t)slot, next(seed) % 2 ? &m->have[k] : NULL, m->v[k]};
        }
    m->uses[0] = (struct proc_use){0, 1, 1, 1 << 30, -1};
    m->uses[1] = (struct proc_use){1, 2, 1, -1, 4200};
    m->b = (struct batch){.key = {.run = 7, .number = 1},
                          .facts = 1,
                          .procs = 2,
                          .n_ticks = TICKS,
                          .n_columns = COLUMNS,
                          .n_uses = next(seed) % 3,
                          .at_ms = m->at_ms,
                          .columns = m->columns,
                          .uses = m->uses};
}

static struct node_now *new_node(struct live *l)
{
    struct device_fact d[GPUS] = {{.mig = -1}, {.mig = -1}, {.mig = -1}};
    struct node_fact f = {.tick_ms = 1000, .n_devices = GPUS, .devices = d};
    struct proc_fact p[2] = {{.pid = 1, .user = "kim"}, {.pid = 2, .user = "lee"}};
    struct node_now *n = live_node(l, "aa", "n1", T0);

    for (size_t i = 0; i < GPUS; i++)
        snprintf(d[i].uuid, sizeof(d[i].uuid), "GPU-%zu", i);
    live_facts(l, n, 1, &f, T0);
    live_procs(l, n, 2, &(struct proc_list){.n = 2, .v = p}, T0);
    return n;
}

static void assert_same(const struct node_now *a, const struct node_now *b)
{
    assert_int_equal(a->sample_at_ms, b->sample_at_ms);
    for (size_t i = 0; i < GPUS; i++) {
        const struct device_now *x = &a->devices[i], *y = &b->devices[i];
        assert_int_equal(x->state, y->state);
        assert_int_equal(x->since_ms, y->since_ms);
        assert_int_equal(x->idle_since_ms, y->idle_since_ms);
        assert_int_equal(x->at_ms, y->at_ms);
        assert_int_equal(x->n_procs, y->n_procs);
        for (size_t k = 0; k < x->n_procs; k++)
            assert_true(x->procs[k].mem == y->procs[k].mem && x->procs[k].sm == y->procs[k].sm);
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
            assert_int_equal(sample_has(&x->now, kinds[k]), sample_has(&y->now, kinds[k]));
            assert_int_equal(x->v_at_ms[kinds[k]], y->v_at_ms[kinds[k]]);
            if (sample_has(&x->now, kinds[k]))
                assert_int_equal(x->now.v[kinds[k]], y->now.v[kinds[k]]);
        }
    }
}

static void a_screen_shows_the_same(void **unused)
{
    struct live *whole = live_new(&state_rule_default, NULL, NULL), *told = live_new(&state_rule_default, NULL, NULL);
    struct node_now *a = new_node(whole), *b = new_node(told);
    uint32_t seed = 1;
    struct made m;

    (void)unused;
    for (int i = 0; i < 400; i++) {
        int64_t at_ms = T0 + i * 5000;
        AUTO_BUF out = BUF_INIT(65536);
        AUTO_FREE void *mem = NULL;
        struct err err = {0};
        struct batch got;
        make(&m, &seed, at_ms);
        assert_int_equal(newest_put(&out, &m.b, &state_rule_default), 0);
        assert_true(newest_is(buf_str(&out)));
        assert_int_equal(newest_get(buf_str(&out), &got, &mem, &err), 0);
        assert_true(got.key.run == 7 && got.key.number == 1);
        got.facts = 1;
        got.procs = 2;
        live_batch(whole, a, &m.b, 0, at_ms + 5000);
        live_batch(told, b, &got, 0, at_ms + 5000);
        assert_same(a, b);
    }
    live_free(whole);
    live_free(told);
}

static void what_is_cut_or_too_much_is_refused(void **unused)
{
    uint32_t seed = 5;
    struct made m;
    struct batch got;
    struct err err = {0};
    AUTO_BUF out = BUF_INIT(65536), small = BUF_INIT(20);
    int64_t at_ms[65], v[65];
    void *mem;

    (void)unused;
    make(&m, &seed, T0);
    assert_int_equal(newest_put(&small, &m.b, &state_rule_default), -EMSGSIZE);
    assert_int_equal(small.len, 0);
    assert_int_equal(newest_put(&out, &m.b, &state_rule_default), 0);
    for (size_t n = 0; n < out.len; n++) {
        assert_int_equal(newest_get(str_n(out.p, n), &got, &mem, &err), -EBADMSG);
        assert_null(mem);
    }
    for (size_t i = 0; i < ARRAY_LEN(at_ms); i++) {
        at_ms[i] = T0 + (int64_t)i;
        v[i] = 1;
    }
    const struct column c = {.metric = metrics[M_util].no, .slot = 1, .v = v};
    struct batch b = {.n_ticks = 65, .at_ms = at_ms, .n_columns = 1, .columns = &c};
    assert_int_equal(newest_put(&out, &b, &state_rule_default), -E2BIG);
    b.n_ticks = 0;
    assert_int_equal(newest_put(&out, &b, &state_rule_default), -E2BIG);
}

TESTS(cmocka_unit_test(a_screen_shows_the_same), cmocka_unit_test(what_is_cut_or_too_much_is_refused))
