/* test_wandb_match.c: which run of ours a run of W&B was. */
#include "test.h"

#include "base/mem.h"
#include "wandb/match.h"

#define T0     1794768949000
#define MINUTE 60000ll

struct ours {
    const char *person, *kind, *owner, *devices, *attrs;
    int64_t from, to; /* minutes; to -1: it goes on */
    int64_t parent;
};

static const char *person_of(void *arg, const struct job_fact *j)
{
    (void)arg;
    return j->person;
}

static struct job_fact job_of(const struct ours *o, int64_t id)
{
    return (struct job_fact){.id = id,
                             .parent = o->parent,
                             .start_ms = T0 + o->from * MINUTE,
                             .end_ms = o->to < 0 ? 0 : T0 + o->to * MINUTE,
                             .name = "x",
                             .kind = o->kind ? o->kind : "auto",
                             .person = o->person,
                             .owner = o->owner ? o->owner : "",
                             .node = "n",
                             .devices = o->devices ? o->devices : "a",
                             .pids = "",
                             .attrs = o->attrs ? o->attrs : ""};
}

static void a_run_of_wandb_is_found_by_time_and_person(void **unused)
{
    static const struct {
        const char *what, *user;
        int64_t from, to;
        struct ours v[3];
        size_t n;
        int want;      /* which of them; -1: none */
        bool replaces; /* it takes its place */
    } cases[] = {
        {"the only one there", "nobody", 5, 60, {{.person = "kim", .to = 61}}, 1, 0, true},
        {"of its person, where two were there",
         "LEE",
         5,
         60,
         {{.person = "kim", .to = 61}, {.person = "lee", .to = 90}},
         2,
         1,
         false},
        {"of a stranger, where two were there",
         "x",
         5,
         60,
         {{.person = "kim", .to = 300}, {.person = "lee", .to = 400}},
         2,
         -1,
         false},
        {"of a stranger, where one was there at the same time",
         "x",
         0,
         60,
         {{.person = "kim", .to = 61}, {.person = "lee", .to = 400}},
         2,
         0,
         true},
        {"of a stranger, where two were there at the same time",
         "x",
         0,
         60,
         {{.person = "kim", .to = 61}, {.person = "lee", .to = 62}},
         2,
         -1,
         false},
        {"less than half of its time", "kim", 0, 60, {{.person = "kim", .to = 29}}, 1, -1, false},
        {"another time", "kim", 100, 160, {{.person = "kim", .to = 60}}, 1, -1, false},
        {"a short one of a long run", "kim", 100, 130, {{.person = "kim", .to = 600}}, 1, 0, false},
        {"one that goes on", "kim", 0, 100, {{.person = "kim", .to = -1}}, 1, 0, false},
        {"labelled", "kim", 0, 60, {{.person = "kim", .kind = "record", .to = 60}}, 1, 0, false},
        {"a part of a launch", "kim", 0, 60, {{.person = "kim", .to = 60, .parent = 7}}, 1, 0, false},
        {"without GPUs", "kim", 0, 60, {{.person = "kim", .devices = "", .to = 60}}, 1, -1, false},
        {"another of W&B",
         "kim",
         0,
         60,
         {{.person = "kim", .kind = "wandb", .owner = "wandb", .to = 60}},
         1,
         -1,
         false},
        {"one that became another",
         "kim",
         0,
         60,
         {{.person = "kim", .attrs = "{\"joined\":\"0000000000000009\"}", .to = 60}},
         1,
         -1,
         false},
        {"as many GPUs",
         "kim",
         0,
         60,
         {{.person = "kim", .to = 60}, {.person = "kim", .devices = "b,c", .to = 60}},
         2,
         1,
         true},
        {"of no length", "kim", 10, 10, {{.person = "kim", .to = 60}}, 1, 0, false},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct job_fact jobs[3], *v[3];
        struct match_params ask = {.from_ms = T0 + cases[i].from * MINUTE,
                                   .until_ms = T0 + cases[i].to * MINUTE,
                                   .now_ms = T0 + 1000 * MINUTE,
                                   .person = cases[i].user,
                                   .person_of = person_of,
                                   .gpus = 2};
        print_message("%s\n", cases[i].what);
        for (size_t k = 0; k < cases[i].n; k++) {
            jobs[k] = job_of(&cases[i].v[k], (int64_t)k + 1);
            v[k] = &jobs[k];
        }
        const struct job_fact *got = match_job(&ask, v, cases[i].n);
        assert_int_equal(got ? got->id : 0, cases[i].want + 1);
        if (got) {
            assert_int_equal(match_replaces(&ask, got, false), cases[i].replaces);
            assert_false(match_replaces(&ask, got, true));
        }
    }
}

TESTS(cmocka_unit_test(a_run_of_wandb_is_found_by_time_and_person))
