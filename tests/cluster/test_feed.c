/*
 * test_feed.c: what other hubs changed is read once it is committed, however late that is, and what a hub that does not
 * lead any more wants to write is not written. On a PostgreSQL server of the test's own.
 */
#include "test.h"

#include <errno.h>

#include "pg_server.h"

#include "cluster/feed.h"
#include "cluster/ids.h"
#include "cluster/place.h"
#include "sql/pg.h"
#include "store/kinds.h"
#include "store/main_db.h"
#include "store/schema.h"

/* A hub's connection for records; what it writes is known as that hub's. */
static struct records *records_of(const char *url, int64_t hub)
{
    AUTO_FREE char *place = place_for_hub(url, hub);
    struct records *r = NULL;
    struct err err = {0};

    if (records_open(&r, place, DB_WRITE, &err) < 0)
        fail_msg("%s", err.msg);
    return r;
}

static void put_note(struct records *r, int64_t id, int64_t over_ms)
{
    struct note n = {.kind = NOTE_SILENCE, .id = id, .over_ms = over_ms, .bytes = STR("x")};

    assert_int_equal(records_put(r, STORE_NOTE, &n), 0);
}

/* "+1 -2 ": notes that were put and dropped. */
static const char *read_feed(struct change_feed *f, struct buf *out)
{
    struct feed_item *items = NULL, **tail = &items;
    union any_record rec;
    struct err err = {0};

    buf_reset(out);
    if (feed_read(f, &tail, &err) < 0)
        fail_msg("%s", err.msg);
    for (struct feed_item *i = items, *next; i; i = next) {
        next = i->next;
        record_unpack(main_records[i->kind], i->bytes, &rec);
        if (i->kind == STORE_NOTE)
            buf_addf(out, "%c%lld ", i->gone ? '-' : '+', (long long)rec.note.id);
        else if (i->kind == STORE_NODE)
            buf_addf(out, "%c%s ", i->gone ? '-' : '+', rec.node.key);
        free(i);
    }
    return buf_str(out).p;
}

static void what_pg_restore_brings_is_no_news(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    AUTO_BUF out = BUF_INIT(4096);
    struct records *other = records_of(url, 1), *own = records_of(url, 3);
    struct change_feed f;
    (void)unused;

    put_note(other, 1, 0);
    put_note(other, 2, 0);
    put_note(other, 2, NOTE_GONE);
    assert_int_equal(db_exec(own->db, "ALTER TABLE notes DISABLE TRIGGER USER; UPDATE notes SET changed = '4000000000';"
                                      "ALTER TABLE notes ENABLE TRIGGER USER; UPDATE gone SET changed = '4000000000'"),
                     0);
    feed_init(&f, own->db, 3);
    assert_string_equal(read_feed(&f, &out), "");
    read_feed(&f, &out); /* what was changed as all was opened */
    assert_string_equal(read_feed(&f, &out), "");
    put_note(other, 1, 0);
    assert_string_equal(read_feed(&f, &out), "+1 ");
    feed_fini(&f);
    records_close(other);
    records_close(own);
}

static void what_commits_late_is_not_missed(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    AUTO_BUF out = BUF_INIT(4096);
    struct records *early = records_of(url, 1), *late = records_of(url, 2), *own = records_of(url, 3);
    struct change_feed f;
    (void)unused;

    feed_init(&f, own->db, 3);
    assert_string_equal(read_feed(&f, &out), "");
    put_note(own, 9, 0); /* its own is no news */
    assert_string_equal(read_feed(&f, &out), "");
    assert_int_equal(records_begin(late, NULL), 0);
    put_note(late, 1, 0); /* began first */
    put_note(early, 2, 0);
    assert_string_equal(read_feed(&f, &out), "+2 ");
    assert_string_equal(read_feed(&f, &out), "+2 "); /* again, while an older one is under way */
    assert_int_equal(records_end(late, 0, NULL), 0);
    assert_string_equal(read_feed(&f, &out), "+1 +2 ");
    assert_string_equal(read_feed(&f, &out), "");
    put_note(early, 1, NOTE_GONE);
    assert_string_equal(read_feed(&f, &out), "-1 ");
    assert_int_equal(records_put(early, STORE_NODE, &(struct store_node){.key = "a", .last_ms = 1}), 0);
    assert_string_equal(read_feed(&f, &out), "+a ");
    assert_int_equal(records_put(early, STORE_NODE, &(struct store_node){.key = "a", .last_ms = 2}), 0);
    assert_string_equal(read_feed(&f, &out), ""); /* that it was heard of is no news */
    assert_int_equal(records_drop_node(early, "a"), 0);
    assert_string_equal(read_feed(&f, &out), "-a ");
    feed_fini(&f);
    records_close(early);
    records_close(late);
    records_close(own);
}

static void after_a_lost_connection_the_last_changes_are_read_again(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    AUTO_BUF out = BUF_INIT(4096);
    struct records *other = records_of(url, 1), *own = records_of(url, 2);
    struct change_feed f;
    (void)unused;

    feed_init(&f, own->db, 2);
    assert_string_equal(read_feed(&f, &out), "");
    put_note(other, 1, 0);
    assert_string_equal(read_feed(&f, &out), "+1 ");
    assert_string_equal(read_feed(&f, &out), "");
    uint64_t before = pg_connection(own->db);
    assert_int_equal(db_exec(other->db, "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
                                        " WHERE application_name = 'muster-hub-2' AND datname = current_database()"),
                     0);
    assert_string_equal(read_feed(&f, &out), "+1 "); /* a server that crashed may give numbers again */
    assert_true(pg_connection(own->db) > before);    /* and whoever listened has to say so again */
    assert_string_equal(read_feed(&f, &out), "");
    feed_fini(&f);
    records_close(other);
    records_close(own);
}

static struct booking booking_of(int64_t id, const char *person, int32_t kind, int64_t from_ms)
{
    return (struct booking){.id = id,
                            .person = person,
                            .kind = kind,
                            .from_ms = from_ms,
                            .until_ms = from_ms + 1000,
                            .by = person,
                            .devices = "GPU-1,GPU-2",
                            .places = "",
                            .model = "",
                            .where = "",
                            .comment = ""};
}

static int put_booking(struct records *r, struct booking b)
{
    assert_int_equal(records_begin(r, NULL), 0);
    int code = records_put(r, STORE_BOOKING, &b);
    assert_int_equal(records_end(r, 0, NULL), 0); /* the rest of the transaction is sound */
    return code;
}

static void no_device_is_booked_twice(void **unused)
{
    const int64_t at = 4000000000000ll; /* long to come */
    AUTO_FREE char *url = pg_base(&server);
    struct records *a = records_of(url, 1), *b = records_of(url, 2);
    struct booking over = booking_of(1, "kim", BOOKING_FIRM, at);
    (void)unused;

    assert_int_equal(put_booking(a, booking_of(1, "kim", BOOKING_FIRM, at)), 0);
    assert_int_equal(put_booking(b, booking_of(2, "ann", BOOKING_FIRM, at + 999)), -EEXIST);
    assert_int_equal(put_booking(b, booking_of(3, "ann", BOOKING_FIRM, at + 1000)), 0);
    assert_int_equal(put_booking(b, booking_of(4, "kim", BOOKING_FIRM, at)), -EEXIST);
    assert_int_equal(put_booking(b, booking_of(5, "kim", BOOKING_WAIT, at)), 0); /* inside one's own */
    assert_int_equal(put_booking(b, booking_of(6, "ann", BOOKING_WAIT, at)), -EEXIST);
    over.released_ms = 1; /* cancelled */
    over.changes++;
    assert_int_equal(put_booking(a, over), 0);
    assert_int_equal(put_booking(b, booking_of(7, "kim", BOOKING_FIRM, at)), 0);
    records_close(a);
    records_close(b);
}

static void numbers_are_given_once_and_above_all_there_are(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct records *r = records_of(url, 1);
    int64_t first = 0, end = 0, next = 0, next_end = 0;
    struct db *db = NULL;
    (void)unused;

    assert_int_equal(db_open(&db, url, &lease_kind, DB_WRITE, NULL), 0);
    assert_int_equal(ids_take(db, IDS_BOOKING, &first, &end, NULL), 0);
    assert_int_equal(ids_take(db, IDS_BOOKING, &next, &next_end, NULL), 0);
    assert_true(end > first && next >= end && next_end > next);
    assert_int_equal(put_booking(r, booking_of(5000, "kim", BOOKING_FIRM, 4000000000000ll)), 0); /* moved here */
    assert_int_equal(ids_take(db, IDS_BOOKING, &first, &end, NULL), 0);
    assert_true(first > 5000);
    db_close(db);
    records_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_commits_late_is_not_missed),
        cmocka_unit_test(what_pg_restore_brings_is_no_news),
        cmocka_unit_test(after_a_lost_connection_the_last_changes_are_read_again),
        cmocka_unit_test(no_device_is_booked_twice),
        cmocka_unit_test(numbers_are_given_once_and_above_all_there_are),
    };

    cmocka_set_test_filter(getenv("MUSTER_TEST_ONLY"));
    return cmocka_run_group_tests(tests, start_server, end_server);
}
