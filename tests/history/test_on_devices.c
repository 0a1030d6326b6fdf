/* Who is on what: processes of now and of the past, gathered by their owners. */
#include "test.h"

#include <errno.h>

#include "history/on_devices.h"
#include "view_fixture.h"

static const struct person_now *named(const struct on_devices *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->v[i].name, name) == 0)
            return &p->v[i];
    return NULL;
}

static void people_hold_what_their_processes_are_on(void **unused)
{
    struct cluster *c = mem_zero(1, sizeof(*c));
    struct on_devices p;
    (void)unused;
    struct node_now *a = add_host(c, "a", "10.0.0.1", 3), *b = add_host(c, "b", "10.0.0.2", 1);
    set_state(&a->devices[1], DEV_HELD, "idle");
    add_proc(&a->devices[0], 1, "kim", "train", 4 * GIB)->fact->start_ms = NOW - 5000;
    add_proc(&a->devices[0], 2, "kim", "loader", 2 * GIB)->fact->start_ms = NOW - 9000;
    add_proc(&a->devices[0], 3, "lee", "notebook", -1)->fact->start_ms = 0;
    add_proc(&a->devices[1], 4, "kim", "old", GIB)->fact->start_ms = NOW - 100000;
    add_proc(&b->devices[0], 5, "", "ghost", GIB)->fact->start_ms = NOW - 1;
    on_devices_of(&c->v, &p);
    assert_int_equal(p.n, 3);
    assert_string_equal(p.v[0].name, "kim"); /* most devices first */
    assert_int_equal(p.v[0].n, 2);
    assert_int_equal(p.v[0].idle, 1);
    assert_int_equal(p.v[0].mem, 7 * GIB);
    assert_int_equal(p.v[0].since_ms, NOW - 100000);
    assert_int_equal(p.v[0].v[0].n_procs, 2);
    assert_int_equal(p.v[0].v[0].mem, 6 * GIB);
    assert_int_equal(p.v[0].v[0].since_ms, NOW - 9000);
    assert_string_equal(p.v[0].v[0].program, "loader"); /* the one that was there first */
    const struct person_now *lee = named(&p, "lee"), *nobody = named(&p, "");
    assert_int_equal(lee->v[0].mem, -1); /* unknown is not zero */
    assert_int_equal(lee->since_ms, 0);
    assert_ptr_equal(nobody->v[0].node, b);
    on_devices_fini(&p);
    cluster_free(c);
}

static void a_shared_gpu_is_split_by_memory(void **unused)
{
    struct cluster *c = mem_zero(1, sizeof(*c));
    struct on_devices p;
    (void)unused;
    struct node_now *a = add_host(c, "a", "10.0.0.1", 3);
    add_proc(&a->devices[0], 1, "kim", "train", 3 * GIB);
    add_proc(&a->devices[0], 2, "lee", "eval", GIB);
    add_proc(&a->devices[1], 3, "kim", "x", -1); /* where no memory is known: equally */
    add_proc(&a->devices[1], 4, "lee", "y", -1);
    set_state(&a->devices[2], DEV_HUNG, "the driver hangs"); /* whether it is used is unknown */
    add_proc(&a->devices[2], 5, "kim", "old", GIB);
    on_devices_of(&c->v, &p);
    assert_near(named(&p, "kim")->used, 1.25, 1e-9);
    assert_near(named(&p, "lee")->used, 0.75, 1e-9);
    assert_int_equal(named(&p, "kim")->n, 3);
    on_devices_fini(&p);
    cluster_free(c);
}

static void logins_of_a_person_are_gathered_and_nobodys_are_left_out(void **unused)
{
    static const struct identity kim = {"kim", {"vision", "", ""}}, nobody = {"", {"", "", ""}};
    struct cluster *c = mem_zero(1, sizeof(*c));
    struct on_devices p;
    AUTO_BUF b = BUF_INIT(100);
    (void)unused;
    struct node_now *a = add_host(c, "a", "10.0.0.1", 2);
    add_proc(&a->devices[0], 1, "kim", "train", GIB)->who = &kim;
    add_proc(&a->devices[0], 2, "kdoe", "eval", GIB)->who = &kim;
    add_proc(&a->devices[0], 3, "gdm", "Xorg", 9 * GIB)->who = &nobody;
    add_proc(&a->devices[1], 4, "kdoe", "old", GIB)->who = &kim;
    add_proc(&a->devices[1], 5, "lee", "x", 2 * GIB);
    add_proc(&a->devices[1], 6, "Zombie", "", 3 * GIB); /* gone: nobody, whatever is known of people */
    on_devices_of(&c->v, &p);
    assert_int_equal(p.n, 2);
    assert_string_equal(p.v[0].name, "kim");
    assert_int_equal(p.v[0].n, 2);
    assert_int_equal(p.v[0].v[0].n_procs, 2);
    assert_int_equal(p.v[0].n_logins, 2);
    assert_string_equal(p.v[0].logins[1], "kdoe");
    assert_int_equal(p.v[1].n_logins, 1);
    device_users(&a->devices[0], &b);
    assert_string_equal(b.p, "gdm, kim"); /* the login stays visible */
    on_devices_fini(&p);
    cluster_free(c);
}

/* ---- the past ---- */

struct record {
    const char *node, *device, *user;
    int pid;
    int64_t first, last, mem;
    bool ended;
};
static const struct record records[] = {
    {"n", "d0", "kim", 1, 1000, 2000, 10, true},  {"n", "d0", "lee", 2, 1500, 9000, 5, true},
    {"n", "d0", "kim", 3, 2500, 4000, 30, true},  {"n", "d0", "kim", 4, 3000, 3500, 40, false},
    {"n", "d0", "kim", 5, 8000, 9000, 20, false}, {"n", "d1", "kim", 6, 1000, 9000, -1, false},
};

static int procs(void *arg, const struct store_each *e, struct err *err)
{
    (void)err;
    if (*(int *)arg)
        return *(int *)arg;
    assert_true(!e->node || strcmp(e->node, "n") == 0);
    for (size_t i = 0; i < ARRAY_LEN(records); i++) {
        const struct record *r = &records[i];
        struct proc_span p = {r->node, r->device, {.pid = r->pid}, r->first, r->last, r->mem, r->ended, 0, -1};
        snprintf(p.fact.user, sizeof(p.fact.user), "%s", r->user);
        if (r->last >= e->from_ms)
            e->give.proc(e->arg, &p);
    }
    return 0;
}

static struct spans ask(struct span_query a, int code)
{
    struct past_source past = {.each = procs, .arg = &code};
    struct spans s;
    a.limit = a.limit ? a.limit : 100;
    assert_int_equal(spans_of(&a, &past, &s, NULL), code);
    return s;
}

static void spans_are_those_that_touch_the_time_asked_for(void **unused)
{
    (void)unused;
    struct spans s = ask((struct span_query){.from_ms = 2100, .to_ms = 3000}, 0);
    assert_int_equal(s.n, 3); /* lee, kim's third, and d1's */
    assert_int_equal(s.v[1].pid, 3);
    spans_fini(&s);
    s = ask((struct span_query){.device = "d1", .to_ms = 99999}, 0);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.v[0].mem, -1);
    spans_fini(&s);
    s = ask((struct span_query){.user = "lee", .to_ms = 99999}, 0);
    assert_int_equal(s.n, 1);
    spans_fini(&s);
    s = ask((struct span_query){.to_ms = 99999, .limit = 2}, 0);
    assert_int_equal(s.n, 2);
    assert_true(s.more);
    spans_fini(&s);
    s = ask((struct span_query){.to_ms = 99999}, -EIO);
    assert_int_equal(s.n, 0);
}

static void a_persons_stretches_are_joined_over_small_gaps_only(void **unused)
{
    (void)unused;
    struct spans s = ask((struct span_query){.to_ms = 99999, .by_user = true, .gap_ms = 500}, 0);
    assert_int_equal(s.n, 4); /* kim 1000..4000, lee, kim 8000..9000, kim on d1 */
    assert_string_equal(s.v[0].user, "kim");
    assert_int_equal(s.v[0].first_ms, 1000);
    assert_int_equal(s.v[0].last_ms, 4000);
    assert_int_equal(s.v[0].procs, 3);
    assert_int_equal(s.v[0].mem, 40);
    assert_true(s.v[0].ended); /* the process seen last had ended */
    assert_int_equal(s.v[2].first_ms, 8000);
    assert_false(s.v[2].ended);
    assert_string_equal(s.v[3].device, "d1");
    spans_fini(&s);
    s = ask((struct span_query){.to_ms = 99999, .by_user = true, .gap_ms = 499}, 0);
    assert_int_equal(s.n, 5);
    spans_fini(&s);
    s = ask((struct span_query){.to_ms = 99999, .by_user = true, .gap_ms = 4000}, 0);
    assert_int_equal(s.n, 3);
    spans_fini(&s);
}

TESTS(cmocka_unit_test(a_shared_gpu_is_split_by_memory),
      cmocka_unit_test(logins_of_a_person_are_gathered_and_nobodys_are_left_out),
      cmocka_unit_test(people_hold_what_their_processes_are_on),
      cmocka_unit_test(spans_are_those_that_touch_the_time_asked_for),
      cmocka_unit_test(a_persons_stretches_are_joined_over_small_gaps_only))
