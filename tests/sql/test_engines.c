/*
 * test_engines.c: the same is done to a store's tables on SQLite and on a PostgreSQL server, and the same is there
 * afterwards. What only a server can do, or fail at, follows.
 */
#include "test.h"

#include <errno.h>
#include <pthread.h>

#include "pg_server.h"
#include "store_dir.h"

#include "sql/pg_text.h"
#include "sql/record_sql.h"
#include "store/chunks.h"
#include "store/kinds.h"
#include "store/schema.h"
#include "store/usage_table.h"

#define H 3600000ll

/* ---- everything that is kept, as text ---- */

/* Types of the columns: number, text, bytes. */
static const struct {
    const char *table, *types;
} tables[] = {
    {"nodes", "ttttnnnnnnntn"},
    {"node_spans", "tnnttn"},
    {"blobs", "tnnnb"},
    {"processes", "ttnnnnntttttt"
                  "nnnnnnn"},
    {"events", "tntnnnt"},
    {"jobs", "nnnnntttttttt"},
    {"job_devices", "tnnn"},
    {"holds", "nnnnnnnnnttttttt"},
    {"notes", "nnnb"},
    {"tokens", "tttttbnnnnnn"},
    {"(SELECT * FROM settings WHERE name <> '" STORE_TOKENS_VERSION "') s", "tb"}, /* counts as it likes */
    {"logs", "nnnnnn"},
    {"seen", "tnnb"},
    {"aliases", "nttnn"},
    {"usage_names", "nt"},
    {"usage_hours", "nnnb"},
    {"usage_days", "nnnnb"},
    {"usage_marks", "tnn"},
};

static void add_bytes(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        buf_addf(out, "%02x", (unsigned char)s.p[i]);
}

static void dump_table(struct db *db, const char *table, const char *types, struct buf *out)
{
    AUTO_FREE char *sql = mem_fmt("SELECT * FROM %s ORDER BY 1, 2%s%s%s", table, types[2] ? ", 3" : "",
                                  types[2] && types[3] ? ", 4" : "", types[2] && types[3] && types[4] ? ", 5" : "");
    struct db_stmt *st = db_prepare(db, sql);
    struct err err = {0};
    int r;

    while ((r = db_next(st, &err)) == 1) {
        buf_addf(out, "%s:", table);
        for (int i = 0; types[i]; i++) {
            buf_addc(out, ' ');
            if (types[i] == 'n')
                buf_addf(out, "%lld", (long long)db_number(st, i));
            else if (types[i] == 't')
                buf_addf(out, "'%s'", db_text(st, i));
            else
                add_bytes(out, db_bytes(st, i));
        }
        buf_addc(out, '\n');
    }
    if (r < 0)
        fail_msg("%s", err.msg);
    db_finish(st);
}

static void dump(struct records *r, const char *after, struct buf *out)
{
    buf_addf(out, "---- %s\n", after);
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        dump_table(r->db, tables[i].table, tables[i].types, out);
}

/* ---- records of every kind ---- */

static const char *some_text(struct prng *g)
{
    static const char *const texts[] = {"", "a", "b", "kim", "Zo\xc3\xab", "it's \"so\"", "GPU-1,GPU-2", "-", "A"};

    return texts[prng_next(g) % ARRAY_LEN(texts)];
}

static int64_t some_number(struct prng *g, bool key)
{
    static const int64_t numbers[] = {0, 1, 2, 65536, 1700000000000, INT32_MAX, -1};

    return key ? (int64_t)(prng_next(g) % 6) + 1 : numbers[prng_next(g) % ARRAY_LEN(numbers)];
}

/* Keys are few, so that they meet. */
static void fill(struct prng *g, const struct record_kind *kind, void *record)
{
    static char blob[16];

    memset(record, 0, kind->size);
    for (size_t i = 0; i < kind->n; i++) {
        const struct record_field *f = &kind->fields[i];
        if (f->type == FIELD_TEXT)
            *record_text(f, record) = some_text(g);
        else if (f->type == FIELD_NAME)
            mem_copy_str(record_array(f, record), f->size, some_text(g));
        else if (f->type == FIELD_FLAG)
            record_set_int(f, record, prng_next(g) % 2 != 0);
        else if (f->type == FIELD_INT)
            record_set_int(f, record, some_number(g, f->put == PUT_KEY));
        else if (f->type == FIELD_BYTES)
            memset(record_array(f, record), (int)prng_next(g), f->size);
        else {
            memset(blob, (int)(prng_next(g) & 1), sizeof(blob));
            *record_blob(f, record) = str_n(blob, prng_next(g) % sizeof(blob));
        }
    }
}

static void put_records(struct records *r)
{
    struct prng g = {7};
    union any_record rec;

    for (int i = 0; i < 40; i++)
        for (enum store_kind k = 0; k < STORE_TABLES; k++) {
            fill(&g, main_records[k], &rec);
            if (k == STORE_NODE && i < 8)
                snprintf(rec.node.key, sizeof(rec.node.key), "n%d", i % 4);
            if (k == STORE_NODE)
                rec.node.facts = prng_next(&g); /* 64 bits without a sign */
            int code = records_put(r, k, &rec);
            if (code < 0 && !(k == STORE_BOOKING && code == -ESTALE)) /* made from another version */
                fail_msg("%s %d: %s", main_records[k]->table, i, strerror(-code));
        }
}

static void put_the_rest(struct records *r)
{
    struct seen seen = {0};

    assert_int_equal(records_put_blob(r, "a", BLOB_FACTS, UINT64_MAX - 5, 3, STR("fact\0s")), 0);
    assert_int_equal(records_put_blob(r, "a", BLOB_FACTS, UINT64_MAX - 5, 2, STR("other")), 0);
    assert_int_equal(records_put_blob(r, "b", BLOB_PROCS, 5, 1, STR("")), 0);
    struct index_node b = {.key = "b"}, nobody = {.key = "nobody"};
    struct blob_touch t[] = {{&b, 5, 4, false}, {&nobody, 5, 4, false}, {&b, 6, 4, false}, {&b, 5, 4, false}};
    assert_int_equal(records_touch_blobs(r, t, ARRAY_LEN(t)), 0);
    for (size_t i = 0; i < ARRAY_LEN(t); i++)
        assert_int_equal(t[i].missing, i == 1 || i == 2);
    for (int i = 1; i < 4; i++)
        assert_int_equal(records_put_log(r, &(struct log_sum){.n = i, .batches = i, .first_ms = i, .last_ms = 10 * i}),
                         0);
    assert_int_equal(records_compacted(r, 1, 0), 0);
    assert_int_equal(records_compacted(r, 2, 5), 0);
    assert_int_equal(records_put_log(r, &(struct log_sum){.n = 2, .batches = 9}), 0);
    seen_add(&seen, UINT64_MAX, 1, 1);
    seen_add(&seen, UINT64_MAX, 7, 1);
    assert_int_equal(records_put_seen(r, "a", &seen.v[0]), 0);
    seen_add(&seen, UINT64_MAX, UINT64_MAX, 2);
    assert_int_equal(records_put_seen(r, "a", &seen.v[0]), 0);
    seen_fini(&seen);
}

static void put_tokens(struct records *r)
{
    struct store_token t = {.id = "e1", .role = "enroll", .uses = 3};

    assert_int_equal(records_put(r, STORE_TOKEN, &t), 0);
    t = (struct store_token){.id = "t1", .role = "agent", .note = STORE_ENROLLED_WITH "e1", .node = "a"};
    for (int i = 0; i < 2; i++) /* the second time it is not new */
        assert_int_equal(records_put(r, STORE_TOKEN, &t), 0);
    t.revoked_ms = 9;
    for (int i = 0; i < 2; i++) {
        struct err err = {0};
        if (records_put_now(r, STORE_TOKEN, &t, &err) < 0)
            fail_msg("%s", err.msg);
        snprintf(t.id, sizeof(t.id), "t2");
    }
}

static struct usage_held kim[] = {{"ann", {.held_ms = 1, .busy_ms = 1, .long_ms = 0, .mib_s = 0, .mj = 0}},
                                  {"kim", {.held_ms = 1000, .busy_ms = 400, .long_ms = 100, .mib_s = 7, .mj = 50}}};
static struct usage_device gpus[] = {{"GPU-1", "H200", 10, 20, 30, 40, 2, kim},
                                     {"GPU-2", "H200", 99, 0, 0, 0, 0, NULL}};

static void put_usage(struct records *r)
{
    static const int64_t hours[] = {24, 25, 24, 47, 48};
    static const char *const nodes[] = {"a", "a", "b", "a", "b"};

    for (size_t i = 0; i < ARRAY_LEN(hours); i++) {
        struct usage_span s = {hours[i] * H, (hours[i] + 1) * H, 1 + i % 2, gpus + (i + 1) % 2 * (i % 2 == 0)};
        struct usage_day day = {hours[i] / 24 * 24 * H, (hours[i] / 24 + 1) * 24 * H};
        int64_t mark = 1 << 20;
        assert_int_equal(records_put_usage(r, &(struct usage_put){nodes[i], 1, 1, &s, &mark, "UTC", &day}), 0);
    }
}

/* ---- what can be asked ---- */

static void say_record(struct buf *out, const struct record_kind *kind, const void *record)
{
    buf_addf(out, "%s", kind->table);
    for (size_t i = 0; i < kind->n; i++) {
        const struct record_field *f = &kind->fields[i];
        buf_addc(out, ' ');
        if (f->type == FIELD_TEXT)
            buf_addf(out, "'%s'", *record_text(f, record));
        else if (f->type == FIELD_NAME)
            buf_addf(out, "'%s'", record_array(f, record));
        else if (record_is_number(f))
            buf_addf(out, "%lld", (long long)record_int(f, record));
        else if (f->type == FIELD_BYTES)
            add_bytes(out, str_n(record_array(f, record), f->size));
        else
            add_bytes(out, *record_blob(f, record));
    }
    buf_addc(out, '\n');
}

static void say_node(void *arg, const struct store_node *n)
{
    say_record(arg, main_records[STORE_NODE], n);
}
static void say_proc(void *arg, const struct proc_span *p)
{
    say_record(arg, main_records[STORE_PROC], p);
}
static void say_event(void *arg, const char *node, const char *device, const struct node_event *e)
{
    say_record(arg, main_records[STORE_EVENT], &(struct store_event){node, device, *e});
}
static void say_job(void *arg, const struct job_fact *j)
{
    say_record(arg, main_records[STORE_JOB], j);
}
static void say_booking(void *arg, const struct booking *b)
{
    say_record(arg, main_records[STORE_BOOKING], b);
}
static void say_note(void *arg, const struct note *n)
{
    say_record(arg, main_records[STORE_NOTE], n);
}
static void say_token(void *arg, const struct store_token *t)
{
    say_record(arg, main_records[STORE_TOKEN], t);
}
static void say_mark(void *arg, const char *node, int64_t at_ms, int64_t seq)
{
    buf_addf(arg, "mark %s %lld %lld\n", node, (long long)at_ms, (long long)seq);
}
static int say_usage(void *arg, const char *node, const struct usage_span *s)
{
    buf_addf(arg, "usage %s %lld-%lld", node, (long long)(s->at_ms / H), (long long)(s->end_ms / H));
    for (size_t i = 0; i < s->n; i++)
        buf_addf(arg, " %s f%lld of %zu", s->devices[i].device, (long long)s->devices[i].free_ms, s->devices[i].n);
    buf_addc(arg, '\n');
    return 0;
}

static void ask_each(struct records *r, struct buf *out)
{
    static const struct usage_day whole[] = {{24 * H, 48 * H}};
    const struct usage_query hours = {.to_ms = 1000 * H},
                             days = {.to_ms = 1000 * H, .days = whole, .n_days = 1, .zone = "UTC"};
    const struct job_query jobs[] = {
        {.limit = 100},
        {.limit = 2},
        {.parent = 1, .limit = 9},
        {.node = "a", .limit = 9},
        {.person = "kim", .limit = 9},
        {.device = "GPU-1", .limit = 9},
        {.from_ms = 3, .to_ms = 70000, .limit = 9},
    };
    const struct store_each *const asks[] = {
        EACH_NODE(say_node, out),
        EACH_PROC(say_proc, out),
        EACH_PROC(say_proc, out, .node = "a"),
        EACH_PROC(say_proc, out, .node = "a", .at_ms = 65536),
        EACH_PROC(say_proc, out, .node = "a", .from_ms = 1, .to_ms = 1700000000001),
        EACH_EVENT(say_event, out, .limit = 5),
        EACH_EVENT(say_event, out, .node = "kim", .from_ms = -1, .limit = SIZE_MAX),
        EACH_BOOKING(say_booking, out, .from_ms = -5),
        EACH_NOTE(2, say_note, out),
        EACH_NOTE(2, say_note, out, .open = true),
        EACH_NOTE(2, say_note, out, .from_ms = 1, .to_ms = 6, .limit = 3),
        EACH_TOKEN(say_token, out),
        EACH_TOKEN(say_token, out, .node = "a"),
        EACH_USAGE_MARK(say_mark, out),
        EACH_USAGE_REACH(say_mark, out),
        EACH_USAGE(&hours, say_usage, out),
        EACH_USAGE(&days, say_usage, out),
    };

    for (size_t i = 0; i < ARRAY_LEN(asks) + ARRAY_LEN(jobs); i++) {
        const struct store_each *e = i < ARRAY_LEN(asks) ? asks[i] : EACH_JOB(&jobs[i - ARRAY_LEN(asks)], say_job, out);
        struct err err = {0};
        buf_addf(out, "---- asked %zu\n", i);
        if (records_each(r, e, &err) < 0)
            fail_msg("asked %zu: %s", i, err.msg);
    }
}

static void ask_one(struct records *r, struct buf *out)
{
    for (int64_t id = 0; id < 4; id++) {
        AUTO_FREE struct job_fact *job = NULL;
        AUTO_FREE struct booking *booking = NULL;
        if (records_get(r, GET_JOB(id, &job), NULL) == 1)
            say_job(out, job);
        if (records_get(r, GET_BOOKING(id, &booking), NULL) == 1)
            say_booking(out, booking);
    }
    struct store_token t = {0};
    buf_addf(out, "token %d\n", records_get(r, GET_TOKEN("t1", &t), NULL));
    say_token(out, &t);
    buf_addf(out, "none %d\n", records_get(r, GET_TOKEN("-1", &t), NULL));
    AUTO_BUF value = {0};
    buf_addf(out, "setting %d\n", records_get(r, GET_SETTING("kim", &value), NULL));
    add_bytes(out, buf_str(&value));
    AUTO_BUF blob = {0};
    buf_addf(out, "\nblob %d %d %d ", records_has_blob(r, "a", UINT64_MAX - 5), records_has_blob(r, "a", 5),
             records_get_blob(r, "a", UINT64_MAX - 5, &blob, NULL));
    add_bytes(out, buf_str(&blob));
    for (int64_t at = 0; at < 3; at++) {
        struct node_at was = {0};
        uint64_t facts = 0;
        int code = records_node_at(r, "a", at * 1700000000000, &was, &facts, NULL);
        buf_addf(out, "\nwas %d '%s' %d %lld %llu", code, was.name, was.maintenance, (long long)was.hung_since_ms,
                 (unsigned long long)facts);
    }
    AUTO_FREE struct alias *aliases = NULL;
    AUTO_FREE struct log_sum *logs = NULL;
    struct index x = {0};
    size_t n = 0, n_logs = 0;
    int64_t last = 0, oldest = 0;
    assert_int_equal(records_aliases(r, &aliases, &n, NULL), 0);
    assert_int_equal(records_load_logs(r, &logs, &n_logs, NULL), 0);
    assert_int_equal(records_last_log(r, &last, NULL), 0);
    assert_int_equal(records_oldest_log(r, &oldest), 0);
    assert_int_equal(records_load_seen(r, &x, NULL), 0);
    buf_addf(out, "\n%zu aliases, %zu logs, last %lld, oldest %lld, seen %d %d\n", n, n_logs, (long long)last,
             (long long)oldest, x.n && seen_has(&x.v[0]->seen, UINT64_MAX, UINT64_MAX),
             x.n && seen_has(&x.v[0]->seen, UINT64_MAX, 2));
    index_fini(&x);
}

/* ---- one life, on any engine ---- */

static void within(struct records *r, void (*put)(struct records *r), struct buf *out, const char *what)
{
    struct err err = {0};

    assert_int_equal(records_begin(r, NULL), 0);
    put(r);
    if (records_end(r, 0, &err) < 0)
        fail_msg("%s: %s", what, err.msg);
    dump(r, what, out);
}

static void change_jobs(struct records *r)
{
    assert_int_equal(records_change_job(r, &(struct job_change){.id = 1, .end_ms = 99, .devices = "GPU-9"}), 0);
    assert_int_equal(records_change_job(r, &(struct job_change){.id = 2, .name = "new"}), 0);
    assert_int_equal(records_change_job(r, &(struct job_change){.id = 1 << 30, .name = "none"}), 0);
}
static void take_over(struct records *r)
{
    assert_int_equal(records_take_over(r, "a", "b", 2, 77), 0);
    assert_int_equal(records_take_over(r, "kim", "new one", 3, 1), 0);
}
static void drop_node(struct records *r)
{
    assert_int_equal(records_drop_node(r, "b"), 0);
}
static void drop_logs(struct records *r)
{
    assert_int_equal(records_drop_log(r, 3), 0);
    assert_int_equal(records_drop_old_logs(r, 100), 0);
    assert_int_equal(records_drop_before(r, 3), 0);
}
static void drop_marks(struct records *r)
{
    assert_int_equal(records_put(r, STORE_USAGE_MARK, &(struct usage_mark){"kim", 1, 0}), 0);
    assert_int_equal(records_put(r, STORE_NOTE, &(struct note){.kind = 1, .id = 1, .over_ms = NOTE_GONE}), 0);
    assert_int_equal(records_drop_usage(r, 25 * H), 0);
}

/* Notes whose ids grow with time: those before an id, or the lowest beyond a number. */
static void first_notes(struct records *r, struct buf *out)
{
    for (int64_t id = 1; id <= 9; id++)
        assert_int_equal(records_put(r, STORE_NOTE, &(struct note){NOTE_AUDIT, id, 0, STR("x")}), 0);
    assert_int_equal(records_drop_first_notes(r, NOTE_AUDIT, 3, 100, 100), 2);
    assert_int_equal(records_drop_first_notes(r, NOTE_AUDIT, 0, 4, 2), 2); /* 3 of the 7, at most 2 at once */
    assert_int_equal(records_drop_first_notes(r, NOTE_AUDIT, 0, 4, 2), 1);
    assert_int_equal(records_drop_first_notes(r, NOTE_AUDIT, 0, 4, 2), 0);
    records_each(r, EACH_NOTE(NOTE_AUDIT, say_note, out), NULL);
}

static void live(const char *place, struct buf *out)
{
    struct records *r = NULL;
    struct err err = {0};

    if (records_open(&r, place, DB_WRITE, &err) < 0)
        fail_msg("%s", err.msg);
    within(r, put_records, out, "records");
    within(r, put_the_rest, out, "blobs and logs");
    put_tokens(r);
    within(r, put_usage, out, "usage and tokens");
    ask_each(r, out);
    ask_one(r, out);
    within(r, change_jobs, out, "jobs changed");
    within(r, take_over, out, "taken over");
    ask_one(r, out);
    records_close(r);
    assert_int_equal(records_open(&r, place, DB_BESIDE, NULL), 0); /* what is there stays */
    within(r, drop_marks, out, "marks dropped");
    within(r, drop_logs, out, "logs dropped");
    buf_addf(out, "%d went\n", records_drop_old(r, 65537, 3));
    buf_addf(out, "%d went\n", records_drop_old(r, 65537, 300));
    first_notes(r, out);
    dump(r, "old ones dropped", out);
    within(r, drop_node, out, "a node dropped");
    ask_each(r, out);
    assert_int_equal(records_begin(r, NULL), 0);
    put_the_rest(r);
    records_rollback(r);
    dump(r, "undone", out);
    records_close(r);
}

/* The first line that differs. */
static void expect_same(const struct buf *a, const struct buf *b)
{
    struct str x = buf_str(a), y = buf_str(b), one, other, part = STR("");

    while (x.len && str_cut(&x, '\n', &one) && str_cut(&y, '\n', &other)) {
        if (str_starts(one, "----"))
            part = one;
        if (one.len != other.len || memcmp(one.p, other.p, one.len) != 0)
            fail_msg("%.*s\nSQLite:     %.*s\nPostgreSQL: %.*s", STR_ARG(part), STR_ARG(one), STR_ARG(other));
    }
    assert_int_equal(x.len, y.len);
}

static void on_both(void (*test)(const char *place, struct buf *out), size_t least)
{
    AUTO_BUF a = BUF_INIT(16 << 20), b = BUF_INIT(16 << 20);
    char *dir = dir_new_quick();
    AUTO_FREE char *url = pg_base(&server);

    test(dir, &a);
    test(url, &b);
    expect_same(&a, &b);
    assert_true(a.len > least && !a.err);
    dir_free(dir);
}

static void records_are_the_same_on_both(void **unused)
{
    (void)unused;
    on_both(live, 50000);
}

/* ---- chunks ---- */

static int say_chunk(void *arg, const struct chunk_row *row)
{
    buf_addf(arg, "%lld %lld %d %lld %d %lld-%lld %lld %d %zu ", (long long)row->id, (long long)row->node, row->tier,
             (long long)row->bucket, row->level, (long long)row->from_ms, (long long)row->to_ms, (long long)row->log,
             row->summed, row->bytes.len);
    if (row->bytes.p)
        add_bytes(arg, row->bytes);
    return buf_addc(arg, '\n');
}

static void say_chunks(struct chunks *c, struct buf *out)
{
    struct chunk_group *groups;
    struct chunk_mark *marks;
    size_t n;

    for (int64_t node = 1; node < 3; node++)
        for (int tier = 0; tier < 3; tier++)
            for (int bytes = 0; bytes < 2; bytes++)
                assert_int_equal(chunks_each(c, bytes, node, tier, 0, say_chunk, out), 0);
    assert_int_equal(chunks_groups(c, &groups, &n), 0);
    for (size_t i = 0; i < n; i++)
        buf_addf(out, "group %d %lld %lld %lld\n", groups[i].tier, (long long)groups[i].node,
                 (long long)groups[i].fresh, (long long)groups[i].merged);
    free(groups);
    assert_int_equal(chunks_marks(c, &marks, &n), 0);
    for (size_t i = 0; i < n; i++)
        buf_addf(out, "mark %lld %lld %d\n", (long long)marks[i].log, (long long)marks[i].upto, marks[i].done);
    free(marks);
    buf_addf(out, "newest %lld, mend %d\n", (long long)chunks_newest_ms(c), chunks_mend(c));
}

static void live_of_chunks(const char *place, struct buf *out)
{
    struct chunks *c = NULL;
    struct err err = {0};
    char bytes[40000], part[100];
    int64_t a = 0, b = 0, at = -1, version[2];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 7);
    if (chunks_open(&c, place, DB_WRITE, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(chunks_version(c, &version[0]), 0);
    assert_int_equal(chunks_begin(c, true), 0);
    assert_int_equal(chunks_node(c, "a", false, &a), 0);
    assert_int_equal(chunks_node(c, "a", true, &a), 1);
    assert_int_equal(chunks_node(c, "b", true, &b), 1);
    for (int i = 0; i < 12; i++) {
        struct chunk_row row = {.node = i % 2 ? a : b,
                                .tier = i % 3,
                                .level = i % 4 == 3,
                                .from_ms = i,
                                .to_ms = 10 + i,
                                .log = i,
                                .summed = i % 5 != 0,
                                .bytes = str_n(bytes, i == 6 ? sizeof(bytes) : 20 + (size_t)i)};
        assert_int_equal(chunks_put(c, &row), 0);
    }
    assert_int_equal(chunks_set_mark(c, &(struct chunk_mark){3, 7, false}), 0);
    assert_int_equal(chunks_set_mark(c, &(struct chunk_mark){3, 9, true}), 0);
    assert_int_equal(chunks_set_mark(c, &(struct chunk_mark){0, 1, false}), 0);
    assert_int_equal(chunks_end(c, 0, &err), 0);
    say_chunks(c, out);
    assert_int_equal(chunks_begin(c, false), 0);
    for (size_t off = 0; off < 40000; off += 13331) {
        buf_addf(out, "part %d ", chunks_bytes(c, 7, off, sizeof(part), part));
        add_bytes(out, str_n(part, sizeof(part)));
    }
    buf_addf(out, "\nno part %d %d\n", chunks_bytes(c, 99, 0, 5, part), chunks_bytes(c, 7, 39999, 5, part) < 0);
    chunks_rollback(c);
    for (int64_t from = 0; from < 6; from += 5) {
        assert_int_equal(chunks_next_bucket(c, false, 0, from, &at), from == 0);
        assert_int_equal(chunks_next_bucket(c, true, 1, from, &at), from == 0);
        assert_int_equal(at, 0);
    }
    assert_int_equal(chunks_begin(c, true), 0);
    assert_int_equal(chunks_set_summed(c, 1), 0);
    assert_int_equal(chunks_final(c, a, 1, 0, false), 0);
    assert_int_equal(chunks_drop(c, 2, true), 0);
    assert_int_equal(chunks_drop_mark(c, 3), 0);
    buf_addf(out, "rehome %d, dropped %d\n", chunks_rehome(c, "a", "b", 6), chunks_drop_bucket(c, 1, 0, 2));
    assert_int_equal(chunks_end(c, 0, &err), 0);
    say_chunks(c, out);
    assert_true(chunks_used_bytes(c) >= 40000);
    assert_int_equal(chunks_vacuum(c, 1), 0);
    chunks_tidy(c, true);
    chunks_close(c);
}

static void chunks_are_the_same_on_both(void **unused)
{
    (void)unused;
    on_both(live_of_chunks, 1000);
}

/* ---- what a server does ---- */

static struct records *open_base(const char *url)
{
    struct records *r = NULL;
    struct err err = {0};

    if (records_open(&r, url, DB_WRITE, &err) < 0)
        fail_msg("%s", err.msg);
    return r;
}

static void text_that_is_no_utf8_is_kept_clean(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct records *r = open_base(url);
    struct store_node n = {.key = "a", .name = "x\xff\xc3(\xe2\x82"};
    AUTO_BUF out = BUF_INIT(4096);
    (void)unused;

    assert_int_equal(records_put(r, STORE_NODE, &n), 0);
    assert_int_equal(records_each(r, EACH_NODE(say_node, &out), NULL), 0);
    assert_non_null(strstr(out.p, "'x\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd'"));
    records_close(r);
}

static void end_connections(void)
{
    assert_int_equal(pg_sql(&server, "postgres",
                            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE 'base%'"),
                     0);
}

static void a_lost_connection_costs_one_transaction(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct records *r = open_base(url);
    struct store_node n = {.key = "a", .name = "one"};
    struct err err = {0};
    AUTO_BUF out = BUF_INIT(4096);
    (void)unused;

    assert_int_equal(records_put(r, STORE_NODE, &n), 0);
    records_set_posts(r, false);
    assert_int_equal(records_begin(r, NULL), 0);
    snprintf(n.name, sizeof(n.name), "two");
    assert_int_equal(records_put(r, STORE_NODE, &n), 0);
    end_connections();
    assert_int_equal(records_put(r, STORE_NODE, &n), -ENOTCONN);
    assert_int_equal(records_put(r, STORE_NODE, &n), -ENOTCONN); /* not on a new connection, without the rest */
    assert_int_equal(records_end(r, -ENOTCONN, &err), -ENOTCONN);
    assert_non_null(strstr(err.msg, "cannot write 'postgres://" PG_USER "@"));
    assert_null(strstr(err.msg, PG_SECRET));
    assert_int_equal(records_begin(r, NULL), 0);
    assert_int_equal(records_each(r, EACH_NODE(say_node, &out), NULL), 0);
    assert_non_null(strstr(out.p, "'one'"));
    assert_int_equal(records_put(r, STORE_NODE, &n), 0);
    assert_int_equal(records_end(r, 0, NULL), 0);
    end_connections();
    pg_stop(&server, SIGINT);
    assert_int_equal(records_begin(r, &err), -ENOTCONN); /* noticed here, or when it was to connect again */
    pg_start(&server);
    records_rollback(r);
    assert_int_equal(records_begin(r, &err), 0);
    records_rollback(r);
    records_close(r);
}

/* More than fit into sockets' buffers; what fails among them is told at the end, and nothing of it stays. */
static void records_that_are_not_waited_for_are_all_or_nothing(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct records *r = open_base(url);
    struct store_node n = {.name = "x"};
    AUTO_FREE char *large = mem_zero(1, 100000);
    int64_t count = 0;
    (void)unused;

    for (int round = 0; round < 4; round++) {
        bool bad = round == 1, lost = round == 2;
        records_set_posts(r, round < 3);
        assert_int_equal(records_begin(r, NULL), 0);
        for (int i = 0; i < 300; i++) {
            snprintf(n.key, sizeof(n.key), "%d-%d", round, i);
            assert_int_equal(records_put(r, STORE_NODE, &n), 0);
            assert_int_equal(records_put_blob(r, n.key, BLOB_FACTS, 1, 1, str_n(large, 100000)), 0);
            if (i == 150 && lost)
                end_connections();
            if (i == 150 && bad) /* its own failure is told now, or with what was posted before it */
                assert_int_equal(db_exec(r->db, "SELECT 1 / 0"), -EINVAL);
            if (i >= 150 && (bad || lost))
                break;
        }
        int code = records_end(r, 0, NULL);
        assert_true(lost ? code == -ENOTCONN : bad ? code < 0 : code == 0);
    }
    assert_int_equal(db_int(r->db, "SELECT count(*) FROM nodes", &count), 0);
    assert_int_equal(count, 600);
    assert_int_equal(db_int(r->db, "SELECT count(*) FROM blobs", &count), 0);
    assert_int_equal(count, 600);
    /* a posted one that fails: the next statement that is waited for tells */
    records_set_posts(r, true);
    assert_int_equal(records_begin(r, NULL), 0);
    struct db_stmt *st =
        db_prepare(r->db,
                   "INSERT INTO settings(name, value) VALUES('x', CASE WHEN ?1 = 1 THEN NULL ELSE ''::bytea END)");
    db_bind_int(st, 1, 2);
    assert_int_equal(db_post(st), 0);
    db_bind_int(st, 1, 1);
    assert_int_equal(db_post(st), 0);
    assert_int_equal(db_int(r->db, "SELECT 1", &count), -EINVAL);
    db_finish(st);
    assert_true(records_end(r, 0, NULL) < 0);
    assert_int_equal(db_int(r->db, "SELECT count(*) FROM settings WHERE name = 'x'", &count), 0);
    assert_int_equal(count, 0);
    records_close(r);
}

static void what_failed_within_a_transaction_is_not_committed(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct records *r = open_base(url);
    (void)unused;

    assert_int_equal(records_begin(r, NULL), 0);
    assert_int_equal(db_exec(r->db, "SELECT 1 / 0"), -EINVAL);
    assert_true(records_end(r, 0, NULL) < 0); /* the server calls this success */
    records_close(r);
}

/* Until a commit fails: how. */
static void *commit_on(void *url)
{
    struct records *r = open_base(url);
    static int code;

    for (code = 0; code == 0; code = records_end(r, code, NULL))
        code = records_begin(r, NULL) ?: records_put(r, STORE_NODE, &(struct store_node){.key = "a"});
    records_close(r);
    return &code;
}

/* The server says that it succeeded, and warns: it is on its own disk, and may be nowhere else. */
static void a_commit_that_the_standby_may_not_have_failed(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    pthread_t thread;
    void *code = NULL;
    (void)unused;

    records_close(open_base(url));
    assert_int_equal(pg_sql(&server, "postgres", "ALTER SYSTEM SET synchronous_standby_names = 'nobody'"), 0);
    assert_int_equal(pg_sql(&server, "postgres", "SELECT pg_reload_conf()"), 0);
    assert_int_equal(pthread_create(&thread, NULL, commit_on, url), 0);
    while (pthread_tryjoin_np(thread, &code) != 0)
        pg_sql(&server, "postgres", "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    assert_int_equal(*(int *)code, -ECANCELED);
    assert_int_equal(pg_sql(&server, "postgres", "ALTER SYSTEM RESET synchronous_standby_names"), 0);
    assert_int_equal(pg_sql(&server, "postgres", "SELECT pg_reload_conf()"), 0);
}

static void who_cannot_connect_is_told_why(void **unused)
{
    AUTO_FREE char *wrong = pg_url(&server, "postgres", "wrong"), *nodb = pg_url(&server, "nodb", PG_SECRET),
                   *none = mem_fmt("postgres://" PG_USER "@%s/x", "%2Fnowhere");
    struct records *r = NULL;
    struct err err = {0};
    (void)unused;

    assert_int_equal(records_open(&r, wrong, DB_WRITE, &err), -EACCES);
    assert_non_null(strstr(err.msg, "password"));
    assert_null(strstr(err.msg, "wrong@"));
    assert_true(records_open(&r, nodb, DB_WRITE, &err) < 0);
    assert_non_null(strstr(err.msg, "database \"nodb\" does not exist"));
    assert_null(strstr(err.msg, "password"));
    assert_int_equal(records_open(&r, none, DB_WRITE, &err), -ENOTCONN);
    assert_non_null(strstr(err.msg, "cannot connect to 'postgres://" PG_USER "@%2Fnowhere/x': "));
}

static void tables_of_the_next_version_are_used_and_of_later_ones_refused(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    struct err err = {0};
    struct records *r = NULL;
    (void)unused;

    assert_int_equal(records_open(&r, url, DB_READ, &err), -ENODATA);
    r = open_base(url);
    assert_int_equal(db_exec(r->db, "UPDATE muster_version SET version = version + 1"), 0);
    records_close(r);
    r = open_base(url);
    assert_int_equal(db_exec(r->db, "UPDATE muster_version SET version = version + 1"), 0);
    records_close(r);
    assert_int_equal(records_open(&r, url, DB_WRITE, &err), -ENOTSUP);
    assert_non_null(strstr(err.msg, "newer muster"));
}

/* Written by a muster that knew a field less. */
static void a_column_that_is_missing_is_added(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    AUTO_BUF out = BUF_INIT(4096);
    struct records *r = open_base(url);
    (void)unused;

    assert_int_equal(records_put(r, STORE_NODE, &(struct store_node){.key = "a", .sampled_ms = 77}), 0);
    assert_int_equal(db_exec(r->db, "ALTER TABLE nodes DROP COLUMN sampled_ms; ALTER TABLE nodes DROP COLUMN secret"),
                     0);
    records_close(r);
    assert_int_equal(records_open(&r, url, DB_READ, NULL), 0); /* it may not be changed: what it lacks is not known */
    assert_int_equal(records_each(r, EACH_NODE(say_node, &out), NULL), 0);
    assert_non_null(strstr(out.p, " '' 0\n"));
    records_close(r);
    r = open_base(url);
    assert_int_equal(records_put(r, STORE_NODE, &(struct store_node){.key = "a", .secret = "s", .sampled_ms = 78}), 0);
    assert_int_equal(records_each(r, EACH_NODE(say_node, &out), NULL), 0);
    assert_non_null(strstr(out.p, " 's' 78\n"));
    records_close(r);
}

static void *open_and_close(void *url)
{
    struct records *r = NULL;
    int code = records_open(&r, url, DB_WRITE, NULL);

    records_close(r);
    return code == 0 ? url : NULL;
}

static void hubs_that_start_together_make_the_tables_once(void **unused)
{
    AUTO_FREE char *url = pg_base(&server);
    pthread_t threads[6];
    void *ret;
    (void)unused;

    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_and_close, url), 0);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        assert_int_equal(pthread_join(threads[i], &ret), 0);
        assert_ptr_equal(ret, url);
    }
}

static void statements_are_put_in_the_words_of_postgres(void **unused)
{
    static const struct {
        const char *sql, *want;
    } cases[] = {
        {"a = ?2 AND b = ?100 AND c = ?2", "a = $1 AND b = $2 AND c = $1"},
        {":from < :to OR :from = x::text", "$1 < $2 OR $1 = x::text"},
        {"max(a, b) + max(c) - min((a), f(b, c))", "GREATEST(a, b) + max(c) - LEAST((a), f(b, c))"},
        {"max(f(a, b)), max('a,b')", "max(f(a, b)), max('a,b')"},
        {"t(id INTEGER PRIMARY KEY, b BLOB, s TEXT) WITHOUT ROWID",
         "t(id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, b BYTEA, s TEXT COLLATE \"C\") "},
        {"FROM a INDEXED BY a_at WHERE user = 'user ?1'", "FROM a  WHERE \"user\" = 'user ?1'"},
        {"users, x'' AS x, CROSS JOIN", "users, '' AS x,  JOIN"},
    };
    (void)unused;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF out = BUF_INIT(1024);
        struct pg_places places;
        pg_text(cases[i].sql, &places, &out);
        assert_string_equal(out.p, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_are_put_in_the_words_of_postgres),
        cmocka_unit_test(records_are_the_same_on_both),
        cmocka_unit_test(chunks_are_the_same_on_both),
        cmocka_unit_test(text_that_is_no_utf8_is_kept_clean),
        cmocka_unit_test(a_lost_connection_costs_one_transaction),
        cmocka_unit_test(records_that_are_not_waited_for_are_all_or_nothing),
        cmocka_unit_test(what_failed_within_a_transaction_is_not_committed),
        cmocka_unit_test(a_commit_that_the_standby_may_not_have_failed),
        cmocka_unit_test(who_cannot_connect_is_told_why),
        cmocka_unit_test(a_column_that_is_missing_is_added),
        cmocka_unit_test(hubs_that_start_together_make_the_tables_once),
        cmocka_unit_test(tables_of_the_next_version_are_used_and_of_later_ones_refused),
    };

    cmocka_set_test_filter(getenv("MUSTER_TEST_ONLY"));
    return cmocka_run_group_tests(tests, start_server, end_server);
}
