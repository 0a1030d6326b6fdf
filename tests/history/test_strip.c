/* Whose row of the night strip a series is: the store is a small fake. */
#include "test.h"

#include "history/strip.h"
#include "now/live.h"
#include "view_fixture.h"

/* Of the node called b alone: all devices are 90 % busy all the time. */
static int fake_history(struct store *s, const struct bins_query *ask, struct history *ret, struct err *err)
{
    (void)s, (void)err;
    *ret = (struct history){.from_ms = ask->from_ms,
                            .step_ms = ask->step_ms,
                            .n_series = ask->n_devices * ask->n_metrics,
                            .n = (size_t)((ask->to_ms - ask->from_ms) / ask->step_ms),
                            .tier = ask->tier};
    ret->v = mem_zero(ret->n_series * ret->n, sizeof(*ret->v));
    for (size_t i = 0; strcmp(ask->node, "key-b") == 0 && i < ret->n_series * ret->n; i++)
        ret->v[i] = (struct bin){.count = 1, .sum = 9000, .min = 9000, .max = 9000, .last = 9000};
    return 0;
}

/* a and b have a GPU of one name; b's is split, and its instance has the row. */
static void a_series_is_of_its_own_nodes_row(void **unused)
{
    struct cluster *c = mem_zero(1, sizeof(*c));
    struct device_now *d = add_host(c, "a", "10.0.0.1", 1)->devices;
    struct history_words words = {.points = STR("24")};
    struct past_source past = {.history = fake_history};
    struct strip *s = NULL;
    struct err err = {0};

    (void)unused;
    struct device_now *split = add_host(c, "b", "10.0.0.2", 2)->devices;
    SET(split[0].fact.uuid, "%s", d->fact.uuid);
    SET(split[1].fact.parent, "%s", d->fact.uuid);
    split[1].fact.mig = 0;
    if (strip_new(&words, &c->v, &state_rule_default, NOW, NULL, NULL, &s, &err) < 0 || strip_run(s, &past, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(s->n, 2);
    assert_string_equal(s->rows[0].node_id, "key-a");
    assert_string_equal(s->rows[1].device, split[1].fact.uuid);
    assert_true(s->night.bins > 0);
    for (size_t i = 0; i < s->night.bins; i++) {
        assert_int_equal(s->rows[0].work[i], NIGHT_NONE);
        assert_int_equal(s->rows[1].work[i], 90);
    }
    strip_free(s);
    cluster_free(c);
}

TESTS(cmocka_unit_test(a_series_is_of_its_own_nodes_row))
