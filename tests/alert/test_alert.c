/* test_alert.c: rules over a small cluster, from findings to alerts, message templates, notes. */
#include "test.h"

#include <errno.h>
#include <inttypes.h>

#include "alert/alert_state.h"
#include "alert/builtin.h"
#include "alert/gpus.h"
#include "alert/show.h"
#include "base/clock.h"
#include "format/note.h"
#include "format/template.h"
#include "store_dir.h"
#include "view_fixture.h"

/* ---- from findings to alerts ---- */

struct notified { /* "fired 1 a; over 1 a; " */
    char text[2000];
};

static void on_change(void *arg, const struct alert *a)
{
    struct notified *t = arg;
    size_t at = strlen(t->text);

    snprintf(t->text + at, sizeof(t->text) - at, "%s %lld %s; ", a->resolved_ms ? "over" : "fired", (long long)a->id,
             a->subject);
}

static const struct alert_rule rule = {.name = "r", .severity = SEV_WARNING, .for_ms = 60000, .clear_ms = 30000};

static const char *look(struct alert_states *l, int64_t now_ms, const char *subjects, struct notified *t)
{
    struct str rest = str_of(subjects), one;
    char subject[40];

    t->text[0] = 0;
    alert_states_begin(l, now_ms);
    while (str_word(&rest, &one)) {
        snprintf(subject, sizeof(subject), "%.*s", STR_ARG(one));
        struct alert_finding f = {subject, "", "", "", "", "it is so", 0, false};
        alert_states_see(l, &rule, &f);
        alert_states_see(l, &rule, &f); /* seen twice counts once */
    }
    alert_states_end(l, on_change, t);
    return t->text;
}

static size_t count_firing(struct alert_states *l)
{
    size_t n, firing = 0;
    const struct alert *const *v = alert_states_all(l, &n);

    for (size_t i = 0; i < n; i++)
        firing += v[i]->fired_ms != 0;
    return firing;
}

static void what_was_told_stays_so_until_it_is_taken_back(void **unused)
{
    struct alert_states *l = alert_states_new(-1000000);
    struct notified t;
    size_t n;

    (void)unused;
    look(l, 0, "a", &t);
    assert_string_equal(look(l, 60000, "a", &t), "fired 1 a; ");
    struct alert *before = alert_copy(alert_states_all(l, &n)[0]);
    assert_non_null(alert_states_mark_notified(l, "r", "a", 65000, "65000\tops\t\t\n"));
    alert_states_take(l, before, NULL); /* the state from another hub, late */
    assert_int_equal(alert_states_all(l, &n)[0]->told_ms, 65000);
    alert_states_untold(l, before, 64000); /* from another time */
    assert_int_equal(alert_states_all(l, &n)[0]->tells, 1);
    alert_states_untold(l, before, 65000);
    assert_int_equal(alert_states_all(l, &n)[0]->tells, 0);
    assert_int_equal(alert_states_all(l, &n)[0]->told_ms, 0);
    assert_string_equal(alert_states_all(l, &n)[0]->told_to, "");
    free(before);
    alert_states_free(l);
}

static void w2_it_fires_once_after_a_while_and_is_resolved_once(void **unused)
{
    struct alert_states *l = alert_states_new(-1000000);
    struct notified t;
    size_t n;

    (void)unused;
    assert_string_equal(look(l, 0, "a b", &t), "");
    assert_string_equal(look(l, 59999, "a", &t), ""); /* b held for too short a time */
    assert_string_equal(look(l, 60000, "a b", &t), "fired 1 a; ");
    assert_null(alert_states_mark_notified(l, "r", "nobody", 65000, ""));
    assert_int_equal(alert_states_mark_notified(l, "r", "a", 65000, "65000\tops\t\t\n")->tells, 1);
    assert_string_equal(look(l, 70000, "a b", &t), "");
    const struct alert *a = alert_states_all(l, &n)[1]; /* recipients are kept between evaluations */
    assert_string_equal(a->told_to, "65000\tops\t\t\n");
    assert_int_equal(a->told_ms, 65000);
    assert_int_equal(n, 2);
    assert_int_equal(count_firing(l), 1);
    assert_string_equal(look(l, 80000, "b", &t), "");
    assert_string_equal(look(l, 100000, "a b", &t), ""); /* back before it was resolved: no notification */
    assert_string_equal(look(l, 110000, "b", &t), "");
    assert_string_equal(look(l, 139999, "b", &t), "fired 2 b; ");
    assert_string_equal(look(l, 140000, "b", &t), "over 1 a; ");
    assert_string_equal(look(l, 150000, "a b", &t), ""); /* a new alert, from the start */
    assert_string_equal(look(l, 210000, "a b", &t), "fired 3 a; ");
    alert_states_free(l);
}

static void who_leads_no_longer_keeps_what_fired_alone(void **unused)
{
    struct alert_states *l = alert_states_new(-1000000);
    struct notified t;
    size_t n;

    (void)unused;
    look(l, 0, "a", &t);
    look(l, 60000, "a b c", &t);
    alert_states_all(l, &n);
    assert_int_equal(n, 3);
    alert_states_follow(l);
    const struct alert *const *v = alert_states_all(l, &n);
    assert_int_equal(n, 1);
    assert_string_equal(v[0]->subject, "a");
    assert_string_equal(look(l, 130000, "a b", &t), ""); /* b is pending from the start */
    alert_states_free(l);
}

static void what_fired_survives_a_restart(void **unused)
{
    struct alert_states *l = alert_states_new(1000000);
    struct alert a = {.id = 7,
                      .severity = SEV_WARNING,
                      .since_ms = 5,
                      .fired_ms = 6,
                      .rule = "r",
                      .subject = "a",
                      .node = "",
                      .place = "",
                      .device = "",
                      .person = "",
                      .text = "",
                      .advice = ""};
    struct notified t;

    (void)unused;
    alert_states_load(l, &a, NULL);
    assert_string_equal(look(l, 1000000, "", &t), "");
    assert_string_equal(look(l, 1100000, "", &t), ""); /* no node has reported yet: nothing is resolved */
    assert_string_equal(look(l, 1000000 + ALERT_STATES_SETTLE_MS, "", &t), "over 7 a; ");
    assert_string_equal(look(l, 2000000, "c", &t), "");
    assert_string_equal(look(l, 2060000, "c", &t), "fired 8 c; "); /* ids continue */
    alert_states_free(l);
    l = alert_states_new(1000000);
    alert_states_load(l, &a, NULL);
    assert_string_equal(look(l, 1000000, "a", &t), ""); /* found again: from now on like any other */
    assert_string_equal(look(l, 1010000, "", &t), "");
    assert_string_equal(look(l, 1040000, "", &t), "over 7 a; ");
    alert_states_free(l);
    l = alert_states_new(1000000);
    alert_states_load(l, &a, &rule); /* never found: the clear time of its rule starts after the first evaluations */
    assert_string_equal(look(l, 1000000 + ALERT_STATES_SETTLE_MS, "", &t), "");
    assert_string_equal(look(l, 1000000 + ALERT_STATES_SETTLE_MS + 30000, "", &t), "over 7 a; ");
    alert_states_free(l);
}

/* A finding at `now` about an event at `since`. */
static const char *look_as(struct alert_states *l, const struct alert_rule *r, int64_t now_ms, int64_t since_ms,
                           bool weak, struct notified *t)
{
    struct alert_finding f = {"a", "", "", "", "", "it is so", since_ms, weak};

    t->text[0] = 0;
    alert_states_begin(l, now_ms);
    alert_states_see(l, r, &f);
    alert_states_end(l, on_change, t);
    return t->text;
}

static void w4_what_happened_is_told_once_each_time(void **unused)
{
    static const struct alert_rule happens = {.name = "h", .severity = SEV_INFO, .notice = true};
    struct alert_states *l = alert_states_new(0);
    struct alert a = {.id = 9,
                      .since_ms = 900,
                      .fired_ms = 950,
                      .resolved_ms = 950,
                      .notice = 1,
                      .rule = "h",
                      .subject = "a",
                      .node = "",
                      .place = "",
                      .device = "",
                      .person = "",
                      .text = "",
                      .advice = ""};
    struct notified t;
    size_t n;

    (void)unused;
    alert_states_load(l, &a, NULL);
    assert_string_equal(look_as(l, &happens, 1000, 900, false, &t), "");             /* reported before the restart */
    assert_string_equal(look_as(l, &happens, 2000, 1500, false, &t), "over 10 a; "); /* fired and resolved */
    assert_string_equal(look_as(l, &happens, 3000, 1500, false, &t), "");
    assert_string_equal(look(l, 4000, "", &t), "");
    assert_string_equal(look_as(l, &happens, 2000 + ALERT_STATES_NOTICE_MS - 1, 1500, false, &t), "");
    assert_string_equal(look_as(l, &happens, 2000 + ALERT_STATES_NOTICE_MS - 1, 1501, false, &t), "over 11 a; ");
    alert_states_all(l, &n);
    assert_true(n == 0 && count_firing(l) == 0); /* no alerts */
    look(l, 2000 + 3 * ALERT_STATES_NOTICE_MS, "", &t);
    assert_string_equal(t.text, "");
    alert_states_free(l);
}

/* Two leaders stored the same alert: every hub keeps the same one, in whatever order it learns of them. */
static void an_alert_that_two_leaders_stored_has_one_id_everywhere(void **unused)
{
    (void)unused;
    for (int i = 0; i < 8; i++) {
        bool notice = i & 1, newest_first = i & 2, loaded = i & 4;
        if (loaded && newest_first)
            continue; /* the store gives them in order of id */
        struct alert_states *l = alert_states_new(0);
        for (int k = 0; k < 2; k++) {
            struct alert a = {.id = (k == 0) == newest_first ? 79 : 66,
                              .since_ms = 900,
                              .fired_ms = 950,
                              .resolved_ms = notice ? 950 : 0,
                              .notice = notice,
                              .rule = "h",
                              .subject = "a",
                              .node = "",
                              .place = "",
                              .device = "",
                              .person = "",
                              .text = "",
                              .advice = ""};
            if (loaded)
                alert_states_load(l, &a, NULL);
            else
                alert_states_take(l, &a, NULL);
        }
        print_message("%s, %s, %s\n", notice ? "notice" : "alert", newest_first ? "79 first" : "66 first",
                      loaded ? "loaded" : "sent");
        assert_non_null(alert_states_at(l, 0));
        assert_int_equal(alert_states_at(l, 0)->id, 79);
        assert_null(alert_states_at(l, 1));
        alert_states_free(l);
    }
}

static void w4_a_notice_that_goes_on_is_told_once_however_long(void **unused)
{
    static const struct alert_rule happens = {.name = "h", .severity = SEV_INFO, .notice = true};
    struct alert_states *l = alert_states_new(0);
    struct notified t;

    (void)unused;
    assert_string_equal(look_as(l, &happens, 1000, 900, false, &t), "over 1 a; ");
    for (int64_t at_ms = 2000; at_ms < 3 * ALERT_STATES_NOTICE_MS; at_ms += ALERT_STATES_NOTICE_MS / 4)
        assert_string_equal(look_as(l, &happens, at_ms, 900, false, &t), "");
    alert_states_free(l);
}

static const struct alert_rule rule_lasts = {.name = "h", .severity = SEV_INFO, .notice = true, .lasts = true};

static void w5_what_lasts_is_told_once_though_its_parts_begin_one_by_one(void **unused)
{
    struct alert_states *l = alert_states_new(0);
    struct notified t;

    (void)unused;
    assert_string_equal(look_as(l, &rule_lasts, 1000, 900, false, &t), "over 1 a; ");
    assert_string_equal(look_as(l, &rule_lasts, 2000, 950, false, &t), ""); /* another part of the same run */
    assert_string_equal(look_as(l, &rule_lasts, 3000, 800, false, &t), "");
    assert_string_equal(look_as(l, &rule_lasts, 4000, 1001, false, &t), "over 2 a; "); /* it started again since */
    alert_states_free(l);
}

static bool on_goes_on(void *arg, const struct alert *a)
{
    return strcmp(a->subject, "a") == 0 && *(bool *)arg;
}

static void w6_a_notice_of_what_lasts_is_known_while_it_goes_on(void **unused)
{
    static const struct alert_rule happens = {.name = "n", .severity = SEV_INFO, .notice = true};
    struct alert_states *l = alert_states_new(0);
    bool goes_on = true;
    struct notified t;

    (void)unused;
    alert_states_set_active_fn(l, on_goes_on, &goes_on);
    assert_string_equal(look_as(l, &rule_lasts, 1000, 900, false, &t), "over 1 a; ");
    assert_string_equal(look_as(l, &happens, 1000, 900, false, &t), "over 2 a; ");
    for (int day = 1; day < 30; day++) /* a break of a month */
        assert_string_equal(look(l, day * DAY_MS, "", &t), "");
    assert_string_equal(look_as(l, &rule_lasts, 30 * DAY_MS, 900, false, &t), "");
    assert_string_equal(look_as(l, &happens, 30 * DAY_MS, 900, false, &t), "over 3 a; "); /* not of such a rule */
    goes_on = false;
    look(l, 31 * DAY_MS, "", &t);
    assert_string_equal(look_as(l, &rule_lasts, 32 * DAY_MS, 900, false, &t), "over 4 a; ");
    alert_states_free(l);
}

static struct alert old_notice(int64_t id, const char *subject, int64_t at_ms)
{
    return (struct alert){.id = id,
                          .since_ms = at_ms,
                          .fired_ms = at_ms,
                          .resolved_ms = at_ms,
                          .notice = 1,
                          .rule = "h",
                          .subject = subject,
                          .node = "",
                          .place = "",
                          .device = "",
                          .person = "",
                          .text = "",
                          .advice = "",
                          .told_to = ""};
}

/* Another hub becomes the leader during an evaluation, reports the notice, and gives the lead back. */
static void w4_a_notice_that_another_told_is_not_told_again(void **unused)
{
    static const struct alert_rule happens = {.name = "h", .severity = SEV_INFO, .notice = true};
    struct alert_states *l = alert_states_new(0);
    struct alert a = old_notice(9, "a", 950);
    struct notified t;

    (void)unused;
    a.since_ms = 900;
    alert_states_begin(l, 920);
    alert_states_see(l, &happens, &(struct alert_finding){"a", "", "", "", "", "it is so", 900, false});
    alert_states_load(l, &a, &happens);
    assert_string_equal(look_as(l, &happens, 1000, 900, false, &t), "");
    assert_string_equal(look_as(l, &happens, 2000, 1500, false, &t), "over 10 a; ");
    alert_states_free(l);
}

/* A hub starts after 20 days; a notice of the first day is found again after_ms after the start. */
static const char *found_after_restart(int64_t after_ms, bool goes_on, const struct alert_rule *r, int more,
                                       struct notified *t)
{
    struct alert_states *l = alert_states_new(20 * DAY_MS);
    struct alert a = old_notice(1, "a", DAY_MS);

    alert_states_set_active_fn(l, on_goes_on, &goes_on);
    alert_states_load(l, &a, r);
    for (int i = 0; i < more; i++) {
        char subject[16];
        snprintf(subject, sizeof(subject), "other%d", i);
        a = old_notice(2 + i, subject, DAY_MS + i);
        alert_states_load(l, &a, r);
    }
    look(l, 20 * DAY_MS + 5000, "", t);
    look(l, 20 * DAY_MS + after_ms, "", t);
    look_as(l, &rule_lasts, 20 * DAY_MS + after_ms + 5000, DAY_MS - 1000, false, t);
    alert_states_free(l);
    return t->text;
}

static void w6_it_is_known_after_a_restart_too(void **unused)
{
    static const struct alert_rule other = {.name = "h", .severity = SEV_INFO, .notice = true};
    struct notified t;

    (void)unused;
    assert_string_equal(found_after_restart(60000, false, &rule_lasts, 0, &t), ""); /* its node has not reported yet */
    assert_string_equal(found_after_restart(ALERT_STATES_HEAR_MS, true, &rule_lasts, 0, &t), "");
    assert_string_equal(found_after_restart(ALERT_STATES_HEAR_MS, false, &rule_lasts, 0, &t), "over 2 a; ");
    assert_string_equal(found_after_restart(60000, false, &other, 0, &t), "over 2 a; ");
    assert_string_equal(found_after_restart(60000, false, &rule_lasts, ALERT_STATES_LASTING - 1, &t), "");
    assert_string_equal(found_after_restart(60000, false, &rule_lasts, ALERT_STATES_LASTING, &t),
                        "over 4002 a; "); /* the newest are kept */
}

static void what_is_weak_keeps_an_alert_and_makes_none(void **unused)
{
    struct alert_states *l = alert_states_new(-1000000);
    struct notified t;

    (void)unused;
    look_as(l, &rule, 0, 0, true, &t);
    assert_string_equal(look_as(l, &rule, 60000, 0, true, &t), "");
    look_as(l, &rule, 70000, 0, false, &t);
    look_as(l, &rule, 80000, 0, true, &t); /* starts again */
    look_as(l, &rule, 90000, 0, false, &t);
    assert_string_equal(look_as(l, &rule, 140000, 0, false, &t), "");
    assert_string_equal(look_as(l, &rule, 150000, 0, false, &t), "fired 1 a; ");
    assert_string_equal(look_as(l, &rule, 900000, 0, true, &t), "");
    assert_string_equal(look(l, 910000, "", &t), "");
    assert_string_equal(look(l, 940000, "", &t), "over 1 a; ");
    alert_states_free(l);
}

static void thousands_are_found_again(void **unused)
{
    struct alert_states *l = alert_states_new(-1000000);
    AUTO_BUF many = BUF_INIT(1 << 20);
    struct notified t;

    (void)unused;
    for (int i = 0; i < 5000; i++)
        buf_addf(&many, "s%d ", i);
    look(l, 0, many.p, &t);
    look(l, 60000, many.p, &t);
    assert_int_equal(count_firing(l), 5000);
    look(l, 60001, "s17", &t);
    look(l, 90001, "s17", &t);
    assert_int_equal(count_firing(l), 1);
    alert_states_free(l);
}

/* ---- rules ---- */

static void on_see(void *arg, const struct alert_rule *r, const struct alert_finding *f)
{
    buf_addf(arg, "%s %s: %s\n", r->name, f->place, f->text);
}

static void has(const struct buf *b, const char *what, bool want)
{
    if ((strstr(b->p ? b->p : "", what) != NULL) != want)
        fail_msg("%s '%s' in\n%s", want ? "no" : "there is", what, b->p ? b->p : "");
}

static int read_rules(struct alert_rules *r, const char *text, struct err *err)
{
    AUTO_FREE char *copy = mem_str(text);
    char path[] = "m.yaml";
    struct opt_section section = {.text = copy, .path = path, .line = 10};

    return alert_rules_read(r, &section, err);
}

static void on_hot(void *arg, const struct alert_rule *r, const struct alert_finding *f)
{
    if (strcmp(r->name, "gpu-hot") == 0 && strcmp(f->place, "dgx1:0") == 0)
        *(int *)arg = f->weak ? 1 : 2;
}

static void rules_find_what_is_wrong(void **unused)
{
    struct cluster *c = cluster_new();
    struct alert_rules *rules = alert_rules_new();
    struct live *live = live_new(&state_rule_default, NULL, NULL);
    struct recent recent[] =
        {{.at_ms = NOW - 3000, .kind = EVENT_WANDB, .code = 1, .text = "overlap acme: runs share a host"},
         {.at_ms = NOW - 2000, .kind = EVENT_WANDB, .code = 2, .text = "low acme: Low GPU Usage for acme"},
         {.at_ms = NOW - 1000, .kind = EVENT_WANDB, .code = 3, .text = "done: 12 runs"},
         {.at_ms = NOW - 900, .kind = EVENT_NEW, .node = "key-fresh", .text = "seen for the first time"},
         {.at_ms = NOW - 800, .kind = EVENT_BACK, .node = "key-fresh", .text = "back after 3 h"},
         {.at_ms = NOW - 700, .kind = EVENT_BACK, .node = "key-fresh", .device = "GPU-1", .text = "is back"},
         {.at_ms = NOW - 600, .kind = EVENT_START, .node = "key-fresh", .text = "muster-agent 0.1.0"}};
    struct alert_input s = {.now_ms = NOW,
                            .view = &c->v,
                            .live = live,
                            .wrong[SCENE_STORE] = "no space left",
                            .wrong[SCENE_DAMAGE] = "samples may be missing",
                            .recent = recent,
                            .n_recent = ARRAY_LEN(recent)};
    AUTO_BUF b = BUF_INIT(1 << 20);

    (void)unused;
    live_node(live, "key-fresh", "fresh", NOW - 900);
    sample_set(&c->v.nodes[0]->devices[0].now, M_rows_pending, 1);
    sample_set(&c->v.nodes[0]->devices[0].now, M_rows_failed, 1);
    sample_set(&c->v.nodes[0]->devices[2].now, M_rows_spent, 2);
    sample_set(&c->v.nodes[0]->devices[0].now, M_temp, 95000);
    alert_rules_evaluate(rules, &s, on_see, &b);
    has(&b, "gpu-lost dgx1:3: dgx1:3 ", true);
    static const char *const table[] = {"node-down ws3",    "driver-hung dgx2", "gpu-lost dgx1:3",
                                        "gpu-remap dgx1:0", "gpu-hot dgx1:0",   "gpu-throttled-heat dgx1:0",
                                        "clock-off dgx1"};
    for (size_t i = 1; i < ARRAY_LEN(table); i++) /* rule by rule, whichever node comes first */
        assert_true(strstr(buf_str(&b).p, table[i - 1]) < strstr(buf_str(&b).p, table[i]));
    has(&b, "gpu-idle dgx1:1: dgx1:1 is held by lee and idle\n", true);
    has(&b, "driver-hung dgx2: the driver of dgx2 is not responding\n", true);
    has(&b, "node-down ws3: ws3 is offline\n", true);
    has(&b, "clock-off dgx1: the clock of dgx1 is off by 7.0 s\n", true);
    has(&b, "gpu-hot dgx1:0: dgx1:0 is at 95 ", true);
    has(&b, "gpu-remap dgx1:0: dgx1:0 needs service: a memory row waits for a reset\n", true);
    has(&b, "gpu-remap-failed dgx1:0: dgx1:0 needs service: a memory row could not be remapped\n", true);
    has(&b, "gpu-rows-spent dgx1:2: dgx1:2 needs service: ", true);
    has(&b, "gpu-remap-failed dgx1:2", false);
    has(&b, "gpu-throttled-heat dgx1:0: ", true);
    has(&b, "gpu-throttled-power", false); /* off by default */
    has(&b, "store : no space left\n", true);
    has(&b, "store-damaged : samples may be missing\n", true);
    has(&b, "wandb : overlap acme: runs share a host\n", true);
    has(&b, "wandb : low acme: ", true);
    has(&b, "wandb : done", false);
    has(&b, "node-new fresh: fresh is new: it was seen for the first time\n", true);
    has(&b, "node-back", false); /* the resolved node-down reports it */
    has(&b, "node-up", false);
    buf_reset(&b);
    assert_int_equal(read_rules(rules, "node-back: on\nnode-up: on\n", NULL), 0);
    alert_rules_evaluate(rules, &s, on_see, &b);
    has(&b, "node-back fresh: fresh is back after 3 h\n", true);
    has(&b, "is is back", false); /* an event of a GPU */
    has(&b, "node-up fresh: the agent on fresh started: muster-agent 0.1.0\n", true);
    for (size_t i = 0; i < c->v.n; i++)
        ((struct node_now *)(uintptr_t)c->v.nodes[i])->maintenance = true;
    buf_reset(&b);
    alert_rules_evaluate(rules, &s, on_see, &b);
    has(&b, "gpu-lost", false);
    has(&b, "node-down", false);
    live_free(live);
    alert_rules_free(rules);
    cluster_free(c);
}

/* With very many nodes each event loop iteration evaluates some of them. */
static void a_look_bit_by_bit_finds_what_one_look_does(void **unused)
{
    struct cluster *c = cluster_new();
    struct alert_rules *rules = alert_rules_new();
    struct live *live = live_new(&state_rule_default, NULL, NULL);
    struct view part = c->v;
    struct alert_input s = {.now_ms = NOW, .view = &c->v, .live = live, .wrong[SCENE_STORE] = "no space left"},
                       some = s;
    AUTO_BUF whole = BUF_INIT(1 << 20);
    AUTO_BUF bits = BUF_INIT(1 << 20);
    struct str rest, line;

    (void)unused;
    alert_rules_evaluate(rules, &s, on_see, &whole);
    some.view = &part;
    part.n = 1;
    for (size_t i = 0; i < c->v.n; i++) {
        part.nodes = c->v.nodes + i;
        alert_rules_evaluate_nodes(rules, &some, on_see, &bits);
        has(&bits, "store ", false); /* not about a node */
    }
    alert_rules_evaluate_rest(rules, &s, on_see, &bits);
    has(&bits, "store : no space left\n", true);
    assert_int_equal(bits.len, whole.len);
    rest = buf_str(&whole);
    while (str_line(&rest, &line)) {
        AUTO_FREE char *text = mem_strn(line.p, line.len);
        has(&bits, text, true);
    }
    live_free(live);
    alert_rules_free(rules);
    cluster_free(c);
}

static void on_run(void *arg, const struct alert_rule *r, const struct alert_finding *f)
{
    if (strncmp(r->name, "run-", 4) == 0)
        buf_addf(arg, "%s %s %s %s: %s\n", r->name, f->subject, f->place, f->person, f->text);
}

static void advise(struct device_now *d, enum advice_rule which, int64_t from_ms)
{
    d->advice = mem_grow(d->advice, d->n_advice + 1, sizeof(*d->advice));
    d->advice[d->n_advice++] = (struct advice_now){.rule = which, .from_ms = from_ms};
}

static void nothing_begins(UNUSED void *arg, UNUSED const struct job_fact *j) {}

static void nothing_changes(UNUSED void *arg, UNUSED const struct job_change *c) {}

static void what_a_run_is_used_for_is_told_once_a_run(void **unused)
{
    struct cluster *c = cluster_new();
    struct alert_rules *rules = alert_rules_new();
    struct auto_runs *runs = auto_new(&(struct auto_out){nothing_begins, nothing_changes, NULL});
    struct device_now *d = c->n[0].devices;
    struct proc_fact kim = {.pid = 900, .root_pid = 900, .user = "kim", .start_ms = NOW - 3600000};
    struct live *live = live_new(&state_rule_default, NULL, NULL);
    struct alert_input s = {.now_ms = NOW, .view = &c->v, .live = live};
    AUTO_BUF b = BUF_INIT(1 << 20);

    (void)unused;
    advise(&d[0], ADVICE_spinning, NOW - 601000);
    advise(&d[0], ADVICE_starved, NOW - 601000);
    advise(&d[1], ADVICE_spinning, NOW - 599000); /* ten minutes have not passed */
    alert_rules_evaluate(rules, &s, on_run, &b);
    has(&b, "run-spinning gpu:GPU-dgx1-0 dgx1:0 ", true);
    has(&b, "runs, but does almost nothing\n", true);
    has(&b, "dgx1:1", false);
    has(&b, "run-starved", false); /* off by default */
    auto_set(runs, &(struct auto_conf){120000, 300000});
    for (int i = 0; i < 2; i++)
        auto_see(runs, &(struct auto_seen){"key-dgx1", d[i].fact.uuid, &kim, NOW - 3600000, NOW, false}, NOW);
    struct auto_found run = {0};
    char id[JOB_ID_LEN], want[80];
    assert_true(auto_find(runs, "key-dgx1", d[1].fact.uuid, &run));
    assert_int_equal(run.start_ms, NOW - 3600000);
    assert_false(auto_find(runs, "key-dgx1", d[2].fact.uuid, &run));
    s.runs = runs;
    s.now_ms = NOW + 5000;
    buf_reset(&b);
    assert_int_equal(read_rules(rules, "run-starved: {for: 1m}\nrun-spinning: {for: 1m}\n", NULL), 0);
    alert_rules_evaluate(rules, &s, on_run, &b);
    snprintf(want, sizeof(want), "run-spinning run:%s dgx1:0 ", job_id_text(run.id, id));
    has(&b, want, true);
    snprintf(want, sizeof(want), "run-spinning run:%s dgx1:1 ", id); /* the same subject: one alert */
    has(&b, want, true);
    has(&b, "run-starved run:", true);
    snprintf(want, sizeof(want), "run:%s", id);
    struct alert told = old_notice(1, want, NOW);
    told.node = "key-dgx1";
    assert_true(alert_run_is_active(runs, &told));
    told.node = "key-dgx2"; /* no such node there */
    assert_false(alert_run_is_active(runs, &told));
    kim.slurm_job = 77; /* it may be on other nodes as well: the subject is what they share */
    auto_see(runs, &(struct auto_seen){"key-dgx1", d[2].fact.uuid, &kim, NOW - 3600000, NOW, false}, NOW);
    assert_true(auto_find(runs, "key-dgx1", d[2].fact.uuid, &run));
    advise(&d[2], ADVICE_spinning, NOW - 601000);
    alert_rules_evaluate(rules, &s, on_run, &b);
    snprintf(want, sizeof(want), "run-spinning launch:%016" PRIx64 " dgx1:2 ", run.launch);
    has(&b, want, true);
    auto_free(runs);
    live_free(live);
    alert_rules_free(rules);
    cluster_free(c);
}

/* A Slurm job on two nodes; the second part starts later. */
static void a_run_over_nodes_is_one_subject_since_its_first_start(void **unused)
{
    struct auto_runs *runs = auto_new(&(struct auto_out){nothing_begins, nothing_changes, NULL});
    struct proc_fact kim = {.pid = 900, .root_pid = 900, .user = "kim", .start_ms = NOW, .slurm_job = 77};
    struct job_fact label = {.id = 5,
                             .start_ms = NOW - 1000,
                             .name = "train",
                             .kind = "slurm",
                             .person = "kim",
                             .owner = "slurm",
                             .node = "k2",
                             .devices = "",
                             .pids = "",
                             .attrs = "{\"job\":77}"};
    struct auto_found one, two, other;
    struct auto_query due[2];

    (void)unused;
    auto_set(runs, &(struct auto_conf){120000, 300000});
    auto_see(runs, &(struct auto_seen){"k1", "a", &kim, NOW, NOW, false}, NOW);
    auto_see(runs, &(struct auto_seen){"k2", "b", &kim, NOW + HOUR_MS, NOW + HOUR_MS, false}, NOW + HOUR_MS);
    assert_true(auto_find(runs, "k1", "a", &one) && auto_find(runs, "k2", "b", &two));
    assert_true(one.launch && one.launch == two.launch);
    struct alert told = old_notice(1, "gpu:a", NOW);
    assert_false(alert_run_is_active(runs, &told));
    char subject[40];
    snprintf(subject, sizeof(subject), "launch:%016" PRIx64, one.launch);
    told.subject = subject;
    assert_true(alert_run_is_active(runs, &told));
    told.subject = "launch:0000000000000007";
    assert_false(alert_run_is_active(runs, &told));
    assert_int_equal(two.start_ms, NOW);
    kim.user[0] = 'j'; /* another user's run is a different one */
    auto_see(runs, &(struct auto_seen){"k2", "c", &kim, NOW + HOUR_MS, NOW + HOUR_MS, false}, NOW + HOUR_MS);
    assert_true(auto_find(runs, "k2", "c", &other));
    assert_true(other.launch && other.launch != one.launch);
    auto_forget(runs, "k1"); /* it ends there and continues here: the start stays */
    assert_true(auto_find(runs, "k2", "b", &two));
    assert_int_equal(two.start_ms, NOW);
    assert_int_equal(auto_due(runs, NOW + 2 * HOUR_MS, due, 2), 1);
    auto_settle(runs, "k2", (struct job_fact *[]){&label}, 1, NOW + 2 * HOUR_MS);
    assert_true(auto_find(runs, "k2", "b", &two));
    assert_int_equal(two.id, 5);
    assert_int_equal(two.start_ms, NOW - 1000); /* Slurm's job started before its processes */
    auto_free(runs);
}

static void a_node_that_is_offline_fires_right_after_a_start_too(void **unused)
{
    struct cluster *c = cluster_new(); /* ws3 is down */
    struct alert_rules *rules = alert_rules_new();
    struct live *live = live_new(&state_rule_default, NULL, NULL);
    struct alert_input s = {.now_ms = NOW, .started_ms = NOW - 1000, .view = &c->v, .live = live};
    AUTO_BUF b = BUF_INIT(1 << 20);

    (void)unused;
    alert_rules_evaluate(rules, &s, on_see, &b);
    has(&b, "node-down ws3: ws3 is offline\n", true);
    live_free(live);
    alert_rules_free(rules);
    cluster_free(c);
}

/* hotter than 88 degrees until below 84 */
static void a_threshold_has_a_lower_one_to_end_at(void **unused)
{
    static const struct {
        const char *conf;
        int64_t temp; /* -1: not reported */
        int want;     /* 0: no alert; 1: continues; 2: starts */
    } cases[] = {
        {"", 89000, 2},
        {"", 88000, 1},
        {"", 84000, 1},
        {"", 83000, 0},
        {"", -1, 0},
        {"gpu-hot: {when: temp>70}", 70000, 0}, /* the built-in `until` belongs to the built-in `when` */
        {"gpu-hot: {when: temp>70, until: temp<60}", 70000, 1},
        {"gpu-hot: {until: temp<80}", 81000, 1},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cluster *c = cluster_new();
        struct alert_rules *r = alert_rules_new();
        struct live *live = live_new(&state_rule_default, NULL, NULL);
        struct alert_input s = {.now_ms = NOW, .view = &c->v, .live = live};
        struct device_now *d = &c->v.nodes[0]->devices[0];
        int got = 0;
        print_message("'%s' %lld\n", cases[i].conf, (long long)cases[i].temp);
        assert_int_equal(read_rules(r, cases[i].conf, NULL), 0);
        bits_clear(&d->now.have, M_temp);
        if (cases[i].temp >= 0)
            sample_set(&d->now, M_temp, cases[i].temp);
        alert_rules_evaluate(r, &s, on_hot, &got);
        assert_int_equal(got, cases[i].want);
        live_free(live);
        alert_rules_free(r);
        cluster_free(c);
    }
}

static int32_t had(void *arg, const char *node)
{
    return strcmp(node, "key-n") == 0 ? *(int *)arg : 0;
}

/* Sends the node's device list, like an agent. */
static void says_gpus(struct live *l, uint64_t id, size_t n, int64_t now_ms)
{
    struct device_fact devices[8] = {0};
    struct node_fact f = {.n_devices = n, .devices = devices};
    struct hello h = {.run = 1, .collect = COLLECT_OK, .sent_ms = now_ms, .state_since_ms = now_ms, .name = "n"};
    struct node_now *node = live_node(l, "key-n", "n", now_ms);

    for (size_t i = 0; i < n; i++) {
        SET(devices[i].uuid, "GPU-%zu", i);
        SET(devices[i].pci, "0000:%02zx:00.0", i);
        devices[i].index = (int32_t)i;
        devices[i].mig = -1;
    }
    live_facts(l, node, id, &f, now_ms);
    live_hello(l, node, &h, "10.0.0.1", now_ms);
    live_tick(l, now_ms);
}

static const char *what_is_missed(struct alert_rules *r, struct live *l, int gpus, const struct alert *lost,
                                  struct buf *b)
{
    size_t n;
    struct view v = {.nodes = live_nodes(l, false, &n)};
    struct alert_input s = {.now_ms = NOW, .view = &v, .live = l, .gpus_had = had, .gpus_arg = &gpus};

    v.n = n;
    if (lost) {
        s.lost = &lost;
        s.n_lost = 1;
    }
    buf_reset(b);
    alert_rules_evaluate(r, &s, on_see, b);
    return buf_str(b).p;
}

static void gpus_that_are_missing_are_told_of_once(void **unused)
{
    struct alert_rules *r = alert_rules_new();
    struct live *l = live_new(&state_rule_default, NULL, NULL);
    struct alert lost = {.id = 1,
                         .fired_ms = 1,
                         .rule = "gpu-lost",
                         .subject = "gpu:GPU-7",
                         .node = "key-n",
                         .place = "n:7",
                         .device = "GPU-7",
                         .person = "",
                         .text = "n:7 is missing"};
    AUTO_BUF b = BUF_INIT(1 << 16);

    (void)unused;
    says_gpus(l, 1, 8, NOW);
    assert_string_equal(what_is_missed(r, l, 8, NULL, &b), "");
    assert_string_equal(what_is_missed(r, l, 0, NULL, &b), "");
    says_gpus(l, 2, 7, NOW);
    assert_string_equal(what_is_missed(r, l, 8, NULL, &b), "gpu-lost n:7: n:7 () is missing\n");
    assert_int_equal(read_rules(r, "gpus-missing: {expect: {n: 7}}\n", NULL), 0); /* on purpose */
    assert_string_equal(what_is_missed(r, l, 8, NULL, &b), "");
    alert_rules_free(r);
    r = alert_rules_new();
    live_free(l); /* hub and agent restart */
    l = live_new(&state_rule_default, NULL, NULL);
    says_gpus(l, 2, 7, NOW);
    assert_string_equal(what_is_missed(r, l, 8, NULL, &b), "gpus-missing n: n has 7 of 8 GPUs\n");
    assert_string_equal(what_is_missed(r, l, 8, &lost, &b), "gpu-lost n:7: n:7 is missing\n");
    assert_string_equal(what_is_missed(r, l, 9, &lost, &b),
                        "gpu-lost n:7: n:7 is missing\ngpus-missing n: n has 7 of 9 GPUs\n");
    assert_int_equal(read_rules(r, "gpus-missing: {expect: {x: 9, 'n*': 7}}\n", NULL), 0); /* on purpose */
    assert_string_equal(what_is_missed(r, l, 8, &lost, &b), "");
    assert_int_equal(read_rules(r, "gpus-missing: {expect: {n: 16}}\n", NULL), 0);
    assert_string_equal(what_is_missed(r, l, 8, NULL, &b), "gpus-missing n: n has 7 of 16 GPUs\n");
    live_admin(l, live_find(l, "n"), NULL, false, true);
    assert_string_equal(what_is_missed(r, l, 8, &lost, &b), "");
    live_free(l);
    alert_rules_free(r);
}

#define MANY 20000

static void name_key(char key[NODE_KEY_MAX], int i)
{
    snprintf(key, NODE_KEY_MAX, "%0*d", NODE_KEY_MAX - 1, i); /* more than one note can hold */
}

static void how_many_gpus_very_many_nodes_had_is_kept(void **unused)
{
    char *dir = dir_new_quick();
    struct store *s = store_new_for_test(dir, NULL);
    struct cluster *c = cluster_new();
    struct gpus *g = gpus_new();
    struct view one = c->v;
    char key[NODE_KEY_MAX];

    (void)unused;
    one.n = 1;
    assert_int_equal(gpus_load(g, s, NULL), 0);
    int32_t n = alert_gpus(c->v.nodes[0]);
    assert_true(n > 0);
    for (int i = 0; i <= MANY; i++) {
        name_key(c->n[0].key, MIN(i, MANY - 1));
        gpus_learn(g, &one, NOW + (i == MANY ? 3600000 : 0)); /* the last call stores them */
    }
    gpus_free(g);
    assert_int_equal(store_flush(s, NULL), 0);
    g = gpus_new();
    assert_int_equal(gpus_load(g, s, NULL), 0);
    for (int i = 0; i < MANY; i++) {
        name_key(key, i);
        assert_int_equal(gpus_had(g, key), n);
    }
    gpus_free(g);
    cluster_free(c);
    store_close(s);
    dir_free(dir);
}

static void rules_of_ones_own_are_read(void **unused)
{
    struct alert_rules *r = alert_rules_new();
    struct cluster *c = cluster_new();
    struct live *live = live_new(&state_rule_default, NULL, NULL);
    struct alert_input s = {.now_ms = NOW, .view = &c->v, .live = live};
    struct err err = {0};
    AUTO_BUF b = BUF_INIT(1 << 20);

    (void)unused;
    int code =
        read_rules(r,
                   "gpu-idle: off\ngpu-throttled-power: on\ngpu-hot: {for: 10m, severity: critical, when: temp>70}\n"
                   "rules:\n- name: mine\n  when: held user:lee\n  for: 90s\n  channel: [a, b]\n"
                   "  until: free\n  resolved: off\n"
                   "  text: '{place} {{x} {user} {idle} {mem_used} {sm_active}'\n"
                   "- {name: dark, when: 'host:ws*', of: node, text: '{node}: {state}'}\n",
                   &err);
    if (code < 0)
        fail_msg("%s", err.msg);
    assert_true(alert_rules_find(r, "gpu-idle")->off && !alert_rules_find(r, "gpu-throttled-power")->off);
    const struct alert_rule *hot = alert_rules_find(r, "gpu-hot"), *mine = alert_rules_find(r, "mine");
    assert_true(hot->for_ms == 600000 && hot->severity == SEV_CRITICAL && mine->for_ms == 90000 && mine->own);
    assert_string_equal(mine->channels, "a,b");
    assert_true(mine->no_end && mine->hold && !hot->no_end && !hot->hold);
    alert_rules_evaluate(r, &s, on_see, &b);
    has(&b, "mine dgx1:1: dgx1:1 {x} lee 2 h 55 m 2.00 GiB -\n", true);
    has(&b, "dark ws3: ws3: down\n", true);
    has(&b, "gpu-idle", false);
    live_free(live);
    alert_rules_free(r);
    cluster_free(c);
}

static void a_text_of_vesta_fills_as_it_did(void **unused)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"\xe2\xac\x86 `Uplink` Detected - New uplink from `{}`. Hello!",
         "\xe2\xac\x86 `Uplink` Detected - New uplink from `ws3`. Hello!"},
        {"`{}` has been lost more than {} sec.", "`ws3` has been lost more than 90 sec."},
        {"`{host_name}`: {lost_th} sec, {lost_th}", "`ws3`: 90 sec, 90"},
        {"{{{}}} }} } {gpu} {temp}", "{ws3} } } - -"},
        {"{}", "ws3"},
        {"no holes", "no holes"},
        {"{} {} {}", NULL}, /* there is no third one */
        {"{0}", NULL},
        {"{:>8}", NULL},
        {"{host_name", NULL},
    };
    struct cluster *c = cluster_new();
    struct template_scene s = {.n = c->v.nodes[c->v.n - 1], .now_ms = NOW, .since_ms = NOW - 1000, .lost_ms = 90000};
    (void)unused;
    for (size_t i = 0; i < c->v.n; i++)
        if (strcmp(c->v.nodes[i]->name, "ws3") == 0)
            s.n = c->v.nodes[i];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF b = BUF_INIT(4096);
        struct err err = {0};
        print_message("'%s'\n", cases[i].text);
        assert_int_equal(template_check(str_of(cases[i].text), &err), cases[i].want ? 0 : -EINVAL);
        if (!cases[i].want)
            continue;
        template_fill(&b, cases[i].text, &s);
        assert_string_equal(buf_str(&b).p, cases[i].want);
    }
    AUTO_BUF none = BUF_INIT(4096);
    template_fill(&none, "{} {temp} {lost_th}", &(struct template_scene){.lost_ms = 60000});
    assert_string_equal(none.p, "- - 60");
    cluster_free(c);
}

static void a_built_in_rule_takes_ones_own_words(void **unused)
{
    struct alert_rules *r = alert_rules_new();
    struct cluster *c = cluster_new();
    struct live *live = live_new(&state_rule_default, NULL, NULL);
    struct alert_input s = {.now_ms = NOW, .view = &c->v, .live = live, .wrong[SCENE_STORE] = "no space left"};
    struct err err = {0};
    AUTO_BUF b = BUF_INIT(1 << 20);

    (void)unused;
    for (size_t i = 0; i < c->v.n; i++)
        live_node(live, c->v.nodes[i]->key, c->v.nodes[i]->name, NOW);
    int code = read_rules(r,
                          "node-down: {text: 'lost `{}` for {} sec'}\n"
                          "store: {text: 'disk of {node}'}\n",
                          &err);
    if (code < 0)
        fail_msg("%s", err.msg);
    assert_true(alert_rules_find(r, "node-down")->worded && !alert_rules_find(r, "gpu-hot")->worded);
    alert_rules_evaluate(r, &s, on_see, &b);
    has(&b, "node-down ws3: lost `ws3` for 60 sec\n", true);
    has(&b, "store : disk of -\n", true);
    live_free(live);
    alert_rules_free(r);
    cluster_free(c);
}

static void what_is_wrong_in_the_file_is_said_with_its_place(void **unused)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"gpu-ilde: off\n", "m.yaml:11:1: there is no built-in rule 'gpu-ilde'"},
        {"gpu-idle: maybe\n", "m.yaml:11:11: expected off, on, or"},
        {"gpu-idle: {for: soon}\n", "expected a length of time"},
        {"gpu-idle: {when: free}\n",
         "'when' is not understood here: for, clear, severity, remind, person, channel, advice, text, resolved, "
         "resolved_text are"},
        {"gpu-hot: {severity: bad}\n", "expected info, warning or critical"},
        {"rules: 7\n", "expected a list of rules"},
        {"gpus-missing: {expect: 8}\n", "expected how many GPUs nodes have"},
        {"gpus-missing: {expect: {dgx1: many}}\n", "expected a number of GPUs"},
        {"gpus-missing: {expect: {dgx1: -1}}\n", "expected a number of GPUs"},
        {"gpu-lost: {expect: {dgx1: 8}}\n", "'expect' is not understood here"},
        {"gpus-missing: {what: 8}\n", "resolved_text and expect are"},
        {"gpu-hot: {until: 'temp<'}\n", "column 6 of the filter"},
        {"gpu-hot: {until: }\n", "expected a filter"},
        {"gpu-idle: {until: free}\n", "'until' is not understood here"},
        {"gpu-idle: {resolved: maybe}\n", "expected off or on"},
        {"node-new: {resolved: off}\n", "'resolved' is not understood here"},
        {"node-new: {resolved_text: x}\n", "'resolved_text' is not understood here"},
        {"node-down: {resolved_text: '{what}'}\n", "{what} is not known"},
        {"rules:\n- {name: x}\n", "m.yaml:12:3: expected a rule"},
        {"rules:\n- {name: x, when: 'mem<'}\n", "column 5 of the filter"},
        {"rules:\n- {name: x, when: free, text: '{what}'}\n", "{what} is not known"},
        {"rules:\n- {name: x, when: free, text: '{place'}\n", "is not closed"},
        {"rules:\n- {name: gpu-hot, when: free}\n", "there is a rule 'gpu-hot' already"},
        {"rules:\n- {name: x, when: free, of: rack}\n", "'of' is not understood"},
        {"rules:\n- {name: x, when: free, channel: 'a,b'}\n", "expected the name of a channel"},
        {"- a\n", "expected names of rules"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct alert_rules *r = alert_rules_new();
        struct err err = {0};
        assert_int_equal(read_rules(r, cases[i].text, &err), -EINVAL);
        if (!strstr(err.msg, cases[i].want))
            fail_msg("'%s' instead of '%s'", err.msg, cases[i].want);
        alert_rules_free(r);
    }
}

/* ---- notes, silences ---- */

static void a_note_comes_back_as_it_was(void **unused)
{
    struct alert a = {.id = 3,
                      .severity = SEV_CRITICAL,
                      .since_ms = 1,
                      .fired_ms = 2,
                      .resolved_ms = 3,
                      .told_ms = 4,
                      .tells = 5,
                      .notice = 1,
                      .rule = "r",
                      .subject = "gpu:\"x",
                      .node = "n",
                      .place = "dgx2:3",
                      .device = "GPU-1",
                      .person = "kim",
                      .text = "\xc3\xa4 text",
                      .advice = "do",
                      .told_to = "4\tops\t\t\n"};
    struct silence s = {.id = 4,
                        .created_ms = 5,
                        .until_ms = 100,
                        .rule = "r*",
                        .node = "dgx2",
                        .person = "",
                        .by = "lee",
                        .reason = "fans"};
    AUTO_BUF b = BUF_INIT(65536);
    AUTO_BUF again = BUF_INIT(65536);
    struct err err = {0};

    (void)unused;
    alert_write(&a, &b);
    AUTO_FREE struct alert *got = alert_read(buf_str(&b), &err);
    assert_non_null(got);
    alert_write(got, &again);
    assert_string_equal(b.p, again.p);
    buf_reset(&b);
    silence_write(&s, &b);
    AUTO_FREE struct silence *quiet = silence_read(buf_str(&b), &err);
    assert_non_null(quiet);
    assert_true(silence_fits(quiet, got, 99)); /* the node's name alone includes its GPUs */
    assert_false(silence_fits(quiet, got, 100));
    struct alert both = *got;
    struct silence of_kim = {.until_ms = 100, .rule = "", .node = "", .person = "k?m", .by = "", .reason = ""};
    both.person = "lee, kim"; /* one of several persons is enough */
    assert_true(silence_fits(&of_kim, &both, 99));
    both.person = "lee, kimberly";
    assert_false(silence_fits(&of_kim, &both, 99));
    struct silence members =
        {.until_ms = 100, .rule = "", .node = "", .person = "", .by = "", .reason = "", .owner = "kim"};
    both.severity = SEV_WARNING;
    assert_true(silence_fits(&members, &both, 99));
    both.severity = SEV_CRITICAL; /* a member's silence only matches critical alerts of that person alone */
    assert_false(silence_fits(&members, &both, 99));
    both.person = "lee, kim";
    assert_true(silence_fits(&members, &both, 99));
    members.owner = "k*";
    assert_false(silence_fits(&members, &both, 99));
    s.node = "dgx3";
    assert_false(silence_fits(&s, got, 99));
    s.node = "dgx2:?";
    assert_true(silence_fits(&s, got, 99));
    static const char *const bad[] = {"", "[]", "{", "{}", "{\"id\":1,\"severity\":9}", "{\"id\":-1}"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_null(alert_read(str_of(bad[i]), &err));
}

TESTS(cmocka_unit_test(an_alert_that_two_leaders_stored_has_one_id_everywhere),
      cmocka_unit_test(w5_what_lasts_is_told_once_though_its_parts_begin_one_by_one),
      cmocka_unit_test(w6_a_notice_of_what_lasts_is_known_while_it_goes_on),
      cmocka_unit_test(w4_a_notice_that_another_told_is_not_told_again),
      cmocka_unit_test(how_many_gpus_very_many_nodes_had_is_kept), cmocka_unit_test(w6_it_is_known_after_a_restart_too),
      cmocka_unit_test(a_run_over_nodes_is_one_subject_since_its_first_start),
      cmocka_unit_test(w4_a_notice_that_goes_on_is_told_once_however_long),
      cmocka_unit_test(what_a_run_is_used_for_is_told_once_a_run),
      cmocka_unit_test(w2_it_fires_once_after_a_while_and_is_resolved_once),
      cmocka_unit_test(what_was_told_stays_so_until_it_is_taken_back),
      cmocka_unit_test(who_leads_no_longer_keeps_what_fired_alone), cmocka_unit_test(what_fired_survives_a_restart),
      cmocka_unit_test(w4_what_happened_is_told_once_each_time),
      cmocka_unit_test(gpus_that_are_missing_are_told_of_once),
      cmocka_unit_test(what_is_weak_keeps_an_alert_and_makes_none),
      cmocka_unit_test(a_node_that_is_offline_fires_right_after_a_start_too),
      cmocka_unit_test(a_threshold_has_a_lower_one_to_end_at), cmocka_unit_test(thousands_are_found_again),
      cmocka_unit_test(rules_find_what_is_wrong), cmocka_unit_test(a_look_bit_by_bit_finds_what_one_look_does),
      cmocka_unit_test(rules_of_ones_own_are_read), cmocka_unit_test(a_text_of_vesta_fills_as_it_did),
      cmocka_unit_test(a_built_in_rule_takes_ones_own_words),
      cmocka_unit_test(what_is_wrong_in_the_file_is_said_with_its_place), cmocka_unit_test(a_note_comes_back_as_it_was))
