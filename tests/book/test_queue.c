/* test_queue.c: who waits, and whose turn it is. */
#include "test.h"

#include <errno.h>

#include "base/buf.h"
#include "book/queue.h"

#define NOW  1794733200000ll
#define HOUR 3600000ll

/* Two nodes of two GPUs, all free since an hour ago. */
struct cluster {
    struct node_now nodes[2];
    struct device_now devices[2][2];
    const struct node_now *list[2];
};

static void cluster_init(struct cluster *c)
{
    memset(c, 0, sizeof(*c));
    for (int i = 0; i < 2; i++) {
        snprintf(c->nodes[i].name, sizeof(c->nodes[i].name), "n%d", i);
        c->nodes[i].devices = c->devices[i];
        c->nodes[i].n_devices = 2;
        c->list[i] = &c->nodes[i];
        for (int k = 0; k < 2; k++) {
            struct device_now *d = &c->devices[i][k];
            snprintf(d->fact.uuid, sizeof(d->fact.uuid), "GPU-%d%d", i, k);
            snprintf(d->fact.name, sizeof(d->fact.name), "%s", i ? "NVIDIA H200" : "NVIDIA A100");
            d->fact.index = k;
            d->fact.mig = -1;
            d->state = DEV_FREE;
            d->since_ms = NOW - HOUR;
            sample_set(&d->now, M_mem_total, (int64_t)80 << 30);
            sample_set(&d->now, M_mem_used, (int64_t)(i ? 0 : 50) << 30);
        }
    }
}

struct round_of { /* what one round did */
    struct book *b;
    char given[400]; /* "1:GPU-00 2:GPU-01,GPU-10 " */
    char out[100];
};

static void on_give(void *arg, const struct booking *h, const struct gpu_request *w, const char *uuids)
{
    struct round_of *r = arg;
    struct booking to = *h;
    size_t at = strlen(r->given);

    to.devices = uuids;
    to.from_ms = NOW;
    to.until_ms = NOW + w->hold_ms;
    assert_int_equal(book_begin(r->b, &to), 0);
    book_settle(r->b, to.id, true);
    snprintf(r->given + at, sizeof(r->given) - at, "%lld:%s ", (long long)h->id, uuids);
}

static void on_out(void *arg, const struct booking *h)
{
    struct round_of *r = arg;
    size_t at = strlen(r->out);

    snprintf(r->out + at, sizeof(r->out) - at, "%lld ", (long long)h->id);
}

static const char *serve(struct queue *q, struct book *b, const struct cluster *c, int64_t now_ms, struct round_of *r)
{
    *r = (struct round_of){.b = b};
    struct queue_calls calls = {r, on_give, on_out};
    queue_serve(q, b, c->list, 2, now_ms, &calls);
    return r->given;
}

static int64_t add(struct queue *q, struct book *b, const char *person, int32_t count, const struct gpu_request *w)
{
    AUTO_BUF where = BUF_INIT(1024);
    char model[64];

    gpu_request_format(w, &where);
    snprintf(model, sizeof(model), "%.*s", STR_ARG(w->model));
    struct booking h = {.id = book_next_id(b),
                        .kind = BOOKING_WAIT,
                        .count = count,
                        .from_ms = NOW,
                        .until_ms = NOW + QUEUE_LONGEST_MS,
                        .created_ms = NOW,
                        .person = person,
                        .by = person,
                        .devices = "",
                        .places = "",
                        .model = model,
                        .where = where.p,
                        .comment = ""};
    assert_int_equal(book_begin(b, &h), 0);
    book_settle(b, h.id, true);
    queue_seen(q, h.id, NOW);
    return h.id;
}

static const struct gpu_request any = {.free_ms = 15000, .need_ms = HOUR, .hold_ms = 120000};

static void a_wish_survives_its_record(void **unused)
{
    struct gpu_request w =
        {.count = 3, .mem = 1, .one_node = true, .free_ms = 2, .need_ms = 3, .hold_ms = 4, .told = true};
    AUTO_BUF text = BUF_INIT(1024);
    struct gpu_request got;

    (void)unused;
    w.node = str_of("dgx* one mem=9 node=x");
    w.model = str_of("H200");
    gpu_request_format(&w, &text);
    struct booking h = {.kind = BOOKING_WAIT, .count = 3, .model = "H200", .where = text.p, .devices = ""};
    gpu_request_parse(&h, &got);
    assert_true(got.count == 3 && got.mem == 1 && got.one_node && got.told && !got.said && got.free_ms == 2 &&
                got.need_ms == 3 && got.hold_ms == 4 && str_eq(got.node, "dgx* one mem=9 node=x") &&
                str_eq(got.model, "H200"));
    h.where = "mem=x free=-1 what hold=99999999999999999999";
    gpu_request_parse(&h, &got);
    assert_true(got.mem == 0 && !got.one_node && !got.told && got.free_ms == QUEUE_FREE_MS &&
                got.hold_ms == QUEUE_HOLD_MS && got.node.len == 0);
}

static void first_come_first_served(void **unused)
{
    struct book *b = book_new();
    struct queue *q = queue_new();
    struct cluster c;
    struct round_of r;

    (void)unused;
    cluster_init(&c);
    for (int i = 0; i < 3; i++)
        add(q, b, "kim", 2, &any);
    assert_int_equal(queue_ahead(b, 3), 2);
    assert_string_equal(serve(q, b, &c, NOW, &r), "1:GPU-00,GPU-01 2:GPU-10,GPU-11 ");
    assert_int_equal(queue_ahead(b, 3), 0);
    assert_string_equal(serve(q, b, &c, NOW, &r), "");
    queue_free(q);
    book_free(b);
}

static void what_would_do_is_kept_for_who_came_first(void **unused)
{
    struct book *b = book_new();
    struct queue *q = queue_new();
    struct cluster c;
    struct round_of r;
    struct gpu_request h200 = any;
    AUTO_BUF kept = BUF_INIT(1024);

    (void)unused;
    cluster_init(&c);
    h200.model = str_of("h200");
    c.devices[1][0].state = DEV_BUSY;
    add(q, b, "many", 2, &h200);
    add(q, b, "one", 1, &h200);
    add(q, b, "other", 1, &any);
    assert_string_equal(serve(q, b, &c, NOW, &r), "3:GPU-00 "); /* the free H200 is the first one's */
    queue_reserved(b, c.list, 2, NOW, &kept);
    assert_string_equal(kept.p, "GPU-11");
    /* one that was free for one tick only is kept, but not given yet */
    c.devices[1][0].state = DEV_FREE;
    c.devices[1][0].since_ms = NOW - 1000;
    assert_string_equal(serve(q, b, &c, NOW, &r), "");
    assert_string_equal(serve(q, b, &c, NOW + 14000, &r), "1:GPU-10,GPU-11 ");
    queue_free(q);
    book_free(b);
}

static void who_can_never_be_served_is_in_nobodys_way(void **unused)
{
    struct book *b = book_new();
    struct queue *q = queue_new();
    struct cluster c;
    struct round_of r;
    struct gpu_request w = any;
    struct err err = {0};

    (void)unused;
    cluster_init(&c);
    w.one_node = true;
    add(q, b, "four", 4, &w); /* there were nodes with four once */
    add(q, b, "one", 1, &any);
    assert_string_equal(serve(q, b, &c, NOW, &r), "2:GPU-00 ");
    w.count = 4;
    struct pick_request p = gpu_request_pick(&w, "kim", 0, NOW);
    assert_int_equal(pick_possible(c.list, 2, &p, &err), -ENOENT);
    assert_string_equal(err.msg, "4 requested on one node: none has more than 2 GPUs");
    queue_free(q);
    book_free(b);
}

static void one_gpu_can_be_waited_for(void **unused)
{
    static const struct {
        const char *node, *given;
    } cases[] = {{"n1:1", "1:GPU-11 "},
                 {"N0:1", "1:GPU-01 "},
                 {"*:1", "1:GPU-01 "},
                 {"n0:", "1:GPU-00 "},
                 {"n0:7", ""}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct book *b = book_new();
        struct queue *q = queue_new();
        struct cluster c;
        struct round_of r;
        struct gpu_request w = any;
        cluster_init(&c);
        w.node = str_of(cases[i].node);
        add(q, b, "kim", 1, &w);
        assert_string_equal(serve(q, b, &c, NOW, &r), cases[i].given);
        queue_free(q);
        book_free(b);
    }
}

static void what_is_booked_soon_is_given_last(void **unused)
{
    static const struct {
        int32_t count;
        bool one_node;
        const char *want;
    } cases[] = {
        {1, false, "GPU-01"},        /* n0's other GPU is booked in two hours, n1's later than tomorrow */
        {2, false, "GPU-10,GPU-11"}, /* a node that is not booked soon, though n0 would do as well */
        {2, true, "GPU-10,GPU-11"},
        {3, false, "GPU-10,GPU-11,GPU-01"}, /* on two nodes: what is booked soon is left out */
        {4, false, "GPU-10,GPU-11,GPU-01,GPU-00"},
    };
    struct book *b = book_new();
    struct cluster c;

    (void)unused;
    cluster_init(&c);
    struct booking soon = {.id = 1,
                           .from_ms = NOW + 2 * HOUR,
                           .until_ms = NOW + 3 * HOUR,
                           .person = "ben",
                           .by = "ben",
                           .devices = "GPU-00",
                           .places = "",
                           .model = "",
                           .where = "",
                           .comment = ""},
                   later = soon;
    later.id = 2;
    later.devices = "GPU-10,GPU-11";
    later.from_ms = NOW + 30 * HOUR;
    later.until_ms = NOW + 31 * HOUR;
    assert_int_equal(book_begin(b, &soon), 0);
    assert_int_equal(book_begin(b, &later), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct gpu_request w = any;
        AUTO_BUF got = BUF_INIT(1024);
        struct err err = {0};
        w.count = cases[i].count;
        w.one_node = cases[i].one_node;
        struct pick_request p = gpu_request_pick(&w, "kim", 0, NOW);
        assert_int_equal(pick_among(c.list, 2, b, &p, &got, &err), 0);
        assert_string_equal(got.p, cases[i].want);
    }
    struct pick_request p = gpu_request_pick(&any, "kim", 0, NOW), own = gpu_request_pick(&any, "ben", 0, NOW);
    assert_true(pick_until(b, &p, &c.devices[0][0]) == NOW + 2 * HOUR);
    assert_true(pick_until(b, &own, &c.devices[0][0]) == INT64_MAX);
    assert_true(pick_until(b, &p, &c.devices[0][1]) == INT64_MAX);
    book_free(b);
}

static void memory_bookings_and_maintenance_count(void **unused)
{
    struct book *b = book_new();
    struct queue *q = queue_new();
    struct cluster c;
    struct round_of r;
    struct gpu_request w = any;

    (void)unused;
    cluster_init(&c);
    w.mem = (int64_t)40 << 30; /* the A100s have 30 left */
    struct booking lee = {.id = book_next_id(b),
                          .from_ms = NOW + HOUR / 2,
                          .until_ms = NOW + HOUR,
                          .person = "lee",
                          .by = "lee",
                          .devices = "GPU-10",
                          .places = "",
                          .model = "",
                          .where = "",
                          .comment = ""};
    assert_int_equal(book_begin(b, &lee), 0);
    book_settle(b, lee.id, true);
    add(q, b, "kim", 1, &w);
    add(q, b, "zoe", 1, &w);
    assert_string_equal(serve(q, b, &c, NOW, &r), "2:GPU-11 "); /* GPU-10 is lee's within the hour */
    add(q, b, "lee", 1, &w);
    assert_string_equal(serve(q, b, &c, NOW, &r), "4:GPU-10 "); /* their own booking; zoe cannot have it */
    c.nodes[0].maintenance = true;
    add(q, b, "kim", 1, &any);
    assert_string_equal(serve(q, b, &c, NOW, &r), "");
    queue_free(q);
    book_free(b);
}

static void who_is_not_heard_of_keeps_his_place_for_a_while(void **unused)
{
    struct book *b = book_new();
    struct queue *q = queue_new(), *after = queue_new();
    struct cluster c;
    struct round_of r;

    (void)unused;
    cluster_init(&c);
    add(q, b, "kim", 4, &any);
    add(q, b, "lee", 1, &any);
    queue_seen(q, 2, NOW + 50000);
    assert_string_equal(serve(q, b, &c, NOW + 50000, &r), ""); /* kim's four are kept */
    assert_string_equal(r.out, "");
    assert_string_equal(serve(q, b, &c, NOW + QUEUE_LEASE_MS + 1, &r), "2:GPU-00 ");
    assert_string_equal(r.out, "1 ");
    /* a hub that has just started waits for them to be heard of */
    assert_string_equal(serve(after, b, &c, NOW, &r), "");
    queue_seen(after, 1, NOW + 1000);
    c.devices[0][0].state = DEV_BUSY;
    assert_string_equal(serve(after, b, &c, NOW + 1000, &r), "");
    queue_free(q);
    queue_free(after);
    book_free(b);
}

static void who_is_told_by_a_message_need_not_be_heard_of(void **unused)
{
    struct book *b = book_new();
    struct queue *q = queue_new(), *after = queue_new();
    struct cluster c;
    struct round_of r;
    struct gpu_request told = any;

    (void)unused;
    cluster_init(&c);
    told.told = true;
    c.devices[0][0].state = DEV_BUSY;
    add(q, b, "kim", 4, &told);
    assert_string_equal(serve(q, b, &c, NOW + 10 * QUEUE_LEASE_MS, &r), "");
    assert_string_equal(r.out, "");
    cluster_init(&c);
    assert_string_not_equal(serve(after, b, &c, NOW + 20 * QUEUE_LEASE_MS, &r), ""); /* also of a hub that began anew */
    assert_string_equal(r.out, "");
    queue_free(q);
    queue_free(after);
    book_free(b);
}

static void that_it_is_his_turn_is_said_once(void **unused)
{
    struct queue *q = queue_new();

    (void)unused;
    assert_true(queue_first_notice(q, 1));
    assert_false(queue_first_notice(q, 1));
    queue_seen(q, 1, NOW);
    assert_false(queue_first_notice(q, 1));
    assert_true(queue_first_notice(q, 2));
    queue_free(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wish_survives_its_record),
        cmocka_unit_test(first_come_first_served),
        cmocka_unit_test(what_would_do_is_kept_for_who_came_first),
        cmocka_unit_test(who_can_never_be_served_is_in_nobodys_way),
        cmocka_unit_test(one_gpu_can_be_waited_for),
        cmocka_unit_test(what_is_booked_soon_is_given_last),
        cmocka_unit_test(memory_bookings_and_maintenance_count),
        cmocka_unit_test(who_is_not_heard_of_keeps_his_place_for_a_while),
        cmocka_unit_test(who_is_told_by_a_message_need_not_be_heard_of),
        cmocka_unit_test(that_it_is_his_turn_is_said_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
