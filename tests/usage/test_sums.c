/* Usage by person, team, company, device and job: a worked example. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "people/people_build.h"
#include "temp_store.h"
#include "usage/sums.h"

#define H   3600000ll
#define DAY (24 * H)

static char *dir;
static struct store *store;

/* kim is also known as kdoe; in vision until 2 January 1970, in speech from then on; lee is in both; ana in none. */
static struct people *some_people(void)
{
    struct opt_section
        p = {(char *)"{kim: {logins: [kim, kdoe]}}", "m.yaml", 0},
        t = {(char *)"{vision: [{name: kim, until: 1970-01-01}, lee], speech: [{name: kim, from: 1970-01-02}, lee]}",
             "m.yaml", 0},
        c = {(char *)"{acme: {teams: [vision]}, bolt: {nodes: [dgx2]}}", "m.yaml", 0};
    struct people *ret = NULL;
    struct err err = {0};
    struct opt_list ignore = {0};

    if (people_new(&(struct people_src){.people = &p, .teams = &t, .companies = &c, .ignore = &ignore}, &ret, &err) < 0)
        fail_msg("%s", err.msg);
    return ret;
}

static void put(const char *node, int64_t hour, const char *device, const char *login, int64_t held, int64_t busy)
{
    struct usage_held h = {login, {.held_ms = held, .busy_ms = busy, .long_ms = 0, .mib_s = 100, .mj = 36000}};
    struct usage_device d = {device, "NVIDIA H200", H - held, 0, 0, 4, held > 0, &h};
    struct usage_span s = {hour * H, (hour + 1) * H, 1, &d};
    struct usage_day day = {hour / 24 * DAY, (hour / 24 + 1) * DAY};

    store_put(store, STORE_USAGE, &(struct usage_put){node, 1, 1, &s, NULL, "UTC", &day}, 1, NULL, NULL);
}

static int each_of(void *arg, const struct store_each *e, struct err *err)
{
    (void)arg;
    return store_each(store, e, err);
}

static void nothing(void *arg, int result)
{
    (void)arg, (void)result;
}

static void fill(void)
{
    dir = dir_new_quick();
    store = store_new_for_test(dir, NULL);
    put("n1", 1, "GPU-1", "kim", H, H / 2);
    put("n1", 2, "GPU-1", "kdoe", H, H);
    put("n1", 30, "GPU-1", "kim", H / 2, 0); /* the second day */
    put("n2", 1, "GPU-2", "lee", H, 0);
    put("n2", 3, "GPU-2", "ana", H / 4, H / 4);
    put("n2", 4, "GPU-2", "", H / 4, H / 4);
    put("n2", 5, "GPU-2", "", 0, 0);
    store_put(store, STORE_JOB,
              &(struct job_fact){.id = 7,
                                 .start_ms = H,
                                 .end_ms = 2 * H + H / 2,
                                 .name = "train",
                                 .kind = "record",
                                 .person = "kim",
                                 .owner = "",
                                 .node = "n1",
                                 .devices = "GPU-1",
                                 .pids = "",
                                 .attrs = ""},
              1, nothing, NULL);
}

static void close_store(void)
{
    store_close(store);
    dir_free(dir);
}

/* Rows as text: key@label held/busy gpus. */
static void expect(struct sums_query a, const char *want)
{
    static const struct sums_device d1[] = {{"GPU-1", 0, -1}}, d2[] = {{"GPU-2", 3, -1}};
    static const struct sums_node nodes[] = {{"n1", "dgx1", 1, (struct sums_device *)d1},
                                             {"n2", "dgx2", 1, (struct sums_device *)d2}};
    AUTO_ARENA mem = {0};
    AUTO_BUF out = BUF_INIT(10000);
    struct zone *utc = zone_utc();
    struct people *people = some_people();
    struct usage_table t;
    struct err err = {0};
    int64_t mj = 0;

    assert_int_equal(store_flush(store, NULL), 0);
    a.zone = a.zone ? a.zone : utc;
    a.to_ms = a.to_ms ? a.to_ms : 3 * DAY;
    a.people = people;
    a.nodes = nodes;
    a.n_nodes = 2;
    a.each = each_of;
    for (int days = 0; days < 2; days++) { /* the same out of hours and out of days */
        a.days_zone = days ? utc : NULL;
        if (sums_run(&a, &mem, &t, &err) < 0)
            fail_msg("%s", err.msg);
        buf_reset(&out);
        mj = 0;
        for (size_t i = 0; i < t.n; i++) {
            const struct usage_row *r = &t.v[i];
            mj += r->s.mj;
            if (usage_is_nobody(r)) { /* what was used while nobody held it, and nothing else */
                assert_true(r->s.held_ms == 0 && r->s.mj > 0);
                assert_string_equal(r->name, "nobody");
                continue;
            }
            buf_addf(&out, "%s%s%s %lld/%lld %u; ", r->key ? r->key : "-", a.period == PERIOD_ALL ? "" : "@",
                     a.period == PERIOD_ALL ? "" : r->label, (long long)(r->s.held_ms / 60000),
                     (long long)(r->s.busy_ms / 60000), r->gpus);
        }
        buf_addf(&out, "= %lld/%lld %u", (long long)(t.total.s.held_ms / 60000), (long long)(t.total.s.busy_ms / 60000),
                 t.total.gpus);
        assert_string_equal(out.p, want);
        if (a.by != BY_TEAM && a.by != BY_COMPANY) /* who is in two counts twice */
            assert_int_equal(mj, t.total.s.mj);
    }
    people_unref(people);
    zone_free(utc);
}

static void people_teams_and_companies(void **unused)
{
    (void)unused;
    fill();
    expect((struct sums_query){.by = BY_PERSON, .period = PERIOD_ALL},
           "kim 150/90 1; lee 60/0 1; ana 15/15 1; - 15/15 1; = 240/120 2");
    expect((struct sums_query){.by = BY_PERSON, .period = PERIOD_DAY},
           "kim@1970-01-01 120/90 1; lee@1970-01-01 60/0 1; ana@1970-01-01 15/15 1; -@1970-01-01 15/15 1; "
           "kim@1970-01-02 30/0 1; = 240/120 2");
    /* lee is in both teams and counts in both; kim changed teams; the total counts once */
    expect((struct sums_query){.by = BY_TEAM, .period = PERIOD_ALL},
           "vision 180/90 2; speech 90/0 2; - 30/30 1; = 240/120 2");
    /* of a person in no company: that of the node */
    expect((struct sums_query){.by = BY_COMPANY, .period = PERIOD_ALL},
           "acme 180/90 2; bolt 30/30 1; - 30/0 1; = 240/120 2");
    close_store();
}

static void nodes_devices_jobs_and_filters(void **unused)
{
    (void)unused;
    fill();
    expect((struct sums_query){.by = BY_NODE, .period = PERIOD_ALL}, "dgx1 150/90 1; dgx2 90/30 1; = 240/120 2");
    expect((struct sums_query){.by = BY_DEVICE, .period = PERIOD_ALL, .node = "dgx2"}, "GPU-2 90/30 1; = 90/30 1");
    expect((struct sums_query){.by = BY_MODEL, .period = PERIOD_ALL, .person = "kim"},
           "NVIDIA H200 150/90 1; = 150/90 1");
    expect((struct sums_query){.by = BY_PERSON, .period = PERIOD_ALL, .team = "speech"},
           "lee 60/0 1; kim 30/0 1; = 90/0 2");
    expect((struct sums_query){.by = BY_PERSON, .period = PERIOD_ALL, .model = "h100"}, "= 0/0 0");
    expect((struct sums_query){.by = BY_PERSON, .period = PERIOD_ALL, .from_ms = 2 * H, .to_ms = 4 * H},
           "kim 60/60 1; ana 15/15 1; = 75/75 2");
    /* the job is kim's hour, and half of the one she had as kdoe */
    expect((struct sums_query){.by = BY_JOB, .period = PERIOD_ALL},
           "- 150/60 2; 0000000000000007 90/60 1; = 240/120 2");
    close_store();
}

static void days_of_another_zone_are_made_of_hours(void **unused)
{
    struct zone *tokyo = NULL;

    (void)unused;
    fill();
    assert_int_equal(zone_load("Asia/Tokyo", &tokyo, NULL), 0);
    put("n1", 20, "GPU-1", "ana", H, 0); /* 05:00 of the next day there */
    expect((struct sums_query){.by = BY_PERSON, .period = PERIOD_DAY, .zone = tokyo, .person = "ana"},
           "ana@1970-01-01 15/15 1; ana@1970-01-02 60/0 1; = 75/15 2");
    expect((struct sums_query){.by = BY_PERSON, .period = PERIOD_MONTH, .zone = tokyo, .person = "ana"},
           "ana@1970-01 75/15 2; = 75/15 2");
    zone_free(tokyo);
    close_store();
}

static void too_much_is_refused(void **unused)
{
    AUTO_ARENA mem = {0};
    struct zone *utc = zone_utc();
    struct usage_table t;
    struct err err = {0};

    (void)unused;
    fill();
    struct sums_query a = {.period = PERIOD_HOUR, .zone = utc, .to_ms = 40000 * H, .each = each_of};
    assert_int_equal(sums_run(&a, &mem, &t, &err), -E2BIG);
    assert_non_null(strstr(err.msg, "hours"));
    zone_free(utc);
    close_store();
}

TESTS(cmocka_unit_test(people_teams_and_companies), cmocka_unit_test(nodes_devices_jobs_and_filters),
      cmocka_unit_test(days_of_another_zone_are_made_of_hours), cmocka_unit_test(too_much_is_refused))
