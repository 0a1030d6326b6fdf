/*
 * demo.c: generates the demo's history: a week that leads to the initial scene, with events, bookings and runs, so
 * that all screens are consistent from the first second.
 */
#include "sim/demo.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "collect/trace.h"
#include "sim/cmd_simulate.h"
#include "sim/demo_cluster.h"
#include "store/samples.h"
#include "wire/wire.h"

#define STORY "demo_story" /* the setting with the start time of the story */

/* The week before the story starts. */
static int make_past(const char *dir, int64_t story_ms, struct err *err)
{
    AUTO_FREE char *data = mem_str(dir);
    char prefix[] = DEMO_CLUSTER_DEMO_PREFIX, until[32];
    struct simulate_conf conf = {.data = data,
                                 .prefix = prefix,
                                 .until = until,
                                 .nodes = DEMO_CLUSTER_DEMO_NODES,
                                 .gpus = DEMO_CLUSTER_DEMO_GPUS,
                                 .backfill = DEMO_CLUSTER_PAST_MS,
                                 .every = MINUTE_MS,
                                 .demo = true,
                                 .quiet = true};
    clock_iso(story_ms, until);
    return backfill_run(&conf, err);
}

int demo_config(const char *dir, struct err *err)
{
    AUTO_FREE char *path = mem_fmt("%s/demo.yaml", dir);
    AUTO_BUF text = BUF_INIT(4096);
    char from[32];

    if (access(path, F_OK) == 0)
        return 0;
    clock_iso(clock_wall_ms() - DEMO_CLUSTER_PAST_MS, from);
    buf_addf(&text,
             "# The demo's people. `muster up --demo` writes this file where it is not; change it as you like.\n"
             "teams:\n"
             "  vision: [kim, lee, ana]\n"
             "  language: [raj, mia]\n"
             "  robotics: [tom, zoe, ben]\n"
             "projects:\n"
             "  atlas: [kim, raj, tom]\n"
             "companies:\n"
             "- company: Acme\n"
             "  teams: [vision]\n"
             "  schedule: [{date: %.10s, assigned_gpu_node: 3}]\n"
             "- company: Globex\n"
             "  teams: [language, robotics]\n"
             "  schedule: [{date: %.10s, assigned_gpu_node: 3}]\n"
             "usage:\n"
             "  price: [H200=2.50]\n"
             "  co2: 350\n"
             "bookings:\n"
             "  auth: open # every reader of the demo may book without a token\n"
             "reports:\n"
             "  daily: {every: day, at: \"08:00\"} # sent to nobody; `muster reports show daily`\n",
             from, from);
    int r = file_mkdirs(dir, 0700, err);
    return r < 0 ? r : file_write(path, 0600, text.p, text.len, err);
}

/* ---- events and bookings ---- */

static const struct {
    unsigned char node;
    signed char gpu; /* -1: the node */
    short ago_min;
    uint16_t kind;
    short code;
    const char *text;
} happened[] = {
    {5, -1, 36, EVENT_DOWN, 60, "no data for 1 m"},
    {4, -1, 4, EVENT_HUNG, 0, "driver does not answer"},
    {4, 2, 5, EVENT_XID, 119, "GSP RPC timeout"},
    {2, 3, 1700, EVENT_XID, 31, "python, pid 48120: MMU fault"},
    {1, -1, 2975, EVENT_STOP, 0, "rebooted for a new driver"},
    {1, -1, 2963, EVENT_START, 0, ""},
    {3, 6, 5210, EVENT_ECC, 1, ""},
};

static const struct {
    unsigned char node, first, count;
    short from_min, until_min, made_min; /* before the start: below 0 */
    const char *person, *comment;
} booked[] = {
    {3, 5, 1, 120, 480, -95, "ben", "ablations for the paper"},
    {5, 4, 2, -60, 600, -1500, "ben", "fine-tuning"},
};

static const char *device_of(const struct demo_cluster_node *n, int gpu)
{
    return gpu < 0 ? "" : n->fact.devices[gpu].uuid;
}

static void put_events(struct store *s, const struct demo_cluster_node *nodes, int64_t story_ms)
{
    for (size_t i = 0; i < ARRAY_LEN(happened); i++) {
        const struct demo_cluster_node *n = &nodes[happened[i].node];
        char key[NODE_KEY_MAX];
        struct store_event e = {.node = key,
                                .device = device_of(n, happened[i].gpu),
                                .event = {.at_ms = story_ms - happened[i].ago_min * MINUTE_MS,
                                          .kind = happened[i].kind,
                                          .slot = (uint16_t)(happened[i].gpu + 1),
                                          .code = happened[i].code}};
        node_id_text(&n->id, key);
        mem_copy_str(e.event.text, sizeof(e.event.text), happened[i].text);
        store_put(s, STORE_EVENT, &e, 1, NULL, NULL);
    }
}

static void put_bookings(struct store *s, const struct demo_cluster_node *nodes, int64_t story_ms)
{
    for (size_t i = 0; i < ARRAY_LEN(booked); i++) {
        const struct demo_cluster_node *n = &nodes[booked[i].node];
        AUTO_BUF devices = BUF_INIT(4096);
        AUTO_BUF places = BUF_INIT(1024);
        for (int k = booked[i].first; k < booked[i].first + booked[i].count; k++) {
            buf_addf(&devices, "%s%s", devices.len ? "," : "", n->fact.devices[k].uuid);
            buf_addf(&places, "%s%d", places.len ? "," : "", k);
        }
        AUTO_FREE char *place = mem_fmt("%s:%s", n->fact.name, places.p);
        int64_t quarter_ms = 15 * MINUTE_MS, base_ms = story_ms / quarter_ms * quarter_ms; /* rounded, as users book */
        struct booking b = {.id = (int64_t)i + 1,
                            .kind = BOOKING_FIRM,
                            .from_ms = base_ms + booked[i].from_min * MINUTE_MS,
                            .until_ms = base_ms + booked[i].until_min * MINUTE_MS,
                            .created_ms = story_ms + booked[i].made_min * MINUTE_MS,
                            .changed_ms = story_ms + booked[i].made_min * MINUTE_MS,
                            .person = booked[i].person,
                            .by = booked[i].person,
                            .devices = devices.p,
                            .places = place,
                            .model = "",
                            .where = "",
                            .comment = booked[i].comment};
        store_put(s, STORE_BOOKING, &b, 1, NULL, NULL);
    }
}

/* ---- runs: recorded commands ---- */

struct run {
    int32_t pid;
    int64_t start_ms;
    char person[64], cmd[CMD_MAX];
    unsigned gpus; /* a bit per GPU */
};

/* Notebooks and services are not recorded. */
static const char *recorded(const char *cmd)
{
    static const char *const scripts[] = {"train.py", "finetune.py"};

    for (size_t i = 0; i < ARRAY_LEN(scripts); i++)
        if (strstr(cmd, scripts[i]))
            return scripts[i];
    return NULL;
}

static void put_run(struct store *s, const struct demo_cluster_node *n, const struct run *r, int64_t end_ms)
{
    AUTO_BUF devices = BUF_INIT(4096), attrs = BUF_INIT(JOB_ATTRS_MAX);
    char key[NODE_KEY_MAX];

    node_id_text(&n->id, key);
    for (size_t i = 0; i < n->n_gpus; i++)
        if (r->gpus >> i & 1)
            buf_addf(&devices, "%s%s", devices.len ? "," : "", n->fact.devices[i].uuid);
    json_print(&attrs, "{'command':%s}", r->cmd);
    AUTO_FREE char *pid = mem_fmt("%d", (int)r->pid), *owner = mem_fmt("person:%s", r->person);
    AUTO_FREE char *name = mem_fmt("%s %s %lld", key, pid, (long long)r->start_ms);
    struct job_fact job = {.id = (int64_t)(fnv64(name, strlen(name)) & INT64_MAX), /* the same at every start */
                           .start_ms = r->start_ms,
                           .end_ms = end_ms,
                           .name = recorded(r->cmd),
                           .kind = "record",
                           .person = r->person,
                           .owner = owner,
                           .node = key,
                           .devices = devices.p,
                           .pids = pid,
                           .attrs = attrs.p};
    store_put(s, STORE_JOB, &job, 1, NULL, NULL);
}

static unsigned gpus_of(const struct demo_cluster_node *n, size_t proc)
{
    unsigned gpus = 0;

    for (size_t i = 0; i < n->n_uses; i++)
        gpus |= n->uses[i].proc == proc ? 1u << (n->uses[i].slot - 1) : 0;
    return gpus;
}

/* Compares the processes with the previous state: ends runs that are gone and starts new ones. */
static void see_runs(struct store *s, const struct demo_cluster_node *n, struct run *runs, size_t *n_runs,
                     int64_t at_ms)
{
    size_t kept = 0;

    for (size_t i = 0; i < *n_runs; i++) {
        if (ANY(n->procs.n, k, n->procs.v[k].pid == runs[i].pid && n->procs.v[k].start_ms == runs[i].start_ms))
            runs[kept++] = runs[i];
        else
            put_run(s, n, &runs[i], at_ms);
    }
    for (size_t k = 0; k < n->procs.n; k++) {
        const struct proc_fact *p = &n->procs.v[k];
        if (!recorded(p->cmd) || ANY(kept, i, runs[i].pid == p->pid && runs[i].start_ms == p->start_ms))
            continue;
        runs[kept] = (struct run){.pid = p->pid, .start_ms = p->start_ms, .gpus = gpus_of(n, k)};
        mem_copy_str(runs[kept].person, sizeof(runs[kept].person), p->user);
        mem_copy_str(runs[kept++].cmd, sizeof(runs[0].cmd), p->cmd);
    }
    *n_runs = kept;
}

/* Writes all runs started up to now, and plays n up to now. Existing ones are not written again. */
static void put_runs(struct store *s, struct demo_cluster_node *n, int64_t now_ms)
{
    struct run runs[DEMO_CLUSTER_DEMO_GPUS];
    struct gather *g = gather_new();
    size_t n_runs = 0;
    uint64_t seen = n->procs_changed - 1;

    for (int64_t at_ms = n->last_ms; at_ms < now_ms; at_ms += MINUTE_MS) {
        demo_cluster_tick(n, at_ms, g);
        gather_reset(g);
        if (seen != n->procs_changed)
            see_runs(s, n, runs, &n_runs, at_ms);
        seen = n->procs_changed;
    }
    gather_free(g);
    for (size_t i = 0; i < n_runs; i++) /* a node in trouble reports no ends */
        put_run(s, n, &runs[i],
                n->trouble == DEMO_CLUSTER_WELL ? demo_cluster_until_ms(n, (size_t)__builtin_ctz(runs[i].gpus)) : 0);
}

/* The sixth node went down before the start: a hub shows nodes known from before its start as down. */
static void put_silent(struct store *s, const struct demo_cluster_node *node)
{
    AUTO_BUF facts = BUF_INIT(WIRE_BODY_MAX);
    struct store_node n = {.first_ms = node->trouble_ms - 86400000,
                           .last_ms = node->trouble_ms,
                           .demo = true,
                           .sampled_ms = node->trouble_ms};

    node_id_text(&node->id, n.key);
    mem_copy_str(n.own_name, sizeof(n.own_name), node->fact.name);
    mem_copy_str(n.address, sizeof(n.address), "127.0.0.1");
    wire_put_facts(&facts, &node->id, &node->fact, &n.facts);
    store_put_blob(s, n.key, BLOB_FACTS, n.facts, buf_str(&facts));
    store_put(s, STORE_NODE, &n, 1, NULL, NULL);
}

/* The story starts at the folder's first start. The time is kept: a restart continues the same story. */
static int story_of(struct store *s, int64_t *ret_ms, struct err *err)
{
    AUTO_BUF text = BUF_INIT(64);
    int r = store_get(s, GET_SETTING(STORY, &text), err);

    if (r == 1 && str_int(buf_str(&text), ret_ms))
        return 0;
    AUTO_FREE char *now = mem_fmt("%lld", (long long)*ret_ms);
    return r < 0 ? r : store_put(s, STORE_SETTING, &(struct store_setting){STORY, str_of(now)}, 1, NULL, NULL);
}

int demo_prepare(const char *dir, char story[32], struct err *err)
{
    struct store *s = NULL;
    struct replay *trace = NULL;
    struct demo_cluster_node nodes[DEMO_CLUSTER_DEMO_NODES] = {0};
    int64_t story_ms = clock_wall_ms();
    AUTO_FREE char *history = mem_fmt("%s/history.db", dir);
    bool fresh = access(history, F_OK) < 0;
    int r = file_mkdirs(dir, 0700, err);
    if (r == 0 && fresh)
        r = make_past(dir, story_ms, err);
    if (r < 0 || (r = replay_load(&trace, trace_text(), "the recorded trace", err)) < 0 ||
        (r = store_open(&s, &(struct store_conf){.dir = dir, .commit_ms = 1}, NULL, err)) < 0 ||
        (r = story_of(s, &story_ms, err)) < 0)
        goto out;
    for (unsigned i = 0; i < DEMO_CLUSTER_DEMO_NODES; i++)
        demo_cluster_init_demo(&nodes[i], trace, i, story_ms);
    nodes[DEMO_CLUSTER_DEMO_NODES - 1].fact.tick_ms = MINUTE_MS; /* as in its history */
    put_silent(s, &nodes[DEMO_CLUSTER_DEMO_NODES - 1]);
    if (fresh) {
        put_events(s, nodes, story_ms);
        put_bookings(s, nodes, story_ms);
    }
    for (unsigned i = 0; i < DEMO_CLUSTER_DEMO_NODES; i++)
        put_runs(s, &nodes[i], clock_wall_ms());
    clock_iso(story_ms, story);
    r = store_flush(s, err);
out:
    store_close(s);
    for (unsigned i = 0; i < DEMO_CLUSTER_DEMO_NODES; i++)
        demo_cluster_fini(&nodes[i]);
    replay_free(trace);
    return r;
}
