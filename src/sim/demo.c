/*
 * demo.c: makes up the demo's past: a week of it, so that charts and time travel have something to show. A hub shows
 * nodes it knew before it was started as down; the demo's sixth node is one of those.
 */
#include "sim/demo.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "collect/trace.h"
#include "sim/cmd_simulate.h"
#include "sim/demo_cluster.h"
#include "store/samples.h"
#include "wire/wire.h"

#define SILENT_FOR_MS (37 * MINUTE_MS)
#define PAST_MS       (7ll * 1440 * MINUTE_MS)

/* What the nodes did up to a moment. */
static int make_past(const char *dir, int64_t nodes, int64_t length_ms, int64_t until_ms, struct err *err)
{
    AUTO_FREE char *data = mem_str(dir);
    char prefix[] = DEMO_CLUSTER_DEMO_PREFIX, until[32];
    struct simulate_conf conf = {.data = data,
                                 .prefix = prefix,
                                 .until = until,
                                 .nodes = nodes,
                                 .gpus = DEMO_CLUSTER_DEMO_GPUS,
                                 .seed = DEMO_CLUSTER_DEMO_SEED,
                                 .backfill = length_ms,
                                 .every = MINUTE_MS,
                                 .quiet = true};
    clock_iso(until_ms, until);
    return backfill_run(&conf, err);
}

int demo_config(const char *dir, struct err *err)
{
    AUTO_FREE char *path = mem_fmt("%s/demo.yaml", dir);
    AUTO_BUF text = BUF_INIT(4096);
    char from[32];

    if (access(path, F_OK) == 0)
        return 0;
    clock_iso(clock_wall_ms() - PAST_MS, from);
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
             "  auth: open # whoever looks at the demo may book: no token is needed\n"
             "reports:\n"
             "  daily: {every: day, at: \"08:00\"} # sent to nobody; `muster reports show daily`\n",
             from, from);
    int r = file_mkdirs(dir, 0700, err);
    return r < 0 ? r : file_write(path, 0600, text.p, text.len, err);
}

int demo_prepare(const char *dir, struct err *err)
{
    struct store *s = NULL;
    struct replay *trace = NULL;
    struct demo_cluster_node node = {0};
    AUTO_BUF facts = BUF_INIT(WIRE_BODY_MAX);
    int64_t now = clock_wall_ms();
    AUTO_FREE char *history = mem_fmt("%s/history.db", dir);
    bool fresh = access(history, F_OK) < 0;
    int r = file_mkdirs(dir, 0700, err);
    if (r == 0 && fresh)
        r = make_past(dir, DEMO_CLUSTER_DEMO_NODES, PAST_MS - SILENT_FOR_MS, now - SILENT_FOR_MS, err);
    if (r == 0 && fresh) /* the sixth has been silent since */
        r = make_past(dir, DEMO_CLUSTER_DEMO_NODES - 1, SILENT_FOR_MS, now, err);
    if (r < 0 || (r = replay_load(&trace, trace_text(), "the recorded trace", err)) < 0 ||
        (r = store_open(&s, &(struct store_conf){.dir = dir, .commit_ms = 1}, NULL, err)) < 0)
        goto out;
    demo_cluster_init_demo(&node, trace, DEMO_CLUSTER_DEMO_NODES - 1, now);
    struct store_node n = {.first_ms = now - 86400000,
                           .last_ms = now - SILENT_FOR_MS,
                           .demo = true,
                           .sampled_ms = now - SILENT_FOR_MS};
    node_id_text(&node.id, n.key);
    mem_copy_str(n.own_name, sizeof(n.own_name), node.fact.name);
    mem_copy_str(n.address, sizeof(n.address), "127.0.0.1");
    wire_put_facts(&facts, &node.id, &node.fact, &n.facts);
    store_put_blob(s, n.key, BLOB_FACTS, n.facts, buf_str(&facts));
    store_put(s, STORE_NODE, &n, 1, NULL, NULL);
    r = store_flush(s, err);
out:
    store_close(s);
    demo_cluster_fini(&node);
    replay_free(trace);
    return r;
}
