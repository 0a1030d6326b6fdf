/*
 * backfill.c: `muster simulate --backfill`: the history of a simulated cluster, as fast as possible. Nodes take turns,
 * one span at a time, so that the store gets data in order of time. A span is a raw bucket of the store (2 h), or an
 * integer part or multiple of it, so that a bucket's chunks are complete.
 */
#include <errno.h>
#include <inttypes.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rand.h"
#include "cli/progress.h"
#include "collect/trace.h"
#include "history/cmd_import_sink.h"
#include "sim/cmd_simulate.h"
#include "sim/demo_cluster.h"
#include "wire/wire.h"

#define BUCKET_MS (2 * 3600000ll)
enum { METRICS_MOST = 40, TICKS_USUAL = 720, CELLS_MOST = WIRE_CELLS_MAX / 2 };

struct on_gpu { /* the process on a GPU, for its record */
    bool any;
    struct proc_fact fact;
    int64_t first_ms, last_ms, mem_max;
};

struct back_node {
    struct demo_cluster_node node;
    struct import_sink_node *in;
    struct gather *gather;
    struct on_gpu *on;
    char key[33];
    uint64_t run, number, procs_seen;
};

struct backfill {
    const struct simulate_conf *conf;
    struct import_sink *in;
    struct replay *trace;
    struct back_node *nodes;
    int64_t from_ms, to_ms, span_ms;
    int64_t until_ms; /* as configured: the start of the demo's story */
    uint64_t samples, batches, procs;
    struct progress progress;
};

/* Length of a batch. */
static int64_t span_of(const struct simulate_conf *conf)
{
    int64_t most = MIN(TICKS_MAX - 1, CELLS_MOST / (conf->gpus * METRICS_MOST + 16)), bucket = BUCKET_MS / conf->every;

    if (bucket <= most)
        return BUCKET_MS * MAX(1, MIN(most, TICKS_USUAL) / MAX(bucket, 1));
    int64_t parts = 2;
    while (bucket / parts >= most || BUCKET_MS % parts)
        parts++;
    return BUCKET_MS / parts;
}

/* ---- processes ---- */

static void put_proc(struct backfill *b, struct back_node *n, size_t gpu, bool ended)
{
    struct on_gpu *on = &n->on[gpu];
    struct proc_span p = {.node = n->key,
                          .device = n->node.fact.devices[gpu].uuid,
                          .fact = on->fact,
                          .first_ms = on->first_ms,
                          .last_ms = on->last_ms,
                          .mem_max = on->mem_max,
                          .ended = ended,
                          .sm = -1};

    store_put(import_sink_store(b->in), STORE_PROC, &p, 1, NULL, NULL);
    b->procs++;
}

static void see_procs(struct backfill *b, struct back_node *n, int64_t at_ms)
{
    const struct demo_cluster_node *c = &n->node;
    size_t u = 0; /* uses are sorted by slot */

    for (size_t i = 0; i < c->n_gpus; i++) {
        const struct proc_use *use = u < c->n_uses && c->uses[u].slot == i + 1 ? &c->uses[u++] : NULL;
        const struct proc_fact *f = use ? &c->procs.v[use->proc] : NULL;
        struct on_gpu *on = &n->on[i];
        if (on->any && (!f || f->pid != on->fact.pid || f->start_ms != on->fact.start_ms)) {
            put_proc(b, n, i, true);
            on->any = false;
        }
        if (!f)
            continue;
        if (!on->any)
            *on = (struct on_gpu){.any = true, .fact = *f, .first_ms = at_ms, .mem_max = -1};
        on->last_ms = at_ms;
        on->mem_max = MAX(on->mem_max, use->mem);
    }
}

/* ---- batches ---- */

static int seal(struct backfill *b, struct back_node *n, struct err *err)
{
    struct batch batch;
    bool hub = import_sink_is_hub(b->in);
    int r = 0;

    gather_batch(n->gather, &batch);
    if (!batch.n_ticks)
        return 0;
    if (!hub)
        batch.n_uses = 0; /* the records have the exact times */
    batch.key.run = n->run;
    batch.key.number = ++n->number;
    r = import_sink_batch(b->in, n->in, &batch, err);
    for (size_t c = 0; c < batch.n_columns; c++) {
        if (!batch.columns[c].have) {
            b->samples += batch.n_ticks;
            continue;
        }
        for (size_t t = 0; t < batch.n_ticks; t++)
            b->samples += column_has(&batch.columns[c], t);
    }
    b->batches++;
    gather_reset(n->gather);
    return r;
}

/* A hub gets processes with their batch, so a batch ends when they change. */
static int changed(struct backfill *b, struct back_node *n, struct err *err)
{
    if (!import_sink_is_hub(b->in) || n->procs_seen == n->node.procs_changed)
        return 0;
    n->procs_seen = n->node.procs_changed;
    return import_sink_procs(b->in, n->in, &n->node.procs, err);
}

static int play_span(struct backfill *b, struct back_node *n, int64_t from_ms, int64_t to_ms, struct err *err)
{
    struct gather *spare = import_sink_is_hub(b->in) ? gather_new() : NULL;
    int r = 0;

    for (int64_t at = from_ms; at < to_ms && r == 0; at += b->conf->every) {
        if (demo_cluster_has_trouble(&n->node, DEMO_CLUSTER_DOWN, at))
            break;
        uint64_t was = n->node.procs_changed;
        demo_cluster_tick(&n->node, at, spare ? spare : n->gather);
        if (spare) { /* the tick belongs to the new list: send the earlier ones first */
            if (was != n->node.procs_changed)
                r = seal(b, n, err);
            if (r == 0)
                r = changed(b, n, err);
            struct batch one;
            gather_batch(spare, &one);
            gather_tick(n->gather, at);
            for (size_t c = 0; c < one.n_columns; c++)
                gather_value(n->gather, one.columns[c].slot, one.columns[c].metric, one.columns[c].v[0]);
            gather_uses(n->gather, one.uses, one.n_uses);
            gather_reset(spare);
        } else if (!demo_cluster_has_trouble(&n->node, DEMO_CLUSTER_HUNG, at)) { /* else unknown */
            see_procs(b, n, at);
        }
    }
    gather_free(spare);
    return r == 0 ? seal(b, n, err) : r;
}

static int start_node(struct backfill *b, int64_t i, struct err *err)
{
    const struct simulate_conf *conf = b->conf;
    struct back_node *n = &b->nodes[i];
    int64_t name[5] = {conf->seed, i, b->from_ms, conf->every, conf->people};

    if (conf->demo)
        demo_cluster_init_demo(&n->node, b->trace, (unsigned)i, b->until_ms);
    else
        demo_cluster_init(&n->node, b->trace, conf->prefix, (unsigned)i, (unsigned)conf->gpus, (uint64_t)conf->seed,
                          (unsigned)conf->people, b->from_ms);
    n->node.fact.tick_ms = (int32_t)MIN(conf->every, INT32_MAX);
    n->node.every_ms = conf->every;
    n->node.tells |= conf->work;
    n->gather = gather_new();
    n->on = mem_zero((size_t)conf->gpus, sizeof(*n->on));
    n->run = fnv64(name, sizeof(name)); /* the same history again is the same run: counted once */
    node_id_text(&n->node.id, n->key);
    int r = import_sink_node(b->in, n->key, n->node.fact.name, &n->in, err);
    if (r == 0)
        r = import_sink_facts(b->in, n->in, &n->node.fact, err);
    return r == 0 ? changed(b, n, err) : r;
}

static int end_node(struct backfill *b, struct back_node *n, struct err *err)
{
    if (import_sink_is_hub(b->in))
        return 0;
    for (size_t i = 0; i < n->node.n_gpus; i++)
        if (n->on[i].any)
            put_proc(b, n, i, false);
    return import_sink_procs(b->in, n->in, &n->node.procs, err);
}

static int play(struct backfill *b, struct err *err)
{
    const struct simulate_conf *conf = b->conf;
    int r = 0;

    for (int64_t i = 0; i < conf->nodes && r == 0; i++)
        r = start_node(b, i, err);
    for (int64_t at = b->from_ms; at < b->to_ms && r == 0;) {
        int64_t end = MIN((at / b->span_ms + 1) * b->span_ms, b->to_ms), next = at;
        for (int64_t i = 0; i < conf->nodes && r == 0; i++)
            r = play_span(b, &b->nodes[i], at, end, err);
        while (next < end)
            next += conf->every;
        at = next;
        progress_at(&b->progress, at - b->from_ms);
    }
    for (int64_t i = 0; i < conf->nodes && r == 0; i++)
        r = end_node(b, &b->nodes[i], err);
    if (r == 0) {
        progress_start(&b->progress, "making it small", "steps", 0, conf->quiet);
        r = import_sink_finish(b->in, err);
    }
    return r;
}

static double cpu_s(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

int backfill_run(const struct simulate_conf *conf, struct err *err)
{
    struct backfill b = {.conf = conf, .span_ms = span_of(conf)};
    struct client_conf client = {.hub = conf->hub, .token = conf->token, .token_file = conf->token_file};
    int64_t start_ms = clock_mono_ms(), until = clock_wall_ms();

    if (conf->until && clock_parse(conf->until, strlen(conf->until), &until) < 0)
        return err_set(err, -EINVAL, "--until: '%s' is not a time, as 2026-11-15T10:00:00Z", conf->until);
    if (conf->data && conf->hub)
        return err_set(err, -EINVAL, "--data and --hub exclude each other");
    if (!conf->data && !conf->token && !conf->token_file)
        return err_set(err, -EINVAL, "--backfill needs --data DIR, or a hub's enroll token with --token-file");
    b.until_ms = until;
    b.to_ms = until / conf->every * conf->every;
    b.from_ms = b.to_ms - conf->backfill / conf->every * conf->every;
    if (conf->demo) /* up to the story's start, where live data starts */
        b.to_ms += conf->every;
    if (b.from_ms <= 0)
        return err_set(err, -EINVAL, "--backfill: that is before 1970");
    int r = replay_load(&b.trace, trace_text(), "the recorded trace", err);
    if (r == 0)
        r = import_sink_open(&b.in, conf->data, &client, err);
    progress_start(&b.progress, "backfill", "ms", b.to_ms - b.from_ms, conf->quiet);
    b.nodes = mem_zero((size_t)conf->nodes, sizeof(*b.nodes));
    if (r == 0)
        r = play(&b, err);
    progress_end(&b.progress);
    import_sink_close(b.in);
    for (int64_t i = 0; i < conf->nodes; i++) {
        gather_free(b.nodes[i].gather);
        free(b.nodes[i].on);
        demo_cluster_fini(&b.nodes[i].node);
    }
    free(b.nodes);
    replay_free(b.trace);
    double wall = (double)MAX(clock_mono_ms() - start_ms, 1) / 1000.0, cpu = cpu_s();
    if (r == 0 && !conf->quiet)
        fprintf(stderr,
                "muster simulate: %" PRIu64 " samples in %" PRIu64 " batches, %" PRIu64 " processes, in %.1f s: %.2f "
                "million samples a second, %.3f s of CPU per million\n",
                b.samples, b.batches, b.procs, wall, (double)b.samples / wall / 1e6,
                cpu / MAX((double)b.samples / 1e6, 1e-6));
    return r;
}
