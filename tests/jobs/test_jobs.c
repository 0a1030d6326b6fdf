/* test_jobs.c: jobs and holds in the store: puts and changes, what overlaps a time, what is dropped. */
#include "test.h"

#include <errno.h>
#include <sqlite3.h>

#include "store_dir.h"

#include "base/buf.h"

struct fix {
    char *dir;
    struct store *s;
    int result, dones;
};

static void fix_reopen(struct fix *f)
{
    store_close(f->s);
    f->s = store_new_for_test(f->dir, NULL);
}

static void with_store(void (*test)(struct fix *f))
{
    struct fix f = {.dir = dir_new_quick()};

    f.s = store_new_for_test(f.dir, NULL);
    test(&f);
    store_close(f.s);
    dir_free(f.dir);
}

#define WITH_STORE(name)                                                                                               \
    static void name##_(struct fix *f);                                                                                \
    static void name(void **unused)                                                                                    \
    {                                                                                                                  \
        (void)unused;                                                                                                  \
        with_store(name##_);                                                                                           \
    }                                                                                                                  \
    static void name##_(struct fix *f)

static void on_done(void *arg, int result)
{
    struct fix *f = arg;

    f->result = result;
    f->dones++;
}

static void flush(struct fix *f)
{
    assert_int_equal(store_flush(f->s, NULL), 0);
}

static struct job_fact job_make(int64_t id, int64_t start_ms, int64_t end_ms)
{
    return (struct job_fact){.id = id,
                             .start_ms = start_ms,
                             .end_ms = end_ms,
                             .name = "train",
                             .kind = "record",
                             .person = "kim",
                             .owner = "person:kim",
                             .node = "n1",
                             .devices = "",
                             .pids = "",
                             .attrs = ""};
}

static void put(struct fix *f, const struct job_fact *j)
{
    f->dones = 0;
    f->result = -1;
    store_put(f->s, STORE_JOB, j, 1, on_done, f);
    flush(f);
    assert_int_equal(f->dones, 1);
    assert_int_equal(f->result, 0);
}

struct found {
    size_t n;
    int64_t ids[4096];
};

static void on_job(void *arg, const struct job_fact *j)
{
    struct found *to = arg;

    assert_true(to->n < ARRAY_LEN(to->ids));
    to->ids[to->n++] = j->id;
}

static struct found find(struct fix *f, struct job_query ask)
{
    struct found got = {0};
    struct err err = {0};

    ask.limit = ask.limit ? ask.limit : 4000;
    if (store_each(f->s, EACH_JOB(&ask, on_job, &got), &err) < 0)
        fail_msg("%s", err.msg);
    return got;
}

/* ---- puts ---- */

WITH_STORE(a_job_comes_back_as_it_was_put_and_survives_a_restart)
{
    struct job_fact j = job_make(77, 1000, 0), *got = NULL;

    j.parent = 5;
    j.devices = "GPU-a,GPU-b";
    j.pids = "12,13";
    j.attrs = "{\"x\":1}";
    assert_int_equal(store_get(f->s, GET_JOB(77, &got), NULL), 0);
    put(f, &j);
    fix_reopen(f);
    assert_int_equal(store_get(f->s, GET_JOB(77, &got), NULL), 1);
    assert_int_equal(got->start_ms, 1000);
    assert_int_equal(got->end_ms, 0);
    assert_int_equal(got->parent, 5);
    const char *const want[] = {j.name, j.kind, j.person, j.owner, j.node, j.devices, j.pids, j.attrs};
    const char *const have[] = {got->name, got->kind,    got->person, got->owner,
                                got->node, got->devices, got->pids,   got->attrs};
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        assert_string_equal(have[i], want[i]);
    free(got);
}

WITH_STORE(a_job_put_twice_is_kept_once_as_it_was_first)
{
    struct job_fact j = job_make(7, 1000, 0), again = job_make(7, 9999, 0), *got = NULL;

    put(f, &j);
    again.name = "another";
    put(f, &again);
    assert_int_equal(store_get(f->s, GET_JOB(7, &got), NULL), 1);
    assert_string_equal(got->name, "train");
    assert_int_equal(got->start_ms, 1000);
    free(got);
    assert_int_equal(find(f, (struct job_query){0}).n, 1);
}

WITH_STORE(a_change_says_what_is_different_and_leaves_the_rest)
{
    struct job_fact j = job_make(7, 1000, 0), *got = NULL;

    j.devices = "GPU-a";
    j.parent = 5;
    put(f, &j);
    assert_int_equal(find(f, (struct job_query){.device = "GPU-a"}).n, 1);
    store_put(f->s, STORE_JOB_CHANGE, &(struct job_change){.id = 7, .end_ms = -1, .name = "evaluate"}, 1, on_done, f);
    store_put(f->s, STORE_JOB_CHANGE,
              &(struct job_change){.id = 7, .end_ms = 5000, .devices = "GPU-b,GPU-c", .attrs = "{}"}, 1, on_done, f);
    store_put(f->s, STORE_JOB_CHANGE, &(struct job_change){.id = 8, .end_ms = 5000}, 1, on_done, f); /* nobody's */
    flush(f);
    assert_int_equal(f->dones, 4);
    assert_int_equal(f->result, 0);
    assert_int_equal(store_get(f->s, GET_JOB(7, &got), NULL), 1);
    assert_string_equal(got->name, "evaluate");
    assert_string_equal(got->person, "kim");
    assert_string_equal(got->attrs, "{}");
    assert_int_equal(got->end_ms, 5000);
    free(got);
    assert_int_equal(find(f, (struct job_query){.device = "GPU-a"}).n, 0);
    assert_int_equal(find(f, (struct job_query){.device = "GPU-b"}).n, 1);
    assert_int_equal(find(f, (struct job_query){.device = "GPU-c", .from_ms = 4999}).n, 1);
    assert_int_equal(find(f, (struct job_query){.device = "GPU-c", .from_ms = 5000}).n, 0);
    assert_int_equal(store_get(f->s, GET_JOB(8, &got), NULL), 0);
    assert_int_equal(find(f, (struct job_query){.parent = 5}).n, 1);
    store_put(f->s, STORE_JOB_CHANGE,
              &(struct job_change){.id = 7, .end_ms = -1, .parent = JOB_NO_PARENT, .person = "lee"}, 1, on_done, f);
    flush(f);
    assert_int_equal(find(f, (struct job_query){.parent = 5}).n, 0);
    assert_int_equal(find(f, (struct job_query){.person = "kim"}).n, 0);
    assert_int_equal(find(f, (struct job_query){.person = "lee", .device = "GPU-b"}).n, 1);
}

WITH_STORE(a_node_that_is_taken_over_takes_its_jobs_along)
{
    struct job_fact j = job_make(7, 1000, 0);

    put(f, &j);
    store_take_over(f->s, "n1", "n2");
    flush(f);
    assert_int_equal(find(f, (struct job_query){.node = "n1"}).n, 0);
    assert_int_equal(find(f, (struct job_query){.node = "n2"}).n, 1);
}

/* ---- questions ---- */

/* Random jobs of every length beside a model that looks at all of them. */
WITH_STORE(jobs_of_a_time_are_those_that_overlap_it_newest_first)
{
    enum { N = 400, ROUNDS = 300 };
    static const char *const nodes[] = {"n1", "n2", "n3"}, *const persons[] = {"kim", "lee", ""},
                             *const devices[] = {"", "GPU-a", "GPU-b", "GPU-a,GPU-b"},
                             *const kinds[] = {"dask", "slurm"};
    struct job_fact *all[N];
    struct prng g = {42};

    for (int i = 0; i < N; i++) {
        int64_t start = 1700000000000 + (int64_t)(prng_next(&g) % 1000000000u);
        int64_t took = (int64_t)(prng_next(&g) >> (24 + prng_next(&g) % 40)),
                end = prng_next(&g) % 5 ? start + took : 0;
        struct job_fact j = job_make(i + 1, start, end);
        j.node = nodes[prng_next(&g) % 3];
        j.person = persons[prng_next(&g) % 3];
        j.devices = devices[prng_next(&g) % 4];
        j.kind = kinds[prng_next(&g) % 2];
        j.parent = (int64_t)(prng_next(&g) % 3);
        all[i] = job_copy(&j);
        store_put(f->s, STORE_JOB, &j, 1, on_done, f);
    }
    flush(f);
    qsort(all, N, sizeof(all[0]), job_order);
    for (int k = 0; k < ROUNDS; k++) {
        struct job_query ask = {.from_ms = 1700000000000 + (int64_t)(prng_next(&g) % 1200000000u), .limit = 1 + k % 50};
        if (prng_next(&g) % 4)
            ask.to_ms = ask.from_ms + 1 + (int64_t)(prng_next(&g) >> (30 + prng_next(&g) % 34));
        if (prng_next(&g) % 4 == 0)
            ask.node = nodes[prng_next(&g) % 3];
        if (prng_next(&g) % 4 == 0)
            ask.person = persons[prng_next(&g) % 2];
        if (prng_next(&g) % 4 == 0)
            ask.device = devices[1 + prng_next(&g) % 2];
        if (prng_next(&g) % 4 == 0)
            ask.kind = kinds[prng_next(&g) % 2];
        if (prng_next(&g) % 4 == 0)
            ask.parent = (int64_t)(prng_next(&g) % 3);
        struct found got = find(f, ask);
        size_t n = 0;
        for (int i = 0; i < N && n < ask.limit; i++)
            if (job_fits(all[i], &ask)) {
                assert_true(n < got.n);
                assert_int_equal(got.ids[n], all[i]->id);
                n++;
            }
        assert_int_equal(got.n, n);
    }
    for (int i = 0; i < N; i++)
        free(all[i]);
}

static bool at_once(void *arg)
{
    (void)arg;
    return true;
}

WITH_STORE(a_question_can_be_stopped)
{
    struct job_fact j = job_make(7, 1000, 0);
    struct found got = {0};

    put(f, &j);
    struct job_query ask = {.limit = 5, .stop = at_once};
    assert_int_equal(store_each(f->s, EACH_JOB(&ask, on_job, &got), NULL), -ECANCELED);
    assert_int_equal(got.n, 0);
}

/* ---- what goes ---- */

static int64_t clock_ms;
static int64_t set_clock(void)
{
    return __atomic_load_n(&clock_ms, __ATOMIC_SEQ_CST);
}

static void count_proc(void *arg, const struct proc_span *p)
{
    (void)p;
    ++*(size_t *)arg;
}

static void count_event(void *arg, const char *node, const char *device, const struct node_event *e)
{
    (void)node, (void)device, (void)e;
    ++*(size_t *)arg;
}

static void count_hold(void *arg, const struct booking *h)
{
    (void)h;
    ++*(size_t *)arg;
}

static void count_note(void *arg, const struct note *n)
{
    (void)n;
    buf_addc(arg, '.');
}

static struct booking hold_make(int64_t id, int64_t from_ms, int64_t until_ms);

static void old_records_go_in_small_steps_and_new_ones_stay(void **unused)
{
    enum { OLD = 700, NEW = 10 }; /* more than go at once */
    char *dir = dir_new_quick();
    struct fix f = {.dir = dir};
    struct store_conf conf = {.dir = dir, .commit_ms = 1, .keep_records_ms = 100000, .now_ms = set_clock};
    struct err err = {0};

    (void)unused;
    __atomic_store_n(&clock_ms, 50000, __ATOMIC_SEQ_CST);
    assert_int_equal(store_open(&f.s, &conf, NULL, &err), 0);
    for (int i = 0; i < OLD + NEW; i++) {
        int64_t at = i < OLD ? 1000 + i : 500000;
        struct job_fact j = job_make(i + 1, at, i % 2 ? at + 10 : 0);
        struct proc_span p = {.node = "n1", .device = "GPU-a", .fact = {.pid = i + 1}, .first_ms = at, .last_ms = at};
        struct node_event e = {.at_ms = at, .kind = EVENT_XID, .code = i};
        j.devices = "GPU-a";
        store_put(f.s, STORE_JOB, &j, 1, on_done, &f);
        store_put(f.s, STORE_PROC, &p, 1, NULL, NULL);
        store_put(f.s, STORE_EVENT, &(struct store_event){"n1", "GPU-a", e}, 1, NULL, NULL);
        struct booking h = hold_make(OLD + NEW - i, at, at + 10); /* the oldest has the highest number: it stays */
        store_put(f.s, STORE_BOOKING, &h, 1, on_done, &f);
        struct note note = {NOTE_ALERT, i + 1, i % 2 ? at : 0, STR("x")}; /* open ones stay */
        store_put(f.s, STORE_NOTE, &note, 1, on_done, &f);
    }
    flush(&f);
    assert_int_equal(find(&f, (struct job_query){0}).n, OLD + NEW); /* none is old yet */
    __atomic_store_n(&clock_ms, 550000, __ATOMIC_SEQ_CST);
    size_t jobs = OLD + NEW, rounds = 0;
    while (jobs > NEW && rounds++ < 10) {
        size_t before = jobs;
        flush(&f);
        jobs = find(&f, (struct job_query){0}).n;
        assert_in_range(before - jobs, 0, 256);
    }
    assert_int_equal(jobs, NEW);
    size_t procs = 0, events = 0;
    store_each(f.s, EACH_PROC(count_proc, &procs), NULL);
    store_each(f.s, EACH_EVENT(count_event, &events, .limit = 10000), NULL);
    assert_int_equal(procs, NEW);
    assert_int_equal(events, NEW);
    size_t holds = 0;
    store_each(f.s, EACH_BOOKING(count_hold, &holds), NULL);
    assert_int_equal(holds, NEW + 1);
    AUTO_BUF open = BUF_INIT(65536);
    AUTO_BUF all = BUF_INIT(65536);
    store_each(f.s, EACH_NOTE(NOTE_ALERT, count_note, &open, .open = true), NULL);
    store_each(f.s, EACH_NOTE(NOTE_ALERT, count_note, &all), NULL);
    assert_int_equal(open.len, (OLD + NEW) / 2);
    assert_int_equal(all.len, (OLD + NEW) / 2 + NEW / 2);
    assert_int_equal(find(&f, (struct job_query){.device = "GPU-a"}).n, NEW);
    store_close(f.s);
    dir_free(dir);
}

static void the_audit_log_is_kept_for_as_long_as_is_set(void **unused)
{
    enum { OLD = 5000, NEW = 10 }; /* more than go at once */
    char *dir = dir_new_quick();
    struct fix f = {.dir = dir};
    struct store_conf conf = {.dir = dir,
                              .commit_ms = 1,
                              .keep_records_ms = 1000,
                              .keep_audit_ms = 100000,
                              .now_ms = set_clock};
    struct err err = {0};
    size_t n = OLD + NEW;

    (void)unused;
    __atomic_store_n(&clock_ms, 50000, __ATOMIC_SEQ_CST);
    assert_int_equal(store_open(&f.s, &conf, NULL, &err), 0);
    for (int i = 0; i < OLD + NEW; i++) {
        struct note note = {NOTE_AUDIT, note_id_at(i < OLD ? 1000 : 500000) | i, 0, STR("x")};
        store_put(f.s, STORE_NOTE, &note, 1, on_done, &f);
    }
    for (size_t rounds = 0; n > NEW && rounds < 10; rounds++) {
        AUTO_BUF all = BUF_INIT(65536);
        flush(&f);
        store_each(f.s, EACH_NOTE(NOTE_AUDIT, count_note, &all), NULL);
        assert_true(rounds > 0 || all.len == OLD + NEW); /* none is old yet */
        n = all.len;
        __atomic_store_n(&clock_ms, 550000, __ATOMIC_SEQ_CST);
    }
    assert_int_equal(n, NEW);
    AUTO_BUF last = BUF_INIT(65536);
    store_each(f.s, EACH_NOTE(NOTE_AUDIT, count_note, &last, .from_ms = note_id_at(500000), .limit = 3), NULL);
    assert_int_equal(last.len, 3);
    store_close(f.s);
    dir_free(dir);
}

/* ---- notes ---- */

static void note_text(void *arg, const struct note *n)
{
    buf_addf(arg, "%lld%s=%.*s ", (long long)n->id, n->over_ms ? "!" : "", STR_ARG(n->bytes));
}

static void has_notes(const struct fix *f, int32_t kind, bool open, const char *want)
{
    AUTO_BUF b = BUF_INIT(4096);

    buf_adds(&b, "");
    assert_int_equal(store_each(f->s, EACH_NOTE(kind, note_text, &b, .open = open), NULL), 0);
    assert_string_equal(b.p, want);
}

WITH_STORE(notes_come_back_by_kind_and_number)
{
    const struct note first[] = {{NOTE_ALERT, 2, 0, STR("two")},
                                 {NOTE_ALERT, 1, 0, STR("one")},
                                 {NOTE_MESSAGE, 1, 0, STR("")}},
                      then[] = {{NOTE_ALERT, 2, 99, STR("over")}, {NOTE_MESSAGE, 1, NOTE_GONE, STR("")}};

    store_put(f->s, STORE_NOTE, first, ARRAY_LEN(first), on_done, f);
    flush(f);
    assert_int_equal(f->result, 0);
    has_notes(f, NOTE_ALERT, false, "1=one 2=two ");
    has_notes(f, NOTE_MESSAGE, true, "1= ");
    store_put(f->s, STORE_NOTE, then, ARRAY_LEN(then), on_done, f);
    flush(f);
    fix_reopen(f);
    has_notes(f, NOTE_ALERT, false, "1=one 2!=over ");
    has_notes(f, NOTE_ALERT, true, "1=one ");
    has_notes(f, NOTE_MESSAGE, false, "");
}

/* ---- holds ---- */

static struct booking hold_make(int64_t id, int64_t from_ms, int64_t until_ms)
{
    return (struct booking){.id = id,
                            .from_ms = from_ms,
                            .until_ms = until_ms,
                            .created_ms = 5,
                            .changed_ms = 6,
                            .person = "Robert'); DROP TABLE holds; --",
                            .by = "<img onerror=alert(1)>",
                            .devices = "GPU-a,GPU-b",
                            .places = "dgx2:0,1",
                            .model = "H200",
                            .where = "dgx*",
                            .comment = "\xc3\xa4"};
}

static void put_booking(struct fix *f, const struct booking *h)
{
    f->result = 1;
    store_put(f->s, STORE_BOOKING, h, 1, on_done, f);
    flush(f);
    assert_int_equal(f->result, 0);
}

static void on_hold(void *arg, const struct booking *h)
{
    struct found *got = arg;

    assert_in_range(got->n, 0, ARRAY_LEN(got->ids) - 1);
    got->ids[got->n++] = h->id;
}

static struct found find_holds(struct fix *f, int64_t from_ms, int64_t to_ms)
{
    struct found got = {0};
    struct err err = {0};

    if (store_each(f->s, EACH_BOOKING(on_hold, &got, .from_ms = from_ms, .to_ms = to_ms), &err) < 0)
        fail_msg("%s", err.msg);
    return got;
}

WITH_STORE(a_hold_comes_back_as_it_was_put_last_and_survives_a_restart)
{
    struct booking h = hold_make(7, 1000, 2000), *got = NULL;

    assert_int_equal(store_get(f->s, GET_BOOKING(0, &got), NULL), 0);
    put_booking(f, &h);
    h.until_ms = 3000;
    h.changes = 1;
    h.count = 2;
    h.kind = BOOKING_WAIT;
    h.released_ms = 2500;
    put_booking(f, &h);
    fix_reopen(f);
    assert_int_equal(store_get(f->s, GET_BOOKING(7, &got), NULL), 1);
    const int64_t numbers[][2] = {{got->id, 7},         {got->from_ms, 1000}, {got->until_ms, 3000},
                                  {got->changes, 1},    {got->count, 2},      {got->kind, BOOKING_WAIT},
                                  {got->created_ms, 5}, {got->changed_ms, 6}, {got->released_ms, 2500}};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        assert_int_equal(numbers[i][0], numbers[i][1]);
    const char *const texts[][2] = {{got->person, h.person},  {got->by, h.by},       {got->devices, h.devices},
                                    {got->places, h.places},  {got->model, h.model}, {got->where, h.where},
                                    {got->comment, h.comment}};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_string_equal(texts[i][0], texts[i][1]);
    free(got);
    assert_int_equal(store_get(f->s, GET_BOOKING(8, &got), NULL), 0);
}

WITH_STORE(holds_of_a_time_come_by_start)
{
    struct booking h = hold_make(1, 5000, 6000);

    put_booking(f, &h);
    h = hold_make(2, 1000, 2000);
    put_booking(f, &h);
    h = hold_make(3, 1000, 9000);
    put_booking(f, &h);
    struct found all = find_holds(f, 0, 0), some = find_holds(f, 2000, 5000);
    assert_int_equal(all.n, 3);
    assert_int_equal(all.ids[0], 2);
    assert_int_equal(all.ids[1], 3);
    assert_int_equal(all.ids[2], 1);
    assert_int_equal(some.n, 1); /* what ends when it begins, and begins when it ends, does not count */
    assert_int_equal(some.ids[0], 3);
    struct booking *got = NULL;
    assert_int_equal(store_get(f->s, GET_BOOKING(0, &got), NULL), 1);
    assert_int_equal(got->id, 3); /* the highest number there was */
    free(got);
}

static void what_a_hold_covers_depends_on_when_it_was_given_back(void **unused)
{
    static const struct {
        int64_t released_ms, now_ms, end_ms;
        enum booking_state state;
        bool before, at, after; /* covers some of [500, 1000), [1000, 1500), [1500, 2000) */
    } cases[] = {{0, 999, 2000, BOOKING_PLANNED, false, true, true},
                 {0, 1000, 2000, BOOKING_ACTIVE, false, true, true},
                 {0, 2000, 2000, BOOKING_OVER, false, true, true},
                 {1500, 1600, 1500, BOOKING_RELEASED, false, true, false},
                 {700, 1600, 700, BOOKING_RELEASED, false, false, false},
                 {2500, 2600, 2000, BOOKING_OVER, false, true, true}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct booking h = hold_make(1, 1000, 2000);
        h.released_ms = cases[i].released_ms;
        print_message("case %zu\n", i);
        assert_int_equal(booking_state(&h, cases[i].now_ms), cases[i].state);
        assert_int_equal(booking_end_ms(&h), cases[i].end_ms);
        assert_int_equal(booking_overlaps(&h, 500, 1000), cases[i].before);
        assert_int_equal(booking_overlaps(&h, 1000, 1500), cases[i].at);
        assert_int_equal(booking_overlaps(&h, 1500, 2000), cases[i].after);
    }
}

static void on_stored(void *arg, int result)
{
    *(int *)arg = result;
}

WITH_STORE(beside_a_hub_jobs_are_only_read)
{
    struct job_fact j = job_make(7, 1000, 0);
    struct store *tools;
    int result = 1;

    put(f, &j);
    assert_int_equal(store_open_tools(&tools, f->dir, NULL, NULL), 0);
    struct fix beside = {.s = tools};
    assert_int_equal(find(&beside, (struct job_query){0}).n, 1);
    store_put(tools, STORE_JOB_CHANGE, &(struct job_change){.id = 7, .end_ms = 5}, 1, on_stored, &result);
    store_flush(tools, NULL);
    assert_int_equal(result, -EROFS);
    store_close(tools);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_comes_back_as_it_was_put_and_survives_a_restart),
        cmocka_unit_test(a_job_put_twice_is_kept_once_as_it_was_first),
        cmocka_unit_test(a_change_says_what_is_different_and_leaves_the_rest),
        cmocka_unit_test(a_node_that_is_taken_over_takes_its_jobs_along),
        cmocka_unit_test(jobs_of_a_time_are_those_that_overlap_it_newest_first),
        cmocka_unit_test(a_question_can_be_stopped),
        cmocka_unit_test(old_records_go_in_small_steps_and_new_ones_stay),
        cmocka_unit_test(the_audit_log_is_kept_for_as_long_as_is_set),
        cmocka_unit_test(notes_come_back_by_kind_and_number),
        cmocka_unit_test(a_hold_comes_back_as_it_was_put_last_and_survives_a_restart),
        cmocka_unit_test(holds_of_a_time_come_by_start),
        cmocka_unit_test(what_a_hold_covers_depends_on_when_it_was_given_back),
        cmocka_unit_test(beside_a_hub_jobs_are_only_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
