/* test_device_slots.c: what collectors share, and several readings becoming one list of devices (R1 to R4 of
 * device_slots.h). */
#include <errno.h>

#include "collect/device_slots.h"

#include "test.h"

/* ---- what collectors share ---- */

static void a_list_of_collectors_is_chosen(void **unused)
{
    static const struct collector_ops a = {.name = "a"}, b = {.name = "b"}, c = {.name = "c"};
    static const struct collector_ops *const table[] = {&a, &b, &c, NULL};
    static const struct {
        const char *list;
        int want;
        bool automatic;
        uint32_t use;
    } cases[] = {
        {"auto", 0, true, 7},
        {"none", 0, false, 0},
        {"a", 0, false, 1},
        {"c, a", 0, false, 5},
        {"auto,b", 0, true, 7},
        {"none,a", -EINVAL, false, 0},
        {"d", -EINVAL, false, 0},
        {"a,,b", -EINVAL, false, 0},
        {"", -EINVAL, false, 0},
        {"A", -EINVAL, false, 0},
        {"none,auto", -EINVAL, false, 0},
        {"b,b", 0, false, 2},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct collect_choice ret = {0};
        struct err err = {0};
        print_message("'%s'\n", cases[i].list);
        assert_int_equal(collect_choose(table, cases[i].list, &ret, &err), cases[i].want);
        assert_int_equal(ret.automatic, cases[i].automatic);
        assert_int_equal(ret.use, cases[i].use);
        assert_int_equal(err.msg[0] != 0, cases[i].want != 0);
    }
    struct err err = {0};
    struct collect_choice ret;
    collect_choose(table, "smii", &ret, &err);
    assert_string_equal(err.msg, "unknown collector 'smii': there are a, b, c, auto, none");
}

static void text_is_made_fit_to_travel(void **unused)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"  NVIDIA H200 \n", "NVIDIA H200"},
        {"a\tb\x1b[0m", "a b [0m"},
        {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
        {"\xff\xfe", "??"},
        {"", ""},
        {"1234567890123456", "123456789012345"},
        {"12345678901234\xc3\xbc", "12345678901234"}, /* no half character */
        {"\xc2\x85", ""},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char out[16];
        memset(out, 'x', sizeof(out));
        collect_text(out, sizeof(out), str_of(cases[i].in));
        assert_string_equal(out, cases[i].out);
        for (size_t k = strlen(out); k < sizeof(out); k++)
            assert_int_equal(out[k], 0);
    }
}

static void pci_addresses_are_written_one_way(void **unused)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"00000000:3B:00.0", "0000:3b:00.0"},
        {"0000:3b:00.0", "0000:3b:00.0"},
        {"00010000:C1:1F.7", "10000:c1:1f.7"},
        {"3b:00.0", ""},
        {"0:0:0", ""},
        {"0000:3b:00.0.0", ""},
        {"0000:3b:20.0", ""},
        {"N/A", ""},
        {"", ""},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char out[20];
        print_message("'%s'\n", cases[i].in);
        collect_pci(out, str_of(cases[i].in));
        assert_string_equal(out, cases[i].out);
    }
}

/* ---- devices ---- */

static struct device_reading *add(struct reading *r, const char *uuid, const char *pci, int index)
{
    struct device_reading *d = reading_add(r);
    mem_copy_str(d->fact.uuid, sizeof(d->fact.uuid), uuid);
    mem_copy_str(d->fact.pci, sizeof(d->fact.pci), pci);
    d->fact.index = index;
    sample_set(&d->sample, M_util, 100 * index);
    return d;
}

static void again(struct reading *r)
{
    reading_reset(r);
}

static void one(struct device_slots *r, int64_t at_ms, const struct reading *a)
{
    device_slots_begin(r, at_ms);
    device_slots_take(r, 0, a);
    device_slots_end(r);
}

static void two(struct device_slots *r, int64_t at_ms, const struct reading *a, const struct reading *b)
{
    device_slots_begin(r, at_ms);
    device_slots_take(r, 0, a);
    device_slots_take(r, 1, b);
    device_slots_end(r);
}

static void R1_slots_stay_and_new_devices_come_last(void **unused)
{
    struct device_slots r = {0};
    struct reading a = {0};
    (void)unused;
    add(&a, "A", "", 0), add(&a, "B", "", 1);
    one(&r, 1000, &a);
    assert_int_equal(r.n_samples, 3);
    assert_int_equal(r.samples[2].v[M_util], 100);
    assert_int_equal(r.samples[2].at_ms, 1000);
    again(&a);
    add(&a, "C", "", 0), add(&a, "B", "", 1), add(&a, "A", "", 2); /* the driver counts otherwise now */
    one(&r, 2000, &a);
    assert_int_equal(r.facts.n_devices, 3);
    assert_string_equal(r.facts.devices[0].uuid, "A");
    assert_string_equal(r.facts.devices[1].uuid, "B");
    assert_string_equal(r.facts.devices[2].uuid, "C");
    assert_int_equal(r.facts.devices[0].index, 2);
    assert_int_equal(r.samples[1].v[M_util], 200);
    assert_int_equal(r.n_events, 0);
    device_slots_fini(&r);
    reading_fini(&a);
}

static void R2_a_device_two_see_is_there_once(void **unused)
{
    struct device_slots r = {0};
    struct reading a = {0}, b = {0};
    (void)unused;
    add(&a, "GPU-1", "0000:01:00.0", 0), add(&a, "GPU-2", "", 1);
    add(&b, "GPU-2", "", 7);             /* the same uuid */
    add(&b, "other", "0000:01:00.0", 8); /* the same place */
    add(&b, "", "0000:02:00.0", 9);      /* no uuid: named by its place */
    add(&b, "GPU-3", "", 10);
    two(&r, 1000, &a, &b);
    assert_int_equal(r.facts.n_devices, 4);
    assert_int_equal(r.facts.devices[1].index, 1);
    assert_string_equal(r.facts.devices[2].uuid, "pci-0000:02:00.0");
    assert_string_equal(r.facts.devices[3].uuid, "GPU-3");
    again(&a); /* the first no longer sees it, the second still does: not lost */
    add(&a, "GPU-1", "0000:01:00.0", 0);
    two(&r, 2000, &a, &b);
    assert_int_equal(r.facts.n_devices, 4);
    assert_int_equal(r.n_events, 0);
    assert_int_equal(r.facts.devices[1].index, 7);
    assert_false(r.facts.devices[1].lost);
    device_slots_fini(&r);
    reading_fini(&a);
    reading_fini(&b);
}

static void a_gpu_changed_for_another_in_its_place_is_a_new_one(void **unused)
{
    struct device_slots r = {0};
    struct reading a = {0};
    (void)unused;
    add(&a, "old", "0000:01:00.0", 0);
    one(&r, 1000, &a);
    again(&a);
    add(&a, "new", "0000:01:00.0", 0);
    one(&r, 2000, &a);
    assert_int_equal(r.facts.n_devices, 2);
    assert_true(r.facts.devices[0].lost);
    assert_false(r.facts.devices[1].lost);
    device_slots_fini(&r);
    reading_fini(&a);
}

static void R3_R4_a_lost_device_stays_and_comes_back(void **unused)
{
    struct device_slots r = {0};
    struct reading a = {0};
    (void)unused;
    add(&a, "A", "", 0), add(&a, "B", "", 1);
    one(&r, 1000, &a);
    again(&a);
    add(&a, "B", "", 0);
    one(&r, 2000, &a);
    assert_int_equal(r.facts.n_devices, 2);
    assert_true(r.facts.devices[0].lost);
    assert_true(r.facts.devices[0].note[0]);
    assert_false(sample_has(&r.samples[1], M_util)); /* no old value lives on */
    assert_int_equal(r.samples[2].v[M_util], 0);
    assert_int_equal(r.n_events, 1);
    assert_int_equal(r.events[0].kind, EVENT_LOST);
    assert_int_equal(r.events[0].slot, 1);
    assert_int_equal(r.events[0].at_ms, 2000);
    one(&r, 3000, &a); /* said once */
    assert_int_equal(r.n_events, 0);
    again(&a);
    add(&a, "B", "", 1), add(&a, "A", "", 0);
    one(&r, 4000, &a);
    assert_false(r.facts.devices[0].lost);
    assert_string_equal(r.facts.devices[0].note, "");
    assert_int_equal(r.n_events, 1);
    assert_int_equal(r.events[0].kind, EVENT_BACK);
    assert_int_equal(r.events[0].slot, 1);
    again(&a); /* the driver itself may say it */
    add(&a, "A", "", 0)->fact.lost = true, add(&a, "B", "", 1);
    one(&r, 5000, &a);
    one(&r, 6000, &a);
    assert_true(r.facts.devices[0].lost);
    assert_int_equal(r.n_events, 0);
    device_slots_fini(&r);
    reading_fini(&a);
}

static void R3_an_instance_configured_away_goes_one_of_a_lost_gpu_stays(void **unused)
{
    struct device_slots r = {0};
    struct reading a = {0};
    struct raw_use u = {.pid = 9};
    (void)unused;
    add(&a, "G", "0000:01:00.0", 0);
    for (int i = 0; i < 2; i++) {
        struct device_reading *d = add(&a, i ? "M2" : "M1", "0000:01:00.0", 0);
        mem_copy_str(d->fact.parent, sizeof(d->fact.parent), "G");
        d->fact.mig = i;
    }
    add(&a, "H", "0000:02:00.0", 1);
    one(&r, 1000, &a);
    assert_int_equal(r.facts.n_devices, 4);
    again(&a);
    add(&a, "G", "0000:01:00.0", 0);
    struct device_reading *m2 = add(&a, "M2", "0000:01:00.0", 0);
    mem_copy_str(m2->fact.parent, sizeof(m2->fact.parent), "G");
    struct device_reading *h = add(&a, "H", "0000:02:00.0", 5);
    device_reading_use(h, u);
    reading_event(&a, &(struct node_event){.kind = EVENT_XID, .slot = 3, .code = 79});
    one(&r, 2000, &a);
    assert_int_equal(r.facts.n_devices, 3);
    assert_string_equal(r.facts.devices[1].uuid, "M2");
    assert_string_equal(r.facts.devices[2].uuid, "H");
    assert_int_equal(r.samples[3].v[M_util], 500); /* samples, uses and events moved with it */
    assert_int_equal(r.uses[0].slot, 3);
    assert_int_equal(r.n_events, 1);
    assert_int_equal(r.events[0].slot, 3);
    again(&a);
    add(&a, "H", "0000:02:00.0", 1);
    one(&r, 3000, &a); /* the whole GPU went, and its instance with it */
    assert_int_equal(r.facts.n_devices, 3);
    assert_true(r.facts.devices[0].lost && r.facts.devices[1].lost);
    assert_int_equal(r.n_events, 2);
    device_slots_fini(&r);
    reading_fini(&a);
}

static void a_collector_that_fails_once_loses_nothing(void **unused)
{
    struct device_slots r = {0};
    struct reading a = {0};
    (void)unused;
    add(&a, "A", "", 3);
    one(&r, 1000, &a);
    device_slots_begin(&r, 2000);
    device_slots_excuse(&r, 0);
    device_slots_end(&r);
    assert_false(r.facts.devices[0].lost);
    assert_false(sample_has(&r.samples[1], M_util));
    assert_int_equal(r.n_events, 0);
    device_slots_begin(&r, 3000);
    device_slots_excuse(&r, 1); /* another one's excuse does not help */
    device_slots_end(&r);
    assert_true(r.facts.devices[0].lost);
    device_slots_fini(&r);
    reading_fini(&a);
}

static void devices_known_from_before_keep_their_slots(void **unused)
{
    struct device_fact known[] = {{.uuid = "A"}, {.uuid = "B", .lost = true}, {.uuid = "C"}};
    struct node_fact before = {.n_devices = 3, .devices = known};
    struct device_slots r = {0};
    struct reading a = {0};
    (void)unused;
    device_slots_seed(&r, &before);
    add(&a, "C", "", 0), add(&a, "D", "", 1);
    one(&r, 1000, &a);
    assert_int_equal(r.facts.n_devices, 4);
    assert_true(r.facts.devices[0].lost);
    assert_true(r.facts.devices[1].lost);
    assert_false(r.facts.devices[2].lost);
    assert_string_equal(r.facts.devices[3].uuid, "D");
    assert_int_equal(r.n_events, 1); /* A; that B is lost was known */
    assert_int_equal(r.events[0].slot, 1);
    device_slots_fini(&r);
    reading_fini(&a);
}

static void the_list_is_never_longer_than_it_may_be(void **unused)
{
    struct device_slots r = {0};
    struct reading a = {0};
    (void)unused;
    for (int i = 0; i < DEVICES_MAX + 50; i++) {
        char uuid[16];
        snprintf(uuid, sizeof(uuid), "G%d", i);
        add(&a, uuid, "", i);
    }
    one(&r, 1000, &a);
    assert_int_equal(r.facts.n_devices, DEVICES_MAX);
    assert_int_equal(r.n_samples, DEVICES_MAX + 1);
    device_slots_fini(&r);
    reading_fini(&a);
}

/* ---- custom metrics, node values ---- */

static void custom(struct reading *r, const char *name, const char *device, int64_t per, int64_t v)
{
    struct custom_reading *c = reading_custom(r);
    mem_copy_str(c->name, sizeof(c->name), name);
    mem_copy_str(c->device, sizeof(c->device), device);
    c->per = per;
    c->v = v;
}

static void custom_metrics_get_a_number_and_a_slot(void **unused)
{
    struct device_slots r = {0};
    struct reading a = {0}, b = {0};
    (void)unused;
    add(&a, "GPU-x", "", 3);
    sample_set(&a.node, M_cpu, 55);
    custom(&b, "loss", "", 1000, 250);
    custom(&b, "fps", "3", 1, 60);
    custom(&b, "fps", "GPU-x", 1, 61);
    custom(&b, "fps", "4", 1, 62);        /* no such device */
    custom(&b, "loss", "", 10, 7);        /* told with another scale: the first holds */
    custom(&b, "loss", "", 1, INT64_MAX); /* does not fit it */
    two(&r, 1000, &a, &b);
    assert_int_equal(r.facts.n_custom, 2);
    assert_string_equal(r.facts.custom[0].name, "loss");
    assert_int_equal(r.facts.custom[0].per, 1000);
    assert_int_equal(r.n_custom, 4);
    assert_int_equal(r.custom[0].metric, METRIC_CUSTOM);
    assert_int_equal(r.custom[0].slot, 0);
    assert_int_equal(r.custom[1].metric, METRIC_CUSTOM + 1);
    assert_int_equal(r.custom[1].slot, 1);
    assert_int_equal(r.custom[2].slot, 1);
    assert_int_equal(r.custom[3].v, 700);
    assert_int_equal(r.samples[0].v[M_cpu], 55);
    device_slots_fini(&r);
    reading_fini(&a);
    reading_fini(&b);
}

TESTS(cmocka_unit_test(a_list_of_collectors_is_chosen), cmocka_unit_test(text_is_made_fit_to_travel),
      cmocka_unit_test(pci_addresses_are_written_one_way), cmocka_unit_test(R1_slots_stay_and_new_devices_come_last),
      cmocka_unit_test(R2_a_device_two_see_is_there_once),
      cmocka_unit_test(a_gpu_changed_for_another_in_its_place_is_a_new_one),
      cmocka_unit_test(R3_R4_a_lost_device_stays_and_comes_back),
      cmocka_unit_test(R3_an_instance_configured_away_goes_one_of_a_lost_gpu_stays),
      cmocka_unit_test(a_collector_that_fails_once_loses_nothing),
      cmocka_unit_test(devices_known_from_before_keep_their_slots),
      cmocka_unit_test(the_list_is_never_longer_than_it_may_be),
      cmocka_unit_test(custom_metrics_get_a_number_and_a_slot))
