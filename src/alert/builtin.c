/* builtin.c: the table of built-in rules, and the functions of rules that the filter language cannot express. */
#include "alert/builtin.h"

#include <inttypes.h>

#include "alert/alert_state.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "book/use.h"
#include "format/words.h"
#include "model/alert.h"
#include "model/metric.h"
#include "model/names.h"

#define SEC  1000ll
#define MIN_ (60 * SEC)
#define HOUR (60 * MIN_)

/* ---- nodes ---- */

/* After a start of the hub the state waits until the node had time to report (judge.c). */
static bool is_down(UNUSED const struct rule_eval *k, const struct node_now *n, UNUSED const struct device_now *d)
{
    return n->state == NODE_DOWN && !n->maintenance;
}

static void tell_down(const struct rule_eval *k, const struct node_now *n, UNUSED const struct device_now *d)
{
    rule_found_at(k, n, NULL, n->at_ms ? n->at_ms : n->since_ms, "%s is offline", node_shown(n));
}

static bool is_hung(UNUSED const struct rule_eval *k, const struct node_now *n, UNUSED const struct device_now *d)
{
    return n->state == NODE_HUNG && !n->maintenance;
}

static void tell_hung(const struct rule_eval *k, const struct node_now *n, UNUSED const struct device_now *d)
{
    rule_found_at(k, n, NULL, n->since_ms, "the driver of %s is not responding", node_shown(n));
}

static bool is_off(UNUSED const struct rule_eval *k, const struct node_now *n, UNUSED const struct device_now *d)
{
    return n->clock_off_ms && n->state == NODE_UP;
}

static void tell_off(const struct rule_eval *k, const struct node_now *n, UNUSED const struct device_now *d)
{
    rule_found_at(k, n, NULL, 0, "the clock of %s is off by %.1f s", node_shown(n), (double)n->clock_off_ms / 1000);
}

/* Two nodes report the same name or the same GPU: the second one gets a suffix, and an admin must resolve the
 * conflict. */
static bool is_second(const struct device_fact *f)
{
    return !f->parent[0] && !f->lost && strchr(f->uuid, '~');
}

static bool is_taken(UNUSED const struct rule_eval *k, const struct node_now *n, UNUSED const struct device_now *d)
{
    return name_is_nth(n->fact.name, n->name) || ANY(n->n_devices, i, is_second(&n->devices[i].fact));
}

static void tell_taken(const struct rule_eval *k, const struct node_now *n, UNUSED const struct device_now *d)
{
    if (name_is_nth(n->fact.name, n->name))
        rule_found_at(k, n, NULL, 0, "%s calls itself %s, as another node does", node_shown(n), n->fact.name);
    for (size_t i = 0; i < n->n_devices; i++) {
        const struct device_fact *f = &n->devices[i].fact;
        if (is_second(f))
            rule_found_at(k, n, &n->devices[i], 0, "%s:%d is a GPU that another node reports, too: here it is %s",
                          node_shown(n), (int)f->index, f->uuid);
    }
}

/* ---- GPUs ---- */

int32_t alert_gpus(const struct node_now *n)
{
    int32_t count = 0;

    for (size_t i = 0; i < n->n_devices; i++)
        count += !n->devices[i].fact.parent[0] && !n->devices[i].fact.lost;
    return count;
}

/* Number of GPUs configured in muster.yaml; -1: not configured. */
static int32_t expected_by_us(const struct alert_input *s, const struct node_now *n)
{
    const struct gpus_expected *by_us = FIND(s->expect, s->n_expect, e, str_glob(str_of(e->node), str_of(n->name)));

    return by_us ? by_us->n : -1;
}

/* The configured number, else the maximum seen; 0: unknown. */
static int32_t expected(const struct alert_input *s, const struct node_now *n)
{
    int32_t by_us = expected_by_us(s, n);

    return by_us >= 0 ? by_us : s->gpus_had ? s->gpus_had(s->gpus_arg, n->key) : 0;
}

/* Missing GPUs were removed on purpose. */
static bool has_enough(const struct alert_input *s, const struct node_now *n)
{
    int32_t by_us = expected_by_us(s, n);

    return by_us >= 0 && alert_gpus(n) >= by_us;
}

/* Reported as lost, but since then hub and agent restarted: neither knows the GPU. */
static bool forgotten(const struct alert_input *s, const struct alert *a)
{
    const struct node_now *on;

    return a->device[0] && !live_find_device(s->live, str_of(a->device), &on);
}

/* A lost GPU stays lost until its node has the expected number of GPUs. */
static void look_forgotten(const struct rule_eval *k)
{
    for (size_t i = 0; i < k->s->n_lost; i++) {
        const struct alert *a = k->s->lost[i];
        const struct node_now *n = forgotten(k->s, a) ? live_find(k->s->live, a->node) : NULL;
        if (!n || n->retired || n->maintenance || (n->state == NODE_UP && alert_gpus(n) >= expected(k->s, n)))
            continue;
        rule_found(k, (struct alert_finding){.subject = a->subject,
                                             .node = a->node,
                                             .place = a->place,
                                             .device = a->device,
                                             .person = a->person,
                                             .text = a->text,
                                             .since_ms = a->since_ms,
                                             .weak = true});
    }
}

/* Skips GPUs that gpu-lost reports. */
static bool is_missing(const struct rule_eval *k, const struct node_now *n, UNUSED const struct device_now *d)
{
    const struct alert_input *s = k->s;

    if (n->state != NODE_UP || n->maintenance || (n->collect != COLLECT_OK && n->collect != COLLECT_NONE))
        return false;
    int32_t want = expected(s, n), have = alert_gpus(n);
    for (size_t i = 0; have < want && i < n->n_devices; i++)
        have += !n->devices[i].fact.parent[0] && n->devices[i].fact.lost;
    for (size_t a = 0; have < want && a < s->n_lost; a++) /* of few nodes: there may be many such nodes */
        have += strcmp(s->lost[a]->node, n->key) == 0 && forgotten(s, s->lost[a]);
    return have < want;
}

static void tell_missing(const struct rule_eval *k, const struct node_now *n, UNUSED const struct device_now *d)
{
    rule_found_at(k, n, NULL, 0, "%s has %d of %d GPUs", node_shown(n), (int)alert_gpus(n), (int)expected(k->s, n));
}

static bool is_lost(const struct rule_eval *k, const struct node_now *n, const struct device_now *d)
{
    return d->state == DEV_LOST && !n->maintenance && !has_enough(k->s, n);
}

static void tell_lost(const struct rule_eval *k, const struct node_now *n, const struct device_now *d)
{
    rule_found_at(k, n, d, d->since_ms, "%s:%d (%s) is missing", node_shown(n), (int)d->fact.index, device_shown(d));
}

/* Bits of the driver's mask: heat; power. */
#define THROTTLE_HEAT  (0x20u | 0x40u)
#define THROTTLE_POWER (0x4u | 0x80u)

static uint64_t throttled(const struct rule_eval *k, const struct device_now *d)
{
    bool known = d->state <= DEV_IN_SIGHT && sample_has(&d->now, M_throttle);

    return known ? (uint64_t)d->now.v[M_throttle] & (uint64_t)k->r->limit : 0;
}

static bool is_throttled(const struct rule_eval *k, UNUSED const struct node_now *n, const struct device_now *d)
{
    return throttled(k, d) != 0;
}

static void tell_throttled(const struct rule_eval *k, const struct node_now *n, const struct device_now *d)
{
    char words[256];

    rule_found_at(k, n, d, 0, "%s:%d runs slower than it could: %.120s", node_shown(n), (int)d->fact.index,
                  throttle_text(throttled(k, d), words).p);
}

/* The limit. The alert starts below it, and continues below twice the limit. */
static int64_t least_memory(const struct rule_eval *k, const struct device_now *d)
{
    return d->now.v[M_mem_total] / 10000 * (10000 - k->r->limit);
}

static bool is_full(const struct rule_eval *k, UNUSED const struct node_now *n, const struct device_now *d)
{
    int64_t left;

    return d->state <= DEV_IN_SIGHT && memory_left(&d->now, &left) && sample_has(&d->now, M_mem_total) &&
           left <= 2 * least_memory(k, d);
}

static void tell_full(const struct rule_eval *k, const struct node_now *n, const struct device_now *d)
{
    struct rule_eval as = *k;
    int64_t left = 0;

    memory_left(&d->now, &left);
    as.weak = left > least_memory(k, d);
    rule_found_at(&as, n, d, 0, "%s:%d has %" PRId64 " MiB of memory left", node_shown(n), (int)d->fact.index,
                  left >> 20);
}

/* Start of the idle time: after the last work, and not before the current processes started. */
static int64_t idle_since(const struct state_rule *rule, const struct device_now *d, int64_t now_ms)
{
    int64_t first = now_ms;

    for (size_t i = 0; i < d->n_procs; i++)
        if (state_rule_holds(rule, &d->procs[i]))
            first = MIN(first, d->procs[i].fact->start_ms > 0 ? d->procs[i].fact->start_ms : d->since_ms);
    return MAX(d->idle_since_ms, first);
}

static bool is_idle(UNUSED const struct rule_eval *k, UNUSED const struct node_now *n, const struct device_now *d)
{
    return d->state == DEV_HELD && d->n_procs && d->idle_since_ms;
}

static void tell_idle(const struct rule_eval *k, const struct node_now *n, const struct device_now *d)
{
    int64_t since = idle_since(live_rule(k->s->live), d, k->s->now_ms);
    char who[160];

    rule_found_at(k, n, d, since, "%s:%d is held by %s and idle", node_shown(n), (int)d->fact.index,
                  holders(d, who).len ? who : "somebody");
}

/* ---- events ---- */

/* Events of nodes: one notification per event. */
static void look_happened(const struct rule_eval *k)
{
    static const char *const texts[][2] = {[EVENT_NEW] = {"", " is new: it was "},
                                           [EVENT_BACK] = {"", " is "},
                                           [EVENT_START] = {"the agent on ", " started: "}};

    for (size_t i = k->s->n_recent; i-- > 0;) { /* newest first: older events are not reported again */
        const struct recent *e = &k->s->recent[i];
        bool fits = e->kind == (uint16_t)k->r->limit && !e->device[0];
        const struct node_now *n = fits ? live_find(k->s->live, e->node) : NULL;
        if (n && !n->retired && !n->maintenance)
            rule_found_at(k, n, NULL, e->at_ms, "%s%s%s%s", texts[e->kind][0], node_shown(n), texts[e->kind][1],
                          e->text);
    }
}

/* Findings about W&B runs: one alert each. */
static void look_wandb(const struct rule_eval *k)
{
    for (size_t i = k->s->n_recent; i-- > 0;) {
        const struct recent *e = &k->s->recent[i];
        char subject[40];
        if (e->kind != EVENT_WANDB || str_starts(str_of(e->text), "done")) /* the pull has finished */
            continue;
        snprintf(subject, sizeof(subject), "wandb:%" PRId64, e->code);
        rule_found(k, (struct alert_finding){.subject = subject, .text = e->text, .since_ms = e->at_ms});
    }
}

static void look_recent(const struct rule_eval *k)
{
    for (size_t i = k->s->n_recent; i-- > 0;) { /* newest first: the newest event of each subject is reported */
        const struct recent *e = &k->s->recent[i];
        const struct node_now *n = NULL;
        const struct device_now *d = e->device[0] ? live_find_device(k->s->live, str_of(e->device), &n) : NULL;
        if (e->kind != (uint16_t)k->r->limit)
            continue;
        if (!n && e->node[0])
            n = live_find(k->s->live, e->node);
        if (n && (n->retired || n->maintenance))
            continue;
        if (n && d)
            rule_found_at(k, n, d, e->at_ms, "%s:%d: %s", node_shown(n), (int)d->fact.index, e->text);
        else if (n)
            rule_found_at(k, n, NULL, e->at_ms, "%s: %s", node_shown(n), e->text);
        else
            rule_found(k, (struct alert_finding){.subject = "hub", .text = e->text});
    }
}

static void look_started(const struct rule_eval *k)
{
    if (k->s->started_ms)
        rule_found(k, (struct alert_finding){.subject = "hub",
                                             .text = "the hub has started",
                                             .since_ms = k->s->started_ms});
}

/* ---- bookings ---- */

static void look_bookings(const struct rule_eval *k)
{
    size_t n;
    const struct booking *const *v = k->s->book ? book_all(k->s->book, &n) : NULL;

    for (size_t i = 0; v && i < n; i++) {
        const char *others[USE_NAMES];
        size_t n_others = 0;
        char subject[40], text[640];
        if (v[i]->kind != BOOKING_FIRM || booking_state(v[i], k->s->now_ms) != BOOKING_ACTIVE)
            continue;
        enum booking_use use = booking_use(k->s->live, k->s->people, v[i], others, &n_others);
        bool unused = k->r->limit == USE_UNUSED && use == USE_UNUSED;
        bool taken = k->r->limit == USE_OTHERS && (use == USE_OTHERS || use == USE_SHARED);
        if (!unused && !taken)
            continue;
        snprintf(subject, sizeof(subject), "booking:%" PRId64, v[i]->id);
        AUTO_BUF taken_at = BUF_INIT(BOOKING_PLACES_MAX);
        if (taken)
            booking_conflicts_text(k->s->live, k->s->people, v[i], &taken_at);
        const char *place = taken ? buf_str(&taken_at).p : v[i]->places;
        if (taken)
            snprintf(text, sizeof(text), "%s is on %.100s, which %s has booked", n_others ? others[0] : "somebody",
                     place, v[i]->person);
        else
            snprintf(text, sizeof(text), "%s has booked %.100s and does not use it", v[i]->person, place);
        AUTO_BUF persons = BUF_INIT(USE_NAMES * (size_t)BOOKING_PERSON_MAX * 2); /* the person who booked is the last */
        for (size_t p = 0; p < n_others && taken; p++)
            buf_addf(&persons, "%s, ", others[p]);
        buf_adds(&persons, v[i]->person);
        rule_found(k, (struct alert_finding){.subject = subject,
                                             .place = place,
                                             .person = buf_str(&persons).p,
                                             .text = text});
    }
}

/* ---- usage ---- */

static void look_usage(const struct rule_eval *k)
{
    for (size_t i = 0; i < k->s->n_usage; i++) {
        const struct usage_finding *u = &k->s->usage[i];
        if (u->kind == (enum usage_finding_kind)k->r->limit)
            rule_found(k, (struct alert_finding){.subject = u->subject,
                                                 .place = u->name,
                                                 .text = u->text,
                                                 .since_ms = u->since_ms,
                                                 .weak = u->weak});
    }
}

/* ---- runs ---- */

static const struct advice_now *advised(const struct device_now *d, int64_t rule)
{
    return FIND(d->advice, d->n_advice, a, (int64_t)a->rule == rule);
}

static bool is_advised(const struct rule_eval *k, const struct node_now *n, const struct device_now *d)
{
    const struct advice_now *a = d->n_advice ? advised(d, k->r->limit) : NULL;

    return a && d->state <= DEV_IN_SIGHT && !n->maintenance && k->s->now_ms - a->from_ms >= k->r->for_ms;
}

/* One notice per run, regardless of which of its GPUs or nodes comes first. */
static void tell_advised(const struct rule_eval *k, const struct node_now *n, const struct device_now *d)
{
    struct auto_found run = {.start_ms = MAX(device_held_ms(d), 1)};
    char subject[UUID_MAX + 8], place[NAME_MAX_LEN + 16], who[160] = "", id[JOB_ID_LEN];
    AUTO_BUF text = BUF_INIT(1024);

    bool known = k->s->runs && auto_find(k->s->runs, n->key, d->fact.uuid, &run);
    job_id_text(run.id, id);
    if (known && run.launch)
        snprintf(subject, sizeof(subject), "launch:%016" PRIx64, run.launch);
    else
        snprintf(subject, sizeof(subject), "%s:%s", known ? "run" : "gpu", known ? id : d->fact.uuid);
    snprintf(place, sizeof(place), "%s:%d", node_shown(n), (int)d->fact.index);
    buf_adds(&text, place);
    if (holders(d, who).len)
        buf_addf(&text, ", %s's run%s%s", who, known ? " " : "", known ? id : "");
    buf_addf(&text, ": %s", advice_rules[k->r->limit].title);
    rule_found(k, (struct alert_finding){.subject = subject,
                                         .node = n->key,
                                         .place = place,
                                         .device = d->fact.uuid,
                                         .person = who,
                                         .text = buf_str(&text).p,
                                         .since_ms = run.start_ms});
}

bool alert_run_is_active(const struct auto_runs *runs, const struct alert *a)
{
    struct str s = str_of(a->subject);
    uint64_t id;

    if (str_skip(&s, "launch:"))
        return str_hex(s, &id) && auto_launched(runs, id);
    return str_skip(&s, "run:") && str_hex(s, &id) && auto_is_active(runs, a->node, (int64_t)id);
}

/* ---- the hub ---- */

static void look_hub(const struct rule_eval *k)
{
    static const char *const subjects[] = {[SCENE_STORE] = "store",
                                           [SCENE_DAMAGE] = "store-damaged",
                                           [SCENE_SOURCES] = "sources",
                                           [SCENE_CHANNELS] = "channels",
                                           [SCENE_WANDB] = "wandb"};

    if (k->s->wrong[k->r->limit])
        rule_found(k, (struct alert_finding){.subject = subjects[k->r->limit], .text = k->s->wrong[k->r->limit]});
}

/* ---- the table ---- */

/* A row: name, severity, duration before it fires and before it is resolved, condition, advice, function. */
#define RULE(name_, severity_, for_, clear_, about_, advice_, ...)                                                     \
    {                                                                                                                  \
        .name = name_, .severity = SEV_##severity_, .for_ms = for_, .clear_ms = clear_, .about = about_,               \
        .advice = advice_, __VA_ARGS__                                                                                 \
    }

#define OF_NODE(what) .of = ALERT_OF_NODE, .is = is_##what, .tell = tell_##what
#define OF_GPU(what)  .of = ALERT_OF_GPU, .is = is_##what, .tell = tell_##what

const struct alert_rule alert_builtin[] = {
    RULE("node-down", CRITICAL, 0, 30 * SEC, "a node is offline",
         "is it on, and its network up? On it: systemctl status muster-agent", OF_NODE(down)),
    RULE("node-new", INFO, 0, 0, "a node reports for the first time",
         "not one of your nodes? See which token it used: muster token list", .notice = true, .look = look_happened,
         .limit = EVENT_NEW),
    RULE("node-back", INFO, 0, 0, "a node that was offline is back; the end of node-down reports it, too", "",
         .notice = true, .off = true, /* one return would be reported twice */
         .look = look_happened, .limit = EVENT_BACK),
    RULE("node-up", INFO, 0, 0, "the agent of a node started: the node, or the agent alone", "", .notice = true,
         .off = true, /* every update of the agent does it */
         .look = look_happened, .limit = EVENT_START),
    RULE("hub-up", INFO, 0, 0, "the hub has started", "", .notice = true, .off = true, /* every update does it */
         .now_only = true, .look = look_started),
    RULE("name-taken", WARNING, 30 * SEC, 30 * SEC,
         "two nodes have one name, or report one GPU: the second is NAME~2, UUID~2",
         "muster node rename NODE NAME; a copied disk image: remove the agent's state folder on one of the two",
         OF_NODE(taken)),
    RULE("driver-hung", CRITICAL, 30 * SEC, 30 * SEC, "a node's driver is not responding",
         "check dmesg for Xid errors; often only a restart of the node helps", OF_NODE(hung)),
    RULE("gpu-lost", CRITICAL, 30 * SEC, 30 * SEC, "a GPU is missing",
         "check dmesg (fallen off the bus?); reseat it, or put the node into maintenance", OF_GPU(lost),
         .look = look_forgotten),
    RULE("gpus-missing", CRITICAL, 2 * MIN_, 30 * SEC, "a node has fewer GPUs than it had, or than muster.yaml says",
         "check dmesg and lspci; taken out on purpose: alerts: {gpus-missing: {expect: {NODE: 7}}}", .expects = true,
         OF_NODE(missing)),
    RULE("gpu-xid", WARNING, 0, 0, "the driver reported an Xid error within the last hour",
         "see the error's meaning; a program that causes it must be fixed by its owner; if the GPU needs a reset, run "
         "nvidia-smi --gpu-reset when no process uses it; replace a GPU that repeats the error",
         .look = look_recent, .limit = EVENT_XID),
    RULE("gpu-ecc", CRITICAL, 0, 0, "memory errors that could not be corrected within the last hour",
         "results computed since then may be wrong; reset the GPU, and replace it if this repeats", .look = look_recent,
         .limit = EVENT_ECC),
    RULE("gpu-remap", WARNING, 0, 60 * SEC, "a memory row waits for a reset to be remapped",
         "reset the GPU (nvidia-smi --gpu-reset) when no process uses it", .when = "rows_pending>0",
         .text = "{place} needs service: a memory row waits for a reset"),
    RULE("gpu-remap-failed", CRITICAL, 0, 60 * SEC, "a GPU needs service: a memory row could not be remapped",
         "drain it and have it replaced: results may be wrong", .when = "rows_failed>0",
         .text = "{place} needs service: a memory row could not be remapped"),
    RULE("gpu-rows-spent", WARNING, 0, 60 * SEC, "a GPU needs service: a bank of its memory has no spare row left",
         "the next bad row there cannot be remapped: plan its replacement", .when = "rows_spent>0",
         .text = "{place} needs service: a bank of its memory has no spare row left"),
    RULE("gpu-hot", WARNING, 2 * MIN_, 2 * MIN_, "a GPU is hotter than 88 degrees",
         "check fans, filters and room temperature", .when = "temp>88", .until = "temp<84",
         .text = "{place} is at {temp}"),
    RULE("gpu-throttled-heat", WARNING, 5 * MIN_, 5 * MIN_, "heat holds a GPU's clocks down",
         "check fans, filters and room temperature", OF_GPU(throttled), .limit = THROTTLE_HEAT),
    RULE("gpu-throttled-power", INFO, 30 * MIN_, 5 * MIN_, "the power limit holds a GPU's clocks down",
         "normal under full load; otherwise check the power limit and the power supplies",
         .off = true, /* full load does it everywhere */
         OF_GPU(throttled), .limit = THROTTLE_POWER),
    RULE("gpu-memory", INFO, 10 * MIN_, 5 * MIN_, "less than one percent of a GPU's memory is left",
         "the next allocation may fail", .off = true, /* frameworks that take all of it do this on purpose */
         OF_GPU(full), .limit = 9900),
    RULE("gpu-idle", INFO, 2 * HOUR, 2 * MIN_, "a GPU is held and idle",
         "stop the process if you no longer need the GPU: other users wait", .person = true,
         .you = "you hold {places}, idle for {for}", OF_GPU(idle)),
    RULE("booking-taken", WARNING, 10 * MIN_, 2 * MIN_, "a user works on a GPU that another user booked",
         "contact each other; muster stops no process", .person = true,
         .you = "you are on {places}, which {who} has booked",
         .yours = "{places}, which you have booked, is used by {who}", .look = look_bookings, .limit = USE_OTHERS),
    RULE("booking-unused", INFO, HOUR, 2 * MIN_, "a booking is not used",
         "release it: muster book --release NUMBER (listed by muster book --list)", .person = true,
         .you = "you booked {places} and have not used it for {for}", .look = look_bookings, .limit = USE_UNUSED),
/* off by default, except for the two that waste whole GPUs */
#define RUN_ON(rule_) ((rule_) == ADVICE_spinning || (rule_) == ADVICE_straggler)
#define ADVICE(id, name_, title, remedy)                                                                               \
    RULE("run-" name_, INFO, ADVICE_##id == ADVICE_straggler ? 0 : 10 * MIN_, 0,                                       \
         "a GPU of a run, notified once a run: " title, remedy, .notice = true, .lasts = true, .now_only = true,       \
         .person = true, .off = !RUN_ON(ADVICE_##id), .you = "your run on {places}: " title, OF_GPU(advised),          \
         .limit = ADVICE_##id),
#include "model/advice.def"
    RULE("clock-off", WARNING, 2 * MIN_, 2 * MIN_, "a node's clock is off by more than five seconds",
         "start its time service (chrony, systemd-timesyncd)", .now_only = true, OF_NODE(off)),
    RULE("double-agent", WARNING, 0, 0, "a second agent with a node's id was turned away within the last hour",
         "a cloned image: remove the state folder of one of them", .look = look_recent, .limit = EVENT_REFUSED),
    RULE("data-dropped", WARNING, 0, 0, "an agent gave samples up: its disk was full or damaged",
         "give its state folder room", .look = look_recent, .limit = EVENT_DROPPED),
    RULE("usage-low", WARNING, 0, 0, "a company or team used less than a tenth of what was assigned to it yesterday",
         "do they need it? muster usage --by team --last 7d and muster report --period daily have their days",
         .notice = true, .look = look_usage, .limit = USAGE_LOW),
    RULE("usage-unusual", INFO, 0, 150 * MIN_ /* an hour or two of which nothing usual is known do not end it */,
         "for two hours a company, a team or the cluster uses far more or far less than at this hour of the week",
         "ask them, or look what ended or began: muster usage --period hour --last 2d", .look = look_usage,
         .limit = USAGE_UNUSUAL),
    RULE("wandb", WARNING, 0, 0,
         "W&B runs: several at once on one host, a project that could not be read, a check that failed, low usage",
         "muster wandb check; docs/wandb.md", .notice = true, .look = look_wandb),
    RULE("wandb-failed", WARNING, 0, 0, "a pull, push or check of W&B failed, until one succeeds",
         "muster doctor shows the error; the hub tries again after 15 minutes, four times", .now_only = true,
         .look = look_hub, .limit = SCENE_WANDB),
    RULE("store", CRITICAL, 10 * SEC, 30 * SEC, "the hub cannot store what it gets",
         "make room on the hub's disk: agents keep theirs until then", .now_only = true, .look = look_hub,
         .limit = SCENE_STORE),
    RULE("store-damaged", WARNING, 0, 24 * HOUR, "stored history is damaged",
         "check the hub's disk; muster store check counts the damage, muster restore puts back a backup",
         .now_only = true, .look = look_hub, .limit = SCENE_DAMAGE),
    RULE("sources", WARNING, 5 * MIN_, MIN_, "a source of names of nodes fails",
         "GET /api/v1/sources says which and why", .now_only = true, .look = look_hub, .limit = SCENE_SOURCES),
    RULE("channel", WARNING, 5 * MIN_, MIN_, "a notification channel fails", "muster alerts channels says why",
         .now_only = true, .look = look_hub, .limit = SCENE_CHANNELS),
    {0},
};
