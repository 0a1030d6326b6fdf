/* test_people_build.c: who is who (src/people). */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "people/people_build.h"

/* A struct people out of text; the sections as muster.yaml has them. */
static int build(const char *people, const char *teams, const char *companies, struct people **ret, struct err *err)
{
    struct opt_section p = {(char *)people, "m.yaml", 0}, t = {(char *)teams, "m.yaml", 0},
                       c = {(char *)companies, "m.yaml", 0};
    return people_new(&(struct people_src){.people = &p, .teams = &t, .companies = &c}, ret, err);
}

static int64_t day(const char *text)
{
    int32_t d = 0;
    assert_true(date_parse(str_of(text), &d));
    return d * DAY_MS;
}

static void having_no_people_leaves_every_login_as_it_is(void **unused)
{
    struct people *c = people_empty();
    const struct people *both[] = {c, NULL};
    const char *names[4];
    size_t n;
    (void)unused;
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(people_person(both[i], "dgx1", "kim", 1004), "kim");
        assert_string_equal(people_person(both[i], NULL, "", -1), "");
        assert_false(people_ignored(both[i], NULL, "root", 0));
        assert_int_equal(people_groups(both[i], GROUP_TEAM, "kim", 0, names, 4), 0);
        assert_false(people_in(both[i], GROUP_TEAM, "vision", "kim", 0));
        assert_null(people_find(both[i], "kim"));
        people_persons(both[i], &n);
        assert_int_equal(n, 0);
        people_companies(both[i], &n);
        assert_int_equal(n, 0);
        people_group_names(both[i], GROUP_PROJECT, &n);
        assert_int_equal(n, 0);
        assert_null(people_company(both[i], "acme"));
        assert_null(people_company_of_node(both[i], "dgx1", 0));
        assert_true(people_next_change(both[i], 0) == INT64_MAX);
    }
    struct people *again = people_ref(c);
    people_unref(c);
    assert_string_equal(people_person(again, NULL, "lee", -1), "lee"); /* still there: one owner is left */
    people_unref(again);
    people_unref(NULL);
}

static void an_assignment_is_a_step_function_of_days(void **unused)
{
    static const struct company_step steps[] = {{100, 2}, {110, 4}, {120, 0}};
    struct company co = {.name = "acme", .n_steps = 3, .steps = steps};
    static const struct {
        int32_t day, nodes;
    } cases[] = {{99, 0}, {100, 2}, {109, 2}, {110, 4}, {119, 4}, {120, 0}, {5000, 0}};
    int32_t first, end;
    (void)unused;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(company_nodes_on(&co, cases[i].day), cases[i].nodes);
    assert_true(company_period(&co, &first, &end));
    assert_int_equal(first, 100);
    assert_int_equal(end, 120);
    co.n_steps = 2;
    assert_true(company_period(&co, &first, &end));
    assert_int_equal(end, INT32_MAX);
    co.n_steps = 0;
    assert_false(company_period(&co, &first, &end));
    assert_int_equal(company_nodes_on(&co, 100), 0);
}

static void logins_uids_and_nodes_lead_to_persons(void **unused)
{
    static const struct {
        const char *node, *login;
        int64_t uid;
        const char *want;
    } cases[] = {
        {NULL, "kim", -1, "kim"},
        {NULL, "kimberly", 7, "kim"},
        {"ws3", "guest", -1, "kim"},
        {"dgx1", "guest", -1, "guest"},
        {NULL, "guest", -1, "guest"},
        {"dgx1", "", 1004, "kim"},
        {"dgx1", "ubuntu", 1004, "kim"},
        {"old2", "x", 1005, "lee"},
        {"new2", "x", 1005, "x"},
        {"n", "lee@corp.example", -1, "lee"},
        {"corp.example", "lee", -1, "lee"},
        {NULL, "bot-7", -1, "robots"},
        {NULL, "nobody else", -1, "nobody else"},
        {NULL, "Kim", -1, "Kim"},
    };
    struct people *c = NULL;
    struct err err = {0};
    size_t n;
    (void)unused;
    assert_int_equal(build("kim: {logins: [kim, kimberly, 'guest@ws*'], uids: [1004], name: Kim Doe, mail: k@x.org}\n"
                           "lee: {logins: lee@corp.example, uids: '1005@old*'}\n"
                           "robots: ['bot-*']\n"
                           "ann:\n",
                           NULL, NULL, &c, &err),
                     0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s@%s\n", cases[i].login, cases[i].node ? cases[i].node : "");
        assert_string_equal(people_person(c, cases[i].node, cases[i].login, cases[i].uid), cases[i].want);
    }
    const struct person *p = people_find(c, "kim");
    assert_non_null(p);
    assert_string_equal(p->full, "Kim Doe");
    assert_string_equal(p->mail, "k@x.org");
    assert_null(p->slack);
    assert_null(people_find(c, "kimberly"));
    p = people_persons(c, &n);
    assert_int_equal(n, 4);
    assert_string_equal(p[0].name, "ann");
    people_unref(c);
}

static void root_and_the_like_are_ignored_unless_they_are_somebody(void **unused)
{
    char *patterns[] = {"root", "gdm*"};
    struct opt_list ignore = {patterns, 2};
    struct opt_section people = {"kim: {logins: ['root@ws1']}", "m.yaml", 0};
    struct people *c = NULL;
    struct err err = {0};
    (void)unused;
    assert_int_equal(people_new(&(struct people_src){.people = &people, .ignore = &ignore}, &c, &err), 0);
    assert_string_equal(people_person(c, "dgx1", "root", 0), "");
    assert_string_equal(people_person(c, "ws1", "root", 0), "kim");
    assert_string_equal(people_person(c, NULL, "gdm3", -1), "");
    assert_true(people_ignored(c, "dgx1", "root", 0));
    assert_false(people_ignored(c, "ws1", "root", 0));
    assert_false(people_ignored(c, NULL, "", -1));
    assert_false(people_ignored(c, NULL, "lee", -1));
    people_unref(c);
    assert_string_equal(people_person(NULL, NULL, "Zombie", -1), ""); /* a process that is gone is nobody's */
    assert_true(people_ignored(NULL, NULL, "Zombie", -1));
    assert_string_equal(people_person(NULL, NULL, "root", 0), "root");
}

static void aliases_csv_gives_the_last_name_of_a_line(void **unused)
{
    struct opt_section people = {"kim: {logins: [kdoe], name: Kim}", "m.yaml", 0};
    struct people_src src = {.people = &people,
                             .aliases = STR("# people\n"
                                            "kim1, K.Im+, kdoe # the last one counts\r\n"
                                            "\n , ,\n"
                                            "lee\n"
                                            "old, Lee\n"
                                            "old, ann"),
                             .aliases_path = "aliases.csv"};
    static const struct {
        const char *login, *want;
    } cases[] = {{"kim1", "kim"}, {"KIM1", "kim"}, {"k.im", "kim"}, {"kdoe", "kim"}, {"old", "ann"},
                 {"LEE", "lee"},  {"l+ee", "lee"}, {"bob", "bob"},  {"Bob", "Bob"}};
    struct people *c = NULL;
    struct err err = {0};
    (void)unused;
    assert_int_equal(people_new(&src, &c, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s\n", cases[i].login);
        assert_string_equal(people_person(c, NULL, cases[i].login, -1), cases[i].want);
    }
    assert_string_equal(people_find(c, "kim")->full, "Kim");
    people_unref(c);
    src.aliases = STR("a,b\nx,\xff\n");
    assert_int_equal(people_new(&src, &c, &err), -EINVAL);
    assert_true(str_starts(str_of(err.msg), "aliases.csv:2: "));
}

static void membership_has_dates_and_both_days_count(void **unused)
{
    struct people *c = NULL;
    struct err err = {0};
    const char *names[4];
    size_t n;
    (void)unused;
    assert_int_equal(build("lee: [l2]\n",
                           "vision: [kim, {name: l2, from: 2026-01-01, until: 2026-06-30}]\n"
                           "nlp: {members: [{name: kim, from: 2026-03-01}, {name: lee, until: 2025-12-31}]}\n"
                           "empty:\n",
                           NULL, &c, &err),
                     0);
    assert_false(people_in(c, GROUP_TEAM, "vision", "lee", day("2026-01-01") - 1));
    assert_true(people_in(c, GROUP_TEAM, "vision", "lee", day("2026-01-01")));
    assert_true(people_in(c, GROUP_TEAM, "vision", "lee", day("2026-07-01") - 1));
    assert_false(people_in(c, GROUP_TEAM, "vision", "lee", day("2026-07-01")));
    assert_int_equal(people_groups(c, GROUP_TEAM, "kim", day("2026-02-28"), names, 4), 1);
    assert_string_equal(names[0], "vision");
    assert_int_equal(people_groups(c, GROUP_TEAM, "kim", day("2026-03-01"), names, 1), 2); /* more than there is room */
    assert_string_equal(names[0], "nlp");
    assert_int_equal(people_groups(c, GROUP_PROJECT, "kim", day("2026-03-01"), names, 4), 0);
    assert_false(people_in(c, GROUP_TEAM, "none", "kim", 0));
    const char *const *all = people_group_names(c, GROUP_TEAM, &n);
    assert_int_equal(n, 3);
    assert_string_equal(all[0], "empty");
    assert_true(people_next_change(c, 0) == day("2026-01-01"));
    assert_true(people_next_change(c, day("2026-01-01")) == day("2026-03-01"));
    assert_true(people_next_change(c, day("2026-07-01")) == INT64_MAX);
    people_unref(c);
}

static void days_begin_where_the_hub_is(void **unused)
{
    struct zone *z = NULL;
    struct err err = {0};
    struct opt_section teams = {"t: [{name: kim, from: 2026-07-01}]", "m.yaml", 0};
    struct people *c = NULL;
    (void)unused;
    assert_int_equal(zone_load("CET-1CEST,M3.5.0,M10.5.0/3", &z, &err), 0);
    assert_int_equal(people_new(&(struct people_src){.teams = &teams, .zone = z}, &c, &err), 0);
    assert_true(people_next_change(c, 0) == day("2026-07-01") - 7200000);
    people_unref(c);
    zone_free(z);
}

/* predecessors.md 1.3: a step function of days; an entry with 0 ends it. */
static void companies_are_read_as_a_list_or_by_name(void **unused)
{
    static const char *const forms[] = {
        "- company: acme\n"
        "  teams: [acme-nlp, vision]\n"
        "  schedule: [{date: '2026-03-01', assigned_gpu_node: 4}, {date: 2026-01-01, assigned_gpu_node: 2},"
        " {date: 2026-05-01, assigned_gpu_node: 0}]\n"
        "  ignore_project_pattern: 'test-*'\n"
        "  nodes: ['dgx1*', {name: ws1, until: 2026-01-31}]\n"
        "- {company: beta, members: [ann], gpus_per_node: 4, distributed_learning: true}\n",
        "acme:\n"
        "  teams: [acme-nlp, vision]\n"
        "  schedule:\n"
        "  - {date: 2026-01-01, assigned_gpu_node: 2}\n"
        "  - {date: 2026-03-01, assigned_gpu_node: 4}\n"
        "  - {date: 2026-05-01, assigned_gpu_node: 0}\n"
        "  ignore_project_pattern: test-*\n"
        "  nodes: ['dgx1*', {name: ws1, until: 2026-01-31}]\n"
        "beta: {members: [ann], gpus_per_node: 4, distributed_learning: yes}\n",
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        struct people *c = NULL;
        struct err err = {0};
        const char *names[2];
        size_t n;
        int r = build(NULL, "vision: [{name: kim, from: 2026-02-01}]", forms[i], &c, &err);
        print_message("%s\n", err.msg);
        assert_int_equal(r, 0);
        const struct company *co = people_companies(c, &n);
        assert_int_equal(n, 2);
        assert_string_equal(co[0].name, "acme");
        assert_int_equal(co[0].n_teams, 2);
        assert_string_equal(co[0].teams[0], "acme-nlp");
        assert_int_equal(co[0].gpus_per_node, 8);
        assert_string_equal(co[0].ignore_project, "test-*");
        assert_null(co[0].include_project);
        assert_int_equal(company_nodes_on(&co[0], (int32_t)(day("2025-12-31") / DAY_MS)), 0);
        assert_int_equal(company_nodes_on(&co[0], (int32_t)(day("2026-02-28") / DAY_MS)), 2);
        assert_int_equal(company_nodes_on(&co[0], (int32_t)(day("2026-04-30") / DAY_MS)), 4);
        assert_int_equal(company_nodes_on(&co[0], (int32_t)(day("2026-05-01") / DAY_MS)), 0);
        assert_int_equal(co[1].gpus_per_node, 4);
        assert_true(co[1].world_size && !co[0].world_size);
        assert_int_equal(people_groups(c, GROUP_COMPANY, "kim", day("2026-01-31"), names, 2), 0);
        assert_int_equal(people_groups(c, GROUP_COMPANY, "kim", day("2026-02-01"), names, 2), 1);
        assert_string_equal(names[0], "acme");
        assert_true(people_in(c, GROUP_COMPANY, "beta", "ann", 0));
        assert_string_equal(people_company_of_node(c, "dgx17", 0), "acme");
        assert_string_equal(people_company_of_node(c, "ws1", day("2026-02-01") - 1), "acme");
        assert_null(people_company_of_node(c, "ws1", day("2026-02-01")));
        assert_null(people_company_of_node(c, "dgx2", 0));
        people_unref(c);
    }
}

static void a_wandb_dashboards_config_is_read_as_it_is(void **unused)
{
    struct people_src src = {.wandb_path = "config.yaml",
                             .wandb = STR("testmode: false\n"
                                          "enable_alert: true\n"
                                          "base: &b {entity: x}\n"
                                          "dashboard:\n  <<: *b\n  project: gpu-dashboard2\n"
                                          "ignore_tags: [other_gpu, others_gpu]\n"
                                          "companies:\n"
                                          "  - company: \"Acme\"\n"
                                          "    teams:\n      - acme\n      - acme-2\n"
                                          "    schedule:\n"
                                          "      - date: \"2024-10-25\"\n"
                                          "        assigned_gpu_node: 4\n"
                                          "      - date: \"2025-01-01\"\n"
                                          "        assigned_gpu_node: 0\n"
                                          "    some_new_key: [1, {a: b}]\n"
                                          "max_workers: 2\n")};
    struct people *c = NULL;
    struct err err = {0};
    size_t n;
    int32_t first, end;
    (void)unused;
    int r = people_new(&src, &c, &err);
    print_message("%s\n", err.msg);
    assert_int_equal(r, 0);
    const struct company *co = people_companies(c, &n);
    assert_int_equal(n, 1);
    assert_string_equal(co->name, "Acme");
    assert_int_equal(co->n_teams, 2);
    assert_true(company_period(co, &first, &end));
    assert_int_equal(first, day("2024-10-25") / DAY_MS);
    assert_int_equal(end, day("2025-01-01") / DAY_MS);
    people_unref(c);
    src.wandb = STR("testmode: false\n");
    assert_int_equal(people_new(&src, &c, &err), -EINVAL);
    assert_string_equal(err.msg, "config.yaml: there is no 'companies' in it");
}

static void nodes_may_be_assigned_to_a_team(void **unused)
{
    struct opt_section t = {(char *)"{vision: {members: [kim], gpus_per_node: 4, schedule: [{date: 2026-03-01, "
                                    "assigned_gpu_node: 0}, {date: 2026-01-01, assigned_gpu_node: 2}]}, nlp: [kim], "
                                    "free: {members: [lee]}, audio: {schedule: [{date: 2026-01-01, "
                                    "assigned_gpu_node: 1}]}}",
                            "m.yaml", 0};
    struct opt_list ignore = {0};
    struct people *c = NULL;
    struct err err = {0};
    size_t n;

    (void)unused;
    assert_int_equal(people_new(&(struct people_src){.teams = &t, .ignore = &ignore}, &c, &err), 0);
    const struct allotment *a = people_allotments(c, &n);
    assert_int_equal(n, 2);
    assert_string_equal(a[0].team, "audio");
    assert_int_equal(a[0].gpus_per_node, 8);
    assert_string_equal(a[1].team, "vision");
    assert_int_equal(a[1].gpus_per_node, 4);
    assert_int_equal(allotment_nodes_on(&a[1], (int32_t)(day("2025-12-31") / DAY_MS)), 0);
    assert_int_equal(allotment_nodes_on(&a[1], (int32_t)(day("2026-02-28") / DAY_MS)), 2);
    assert_int_equal(allotment_nodes_on(&a[1], (int32_t)(day("2026-03-01") / DAY_MS)), 0);
    assert_true(people_in(c, GROUP_TEAM, "vision", "kim", 0));
    people_unref(c);
    assert_null(people_allotments(NULL, &n));
    assert_int_equal(n, 0);
}

static void a_mistake_is_named_with_its_place(void **unused)
{
    static const struct {
        const char *people, *teams, *companies, *want;
    } cases[] = {
        {"kim: {loginz: [a]}", NULL, NULL,
         "m.yaml:1:7: 'loginz' is not known: a person has logins, uids, name, mail, slack and tell"},
        {"kim: a.csv", NULL, NULL, "m.yaml:1:6: expected logins, uids, name, mail, slack or tell under 'kim'"},
        {"kim: [a]\nlee: [b, a]", NULL, NULL, "m.yaml:2:10: login 'a' of 'lee' is one of 'kim' already"},
        {"kim: {uids: [7]}\nlee: {uids: 7}", NULL, NULL, "m.yaml:2:13: uid '7' of 'lee' is one of 'kim' already"},
        {"kim: {uids: [x]}", NULL, NULL, "m.yaml:1:14: 'x' is not a uid: expected a number, or NUMBER@NODE"},
        {"kim: [a]\nkim: [b]", NULL, NULL, "m.yaml:2:1: 'kim' is there twice"},
        {"[a]", NULL, NULL, "m.yaml:1:1: people: expected persons, each with logins under it"},
        {"\"\": [a]", NULL, NULL, "m.yaml:1:1: expected a person's name"},
        {NULL, "t: [{name: kim, from: 2026-13-01}]", NULL, "m.yaml:1:23: expected a day, as 2026-01-31"},
        {NULL, "t: [{name: kim, from: 2026-02-01, until: 2026-01-01}]", NULL,
         "m.yaml:1:5: 'kim' ends before it begins"},
        {NULL, "t: [{from: 2026-02-01}]", NULL, "m.yaml:1:5: expected a name: {name: kim, from: 2026-01-01}"},
        {NULL, "t: {member: [kim]}", NULL,
         "m.yaml:1:5: 'member' is not known: a team has members, unix_groups, schedule and gpus_per_node"},
        {NULL, "t: {members: [kim], members: [lee]}", NULL, "m.yaml:1:21: 'members' is there twice"},
        {NULL, NULL, "- {teams: [a]}", "m.yaml:1:3: the company has no name: 'company' is missing"},
        {NULL, "t: {schedule: [{date: 2026-01-01}]}", NULL,
         "m.yaml:1:16: expected a step: {date: 2026-01-01, assigned_gpu_node: 4}"},
        {NULL, "t: {schedule: [{date: 2026-01-01, assigned_gpu_node: 1}, {date: 2026-01-01, assigned_gpu_node: 2}]}",
         NULL, "m.yaml:1:4: the schedule of 't' has one day twice"},
        {NULL, "t: {gpus_per_node: 0}", NULL, "m.yaml:1:20: a node has at least one GPU"},
        {NULL, NULL, "- {company: a, schedule: [{date: 2026-01-01}]}",
         "m.yaml:1:27: expected a step: {date: 2026-01-01, assigned_gpu_node: 4}"},
        {NULL, NULL, "- {company: a, schedule: [{date: 2026-01-01, assigned_gpu_node: -1}]}",
         "m.yaml:1:65: expected a number of nodes, a whole number"},
        {NULL, NULL, "- company: a\n- company: a", "m.yaml:2:3: company 'a' is defined twice"},
        {NULL, NULL, "a: {gpus_per_node: 0}", "m.yaml:1:20: a node has at least one GPU"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct people *c = NULL;
        struct err err = {0};
        int r = build(cases[i].people, cases[i].teams, cases[i].companies, &c, &err);
        print_message("%s\n", err.msg);
        assert_int_equal(r, -EINVAL);
        assert_null(c);
        assert_string_equal(err.msg, cases[i].want);
    }
}

static void unix_groups_make_teams_and_fill_others(void **unused)
{
    char *patterns[] = {"ml", "proj-*"};
    struct opt_list want = {patterns, 2};
    struct opt_section people = {"kim: [kim1]", "m.yaml", 0},
                       projects = {"p: {unix_groups: staff, members: [ann]}", "m.yaml", 0};
    struct unix_groups g = {0};
    struct people_src src = {.people = &people, .projects = &projects, .groups = &g, .unix_groups = &want};
    struct people *c = NULL;
    struct err err = {0};
    size_t n;
    (void)unused;
    unix_groups_add(&g,
                    STR("ml:x:1500:kim1,lee\nproj-a:*:1501:\nother:x:1502:bob\nstaff:x:50:bob\nbad\n:x:1:a\nml::x:"
                        "q\n"),
                    NULL);
    unix_groups_primary(&g, STR("zoe:x:1:1500:Zoe:/:/bin/sh\nyan:x:2:1501::/:\nno\nx:y:z:w\n"));
    assert_int_equal(g.n, 4);
    assert_int_equal(people_new(&src, &c, &err), 0);
    const char *const *all = people_group_names(c, GROUP_TEAM, &n);
    assert_int_equal(n, 2);
    assert_string_equal(all[0], "ml");
    assert_string_equal(all[1], "proj-a");
    assert_true(people_in(c, GROUP_TEAM, "ml", "kim", 0)); /* the person, not the login */
    assert_true(people_in(c, GROUP_TEAM, "ml", "zoe", 0));
    assert_true(people_in(c, GROUP_TEAM, "proj-a", "yan", 0));
    assert_true(people_in(c, GROUP_PROJECT, "p", "bob", 0));
    assert_true(people_in(c, GROUP_PROJECT, "p", "ann", 0));
    all = people_unix_groups(c, &n);
    assert_int_equal(n, 1);
    assert_string_equal(all[0], "staff");
    people_unref(c);
    struct unix_groups again = {0};
    unix_groups_add(&again, STR("ml:x:1500:kim1,lee\n"), NULL);
    assert_false(unix_groups_same(&g, &again));
    assert_true(unix_groups_same(&g, &g));
    unix_groups_fini(&again);
    unix_groups_fini(&g);
}

TESTS(cmocka_unit_test(logins_uids_and_nodes_lead_to_persons),
      cmocka_unit_test(root_and_the_like_are_ignored_unless_they_are_somebody),
      cmocka_unit_test(aliases_csv_gives_the_last_name_of_a_line),
      cmocka_unit_test(membership_has_dates_and_both_days_count), cmocka_unit_test(days_begin_where_the_hub_is),
      cmocka_unit_test(companies_are_read_as_a_list_or_by_name),
      cmocka_unit_test(a_wandb_dashboards_config_is_read_as_it_is), cmocka_unit_test(nodes_may_be_assigned_to_a_team),
      cmocka_unit_test(a_mistake_is_named_with_its_place), cmocka_unit_test(unix_groups_make_teams_and_fill_others),
      cmocka_unit_test(having_no_people_leaves_every_login_as_it_is),
      cmocka_unit_test(an_assignment_is_a_step_function_of_days))
