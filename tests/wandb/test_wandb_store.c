/*
 * test_wandb_store.c: the file of W&B runs (wandb/store.h; W1 to W8 are its promises). A small pull that needs no
 * server is driven through it, cut off in every way there is, and gone on with: the rows must be those of a pull that
 * nothing happened to.
 */
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "fault_vfs.h"
#include "places.h"
#include "store_dir.h"
#include "wandb/carry.h"
#include "wandb/store.h"

#define NOW   1731600000000ll
#define TOKYO "Asia/Tokyo"
#define DAY   20000

static struct wandb_store *open_ok(const char *dir, bool write)
{
    struct wandb_store *s = NULL;
    struct err err = {0};

    if (wandb_store_open(&s, dir, write, &err) < 0)
        fail_msg("%s", err.msg);
    return s;
}

static struct wandb_pull pull_ok(struct wandb_store *s, int32_t from, int32_t to, int64_t now)
{
    struct wandb_pull p = {.from = from, .to = to, .zone = TOKYO, .config = 7};

    assert_int_equal(wandb_pull_begin(s, &p, now, NULL), 0);
    return p;
}

/* ---- all there is, as text ---- */

static int dump_day(void *arg, const struct wandb_run *r, const struct wandb_day *d)
{
    return buf_addf(arg, "%s/%s/%s %d %dm %u %lld %lld %lld %lld g%d c%d %lld %lld %lld %s %s %s\n", r->team,
                    r->project, r->id, d->day, d->minutes, d->have, (long long)d->util_avg, (long long)d->util_max,
                    (long long)d->mem_avg, (long long)d->mem_max, d->gpus, d->cpus, (long long)d->created_ms,
                    (long long)d->heartbeat_ms, (long long)d->logged_ms, d->state, d->host, d->tags);
}

static int dump_run(void *arg, const struct wandb_run *r, const struct wandb_day *d)
{
    (void)d;
    return buf_addf(arg, "%s/%s/%s %s %s %s %s %s %s %s %lld %lld g%d c%d %d %s %lld m%lld %d-%d\n", r->team,
                    r->project, r->id, r->storage_id, r->display, r->state, r->host, r->user, r->tags, r->rule,
                    (long long)r->created_ms, (long long)r->heartbeat_ms, r->gpus, r->cpus, r->gpu_info,
                    wandb_exists_words[r->exists], (long long)r->logged_ms, (long long)r->metrics_ms, r->metrics_from,
                    r->metrics_to);
}

static char *dump(struct wandb_store *s)
{
    struct buf b = BUF_INIT(16 << 20);
    struct wandb_query ask = WANDB_ASK_ALL;

    ask.deleted = true;
    assert_true(wandb_days_each(s, &ask, dump_day, &b, NULL) >= 0);
    assert_true(wandb_days_each(s, &ask, dump_run, &b, NULL) >= 0);
    return buf_take(&b);
}

static char *dump_dir(const char *dir)
{
    struct wandb_store *s = open_ok(dir, false);
    char *text = dump(s);

    wandb_store_close(s);
    return text;
}

static int count_day(void *arg, const struct wandb_run *r, const struct wandb_day *d)
{
    (void)r;
    (void)d;
    ++*(int *)arg;
    return 0;
}

static int days_in(struct wandb_store *s, int32_t from, int32_t to, bool deleted)
{
    struct wandb_query ask = {.from = from, .to = to, .deleted = deleted};
    int n = 0, said = wandb_days_each(s, &ask, count_day, &n, NULL);

    assert_int_equal(said, n);
    return n;
}

/* ---- a pull without a server: 3 teams, 2 projects each, 3 pages of 5 runs ---- */

enum { TEAMS = 3, PROJECTS = 2, PAGES = 3, RUNS = 5 };

struct names {
    char team[16], project[16], id[32], host[16], cursor[16];
};

static struct wandb_run made_run(struct names *n, int team, int project, int page, int run)
{
    int k = ((team * PROJECTS + project) * PAGES + page) * RUNS + run;

    snprintf(n->team, sizeof(n->team), "team%d", team);
    snprintf(n->project, sizeof(n->project), "p%d", project);
    snprintf(n->id, sizeof(n->id), "run%04d", 9999 - k);
    snprintf(n->host, sizeof(n->host), "host%d", k % 4);
    return (struct wandb_run){.team = n->team,
                              .project = n->project,
                              .id = n->id,
                              .storage_id = "UnVuOg==",
                              .display = "a run",
                              .state = k % 3 ? "finished" : "running",
                              .host = n->host,
                              .user = "kim",
                              .tags = "[\"a\", \"b\"]",
                              .rule = "default",
                              .created_ms = NOW - 1000000 * k,
                              .heartbeat_ms = NOW - 1000000 * k + 7200000,
                              .gpus = 1 + k % 16,
                              .cpus = k % 2 ? 32 : -1,
                              .gpu_info = true};
}

static int put_page(struct wandb_store *s, const struct wandb_pull *pull, int team, int project, int page)
{
    struct names names[RUNS];
    struct wandb_run runs[RUNS];
    const char *listed[RUNS];
    char cursor[16];

    for (int i = 0; i < RUNS; i++) {
        runs[i] = made_run(&names[i], team, project, page, i);
        listed[i] = runs[i].id;
    }
    snprintf(cursor, sizeof(cursor), "c%d", page + 1);
    struct wandb_page p = {.team = names[0].team,
                           .project = names[0].project,
                           .cursor = cursor,
                           .last = page == PAGES - 1,
                           .runs = runs,
                           .n_runs = RUNS,
                           .listed = listed,
                           .n_listed = RUNS,
                           .all_before_ms = INT64_MAX};
    return wandb_page_put(s, pull, &p, NULL);
}

struct due {
    size_t n;
    struct names v[7];
    int64_t created[7], heartbeat[7];
    int32_t gpus[7], cpus[7];
    char state[7][16];
};

static int note_due(void *arg, const struct wandb_run *r)
{
    struct due *d = arg;
    size_t i = d->n++;

    assert_true(i < ARRAY_LEN(d->v));
    snprintf(d->v[i].team, sizeof(d->v[i].team), "%s", r->team);
    snprintf(d->v[i].project, sizeof(d->v[i].project), "%s", r->project);
    snprintf(d->v[i].id, sizeof(d->v[i].id), "%s", r->id);
    snprintf(d->v[i].host, sizeof(d->v[i].host), "%s", r->host);
    snprintf(d->state[i], sizeof(d->state[i]), "%s", r->state);
    d->created[i] = r->created_ms;
    d->heartbeat[i] = r->heartbeat_ms;
    d->gpus[i] = r->gpus;
    d->cpus[i] = r->cpus;
    return 0;
}

static int put_days(struct wandb_store *s, const struct wandb_pull *pull, const struct due *d, size_t i)
{
    struct wandb_day days[3] = {0};
    struct wandb_run r = {.team = d->v[i].team,
                          .project = d->v[i].project,
                          .id = d->v[i].id,
                          .storage_id = "UnVuOg==",
                          .display = "a run",
                          .state = d->state[i],
                          .host = d->v[i].host,
                          .user = "kim",
                          .tags = "[\"a\", \"b\"]",
                          .rule = "default",
                          .created_ms = d->created[i],
                          .heartbeat_ms = d->heartbeat[i],
                          .gpus = d->gpus[i],
                          .cpus = d->cpus[i],
                          .gpu_info = true};

    for (int k = 0; k < 3; k++)
        days[k] = (struct wandb_day){.day = pull->from + k,
                                     .minutes = 60 * k + 1,
                                     .have = (unsigned)k,
                                     .util_avg = 50000000001 + k,
                                     .util_max = 99000000000,
                                     .mem_avg = 7,
                                     .mem_max = 100000000000};
    return wandb_days_put(s, pull, &r, days, 3, true, true, NULL);
}

/* Goes on with the pull until it is done, or a call fails. step is called after each put. */
static int drive(struct wandb_store *s, void (*step)(void *arg), void *arg)
{
    struct wandb_pull pull = {.from = DAY, .to = DAY + 2, .zone = TOKYO, .config = 7};
    struct wandb_progress at;
    int n = 0, r = wandb_pull_begin(s, &pull, NOW, NULL);

    for (int t = 0; t < TEAMS; t++)
        for (int p = 0; r == 0 && p < PROJECTS; p++) {
            struct names names;
            made_run(&names, t, p, 0, 0);
            r = wandb_project_state(s, &pull, names.team, names.project, &at, NULL);
            int64_t page = 0;
            if (at.cursor[0])
                str_int(str_of(at.cursor + 1), &page);
            for (; r == 0 && page < PAGES; page++, n++) {
                r = put_page(s, &pull, t, p, (int)page);
                if (r == 0 && n % 4 == 3)
                    r = wandb_store_flush(s, NULL);
                if (step)
                    step(arg);
            }
        }
    struct due due;
    int64_t after = 0;
    do {
        due.n = 0;
        if (r == 0)
            r = wandb_due(s, &pull, after, ARRAY_LEN(due.v), note_due, &due, &after, NULL);
        r = r > 0 ? 0 : r;
        for (size_t i = 0; r == 0 && i < due.n; i++, n++) {
            r = put_days(s, &pull, &due, i);
            if (r == 0 && n % 9 == 8)
                r = wandb_store_flush(s, NULL);
            if (step)
                step(arg);
        }
    } while (r == 0 && due.n);
    return r ? r : wandb_pull_end(s, &pull, true, NULL);
}

/* What a pull to which nothing happens leaves. */
static char *expected(void)
{
    char *dir = place_new();
    struct wandb_store *s = open_ok(dir, true);

    assert_int_equal(drive(s, NULL, NULL), 0);
    wandb_store_close(s);
    char *text = dump_dir(dir);
    place_free(dir);
    return text;
}

/* ---- tests ---- */

static void a_pull_is_handed_out_in_a_fixed_order(void **unused)
{
    char *dir = place_new();
    AUTO_FREE char *want = expected();
    struct wandb_store *s = open_ok(dir, true);
    struct wandb_pull_sum sum;
    struct wandb_pull last;

    (void)unused;
    assert_string_equal(wandb_store_zone(s), "");
    assert_int_equal(wandb_pull_last(s, &last, NULL), 0);
    struct wandb_pull pull = pull_ok(s, DAY, DAY + 2, NOW);
    for (int t = TEAMS - 1; t >= 0; t--) /* another order of arrival */
        for (int p = PROJECTS - 1; p >= 0; p--)
            for (int page = 0; page < PAGES; page++)
                assert_int_equal(put_page(s, &pull, t, p, page), 0);
    assert_int_equal(wandb_pull_count(s, &pull, &sum, NULL), 0);
    assert_int_equal(sum.projects, TEAMS * PROJECTS);
    assert_int_equal(sum.done, TEAMS * PROJECTS);
    assert_int_equal(sum.failed, 0);
    assert_int_equal(sum.runs, TEAMS * PROJECTS * PAGES * RUNS);
    assert_int_equal(sum.due, sum.runs);
    assert_int_equal(drive(s, NULL, NULL), 0);
    assert_int_equal(wandb_pull_count(s, &pull, &sum, NULL), 0);
    assert_int_equal(sum.due, 0);
    AUTO_FREE char *got = dump(s);
    assert_string_equal(got, want); /* W6 */
    assert_non_null(strstr(got, "team0/p0/run9985 20000 1m 0 0 0 0 0 g15"));
    assert_int_equal(wandb_pull_last(s, &last, NULL), 1);
    assert_int_equal(last.from, DAY);
    assert_int_equal(last.begun_ms, NOW);
    assert_string_equal(last.zone, TOKYO);
    pull = pull_ok(s, DAY - 30, DAY - 20, NOW + 5000); /* older days, pulled later */
    assert_int_equal(wandb_pull_end(s, &pull, true, NULL), 0);
    assert_int_equal(wandb_pull_last(s, &last, NULL), 1);
    assert_int_equal(last.to, DAY + 2);
    wandb_store_close(s);
    place_free(dir);
}

static int note_order(void *arg, const struct wandb_run *r, const struct wandb_day *d)
{
    return buf_addf(arg, "%s %d %s %s;", r->team, d->day, r->id, r->project);
}

static void the_order_of_a_dataset_is_team_newest_day_run_project(void **unused)
{
    static const struct {
        const char *team, *project, *id;
        int32_t day;
    } rows[] = {{"b", "x", "r1", 5},
                {"a", "y", "r2", 4},
                {"a", "x", "r2", 4},
                {"a", "z", "r1", 4},
                {"a", "y", "r9", 6}};
    char *dir = place_new();
    struct wandb_store *s = open_ok(dir, true);
    struct wandb_query ask = WANDB_ASK_ALL;
    AUTO_BUF b = BUF_INIT(4096);

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct wandb_run r = {.team = rows[i].team, .project = rows[i].project, .id = rows[i].id};
        struct wandb_day d = {.day = rows[i].day, .logged_ms = 1};
        enum wandb_put put;
        assert_int_equal(wandb_row_put(s, &r, &d, &put, NULL), 0);
    }
    ask.order = WANDB_BY_DATASET;
    assert_int_equal(wandb_days_each(s, &ask, note_order, &b, NULL), 5);
    assert_string_equal(b.p, "a 6 r9 y;a 4 r1 z;a 4 r2 x;a 4 r2 y;b 5 r1 x;");
    buf_reset(&b);
    ask = (struct wandb_query){.from = 4, .to = 5};
    assert_int_equal(wandb_days_each(s, &ask, note_order, &b, NULL), 4);
    assert_string_equal(b.p, "a 4 r2 x;a 4 r2 y;a 4 r1 z;b 5 r1 x;");
    wandb_store_close(s);
    place_free(dir);
}

static int get_day(void *arg, const struct wandb_run *r, const struct wandb_day *d)
{
    (void)r;
    *(struct wandb_day *)arg = *d;
    return 0;
}

static struct wandb_day one_day(struct wandb_store *s, int32_t day)
{
    struct wandb_query ask = {.from = day, .to = day};
    struct wandb_day d = {.day = -1};

    assert_true(wandb_days_each(s, &ask, get_day, &d, NULL) <= 1);
    return d;
}

static int get_run(void *arg, const struct wandb_run *r)
{
    *(struct wandb_run *)arg = *r;
    return 0;
}

static void a_day_is_replaced_only_by_one_that_was_logged_later(void **unused)
{
    char *dir = place_new();
    struct wandb_store *s = open_ok(dir, true);
    struct wandb_run run = {.team = "t", .project = "p", .id = "r", .state = "running", .heartbeat_ms = 50, .gpus = 8};
    struct wandb_day day = {.day = DAY, .minutes = 10, .have = WANDB_UTIL, .util_avg = 5, .util_max = 6};
    struct wandb_run got;

    (void)unused;
    struct wandb_pull first = pull_ok(s, DAY, DAY, NOW), later = pull_ok(s, DAY, DAY + 1, NOW + 1000);
    assert_int_equal(wandb_days_put(s, &later, &run, &day, 1, true, true, NULL), 0);
    assert_int_equal(one_day(s, DAY).logged_ms, NOW + 1000);
    day.minutes = 20;
    assert_int_equal(wandb_days_put(s, &first, &run, &day, 1, true, true, NULL), 0);
    assert_int_equal(one_day(s, DAY).minutes, 10); /* W3 */
    assert_int_equal(wandb_days_put(s, &later, &run, &day, 1, true, true, NULL), 0);
    assert_int_equal(one_day(s, DAY).minutes, 20); /* the same pull again */
    /* metrics were not asked for: what is known of them stays, and the hours change */
    struct wandb_pull third = pull_ok(s, DAY, DAY + 5, NOW + 2000);
    day = (struct wandb_day){.day = DAY, .minutes = 30};
    run.gpus = 16;
    assert_int_equal(wandb_days_put(s, &third, &run, &day, 1, false, true, NULL), 0);
    assert_int_equal(one_day(s, DAY).minutes, 30);
    assert_int_equal(one_day(s, DAY).gpus, 16);
    assert_int_equal(one_day(s, DAY).have, WANDB_UTIL);
    assert_int_equal(one_day(s, DAY).util_max, 6);
    assert_int_equal(wandb_run_find(s, "t", "p", "r", get_run, &got, NULL), 1);
    assert_int_equal(got.metrics_ms, 50);
    assert_int_equal(got.metrics_from, DAY);
    assert_int_equal(got.metrics_to, DAY + 1);
    /* asked for, and there are none */
    assert_int_equal(wandb_days_put(s, &third, &run, &day, 1, true, true, NULL), 0);
    assert_int_equal(one_day(s, DAY).have, 0);
    assert_int_equal(wandb_run_find(s, "t", "p", "r", get_run, &got, NULL), 1);
    assert_int_equal(got.metrics_to, DAY + 5);
    /* days that are not in the window stay */
    struct wandb_pull other = pull_ok(s, DAY + 5, DAY + 6, NOW + 3000);
    day.day = DAY + 6;
    assert_int_equal(wandb_days_put(s, &other, &run, &day, 1, true, true, NULL), 0);
    assert_int_equal(days_in(s, DAY, DAY + 6, false), 2);
    assert_int_equal(wandb_run_find(s, "t", "p", "r", get_run, &got, NULL), 1);
    assert_int_equal(got.metrics_from, DAY); /* the two windows touch */
    assert_int_equal(got.metrics_to, DAY + 6);
    run.heartbeat_ms = 60;
    assert_int_equal(wandb_days_put(s, &other, &run, &day, 1, true, true, NULL), 0);
    assert_int_equal(wandb_run_find(s, "t", "p", "r", get_run, &got, NULL), 1);
    assert_int_equal(got.metrics_from, DAY + 5); /* it went on: what was fetched before is not all any more */
    day.day = DAY + 7;
    struct err err;
    assert_int_equal(wandb_days_put(s, &other, &run, &day, 1, true, true, &err), -EINVAL);
    assert_int_equal(wandb_store_flush(s, NULL), 0); /* our mistake, not the disk's */
    wandb_store_close(s);
    place_free(dir);
}

static void a_pull_is_gone_on_with_when_it_is_the_same_and_not_old(void **unused)
{
    char *dir = place_new();
    struct wandb_store *s = open_ok(dir, true);
    struct wandb_pull a = pull_ok(s, 1, 2, NOW), b;
    struct err err;

    (void)unused;
    assert_false(a.resumed);
    wandb_store_close(s);
    s = open_ok(dir, true);
    b = pull_ok(s, 1, 2, NOW + 5000);
    assert_true(b.resumed);
    assert_int_equal(b.id, a.id);
    assert_int_equal(b.begun_ms, NOW);
    b = pull_ok(s, 1, 3, NOW + 5000);
    assert_false(b.resumed);
    b = (struct wandb_pull){.from = 1, .to = 2, .zone = TOKYO, .config = 8};
    assert_int_equal(wandb_pull_begin(s, &b, NOW + 5000, NULL), 0);
    assert_false(b.resumed);
    b = pull_ok(s, 1, 2, NOW + WANDB_RESUME_MS + 1);
    assert_false(b.resumed);
    assert_int_equal(wandb_pull_end(s, &b, true, NULL), 0);
    b = pull_ok(s, 1, 2, NOW + WANDB_RESUME_MS + 2);
    assert_false(b.resumed);
    assert_true(b.id > a.id);
    b.zone = "Europe/Berlin"; /* nothing was kept yet */
    assert_int_equal(wandb_pull_begin(s, &b, NOW + 1, NULL), 0);
    assert_string_equal(wandb_store_zone(s), "Europe/Berlin");
    b = pull_ok(s, 1, 2, NOW + 2);
    assert_int_equal(put_page(s, &b, 0, 0, 0), 0);
    b.zone = "Europe/Berlin";
    assert_int_equal(wandb_pull_begin(s, &b, NOW, &err), -EINVAL); /* W8 */
    assert_non_null(strstr(err.msg, "'Asia/Tokyo'"));
    b = (struct wandb_pull){.from = 2, .to = 1, .zone = TOKYO};
    assert_int_equal(wandb_pull_begin(s, &b, NOW, NULL), -EINVAL);
    wandb_store_close(s);
    place_free(dir);
}

static int64_t count_rows(const char *dir, const char *sql)
{
    char path[600];
    sqlite3 *h = NULL;
    sqlite3_stmt *st = NULL;

    snprintf(path, sizeof(path), "%s/wandb.db", dir);
    assert_int_equal(sqlite3_open(path, &h), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(h, sql, -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(h);
    return n;
}

static void lists_of_pulls_that_nobody_goes_on_with_are_dropped(void **unused)
{
    char *dir = dir_new_quick();
    struct wandb_store *s = open_ok(dir, true);
    struct wandb_pull pull = pull_ok(s, DAY, DAY, NOW);

    (void)unused;
    assert_int_equal(put_page(s, &pull, 0, 0, 0), 0); /* the first of several, and no more came */
    assert_int_equal(wandb_store_flush(s, NULL), 0);
    assert_int_equal(count_rows(dir, "SELECT count(*) FROM listed"), RUNS);
    pull_ok(s, DAY + 1, DAY + 1, NOW + WANDB_RESUME_MS); /* the other may still be gone on with */
    assert_int_equal(count_rows(dir, "SELECT count(*) FROM listed"), RUNS);
    pull_ok(s, DAY + 2, DAY + 2, NOW + WANDB_RESUME_MS + 1);
    assert_int_equal(count_rows(dir, "SELECT count(*) FROM listed"), 0);
    assert_int_equal(count_rows(dir, "SELECT count(*) FROM runs"), RUNS);
    wandb_store_close(s);
    dir_free(dir);
}

static int note_failed(void *arg, const char *team, const char *project, const char *sentence)
{
    return buf_addf(arg, "%s/%s: %s;", team, project, sentence);
}

static void a_failed_page_is_said_and_its_cursor_stays(void **unused)
{
    char *dir = place_new();
    struct wandb_store *s = open_ok(dir, true);
    struct wandb_pull pull = pull_ok(s, DAY, DAY + 2, NOW);
    struct wandb_progress at;
    struct wandb_pull_sum sum;
    AUTO_BUF b = BUF_INIT(4096);

    (void)unused;
    assert_int_equal(wandb_project_state(s, &pull, "team0", "p0", &at, NULL), 0);
    assert_string_equal(at.cursor, "");
    assert_false(at.done);
    assert_int_equal(put_page(s, &pull, 0, 0, 0), 0);
    assert_int_equal(wandb_project_fail(s, &pull, "team0", "p0", "HTTP 500", NULL), 0);
    assert_int_equal(wandb_project_fail(s, &pull, "nobody", "", "no such team", NULL), 0);
    assert_int_equal(wandb_project_state(s, &pull, "team0", "p0", &at, NULL), 0);
    assert_string_equal(at.cursor, "c1");
    assert_string_equal(at.error, "HTTP 500");
    assert_int_equal(wandb_failed_each(s, &pull, note_failed, &b, NULL), 2);
    assert_string_equal(b.p, "nobody/: no such team;team0/p0: HTTP 500;");
    assert_int_equal(wandb_pull_count(s, &pull, &sum, NULL), 0);
    assert_int_equal(sum.failed, 1);
    assert_int_equal(put_page(s, &pull, 0, 0, 1), 0);
    assert_int_equal(wandb_project_state(s, &pull, "team0", "p0", &at, NULL), 0);
    assert_string_equal(at.error, "");
    assert_int_equal(wandb_failed_each(s, &pull, note_failed, &b, NULL), 1);
    wandb_store_close(s);
    place_free(dir);
}

static int note_id(void *arg, const struct wandb_run *r)
{
    return buf_addf(arg, "%s/%s ", r->project, r->id);
}

static const char *deleted(struct wandb_store *s, int64_t since, struct buf *b)
{
    buf_reset(b);
    buf_adds(b, "");
    assert_true(wandb_deleted_each(s, since, note_id, b, NULL) >= 0);
    return buf_str(b).p;
}

static void list(struct wandb_store *s, const struct wandb_pull *pull, const char *project, const char *ids, bool last,
                 int64_t all_before)
{
    const char *v[8];
    char room[64];
    size_t n = 0;

    snprintf(room, sizeof(room), "%s", ids);
    for (char *save = NULL, *p = strtok_r(room, " ", &save); p; p = strtok_r(NULL, " ", &save))
        v[n++] = p;
    struct wandb_page page = {.team = "t",
                              .project = project,
                              .cursor = "x",
                              .last = last,
                              .listed = v,
                              .n_listed = n,
                              .all_before_ms = all_before};
    assert_int_equal(wandb_page_put(s, pull, &page, NULL), 0);
}

static void what_is_in_no_complete_list_is_deleted_and_comes_back_when_found(void **unused)
{
    char *dir = place_new();
    struct wandb_store *s = open_ok(dir, true);
    AUTO_BUF b = BUF_INIT(4096);
    static const char *const ids[] = {"a", "b", "c", "late"};
    struct wandb_pull pull = pull_ok(s, DAY, DAY, NOW);

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        struct wandb_run r = {.team = "t", .project = i == 2 ? "q" : "p", .id = ids[i]};
        struct wandb_day d = {.day = DAY, .minutes = 1, .created_ms = i == 3 ? 9000 : 100, .logged_ms = 1};
        enum wandb_put put;
        assert_int_equal(wandb_row_put(s, &r, &d, &put, NULL), 0);
    }
    list(s, &pull, "p", "a", false, 5000);
    list(s, &pull, "p", "", false, 0); /* this page's list was not kept */
    list(s, &pull, "p", "", true, 5000);
    assert_string_equal(deleted(s, 0, &b), "");
    pull = pull_ok(s, DAY, DAY + 1, NOW + 1);
    list(s, &pull, "p", "a", false, 5000);
    assert_string_equal(deleted(s, 0, &b), "");
    wandb_store_close(s); /* gone on with after a crash: the first page's list is still there */
    s = open_ok(dir, true);
    pull = pull_ok(s, DAY, DAY + 1, NOW + 2);
    assert_true(pull.resumed);
    list(s, &pull, "p", "", true, 5000);
    assert_string_equal(deleted(s, 0, &b), "p/b "); /* not the one that came later than was asked for */
    assert_string_equal(deleted(s, NOW + 2, &b), "");
    assert_int_equal(days_in(s, DAY, DAY, false), 3);
    assert_int_equal(days_in(s, DAY, DAY, true), 4); /* W3 */
    assert_int_equal(wandb_pull_end(s, &pull, true, NULL), 0);
    pull = pull_ok(s, DAY, DAY + 1, NOW + 3);
    list(s, &pull, "", "", true, 5000); /* a team that lists nothing: nobody believes that */
    assert_string_equal(deleted(s, 0, &b), "p/b ");
    pull = pull_ok(s, DAY, DAY + 2, NOW + 4);
    list(s, &pull, "", "p r", true, INT64_MAX);
    assert_string_equal(deleted(s, 0, &b), "p/b q/c ");
    list(s, &pull, "p", "b a late", true, 5000);
    assert_string_equal(deleted(s, 0, &b), "q/c ");
    assert_int_equal(wandb_exists_set(s, "t", "q", "c", WANDB_EXISTS, NOW, NULL), 0);
    assert_int_equal(wandb_exists_set(s, "t", "q", "nobody", WANDB_EXISTS, NOW, NULL), -ENOENT);
    assert_string_equal(deleted(s, 0, &b), "");
    wandb_store_close(s);
    place_free(dir);
}

static int note_span(void *arg, const struct wandb_span *s)
{
    return buf_addf(arg, "%s/%s %d to %d;", s->team, s->project, s->from - DAY, s->to - DAY);
}

static void assert_known(struct wandb_store *s, bool stale, const char *want)
{
    AUTO_BUF b = BUF_INIT(4096);

    buf_adds(&b, ":");
    assert_true(wandb_known_each(s, stale, note_span, &b, NULL) >= 0);
    assert_string_equal(b.p + 1, want);
}

static void list_all(struct wandb_store *s, const struct wandb_pull *pull, const char *team, const char *project)
{
    struct wandb_page page = {.team = team, .project = project, .cursor = "", .last = true};

    assert_int_equal(wandb_page_put(s, pull, &page, NULL), 0);
}

static void put_row_of(struct wandb_store *s, int32_t day, int64_t logged_ms)
{
    struct wandb_run r = {.team = "t", .project = "p", .id = "r"};
    struct wandb_day d = {.day = day, .logged_ms = logged_ms};
    enum wandb_put put;

    assert_int_equal(wandb_row_put(s, &r, &d, &put, NULL), 0);
}

static void what_is_known_and_what_could_not_be_read_is_told(void **unused)
{
    char *dir = place_new();
    struct wandb_store *s = open_ok(dir, true);
    struct wandb_pull pull = pull_ok(s, DAY, DAY + 2, NOW), last;

    (void)unused;
    list_all(s, &pull, "a", "");
    list_all(s, &pull, "a", "p");
    list_all(s, &pull, "b", "");
    assert_int_equal(wandb_project_fail(s, &pull, "b", "q", "no", NULL), 0);
    assert_known(s, false, ""); /* it may have been cut off */
    assert_int_equal(wandb_pull_end(s, &pull, false, NULL), 0);
    assert_int_equal(wandb_pull_last(s, &last, NULL), 0); /* that is not a whole one */
    assert_known(s, false, "a/ 0 to 2;b/ 0 to 2;");
    assert_known(s, true, "b/q 0 to 2;");
    pull =
        pull_ok(s, DAY + 3, DAY + 3, NOW + 1000); /* another day does not tell what was missed, but that it is read */
    list_all(s, &pull, "b", "");
    list_all(s, &pull, "b", "q");
    assert_int_equal(wandb_project_fail(s, &pull, "a", "", "no", NULL), 0);
    assert_int_equal(wandb_pull_end(s, &pull, false, NULL), 0);
    assert_known(s, false, "a/ 0 to 2;b/ 0 to 2;b/ 3 to 3;");
    assert_known(s, true, "a/ 3 to 3;b/q 0 to 2;");
    pull = pull_ok(s, DAY, DAY + 2, NOW + 2000);
    assert_true(pull.resumed);
    list_all(s, &pull, "b", "q");
    assert_int_equal(wandb_pull_end(s, &pull, true, NULL), 0);
    assert_known(s, true, "a/ 3 to 3;");
    pull = pull_ok(s, DAY + 2, DAY + 4, NOW + 3000);
    list_all(s, &pull, "b", ""); /* team a is nobody's any more */
    assert_int_equal(wandb_pull_end(s, &pull, true, NULL), 0);
    assert_known(s, true, "");
    put_row_of(s, DAY + 9, NOW); /* ours, come back */
    assert_int_equal(wandb_rows_end(s, NOW, NULL), 0);
    put_row_of(s, DAY - 9, 1);
    put_row_of(s, DAY - 5, 2);
    put_row_of(s, DAY - 8, 2);
    put_row_of(s, DAY - 9, 2);
    for (int i = 0; i < 2; i++) /* once */
        assert_int_equal(wandb_rows_end(s, NOW, NULL), 0);
    assert_known(s, false, "/ -9 to -8;/ -5 to -5;a/ 0 to 2;b/ 0 to 2;b/ 2 to 4;b/ 3 to 3;");
    wandb_store_close(s);
    place_free(dir);
}

/* Windows that overlap: what a later pull read of the days of a failed one is known. */
static void each_day_is_stale_until_it_is_read(void **unused)
{
    static const struct {
        int32_t from, to;
        const char *want;
    } cases[] = {
        {1, 3, "a/p 0 to 0;"}, {2, 2, "a/p 0 to 1;"}, {1, 1, "a/p 0 to 0;a/p 2 to 2;"},
        {3, 4, "a/p 0 to 2;"}, {-1, 2, ""},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *dir = place_new();
        struct wandb_store *s = open_ok(dir, true);
        struct wandb_pull pull = pull_ok(s, DAY, DAY + 2, NOW);
        list_all(s, &pull, "a", "");
        assert_int_equal(wandb_project_fail(s, &pull, "a", "p", "no", NULL), 0);
        assert_int_equal(wandb_pull_end(s, &pull, false, NULL), 0);
        assert_known(s, true, "a/p 0 to 2;");
        pull = pull_ok(s, DAY + cases[i].from, DAY + cases[i].to, NOW + 1000);
        list_all(s, &pull, "a", "");
        list_all(s, &pull, "a", "p");
        assert_int_equal(wandb_pull_end(s, &pull, true, NULL), 0);
        assert_known(s, true, cases[i].want);
        wandb_store_close(s);
        place_free(dir);
    }
}

static void a_row_from_elsewhere_never_replaces_a_newer_one(void **unused)
{
    static const struct {
        int64_t logged;
        enum wandb_exists exists;
        int32_t minutes;
        enum wandb_put want;
        int32_t want_minutes;
        enum wandb_exists want_exists;
    } cases[] = {
        {100, WANDB_NOT_TOLD, 1, WANDB_ROW_NEW, 1, WANDB_NOT_TOLD},
        {100, WANDB_ERROR, 2, WANDB_ROW_SAME, 1, WANDB_ERROR},
        {99, WANDB_DELETED, 3, WANDB_ROW_OLDER, 1, WANDB_ERROR},
        {100, WANDB_EXISTS, 2, WANDB_ROW_SAME, 1, WANDB_EXISTS},
        {101, WANDB_NOT_TOLD, 4, WANDB_ROW_NEWER, 4, WANDB_EXISTS},
        {101, WANDB_DELETED, 5, WANDB_ROW_SAME, 4, WANDB_DELETED},
        {101, WANDB_EXISTS, 5, WANDB_ROW_SAME, 4, WANDB_DELETED},
        {102, WANDB_EXISTS, 6, WANDB_ROW_NEWER, 6, WANDB_EXISTS},
        {103, WANDB_DELETED, 7, WANDB_ROW_NEWER, 7, WANDB_DELETED},
    };
    char *dir = place_new();
    struct wandb_store *s = open_ok(dir, true);
    struct wandb_run got;

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct wandb_run r = {.team = "t", .project = "p", .id = "r", .exists = cases[i].exists};
        struct wandb_day d = {.day = DAY,
                              .minutes = cases[i].minutes,
                              .logged_ms = cases[i].logged,
                              .cpus = i ? -1 : 4};
        enum wandb_put put;
        struct wandb_query ask = {.from = DAY, .to = DAY, .deleted = true};
        assert_int_equal(wandb_row_put(s, &r, &d, &put, NULL), 0);
        assert_int_equal(put, cases[i].want);
        assert_int_equal(wandb_days_each(s, &ask, get_day, &d, NULL), 1);
        assert_int_equal(d.minutes, cases[i].want_minutes);
        assert_int_equal(wandb_run_find(s, "t", "p", "r", get_run, &got, NULL), 1);
        assert_int_equal(got.exists, cases[i].want_exists);
        assert_int_equal(got.cpus, 4);
    }
    /* a pull that finds it knows better */
    struct wandb_pull pull = pull_ok(s, DAY, DAY, NOW);
    struct wandb_run r = {.team = "t", .project = "p", .id = "r"};
    assert_int_equal(wandb_days_put(s, &pull, &r, NULL, 0, false, true, NULL), 0);
    assert_int_equal(wandb_run_find(s, "t", "p", "r", get_run, &got, NULL), 1);
    assert_int_equal(got.exists, WANDB_EXISTS);
    enum wandb_put how;
    r.exists = WANDB_DELETED; /* a copy of what was known before */
    assert_int_equal(wandb_row_put(s, &r, &(struct wandb_day){.day = DAY, .logged_ms = NOW - 1}, &how, NULL), 0);
    assert_int_equal(wandb_run_find(s, "t", "p", "r", get_run, &got, NULL), 1);
    assert_int_equal(got.exists, WANDB_EXISTS);
    r.id = "";
    struct wandb_day d = {.day = DAY};
    enum wandb_put put;
    assert_int_equal(wandb_row_put(s, &r, &d, &put, NULL), -EINVAL);
    char longer[WANDB_NAME_MAX + 2];
    memset(longer, 'x', sizeof(longer));
    longer[sizeof(longer) - 1] = 0;
    r.id = longer;
    assert_int_equal(wandb_row_put(s, &r, &d, &put, NULL), -EINVAL);
    assert_int_equal(wandb_run_find(s, "t", "p", "nobody", get_run, &got, NULL), 0);
    wandb_store_close(s);
    place_free(dir);
}

static void one_writes_and_others_read_what_was_flushed(void **unused)
{
    char *dir = dir_new_quick();
    struct wandb_store *reader, *second;
    struct err err = {0};

    (void)unused;
    assert_int_equal(wandb_store_open(&reader, dir, false, &err), -ENOENT);
    struct wandb_store *s = open_ok(dir, true);
    assert_int_equal(wandb_store_open(&second, dir, true, &err), -EBUSY);
    AUTO_FREE char *pid = mem_fmt("process %ld ", (long)getpid());
    assert_non_null(strstr(err.msg, pid));
    reader = open_ok(dir, false);
    struct wandb_run r = {.team = "t", .project = "p", .id = "r"};
    struct wandb_day d = {.day = DAY};
    enum wandb_put put;
    assert_int_equal(wandb_row_put(s, &r, &d, &put, NULL), 0);
    assert_int_equal(days_in(s, DAY, DAY, false), 1);
    assert_int_equal(days_in(reader, DAY, DAY, false), 0);
    assert_int_equal(wandb_store_flush(s, NULL), 0);
    assert_int_equal(days_in(reader, DAY, DAY, false), 1);
    assert_int_equal(wandb_row_put(reader, &r, &d, &put, &err), -EROFS);
    for (int i = 0; i < WANDB_GROUP; i++) {
        d.day = DAY + i;
        d.logged_ms = 1;
        assert_int_equal(wandb_row_put(s, &r, &d, &put, NULL), 0);
    }
    assert_int_equal(days_in(reader, DAY, DAY + 100, false), WANDB_GROUP); /* by itself */
    wandb_store_close(s);
    s = open_ok(dir, true); /* the lock is free again */
    wandb_store_close(s);
    wandb_store_close(reader);
    wandb_store_close(NULL);
    dir_free(dir);
}

static void what_is_not_our_file_is_refused_with_a_sentence(void **unused)
{
    char *dir = dir_new_quick();
    AUTO_FREE char *path = mem_fmt("%s/" WANDB_FILE, dir);
    struct wandb_store *s = NULL;
    sqlite3 *h;
    struct err err = {0};

    (void)unused;
    wandb_store_close(open_ok(dir, true));
    assert_int_equal(sqlite3_open(path, &h), SQLITE_OK);
    assert_int_equal(sqlite3_exec(h, "PRAGMA user_version=99", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(h);
    for (int write = 0; write < 2; write++) {
        assert_int_equal(wandb_store_open(&s, dir, write, &err), -ENOTSUP);
        assert_non_null(strstr(err.msg, "newer muster"));
    }
    assert_int_equal(sqlite3_open(path, &h), SQLITE_OK);
    assert_int_equal(sqlite3_exec(h, "PRAGMA user_version=1; PRAGMA application_id=5", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(h);
    assert_int_equal(wandb_store_open(&s, dir, true, &err), -EINVAL);
    assert_int_equal(file_write(path, 0600, "this is not a database, it is a text of some length", 50, NULL), 0);
    assert_int_equal(wandb_store_open(&s, dir, true, &err), -EUCLEAN);
    assert_int_equal(wandb_store_open(&s, dir, false, &err), -EUCLEAN);
    assert_non_null(strstr(err.msg, WANDB_FILE));
    assert_null(s);
    dir_free(dir);
}

/* Every page of the file in turn is overwritten: an error or the rows, never more. */
static void a_damaged_page_is_an_error_or_is_not_read(void **unused)
{
    char *dir = dir_new_quick();
    AUTO_FREE char *path = mem_fmt("%s/" WANDB_FILE, dir);
    AUTO_BUF whole = {0};
    struct wandb_store *s = open_ok(dir, true);
    int refused = 0;

    (void)unused;
    assert_int_equal(drive(s, NULL, NULL), 0);
    wandb_store_close(s);
    assert_int_equal(file_read(path, 64 << 20, &whole, NULL), 0);
    for (size_t at = 0; at < whole.len; at += 4096) {
        AUTO_BUF bad = BUF_INIT(64 << 20);
        struct prng g = {at};
        struct wandb_query ask = WANDB_ASK_ALL;
        AUTO_BUF out = BUF_INIT(16 << 20);
        buf_addstr(&bad, buf_str(&whole));
        for (int i = 0; i < 300; i++)
            bad.p[at + prng_next(&g) % 4096] = (char)prng_next(&g);
        assert_int_equal(file_write(path, 0600, bad.p, bad.len, NULL), 0);
        s = NULL;
        int64_t r = wandb_store_open(&s, dir, false, NULL);
        if (r == 0)
            r = wandb_days_each(s, &ask, dump_day, &out, NULL);
        refused += r < 0;
        wandb_store_close(s);
    }
    assert_true(refused > 0);
    dir_free(dir);
}

static int note_event(void *arg, const struct wandb_event *e)
{
    return buf_addf(arg, "%lld %s %s %s;", (long long)(e->id - NOW), wandb_event_words[e->kind], e->subject, e->text);
}

static int last_event(void *arg, const struct wandb_event *e)
{
    *(int64_t *)arg = e->id;
    return 0;
}

static void events_are_numbered_upwards_and_the_oldest_go(void **unused)
{
    char *dir = place_new();
    struct wandb_store *s = open_ok(dir, true);
    struct wandb_event e = {.at_ms = NOW, .kind = WANDB_EVENT_OVERLAP, .subject = "c", .text = "two"};
    AUTO_BUF b = BUF_INIT(4096);
    int64_t last = 0;

    (void)unused;
    assert_int_equal(wandb_event_put(s, &e, NULL), 0);
    e.at_ms -= 5; /* a clock that was set back */
    e.kind = WANDB_EVENT_LOW;
    assert_int_equal(wandb_event_put(s, &e, NULL), 0);
    assert_int_equal(wandb_events_each(s, 0, note_event, &b, NULL), 2);
    assert_string_equal(b.p, "0 overlap c two;1 low c two;");
    buf_reset(&b);
    assert_int_equal(wandb_events_each(s, NOW, note_event, &b, NULL), 1);
    assert_string_equal(b.p, "1 low c two;");
    for (int i = 0; i < WANDB_EVENTS_KEPT; i++)
        assert_int_equal(wandb_event_put(s, &e, NULL), 0);
    assert_int_equal(wandb_events_each(s, 0, last_event, &last, NULL), WANDB_EVENTS_KEPT);
    assert_int_equal(last, NOW + 1 + WANDB_EVENTS_KEPT);
    wandb_store_close(s);
    place_free(dir);
}

/* ---- cut off ---- */

static void die_after(void *arg)
{
    int *left = arg;

    if (--*left == 0)
        kill(getpid(), SIGKILL);
}

/* W1, W2: killed after every so many puts, again and again, until it comes to its end. */
static void killed_at_any_put_a_pull_ends_with_the_same_rows(void **unused)
{
    AUTO_FREE char *want = expected();
    static const int steps[] = {3, 5, 17, 23, 41};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        char *dir = dir_new_quick();
        int status = 1, rounds = 0;
        do {
            pid_t pid = fork();
            assert_true(pid >= 0);
            if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                struct wandb_store *s = NULL;
                int left = steps[i] + rounds; /* more each time, or it would never get past a flush */
                if (wandb_store_open(&s, dir, true, NULL) < 0 || drive(s, die_after, &left) < 0)
                    _exit(2);
                wandb_store_close(s);
                _exit(0);
            }
            assert_int_equal(waitpid(pid, &status, 0), pid);
            assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
            rounds++;
        } while (WIFSIGNALED(status));
        assert_true(rounds > 1);
        AUTO_FREE char *got = dump_dir(dir);
        assert_string_equal(got, want);
        dir_free(dir);
    }
}

/* The same by a disk that fails at the Nth step: once, from then on, or with the power. */
static void a_failing_disk_is_an_error_and_the_pull_goes_on_later(void **unused)
{
    static const enum fault_mode modes[] = {FAULT_ONCE, FAULT_FULL, FAULT_DEAD, FAULT_POWER};
    AUTO_FREE char *want = expected();
    int full = 0;
    long few = getenv("MUSTER_SAN") ? 3 : 1; /* with sanitizers each takes ten times as long */

    (void)unused;
    fault_install();
    for (size_t m = 0; m < ARRAY_LEN(modes); m++)
        for (long at = 1;; at += at < 40 ? few : 13 * few) {
            char *dir = dir_new_quick();
            struct wandb_store *s = NULL;
            fault_arm(modes[m], at);
            int r = wandb_store_open(&s, dir, true, NULL);
            if (r == 0)
                r = drive(s, NULL, NULL);
            if (r < 0 && s) { /* nothing is put any more */
                struct wandb_event e = {.kind = WANDB_EVENT_LOW};
                assert_int_equal(wandb_event_put(s, &e, NULL), r);
                assert_int_equal(wandb_store_flush(s, NULL), r);
            }
            wandb_store_close(s);
            bool hit = fault_was_hit();
            full += r == -ENOSPC;
            if (modes[m] == FAULT_POWER)
                fault_power_returns((uint64_t)at);
            fault_arm(FAULT_NONE, 0);
            s = open_ok(dir, true);
            assert_int_equal(drive(s, NULL, NULL), 0);
            AUTO_FREE char *got = dump(s);
            assert_string_equal(got, want);
            wandb_store_close(s);
            dir_free(dir);
            if (!hit)
                break;
        }
    assert_true(full > 0);
}

/* Y1 and Y2 of carry.h: into an empty place, again, and over what was logged later there. */
static void all_of_a_place_is_carried_into_another_once(void **unused)
{
    char *from = dir_new_quick(), *to = place_new();
    struct wandb_store *s = open_ok(from, true);
    struct wandb_delivered sum = {0};
    struct err err = {0};

    (void)unused;
    assert_int_equal(drive(s, NULL, NULL), 0);
    assert_int_equal(wandb_event_put(s, &(struct wandb_event){.at_ms = NOW, .kind = 1, .subject = "x", .text = "y"},
                                     NULL),
                     0);
    assert_int_equal(wandb_barred_set(s, &(struct wandb_run){.team = "t", .project = "p", .id = "r"}, 1, NULL), 0);
    assert_int_equal(wandb_carry(from, to, NULL, NULL, &sum, &err), -EBUSY);
    AUTO_FREE char *want = dump(s);
    wandb_store_close(s);
    for (int again = 0; again < 2; again++) {
        if (wandb_carry(from, to, NULL, NULL, &sum, &err) != 1)
            fail_msg("%s", err.msg);
        AUTO_FREE char *got = dump_dir(to);
        assert_string_equal(got, want);
        assert_true(sum.runs > 0 && sum.days > 0);
    }
    s = open_ok(to, true);
    struct wandb_pull p = pull_ok(s, DAY, DAY, NOW + 5);
    struct wandb_run r = {.team = "later", .project = "p", .id = "r", .state = "new", .host = "h", .tags = ""};
    assert_int_equal(wandb_days_put(s, &p, &r, &(struct wandb_day){.day = DAY, .minutes = 7}, 1, true, true, NULL), 0);
    wandb_store_close(s);
    AUTO_FREE char *newer = dump_dir(to);
    assert_int_equal(wandb_adopt(from, to, NULL, NULL, &sum, &err), 1);
    assert_int_equal(wandb_adopt(from, to, NULL, NULL, &sum, &err), 0); /* it did not change */
    AUTO_FREE char *kept = dump_dir(to);
    assert_string_equal(kept, newer);
    char *nothing = dir_new_quick();
    assert_int_equal(wandb_carry(nothing, to, NULL, NULL, &sum, &err), 0);
    dir_free(nothing);
    dir_free(from);
    place_free(to);
}

/* A hub that was stopped for longer than its lease and goes on. */
static void nothing_is_written_for_a_hub_that_does_not_lead(void **unused)
{
    char *dir = place_new();
    struct wandb_store *s = open_ok(dir, true);
    struct wandb_event e = {.at_ms = NOW, .kind = 1, .subject = "x", .text = "y"};
    struct err err = {0};

    (void)unused;
    assert_int_equal(wandb_event_put(s, &e, NULL), 0);
    assert_int_equal(wandb_store_flush(s, NULL), 0);
    wandb_store_lead(s, 5);
    assert_int_equal(wandb_event_put(s, &e, &err), on_server ? -ESTALE : 0); /* a folder has one hub */
    if (on_server)
        assert_non_null(strstr(err.msg, "another hub leads by now"));
    assert_int_equal(wandb_store_flush(s, NULL), on_server ? -ESTALE : 0);
    wandb_store_close(s);
    place_free(dir);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pull_is_handed_out_in_a_fixed_order),
        cmocka_unit_test(the_order_of_a_dataset_is_team_newest_day_run_project),
        cmocka_unit_test(a_day_is_replaced_only_by_one_that_was_logged_later),
        cmocka_unit_test(a_pull_is_gone_on_with_when_it_is_the_same_and_not_old),
        cmocka_unit_test(a_failed_page_is_said_and_its_cursor_stays),
        cmocka_unit_test(what_is_in_no_complete_list_is_deleted_and_comes_back_when_found),
        cmocka_unit_test(what_is_known_and_what_could_not_be_read_is_told),
        cmocka_unit_test(each_day_is_stale_until_it_is_read),
        cmocka_unit_test(a_row_from_elsewhere_never_replaces_a_newer_one),
        cmocka_unit_test(events_are_numbered_upwards_and_the_oldest_go),
        cmocka_unit_test(all_of_a_place_is_carried_into_another_once),
        cmocka_unit_test(nothing_is_written_for_a_hub_that_does_not_lead),
        cmocka_unit_test(lists_of_pulls_that_nobody_goes_on_with_are_dropped),
        cmocka_unit_test(one_writes_and_others_read_what_was_flushed),
        cmocka_unit_test(what_is_not_our_file_is_refused_with_a_sentence),
        cmocka_unit_test(a_damaged_page_is_an_error_or_is_not_read),
        cmocka_unit_test(killed_at_any_put_a_pull_ends_with_the_same_rows),
        cmocka_unit_test(a_failing_disk_is_an_error_and_the_pull_goes_on_later),
    };
    return RUN_ON_BOTH(tests, 12);
}
