/* test_child_msg.c: messages of the collector process there and back, cut, and changed (C1 to C3 of child_msg.h). */
#include <errno.h>

#include "base/buf.h"
#include "collect/child_msg.h"
#include "model/state.h"

#include "test.h"

static struct device_fact devices[2] =
    {{.uuid = "GPU-1",
      .name = "NVIDIA H200",
      .serial = "123",
      .pci = "0000:05:00.0",
      .minor = 3,
      .mig = -1,
      .vendor = VENDOR_NVIDIA,
      .asleep = true},
     {.uuid = "MIG-1", .parent = "GPU-1", .index = -1, .minor = -1, .mig = 4, .lost = true, .note = "gone"}};
static struct custom_fact customs[2] = {{.name = "loss", .unit = UNIT_NONE, .kind = KIND_GAUGE, .per = 1000},
                                        {.name = "tokens", .unit = UNIT_NONE, .kind = KIND_COUNTER, .per = 1}};
static const struct node_fact facts = {.driver = "580.1",
                                       .cuda = "13.0",
                                       .collector = "nvml,exec",
                                       .tick_ms = 1000,
                                       .n_devices = 2,
                                       .devices = devices,
                                       .n_custom = 2,
                                       .custom = customs};
static struct proc_fact procs[3] = {{.pid = 5,
                                     .ppid = 1,
                                     .start_ms = 1794700000000,
                                     .uid = 1000,
                                     .user = "ann",
                                     .name = "python3",
                                     .cmd = "python3 x",
                                     .root_pid = 4},
                                    {.pid = 6, .uid = -1, .runtime = "docker", .container = "ab", .pod = "p"},
                                    {.pid = 7, .slurm_job = 4711}};
static const struct proc_list list = {3, procs};

static int take(struct child_msg *msg, const struct buf *b)
{
    return child_msg_read(msg, b->p, b->len, NULL);
}

static void take_procs(struct child_msg *msg, const struct proc_list *l)
{
    size_t at = 0;
    uint64_t part = 0;
    AUTO_BUF b = {0};
    do {
        assert_int_equal(child_msg_procs(&b, l, &at, part++), 0);
        assert_true(b.len <= CHILD_MSG_MAX);
        assert_int_equal(take(msg, &b), 0);
        assert_int_equal(msg->procs_complete, at == l->n);
    } while (at < l->n);
}

static void facts_come_back(void **unused)
{
    struct child_msg msg = {0};
    AUTO_BUF b = {0};
    (void)unused;
    assert_int_equal(child_msg_facts(&b, &facts), 0);
    assert_int_equal(take(&msg, &b), 0);
    assert_int_equal(msg.type, CHILD_FACTS);
    assert_string_equal(msg.facts.driver, "580.1");
    assert_string_equal(msg.facts.cuda, "13.0");
    assert_string_equal(msg.facts.collector, "nvml,exec");
    assert_int_equal(msg.facts.tick_ms, 1000);
    assert_int_equal(msg.facts.n_devices, 2);
    assert_memory_equal(msg.facts.devices, devices, sizeof(devices));
    assert_int_equal(msg.facts.n_custom, 2);
    assert_memory_equal(msg.facts.custom, customs, sizeof(customs));
    child_msg_fini(&msg);
}

static void processes_come_back_in_parts(void **unused)
{
    struct child_msg msg = {0};
    struct proc_list many = {PROCS_MAX, mem_zero(PROCS_MAX, sizeof(*many.v))};
    (void)unused;
    for (size_t i = 0; i < many.n; i++) {
        many.v[i] = procs[i % 3];
        many.v[i].pid = (int32_t)i;
        memset(many.v[i].cmd, 'c', i % CMD_MAX);
    }
    take_procs(&msg, &list);
    assert_int_equal(msg.procs.n, 3);
    assert_memory_equal(msg.procs.v, procs, sizeof(procs));
    take_procs(&msg, &many);
    assert_int_equal(msg.procs.n, PROCS_MAX);
    assert_memory_equal(msg.procs.v, many.v, PROCS_MAX * sizeof(*many.v));
    take_procs(&msg, &(struct proc_list){0});
    assert_int_equal(msg.procs.n, 0);
    proc_list_fini(&many);
    child_msg_fini(&msg);
}

static void a_part_that_is_missing_spoils_the_list_not_the_last_one(void **unused)
{
    struct child_msg msg = {0};
    AUTO_BUF b = {0};
    size_t at;
    (void)unused;
    take_procs(&msg, &list);
    assert_int_equal(child_msg_procs(&b, &list, (at = 2, &at), 1), 0); /* part 1 without part 0 */
    assert_int_equal(take(&msg, &b), -EBADMSG);
    assert_int_equal(msg.procs.n, 3);
    assert_false(msg.procs_complete);
    take_procs(&msg, &list); /* a new list is welcome */
    child_msg_fini(&msg);
}

static const struct child_value values[2] = {{0, METRIC_CUSTOM, -5}, {2, METRIC_CUSTOM + 1, INT64_MAX}};
static const struct proc_use uses[2] =
    {{.proc = 0, .slot = 1, .kind = PROC_COMPUTE, .mem = 1ll << 40, .sm = 9900},
     {.proc = 2, .slot = 2, .kind = PROC_GRAPHICS | PROC_COMPUTE, .mem = -1, .sm = -1}};

static struct child_tick a_tick(struct sample s[3], bool changed)
{
    memset(s, 0, 3 * sizeof(*s));
    for (unsigned m = 0; m < M_COUNT; m++)
        sample_set(&s[1], m, m % 2 ? INT64_MIN + m : INT64_MAX - m);
    sample_set(&s[2], M_COUNT - 1, 0);
    return (struct child_tick){.at_ms = 1794700000000,
                               .n_slots = 3,
                               .samples = s,
                               .n_uses = 2,
                               .uses = (struct proc_use *)uses,
                               .uses_changed = changed,
                               .n_custom = 2,
                               .custom = (struct child_value *)values};
}

static void a_reader_with_facts_and_procs(struct child_msg *msg)
{
    AUTO_BUF b = {0};
    assert_int_equal(child_msg_facts(&b, &facts), 0);
    assert_int_equal(take(msg, &b), 0);
    take_procs(msg, &list);
}

static void a_tick_comes_back(void **unused)
{
    struct child_msg msg = {0};
    struct sample s[3];
    struct child_tick t = a_tick(s, true);
    AUTO_BUF b = {0};
    (void)unused;
    a_reader_with_facts_and_procs(&msg);
    assert_int_equal(child_msg_tick(&b, &t), 0);
    assert_int_equal(take(&msg, &b), 0);
    assert_int_equal(msg.tick.at_ms, t.at_ms);
    assert_int_equal(msg.tick.n_slots, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_memory_equal(&msg.tick.samples[i].have, &s[i].have, sizeof(s[i].have));
        assert_memory_equal(msg.tick.samples[i].v, s[i].v, sizeof(s[i].v));
        assert_int_equal(msg.tick.samples[i].at_ms, t.at_ms);
    }
    assert_int_equal(msg.tick.n_custom, 2);
    assert_int_equal(msg.tick.custom[1].slot, 2);
    assert_int_equal(msg.tick.custom[1].metric, METRIC_CUSTOM + 1);
    assert_int_equal(msg.tick.custom[1].v, INT64_MAX);
    assert_true(msg.tick.uses_changed);
    for (int pass = 0; pass < 2; pass++) { /* when they did not change, the reader keeps them */
        assert_int_equal(msg.tick.n_uses, 2);
        assert_int_equal(msg.tick.uses[0].mem, 1ll << 40);
        assert_int_equal(msg.tick.uses[1].proc, 2);
        assert_int_equal(msg.tick.uses[1].kind, PROC_GRAPHICS | PROC_COMPUTE);
        assert_int_equal(msg.tick.uses[1].sm, -1);
        t = a_tick(s, false);
        assert_int_equal(child_msg_tick(&b, &t), 0);
        assert_int_equal(take(&msg, &b), 0);
        assert_false(msg.tick.uses_changed);
    }
    take_procs(&msg, &list); /* a new list of processes: old uses name nothing */
    assert_int_equal(child_msg_tick(&b, &t), 0);
    assert_int_equal(take(&msg, &b), 0);
    assert_int_equal(msg.tick.n_uses, 0);
    child_msg_fini(&msg);
}

static void events_and_statuses_come_back(void **unused)
{
    struct child_msg msg = {0};
    struct node_event e = {.at_ms = 5, .kind = EVENT_XID, .slot = 2, .code = 79, .text = "fallen off the bus"};
    AUTO_BUF b = {0};
    (void)unused;
    a_reader_with_facts_and_procs(&msg);
    assert_int_equal(child_msg_event(&b, &e), 0);
    assert_int_equal(take(&msg, &b), 0);
    assert_memory_equal(&msg.event, &e, sizeof(e));
    assert_int_equal(child_msg_status(&b, COLLECT_NONE, "no driver"), 0);
    assert_int_equal(take(&msg, &b), 0);
    assert_int_equal(msg.type, CHILD_STATUS);
    assert_int_equal(msg.status, COLLECT_NONE);
    assert_string_equal(msg.why, "no driver");
    child_msg_fini(&msg);
}

/* One of each, for the tests that spoil them. */
static void message(int which, struct buf *b)
{
    struct sample s[3];
    struct child_tick t = a_tick(s, true);
    size_t at = 0;
    int r = which == 0   ? child_msg_facts(b, &facts)
            : which == 1 ? child_msg_procs(b, &list, &at, 0)
            : which == 2 ? child_msg_tick(b, &t)
            : which == 3 ? child_msg_event(b, &(struct node_event){.kind = EVENT_LOST, .slot = 1, .text = "x"})
                         : child_msg_status(b, COLLECT_OK, "fine");
    assert_int_equal(r, 0);
}

static void C1_a_message_cut_anywhere_is_refused(void **unused)
{
    (void)unused;
    for (int which = 0; which < 5; which++) {
        AUTO_BUF b = {0};
        message(which, &b);
        for (size_t n = 0; n <= b.len + 1; n++) {
            struct child_msg msg = {0};
            struct err err = {0};
            a_reader_with_facts_and_procs(&msg);
            AUTO_FREE char *exact = mem_zero(1, n + 1); /* its own memory, so that a sanitizer sees a step too far */
            memcpy(exact, b.p, MIN(n, b.len));
            print_message("message %d, %zu of %zu bytes\n", which, n, b.len);
            assert_int_equal(child_msg_read(&msg, exact, n, &err), n == b.len ? 0 : -EBADMSG);
            assert_int_equal(err.msg[0] != 0, n != b.len);
            if (n != b.len) {
                assert_int_equal(msg.facts.n_devices, 2);
                assert_int_equal(msg.procs.n, 3);
                assert_null(msg.tick.samples);
            }
            child_msg_fini(&msg);
        }
    }
}

static void C3_a_message_changed_anywhere_is_refused_or_in_bounds(void **unused)
{
    (void)unused;
    for (int which = 0; which < 5; which++) {
        AUTO_BUF b = {0};
        message(which, &b);
        for (size_t i = 0; i < b.len; i++)
            for (int bit = 0; bit < 8; bit++) {
                struct child_msg msg = {0};
                a_reader_with_facts_and_procs(&msg);
                b.p[i] ^= (char)(1 << bit);
                if (take(&msg, &b) == 0) {
                    for (size_t k = 0; k < msg.tick.n_uses; k++) {
                        assert_true(msg.tick.uses[k].proc < msg.procs.n);
                        assert_in_range(msg.tick.uses[k].slot, 1, msg.facts.n_devices);
                    }
                    for (size_t k = 0; k < msg.facts.n_devices; k++)
                        assert_true(str_utf8_ok(str_of(msg.facts.devices[k].name)));
                    assert_true(msg.event.slot <= msg.facts.n_devices && msg.status < COLLECT_STATES);
                }
                b.p[i] ^= (char)(1 << bit);
                child_msg_fini(&msg);
            }
    }
}

static void what_is_out_of_bounds_is_refused(void **unused)
{
    struct sample s[3];
    struct child_tick t;
    struct child_msg msg = {0};
    AUTO_BUF b = {0};
    (void)unused;
    a_reader_with_facts_and_procs(&msg);
    static const struct proc_use bad_uses[] = {{.proc = 3, .slot = 1, .mem = 0},
                                               {.proc = 0, .slot = 0, .mem = 0},
                                               {.proc = 0, .slot = 3, .mem = 0},
                                               {.proc = 0, .slot = 1, .mem = -2},
                                               {.proc = 0, .slot = 1, .kind = 8, .mem = 0}};
    for (size_t i = 0; i < ARRAY_LEN(bad_uses); i++) {
        t = a_tick(s, true);
        t.uses = (struct proc_use *)&bad_uses[i];
        t.n_uses = 1;
        assert_int_equal(child_msg_tick(&b, &t), 0);
        assert_int_equal(take(&msg, &b), -EBADMSG);
    }
    static const struct child_value bad_values[] = {{3, METRIC_CUSTOM, 0}, {0, METRIC_CUSTOM + 2, 0}, {0, 1, 0}};
    for (size_t i = 0; i < ARRAY_LEN(bad_values); i++) {
        t = a_tick(s, true);
        t.custom = (struct child_value *)&bad_values[i];
        t.n_custom = 1;
        assert_int_equal(child_msg_tick(&b, &t), 0);
        assert_int_equal(take(&msg, &b), -EBADMSG);
    }
    t = a_tick(s, true);
    t.n_slots = 2; /* not those of the facts */
    assert_int_equal(child_msg_tick(&b, &t), 0);
    assert_int_equal(take(&msg, &b), -EBADMSG);
    assert_int_equal(child_msg_event(&b, &(struct node_event){.kind = EVENT_LOST, .slot = 3}), 0);
    assert_int_equal(take(&msg, &b), -EBADMSG);
    assert_int_equal(child_msg_status(&b, COLLECT_STATES, ""), 0);
    assert_int_equal(take(&msg, &b), -EBADMSG);
    assert_int_equal(child_msg_status(&b, COLLECT_OK, "a\nb"), 0);
    assert_int_equal(take(&msg, &b), -EBADMSG);
    child_msg_fini(&msg);
}

static void C2_the_largest_messages_fit(void **unused)
{
    struct node_fact f = {.n_devices = DEVICES_MAX, .n_custom = CUSTOM_MAX};
    struct child_tick t = {.at_ms = INT64_MIN,
                           .n_slots = DEVICES_MAX + 1,
                           .n_uses = CHILD_USES_MAX,
                           .uses_changed = true,
                           .n_custom = CHILD_VALUES_MAX};
    AUTO_BUF b = {0};
    (void)unused;
    f.devices = mem_zero(f.n_devices, sizeof(*f.devices));
    f.custom = mem_zero(f.n_custom, sizeof(*f.custom));
    for (size_t i = 0; i < f.n_devices; i++) {
        struct device_fact *d = &f.devices[i];
        memset(d->uuid, 'u', sizeof(d->uuid) - 1);
        memset(d->parent, 'p', sizeof(d->parent) - 1);
        memset(d->name, 'n', sizeof(d->name) - 1);
        memset(d->serial, 's', sizeof(d->serial) - 1);
        memset(d->pci, 'p', sizeof(d->pci) - 1);
        memset(d->note, 'x', sizeof(d->note) - 1);
        d->index = d->minor = d->mig = INT32_MIN;
    }
    for (size_t i = 0; i < f.n_custom; i++) {
        memset(f.custom[i].name, 'c', sizeof(f.custom[i].name) - 1);
        f.custom[i].per = INT64_MAX;
    }
    t.samples = mem_zero(t.n_slots, sizeof(*t.samples));
    t.uses = mem_zero(t.n_uses, sizeof(*t.uses));
    t.custom = mem_zero(t.n_custom, sizeof(*t.custom));
    for (size_t i = 0; i < t.n_slots; i++)
        for (unsigned m = 0; m < M_COUNT; m++)
            sample_set(&t.samples[i], m, INT64_MIN);
    for (size_t i = 0; i < t.n_uses; i++)
        t.uses[i] = (struct proc_use){.proc = 2, .slot = DEVICES_MAX, .mem = INT64_MAX, .sm = INT32_MAX};
    for (size_t i = 0; i < t.n_custom; i++)
        t.custom[i] = (struct child_value){DEVICES_MAX, METRIC_CUSTOM + CUSTOM_MAX - 1, INT64_MIN};
    struct child_msg msg = {0};
    assert_int_equal(child_msg_facts(&b, &f), 0);
    assert_int_equal(take(&msg, &b), 0);
    take_procs(&msg, &list);
    assert_int_equal(child_msg_tick(&b, &t), 0);
    assert_int_equal(take(&msg, &b), 0);
    assert_int_equal(msg.tick.n_uses, CHILD_USES_MAX);
    child_msg_fini(&msg);
    node_fact_fini(&f);
    free(t.samples);
    free(t.uses);
    free(t.custom);
}

TESTS(cmocka_unit_test(facts_come_back), cmocka_unit_test(processes_come_back_in_parts),
      cmocka_unit_test(a_part_that_is_missing_spoils_the_list_not_the_last_one), cmocka_unit_test(a_tick_comes_back),
      cmocka_unit_test(events_and_statuses_come_back), cmocka_unit_test(C1_a_message_cut_anywhere_is_refused),
      cmocka_unit_test(C3_a_message_changed_anywhere_is_refused_or_in_bounds),
      cmocka_unit_test(what_is_out_of_bounds_is_refused), cmocka_unit_test(C2_the_largest_messages_fit))
