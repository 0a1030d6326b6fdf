/* test_overlap.c: runs that meet on a host: the sweep against every pair looked at, and what is said of stored runs. */
#include "test.h"

#include <string.h>

#include "base/buf.h"
#include "report/overlap.h"
#include "store_dir.h"
#include "wandb_push/overlap.h"

static void intervals_are_compared_with_all_that_are_not_over(void **unused)
{
    static const struct {
        const char *host;
        int64_t from, until;
        uint64_t devices;
        bool late;
        size_t group;
    } cases[] = {
        {"", 0, 100, 0, false, 0},    {"", 10, 20, 0, false, 0}, {"a", 0, 100, 0, false, 1},
        {"a", 10, 20, 0, true, 1},    {"a", 50, 60, 0, true, 1}, /* though the one just before was over */
        {"a", 100, 110, 0, false, 0},                            /* it begins when the first ends */
        {"b", 0, 50, 0, false, 0},    {"c", 5, 5, 0, false, 2},  {"c", 5, 9, 0, true, 2}, /* at once */
        {"d", 0, 10, 3, false, 3},    {"d", 1, 10, 4, false, 0}, {"d", 2, 10, 2, true, 3},
        {"e", 0, 10, 1, false, 4},    {"e", 0, 10, 2, false, 4}, {"e", 5, 6, 3, true, 4}, /* it meets both */
    };
    struct overlap_run v[ARRAY_LEN(cases)];

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        v[ARRAY_LEN(cases) - 1 - i] = (struct overlap_run){.host = cases[i].host,
                                                           .from_ms = cases[i].from,
                                                           .until_ms = cases[i].until,
                                                           .devices = cases[i].devices,
                                                           .of = i};
    assert_int_equal(overlap_find(v, ARRAY_LEN(v)), 4);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s %lld\n", v[i].host, (long long)v[i].from_ms);
        assert_int_equal(v[i].of, i);
        assert_int_equal(v[i].late, cases[i].late);
        assert_int_equal(v[i].group, cases[i].group);
    }
    assert_int_equal(overlap_find(NULL, 0), 0);
}

static bool meet(const struct overlap_run *a, const struct overlap_run *b)
{
    uint64_t x = a->devices ? a->devices : UINT64_MAX, y = b->devices ? b->devices : UINT64_MAX;
    int64_t a_end = MAX(a->until_ms, a->from_ms + 1), b_end = MAX(b->until_ms, b->from_ms + 1);

    return a->host[0] && strcmp(a->host, b->host) == 0 && x & y && a->from_ms < b_end && b->from_ms < a_end;
}

static void a_sweep_finds_what_all_pairs_find(void **unused)
{
    static const char *const hosts[] = {"", "n1", "n2"};
    enum { N = 40 };

    (void)unused;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct prng g = {seed};
        struct overlap_run v[N];
        size_t group[N];
        for (size_t i = 0; i < N; i++) {
            int64_t from = (int64_t)(prng_next(&g) % 200), until = from + (int64_t)(prng_next(&g) % 12);
            const char *host = hosts[prng_next(&g) % 3];
            uint64_t devices = prng_next(&g) % 4;
            v[i] = (struct overlap_run){.host = host, .from_ms = from, .until_ms = until, .devices = devices, .of = i};
        }
        overlap_find(v, N);
        for (size_t i = 0; i < N; i++)
            group[i] = i;
        for (size_t round = 0; round < N; round++)
            for (size_t i = 0; i < N; i++)
                for (size_t k = 0; k < N; k++)
                    if (meet(&v[i], &v[k]))
                        group[i] = group[k] = MIN(group[i], group[k]);
        for (size_t i = 0; i < N; i++) {
            bool late = false, any = false;
            for (size_t k = 0; k < N; k++) {
                late = late || (k < i && meet(&v[i], &v[k]));
                any = any || (k != i && meet(&v[i], &v[k]));
                if (v[i].group && v[k].group)
                    assert_int_equal(v[i].group == v[k].group, group[i] == group[k]);
            }
            assert_int_equal(v[i].late, late);
            assert_int_equal(v[i].group != 0, any);
        }
    }
}

static const char config_text[] =
    "ignore_tags: [other_gpu]\n"
    "companies:\n"
    "- {company: Beta, teams: [beta], schedule: [{date: 2024-11-01, assigned_gpu_node: 1}]}\n"
    "- {company: Acme, teams: [acme-a, acme-b], ignore_project_pattern: 'test-*',"
    " schedule: [{date: 2024-11-01, assigned_gpu_node: 1}]}\n";

#define AT(minute) (1730419200000ll + (minute)*60000ll) /* 2024-11-01 09:00 in Tokyo */

static void put(struct wandb_store *s, const char *team, const char *project, const char *id, const char *host,
                int from, int until, const char *tags, int32_t gpus, enum wandb_exists exists)
{
    struct wandb_run r = {.team = team, .project = project, .id = id, .exists = exists};
    struct wandb_day d = {.day = 20028,
                          .minutes = until - from,
                          .gpus = gpus,
                          .cpus = -1,
                          .created_ms = AT(from),
                          .heartbeat_ms = AT(until),
                          .logged_ms = AT(9999),
                          .state = "finished",
                          .host = host,
                          .tags = tags};
    enum wandb_put how;

    assert_int_equal(wandb_row_put(s, &r, &d, &how, NULL), 0);
}

static void runs_that_share_a_host_are_told_company_by_company(void **unused)
{
    char *dir = dir_new_quick();
    struct wandb_store *s = NULL;
    struct wandb_config *c = NULL;
    struct overlaps o = {0};
    struct err err = {0};
    AUTO_BUF b = BUF_INIT(65536);

    (void)unused;
    if (wandb_config_read(str_of(config_text), "config.yaml", &c, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(wandb_store_open(&s, dir, true, NULL), 0);
    assert_int_equal(overlaps_find(s, c, NULL, 0, INT32_MAX, &o, NULL), 0);
    assert_int_equal(o.n, 0);
    overlaps_fini(&o);
    put(s, "beta", "p", "b1", "n1", 0, 60, "[]", 8, WANDB_EXISTS);
    put(s, "acme-a", "p", "a1", "n1", 10, 70, "[]", 8, WANDB_EXISTS); /* another company's: does not meet b1 */
    put(s, "acme-b", "q", "a2", "n1", 30, 40, "[]", 8, WANDB_EXISTS); /* other project, other team */
    put(s, "acme-a", "p", "a3", "n1", 70, 80, "[]", 8, WANDB_EXISTS); /* begins when a1 ends */
    put(s, "acme-a", "p", "a4", "n2", 0, 80, "[]", 8, WANDB_EXISTS);
    put(s, "acme-a", "p", "x1", "n2", 1, 2, "[\"Other_GPU\"]", 8, WANDB_EXISTS);
    put(s, "acme-a", "p", "a5", "n2", 1, 2, "[]", 0, WANDB_EXISTS); /* without GPUs: the summary counts it, too */
    put(s, "acme-a", "p", "x3", "n2", 1, 2, "[]", 8, WANDB_DELETED);
    put(s, "acme-a", "test-1", "x4", "n2", 1, 2, "[]", 8, WANDB_EXISTS);
    put(s, "acme-a", "p", "x5", "", 1, 2, "[]", 8, WANDB_EXISTS);
    put(s, "nobody", "p", "x6", "n2", 1, 2, "[]", 8, WANDB_EXISTS);
    put(s, "beta", "p", "b2", "n1", 59, 61, "[]", 8, WANDB_NOT_TOLD);
    assert_int_equal(overlaps_find(s, c, NULL, 20028, 20028, &o, NULL), 0);
    assert_int_equal(o.n, 6);
    assert_int_equal(o.groups, 3);
    overlaps_teams(&b, &o);
    assert_string_equal(b.p, "acme-a\nacme-b\nbeta");
    buf_reset(&b);
    size_t next = overlaps_text(&b, &o, 0, c->zone, c->base_url);
    assert_int_equal(next, 4);
    assert_string_equal(b.p, "2 runs of Acme began on a host while another was there\n"
                             "on n1:\n"
                             "  2024-11-01 09:10 to 2024-11-01 10:10 https://wandb.ai/acme-a/p/runs/a1/overview\n"
                             "  2024-11-01 09:30 to 2024-11-01 09:40 https://wandb.ai/acme-b/q/runs/a2/overview\n"
                             "on n2:\n"
                             "  2024-11-01 09:00 to 2024-11-01 10:20 https://wandb.ai/acme-a/p/runs/a4/overview\n"
                             "  2024-11-01 09:01 to 2024-11-01 09:02 https://wandb.ai/acme-a/p/runs/a5/overview");
    buf_reset(&b);
    assert_int_equal(overlaps_text(&b, &o, next, c->zone, "https://wandb.example.org"), 6);
    assert_non_null(strstr(b.p, "https://wandb.example.org/beta/p/runs/b2/overview"));
    overlaps_fini(&o);
    assert_int_equal(overlaps_find(s, c, "Beta", 0, INT32_MAX, &o, NULL), 0);
    assert_int_equal(o.n, 2);
    overlaps_fini(&o);
    assert_int_equal(overlaps_find(s, c, NULL, 20029, 20030, &o, NULL), 0); /* nothing ran then */
    assert_int_equal(o.n, 0);
    overlaps_fini(&o);
    for (int i = 0; i < OVERLAP_SHOWN; i++) {
        char id[16];
        snprintf(id, sizeof(id), "m%d", i);
        put(s, "beta", "p", id, "n1", 20, 50, "[]", 8, WANDB_EXISTS);
    }
    buf_reset(&b);
    assert_int_equal(overlaps_find(s, c, "Beta", 0, INT32_MAX, &o, NULL), 0);
    overlaps_text(&b, &o, 0, c->zone, c->base_url);
    assert_true(str_starts(buf_str(&b), "41 runs of Beta"));
    assert_true(str_ends(buf_str(&b), "\nand 2 more: muster wandb overlap"));
    overlaps_fini(&o);
    overlaps_fini(NULL);
    wandb_config_free(c);
    wandb_store_close(s);
    dir_free(dir);
}

TESTS(cmocka_unit_test(intervals_are_compared_with_all_that_are_not_over),
      cmocka_unit_test(a_sweep_finds_what_all_pairs_find),
      cmocka_unit_test(runs_that_share_a_host_are_told_company_by_company))
