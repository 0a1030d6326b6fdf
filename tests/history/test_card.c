/* test_card.c: what questions about history know of nodes, and how long it is kept. */
#include "test.h"

#include "history/card.h"
#include "now/live.h"

static struct node_now node_of(struct device_now *devices, size_t n, uint64_t named)
{
    struct node_now made = {.key = "key-a", .name = "a", .n_devices = n, .devices = devices, .named = named};

    for (size_t i = 0; i < n; i++) {
        devices[i] = (struct device_now){.fact = {.index = (int32_t)i, .mig = -1, .name = "NVIDIA H200"}};
        snprintf(devices[i].fact.uuid, sizeof(devices[i].fact.uuid), "GPU-%zu", i);
    }
    return made;
}

static void a_card_has_the_devices_that_were_picked(void **unused)
{
    struct device_now devices[3];
    struct node_now n = node_of(devices, 3, 0);

    (void)unused;
    snprintf(devices[1].fact.name, sizeof(devices[1].fact.name), "NVIDIA A100");
    struct card *all = card_new(&n, NULL), *some = card_new(&n, (bool[]){true, false, true});
    assert_string_equal(all->key, "key-a");
    assert_string_equal(all->name, "a");
    assert_int_equal(all->n_devices, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(all->uuids[i], devices[i].fact.uuid);
        assert_ptr_equal(all->devices[i].uuid, all->uuids[i]);
        assert_string_equal(all->devices[i].model, devices[i].fact.name);
        assert_int_equal(all->devices[i].index, i);
        assert_int_equal(all->devices[i].mig, -1);
    }
    assert_int_equal(some->n_devices, 2);
    assert_null(all->model); /* they are of two */
    assert_string_equal(some->model, "NVIDIA H200");
    assert_true(str_eq(all->whose, "{\"node\":\"a\",\"node_id\":\"key-a\",\"devices\":3"));
    assert_true(str_eq(some->whose, "{\"node\":\"a\",\"node_id\":\"key-a\",\"devices\":2,\"model\":\"NVIDIA H200\""));
    assert_string_equal(some->uuids[1], "GPU-2");
    assert_memory_not_equal(&all->sum, &some->sum, sizeof(all->sum));
    struct card *again = card_new(&n, NULL);
    assert_memory_equal(&all->sum, &again->sum, sizeof(all->sum));
    devices[2].fact.index = 7; /* another number is another answer */
    struct card *other = card_new(&n, NULL), *none = card_new(&n, (bool[]){false, false, false});
    assert_memory_not_equal(&all->sum, &other->sum, sizeof(all->sum));
    assert_int_equal(none->n_devices, 0);
    assert_null(none->whose.p);
    card_unref(none);
    card_unref(all);
    card_unref(some);
    card_unref(again);
    card_unref(other);
}

static void a_roster_keeps_a_card_until_something_of_it_changes(void **unused)
{
    struct device_now devices[2];
    struct node_now n = node_of(devices, 2, 5);
    struct roster *r = roster_new();

    (void)unused;
    struct card *first = roster_card(r, 3, &n), *same = roster_card(r, 3, &n);
    assert_ptr_equal(first, same);
    snprintf(n.name, sizeof(n.name), "b");
    n.named = 6;
    struct card *later = roster_card(r, 3, &n);
    assert_string_equal(later->name, "b");
    assert_string_equal(first->name, "a"); /* whoever has it still reads what was */
    n.named = 0;                           /* nobody says when it changes: made anew each time */
    snprintf(n.name, sizeof(n.name), "c");
    struct card *uncounted = roster_card(r, 3, &n);
    assert_string_equal(uncounted->name, "c");
    snprintf(n.name, sizeof(n.name), "d");
    struct card *next = roster_card(r, 3, &n);
    assert_string_equal(next->name, "d");
    roster_free(r);
    assert_string_equal(later->name, "b");
    card_unref(first);
    card_unref(same);
    card_unref(later);
    card_unref(uncounted);
    card_unref(next);
}

/* Every change of a name is counted, and no two nodes ever have the same number. */
static void nodes_count_changes_of_their_names(void **unused)
{
    struct live *l = live_new(&state_rule_default, NULL, NULL);
    struct device_fact d = {.uuid = "GPU-1"};
    struct node_fact f = {.name = "a", .n_devices = 1, .devices = &d};
    struct node_now *a = live_node(l, "key-a", "a", 1000), *b = live_node(l, "key-b", "b", 1000);

    (void)unused;
    uint64_t was = a->named;
    assert_true(was && b->named && was != b->named);
    live_facts(l, a, 7, &f, 1000);
    assert_true(a->named > was && a->named > b->named);
    was = a->named;
    live_facts(l, a, 7, &f, 2000); /* the same */
    assert_int_equal(a->named, was);
    live_rename_gpu(l, a, "GPU-1", "GPU-1~2");
    assert_true(a->named > was);
    was = a->named;
    live_admin(l, a, "lab", false, false);
    assert_true(a->named > was);
    was = a->named;
    live_admin(l, a, "lab", false, true);
    assert_int_equal(a->named, was);
    live_node(l, "key-a", "another", 3000); /* an admin's name stands before its own */
    assert_int_equal(a->named, was);
    live_free(l);
}

TESTS(cmocka_unit_test(a_card_has_the_devices_that_were_picked),
      cmocka_unit_test(a_roster_keeps_a_card_until_something_of_it_changes),
      cmocka_unit_test(nodes_count_changes_of_their_names))
