/* test_record_sql.c: a field is one line: a store that lacks it gets its column, and what was kept before has it empty.
 */
#include "test.h"

#include "store_dir.h"

#include "base/buf.h"
#include "sql/record_sql.h"
#include "store/kinds.h"
#include "store/schema.h"

struct pet {
    int64_t id, born_ms;
    int32_t legs;
    const char *name, *owner;
};
static const struct record_field fields[] = {
    RECORD_FIELD(pet, 1, id, ID, "id", "id", INT64_MAX, .put = PUT_KEY),
    RECORD_FIELD(pet, 2, born_ms, TIME, "born_ms", "born", 0),
    RECORD_FIELD(pet, 3, legs, COUNT, "legs", NULL, 0),
    RECORD_FIELD(pet, 4, name, TEXT, "called", "name", 20),
    RECORD_FIELD(pet, 5, owner, TEXT, "owner", "owner", 20),
};
/* Before somebody added the line for its owner, and with it. */
static const struct record_kind before = {"pets", fields, 4, sizeof(struct pet)},
                                after = {"pets", fields, 5, sizeof(struct pet)};
static const char *const sql[] = {"INSERT OR REPLACE INTO pets({pets}) VALUES({pets?})",
                                  "UPDATE pets SET {pets=} WHERE id = ?1", "SELECT {pets} FROM pets ORDER BY id"};

static struct db_kind file_of(const struct record_kind *const *kinds)
{
    return (struct db_kind){.magic = 0x70657473,
                            .version = 1,
                            .schema = "CREATE TABLE pets(id INTEGER PRIMARY KEY, born_ms INTEGER NOT NULL, legs INTEGER"
                                      " NOT NULL, called TEXT NOT NULL)",
                            .records = kinds};
}

static struct db *open_pets(const char *path, const struct record_kind *kind, enum db_mode mode, struct db_stmts *st)
{
    const struct record_kind *const kinds[] = {kind, NULL};
    static const struct record_kind *kept[2];
    struct db_kind file = file_of(kinds);
    struct db *db;

    kept[0] = kind;
    assert_int_equal(db_open(&db, path, &file, mode, NULL), 0);
    db_stmts_init(st, db, sql, 3);
    st->records = kept;
    return db;
}

static void close_pets(struct db *db, struct db_stmts *st)
{
    db_stmts_fini(st);
    db_close(db);
}

static void put(struct db_stmts *st, const struct record_kind *kind, int which, const struct pet *p)
{
    record_bind(db_stmt(st, (size_t)which), kind, p);
    assert_int_equal(db_run(db_stmt(st, (size_t)which)), 0);
}

/* The nth of them; its texts are copied behind it. */
static struct pet *get(struct db_stmts *st, const struct record_kind *kind, int nth)
{
    struct db_stmt *s = db_stmt(st, 2);
    struct pet p = {0};

    for (int i = 0; i <= nth; i++)
        assert_int_equal(db_step(s), 1);
    record_read(s, kind, &p);
    struct pet *copy = record_copy(kind, &p);
    db_reset(s);
    return copy;
}

static void a_line_more_is_a_column_more(void **unused)
{
    char *dir = dir_new();
    AUTO_FREE char *path = mem_fmt("%s/pets.db", dir);
    struct db_stmts st;
    (void)unused;

    struct db *db = open_pets(path, &before, DB_WRITE, &st);
    put(&st, &before, 0, &(struct pet){.id = 1, .born_ms = -5, .legs = 4, .name = "Rex"});
    close_pets(db, &st);

    db = open_pets(path, &after, DB_READ, &st); /* it may not be changed: what it lacks is empty */
    AUTO_FREE struct pet *old = get(&st, &after, 0);
    assert_string_equal(old->owner, "");
    close_pets(db, &st);

    db = open_pets(path, &after, DB_WRITE, &st);
    put(&st, &after, 0, &(struct pet){.id = 2, .legs = 2, .name = "Tweety", .owner = "kim, \"the\" one"});
    put(&st, &after, 1, &(struct pet){.id = 1, .born_ms = -5, .legs = 3, .name = "Rex", .owner = "lee"});
    AUTO_FREE struct pet *rex = get(&st, &after, 0), *tweety = get(&st, &after, 1);
    assert_int_equal(rex->legs, 3);
    assert_int_equal(rex->born_ms, -5);
    assert_string_equal(rex->owner, "lee");
    assert_string_equal(tweety->name, "Tweety");
    assert_string_equal(tweety->owner, "kim, \"the\" one");
    close_pets(db, &st);

    db = open_pets(path, &before, DB_WRITE, &st); /* and who knows one field less can still write */
    put(&st, &before, 0, &(struct pet){.id = 3, .name = "Nemo"});
    AUTO_FREE struct pet *nemo = get(&st, &before, 2);
    assert_string_equal(nemo->name, "Nemo");
    close_pets(db, &st);
    dir_free(dir);
}

struct stay {
    int64_t id, least, most, first_ms, last_ms;
    int32_t share;
    bool over;
    const char *guest, *room;
};
#define STAY(no, field, type, ...) RECORD_FIELD(stay, no, field, type, #field, NULL, 0, __VA_ARGS__)
static const struct record_field stay_fields[] = {
    STAY(1, id, ID, .put = PUT_KEY),
    STAY(2, least, INT, .put = PUT_MIN),
    STAY(3, most, INT, .put = PUT_MAX),
    STAY(4, first_ms, INT, .put = PUT_FIRST),
    STAY(5, last_ms, INT, .put = PUT_MAX),
    STAY(6, share, INT, .put = PUT_FILL, .none = -1),
    STAY(7, over, FLAG, .put = PUT_NEWER),
    STAY(8, guest, TEXT, .put = PUT_FILL),
    STAY(9, room, TEXT),
};
static const struct record_kind stay_record = {"stays", stay_fields, ARRAY_LEN(stay_fields), sizeof(struct stay)};

static void what_is_put_meets_what_is_there(void **unused)
{
    static const struct {
        struct stay put, want;
    } cases[] = {
        {{1, 5, 5, 0, 10, 7, true, "kim", "a"}, {1, 5, 5, 0, 10, 7, true, "kim", "a"}},
        {{1, 3, 3, 4, 9, -1, false, "", "b"}, {1, 3, 5, 4, 10, 7, true, "kim", "b"}}, /* older, and knows less */
        {{1, 9, 9, 6, 10, 0, false, "lee", ""}, {1, 3, 9, 4, 10, 0, false, "lee", ""}},
        {{1, 9, 9, 2, 11, -1, true, "", "c"}, {1, 3, 9, 2, 11, 0, true, "lee", "c"}},
    };
    const struct record_kind *const kinds[] = {&stay_record, NULL};
    const char *const puts[] = {
        "INSERT INTO stays({stays}) VALUES({stays?}) ON CONFLICT({stays#}) DO UPDATE SET {stays!}",
        "SELECT {stays} FROM stays",
    };
    char *dir = dir_new();
    AUTO_FREE char *path = mem_fmt("%s/stays.db", dir);
    struct db_kind file = {.magic = 1, .version = 1, .schema = "CREATE TABLE stays(id INTEGER PRIMARY KEY)"};
    struct db_stmts st;
    struct db *db;
    (void)unused;

    file.records = kinds;
    assert_int_equal(db_open(&db, path, &file, DB_WRITE, NULL), 0);
    db_stmts_init(&st, db, puts, ARRAY_LEN(puts));
    st.records = kinds;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct stay *want = &cases[i].want;
        struct stay got;
        print_message("put %zu\n", i);
        record_bind(db_stmt(&st, 0), &stay_record, &cases[i].put);
        assert_int_equal(db_run(db_stmt(&st, 0)), 0);
        assert_int_equal(db_step(db_stmt(&st, 1)), 1);
        record_read(db_stmt(&st, 1), &stay_record, &got);
        assert_true(got.least == want->least && got.most == want->most && got.first_ms == want->first_ms);
        assert_true(got.last_ms == want->last_ms && got.share == want->share && got.over == want->over);
        assert_string_equal(got.guest, want->guest);
        assert_string_equal(got.room, want->room);
        db_reset(db_stmt(&st, 1));
    }
    close_pets(db, &st);
    dir_free(dir);
}

static size_t places_of(const struct record_kind *kind, const char *column)
{
    size_t n = 0;

    for (size_t i = 0; i < kind->n; i++)
        n += strcmp(kind->fields[i].column, column) == 0;
    return n;
}

static void a_process_has_every_field_in_every_order(void **unused)
{
    (void)unused;
    assert_int_equal(proc_shown.n, proc_wire.n);
    for (size_t i = 0; i < proc_wire.n; i++) {
        assert_int_equal(places_of(&proc_shown, proc_wire.fields[i].column), 1);
        assert_int_equal(places_of(&proc_record, proc_wire.fields[i].column), 1);
    }
}

static void every_table_of_fields_makes_sense(void **unused)
{
    (void)unused;
    for (const struct record_kind *const *k = main_records; *k; k++)
        for (size_t i = 0; i < (*k)->n; i++) {
            const struct record_field *f = &(*k)->fields[i];
            print_message("%s.%s\n", (*k)->table, f->column);
            assert_in_range(f->no, 1, RECORD_MORE - 1);
            assert_true(f->at + f->size <= (*k)->size);
            for (size_t n = 0; n < i; n++) {
                assert_int_not_equal(f->no, (*k)->fields[n].no);
                assert_string_not_equal(f->column, (*k)->fields[n].column);
            }
        }
}

/* Newest first and no more than is asked for: by the index, without sorting and without reading all of them. */
static void jobs_of_a_device_are_found_in_order(void **unused)
{
    char *dir = dir_new();
    AUTO_FREE char *path = mem_fmt("%s/muster.db", dir);
    AUTO_BUF text = BUF_INIT(16384);
    struct db *db;
    int steps = 0;
    (void)unused;

    assert_int_equal(db_open(&db, path, &records_kind, DB_WRITE, NULL), 0);
    buf_adds(&text, "EXPLAIN QUERY PLAN ");
    record_sql(db, main_records, records_sql[R_JOBS_OF_DEVICE], &text);
    struct db_stmt *st = db_prepare(db, buf_str(&text).p);
    for (; db_step(st) == 1; steps++) {
        print_message("%s\n", db_text(st, 3));
        assert_memory_equal(db_text(st, 3), "SEARCH ", 7);
    }
    assert_int_equal(steps, 2);
    db_finish(st);
    db_close(db);
    dir_free(dir);
}

static void what_cannot_be_opened_is_named(void **unused)
{
    char *dir = dir_new();
    struct err err = {0};
    struct db *db;
    (void)unused;

    assert_true(db_open(&db, dir, &records_kind, DB_READ, &err) < 0);
    assert_non_null(strstr(err.msg, dir));
    dir_free(dir);
}

TESTS(cmocka_unit_test(a_line_more_is_a_column_more), cmocka_unit_test(what_is_put_meets_what_is_there),
      cmocka_unit_test(a_process_has_every_field_in_every_order), cmocka_unit_test(every_table_of_fields_makes_sense),
      cmocka_unit_test(jobs_of_a_device_are_found_in_order), cmocka_unit_test(what_cannot_be_opened_is_named))
