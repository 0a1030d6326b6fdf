/*
 * guard.c: a small fixed set of what the hub does most, so that a change that makes it dearer is seen before it lands.
 * Counts instructions where valgrind is installed or the processor lets us, otherwise CPU time against a reference loop
 * in the same run, and compares with the figures in bench/guard.txt, which are per architecture and way of counting. A
 * figure there is CPU in parts of the reference loop's, or thousands of instructions.
 *
 *   build/bench/guard FILE [record] [COUNTS]
 *   valgrind --tool=callgrind build/bench/guard count
 *
 * record: prints lines for FILE instead of comparing. COUNTS: what was counted, in the same form. count: callgrind
 * writes a dump for each of the set, by its name.
 */
#include <dirent.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_ZERO_STATS          ((void)0)
#define CALLGRIND_DUMP_STATS_AT(name) ((void)(name))
#endif

#include "alert/rule.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "format/render.h"
#include "hub/decode.h"
#include "now/view.h"
#include "telemetry.h"
#include "wire/wire.h"

#define PER     TELEMETRY_PER
#define T0      1700000040000ll /* a whole minute */
#define NODES   10
#define SECONDS 300
#define BATCH_S 5
#define BATCHES (SECONDS / BATCH_S)
#define ROUNDS  7
/* Above what was recorded by so much, it has become dearer. CPU time moves with whatever else the machine does. */
#define SLACK_CPU          1.5
#define SLACK_INSTRUCTIONS 1.1

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "bench/guard: %s failed\n", what);
        exit(2);
    }
}

/* A folder of files. */
static void remove_folder(const char *dir)
{
    DIR *d = opendir(dir);

    must(d != NULL, dir);
    for (struct dirent *e; (e = readdir(d));)
        unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
    rmdir(dir);
}

/* ---- counting ---- */

static int counter = -1; /* instructions of this process and all its threads; -1: CPU time */

static void counter_open(void)
{
    struct perf_event_attr a = {.type = PERF_TYPE_HARDWARE,
                                .size = sizeof(a),
                                .config = PERF_COUNT_HW_INSTRUCTIONS,
                                .inherit = 1,
                                .exclude_kernel = 1,
                                .exclude_hv = 1};

    counter = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Thousands of instructions, or seconds of CPU. */
static double count_now(void)
{
    uint64_t n = 0;
    struct timespec t;

    if (counter >= 0) {
        must(read(counter, &n, sizeof(n)) == sizeof(n), "the counter of instructions");
        return (double)n / 1000;
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Some of everything a processor does: arithmetic that waits for itself, reads that are not in the nearest cache. */
static uint64_t reference(void)
{
    static uint64_t room[1 << 15];
    uint64_t x = 88172645463325252ull, sum = 0;

    for (size_t i = 0; i < 1u << 21; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        sum += room[x >> 49] += x % (i | 1);
    }
    return sum;
}

/* ---- what is done ---- */

static struct buf frames[NODES][BATCHES];
static struct store *logged, *compacted;
static const char *devices[NODES][PER], *names[TELEMETRY_METRICS];
static struct node_now now_nodes[200];
static const struct node_now *now_list[ARRAY_LEN(now_nodes)];
static struct telemetry *invented;
static uint64_t facts[NODES];
static struct buf facts_frame[NODES];
static volatile uint64_t kept; /* so that nothing is left out */

static struct gather *gather_some(struct batch *ret, int node, int batch)
{
    struct gather *g = gather_new();
    int64_t power = 0;

    for (int i = 0; i < BATCH_S; i++)
        telemetry_gather(invented, node, T0 + (batch * BATCH_S + i) * 1000, g, &power);
    gather_batch(g, ret);
    ret->key = (struct batch_key){.node = {{1}}, .run = 1, .number = (uint64_t)batch + 1};
    ret->facts = facts[node];
    return g;
}

static void make_frames(void)
{
    struct wire_enc *enc = wire_enc_new(1);

    invented = telemetry_new(NODES * PER, T0, 1000, 1);
    for (int n = 0; n < NODES; n++) {
        struct node_fact f;
        telemetry_facts(invented, n, &f);
        facts_frame[n] = BUF_INIT(1 << 20);
        must(wire_put_facts(&facts_frame[n], &(struct node_id){{1}}, &f, &facts[n]) == 0, "facts");
        node_fact_fini(&f);
        for (int i = 0; i < PER; i++)
            devices[n][i] = telemetry_uuid(invented, n * PER + i);
        for (int b = 0; b < BATCHES; b++) {
            struct batch batch;
            struct gather *g = gather_some(&batch, n, b);
            frames[n][b] = BUF_INIT(1 << 20);
            must(wire_put_batch(enc, &frames[n][b], &batch) == 0, "a batch");
            gather_free(g);
        }
    }
    wire_enc_free(enc);
    for (int i = 0; i < TELEMETRY_METRICS; i++)
        names[i] = telemetry_metrics[i].muster ? telemetry_metrics[i].muster : telemetry_metrics[i].name;
}

static int64_t then_ms(void)
{
    return T0;
}

static struct store *store_filled(const char *dir)
{
    struct store_conf conf = {.dir = dir, .now_ms = then_ms, .decoder = &hub_decoder, .commit_ms = 1};
    struct store *s;
    struct err err = {0};

    must(store_open(&s, &conf, NULL, &err) == 0, err.msg);
    for (int n = 0; n < NODES; n++) {
        char key[16];
        snprintf(key, sizeof(key), "node%d", n);
        store_put_blob(s, key, BLOB_FACTS, facts[n], buf_str(&facts_frame[n]));
        for (int b = 0; b < BATCHES; b++)
            store_append(s,
                         &(struct store_batch){.node = key,
                                               .run = 1,
                                               .number = (uint64_t)b + 1,
                                               .facts = facts[n],
                                               .at_ms = T0 + b * BATCH_S * 1000,
                                               .bytes = buf_str(&frames[n][b])},
                         1, NULL, NULL);
    }
    must(store_flush(s, &err) == 0, err.msg);
    return s;
}

static void do_encode(void)
{
    static struct gather *g[BATCHES];
    static struct batch batches[BATCHES];
    struct wire_enc *enc = wire_enc_new(1);
    AUTO_BUF out = BUF_INIT(1 << 20);

    for (int b = 0; b < BATCHES; b++) {
        if (!g[b])
            g[b] = gather_some(&batches[b], 0, b);
        buf_reset(&out);
        must(wire_put_batch(enc, &out, &batches[b]) == 0, "a batch");
        kept += out.len;
    }
    wire_enc_free(enc);
}

static void do_decode(void)
{
    struct wire_dec *dec = wire_dec_new();

    for (int n = 0; n < NODES; n++)
        for (int b = 0; b < BATCHES; b++) {
            struct frame f;
            struct batch got;
            must(wire_one(buf_str(&frames[n][b]), &f, NULL) == 0 && wire_batch(dec, &f, &got, NULL) == 0, "a frame");
            kept += got.n_columns;
        }
    wire_dec_free(dec);
}

static void ask_nodes(struct store *s, const char *const *metrics_asked, size_t n_metrics, int64_t step_ms, int tier)
{
    struct history_session *x = store_session(s);

    for (int n = 0; n < NODES; n++) {
        char key[16];
        struct history h;
        snprintf(key, sizeof(key), "node%d", n);
        struct bins_query ask = {.node = key,
                                 .devices = devices[n],
                                 .n_devices = PER,
                                 .metrics = metrics_asked,
                                 .n_metrics = n_metrics,
                                 .from_ms = T0,
                                 .to_ms = T0 + SECONDS * 1000,
                                 .step_ms = step_ms,
                                 .fields = BIN_SUM,
                                 .tier = tier,
                                 .session = x};
        must(store_history(s, &ask, &h, NULL) == 0, "a question");
        uint64_t count = 0;
        for (size_t i = 0; i < h.n * h.n_series; i++)
            count += h.v[i].count;
        must(count == n_metrics * PER * SECONDS, "a sum");
        history_fini(&h);
    }
    store_session_end(x);
}

static const char *const power[] = {"power"};

static void do_log_one(void)
{
    ask_nodes(logged, power, 1, 1000, TIER_RAW);
}

static void do_log_all(void)
{
    ask_nodes(logged, names, TELEMETRY_METRICS, 60000, TIER_RAW);
}

static void do_chunks_one(void)
{
    ask_nodes(compacted, power, 1, 1000, TIER_RAW);
}

static void do_chunks_all(void)
{
    ask_nodes(compacted, names, TELEMETRY_METRICS, 60000, TIER_RAW);
}

static void do_minutes(void)
{
    for (int i = 0; i < 20; i++)
        ask_nodes(compacted, power, 1, 60000, TIER_MINUTE);
}

static void do_compact(void)
{
    char dir[] = "/tmp/muster-guard-XXXXXX";

    must(mkdtemp(dir) != NULL, "a folder");
    struct store *s = store_filled(dir);
    must(store_settle(s, NULL) == 0, "compaction");
    store_close(s);
    remove_folder(dir);
}

static void fill_now(void)
{
    for (size_t i = 0; i < ARRAY_LEN(now_nodes); i++) {
        struct node_now *n = &now_nodes[i];
        now_list[i] = n;
        snprintf(n->name, sizeof(n->name), "dgx%zu", i);
        snprintf(n->key, sizeof(n->key), "%032zx", i);
        n->at_ms = T0 - 500;
        n->n_devices = PER;
        n->devices = mem_zero(PER, sizeof(*n->devices));
        for (size_t k = 0; k < PER; k++) {
            struct device_now *d = &n->devices[k];
            snprintf(d->fact.uuid, sizeof(d->fact.uuid), "GPU-%08zx-%04zx", i, k);
            snprintf(d->fact.name, sizeof(d->fact.name), "NVIDIA H200");
            d->fact.index = (int32_t)k;
            d->fact.mig = -1;
            d->state = (i + k) % 3 ? DEV_BUSY : DEV_FREE;
            d->at_ms = d->since_ms = T0 - 1000;
            for (int m = 0; m < M_COUNT; m++)
                if (metrics[m].scope == SCOPE_DEVICE)
                    sample_set(&d->now, (enum metric)m, (int64_t)(i * 7919 + k * 104729) % 10000);
        }
    }
}

static void do_state(void)
{
    struct view v = {.at_ms = T0, .n = ARRAY_LEN(now_list), .nodes = now_list, .version = 1};
    AUTO_BUF out = BUF_INIT(1u << 30);

    render_state(&out, &v);
    kept += out.len;
}

static void do_filter(void)
{
    struct filter *f = NULL;
    struct filter_err err;

    must(filter_new(str_of("free model:h200 util<50% or mem>60G and not user:root"), NULL, &f, &err) == 0, "a filter");
    for (int again = 0; again < 10; again++)
        for (size_t i = 0; i < ARRAY_LEN(now_nodes); i++)
            for (size_t k = 0; k < PER; k++)
                kept += filter_match(f, &now_nodes[i], &now_nodes[i].devices[k], T0);
    filter_free(f);
}

static void count_finding(void *arg, UNUSED const struct alert_rule *r, UNUSED const struct alert_finding *f)
{
    ++*(uint64_t *)arg;
}

/* Every rule that is on, over nodes that live knows nothing of. */
static void do_alerts(void)
{
    struct live *l = live_new(&state_rule_default, NULL, NULL);
    struct alert_rules *rules = alert_rules_new();
    struct view v = {.at_ms = T0, .n = ARRAY_LEN(now_list), .nodes = now_list, .version = 1};
    struct alert_input s = {.now_ms = T0, .view = &v, .live = l};
    uint64_t found = 0;

    for (int again = 0; again < 10; again++)
        alert_rules_evaluate(rules, &s, count_finding, &found);
    must(found > 0, "finding anything");
    kept += found;
    alert_rules_free(rules);
    live_free(l);
}

static const struct {
    const char *name, *what;
    void (*run)(void);
} set[] = {
    {"encode", "a node's batches, encoded", do_encode},
    {"decode", "batches of ten nodes, decoded", do_decode},
    {"compact", "stored, compacted, minutes made", do_compact},
    {"log-one", "one metric out of the log", do_log_one},
    {"log-all", "all metrics out of the log", do_log_all},
    {"chunks-one", "one metric out of chunks", do_chunks_one},
    {"chunks-all", "all metrics out of chunks", do_chunks_all},
    {"minutes", "one metric out of minutes, 20 times", do_minutes},
    {"state", "the state of 1,600 GPUs, written", do_state},
    {"filter", "a filter over 16,000 GPUs", do_filter},
    {"alerts", "all rules of alerts over 1,600 GPUs, 10 times", do_alerts},
};

/* ---- comparing ---- */

/* What the file says of it, or 0. A line: architecture, cpu or instructions, name, figure. */
static double recorded(const char *path, const char *arch, const char *kind, const char *name)
{
    FILE *f = fopen(path, "r");
    char line[256], a[64], k[64], n[64];
    double v, found = 0;

    must(f != NULL, path);
    while (fgets(line, sizeof(line), f))
        if (sscanf(line, "%63s %63s %63s %lf", a, k, n, &v) == 4 && strcmp(a, arch) == 0 && strcmp(k, kind) == 0 &&
            strcmp(n, name) == 0)
            found = v;
    fclose(f);
    return found;
}

static double least(void (*run)(void), double *ref)
{
    double best = 0;

    for (int i = 0; i < ROUNDS; i++) {
        double t = count_now();
        kept += reference();
        double between = count_now();
        run();
        double took = count_now() - between;
        *ref = *ref == 0 ? between - t : MIN(*ref, between - t);
        best = i ? MIN(best, took) : took;
    }
    return best;
}

/* How each of the set was counted, and what for. */
struct figures {
    const char *kind;
    double slack, of[ARRAY_LEN(set)];
};

static void count_all(UNUSED struct figures *f)
{
    for (size_t i = 0; i < ARRAY_LEN(set); i++) {
        set[i].run(); /* what only the first does */
        CALLGRIND_ZERO_STATS;
        set[i].run();
        CALLGRIND_DUMP_STATS_AT(set[i].name);
    }
}

static void measure_all(struct figures *ret)
{
    double ref = 0;

    for (size_t i = 0; i < ARRAY_LEN(set); i++)
        ret->of[i] = least(set[i].run, &ref);
    for (size_t i = 0; i < ARRAY_LEN(set) && counter < 0; i++)
        ret->of[i] /= ref;
    ret->kind = counter >= 0 ? "instructions" : "cpu";
    ret->slack = counter >= 0 ? SLACK_INSTRUCTIONS : SLACK_CPU;
}

static void in_folders(void (*fn)(struct figures *f), struct figures *ret)
{
    char dirs[2][32] = {"/tmp/muster-guard-XXXXXX", "/tmp/muster-guard-XXXXXX"};

    make_frames();
    fill_now();
    for (int i = 0; i < 2; i++)
        must(mkdtemp(dirs[i]) != NULL, "a folder");
    logged = store_filled(dirs[0]);
    compacted = store_filled(dirs[1]);
    must(store_settle(compacted, NULL) == 0, "compaction");
    fn(ret);
    store_close(logged);
    store_close(compacted);
    for (int i = 0; i < 2; i++)
        remove_folder(dirs[i]);
}

static void take_counts(const char *path, const char *arch, struct figures *ret)
{
    ret->kind = "callgrind";
    ret->slack = SLACK_INSTRUCTIONS;
    for (size_t i = 0; i < ARRAY_LEN(set); i++) {
        ret->of[i] = recorded(path, arch, ret->kind, set[i].name);
        must(ret->of[i] > 0, set[i].name);
    }
}

/* How many are dearer. */
static int compare(const struct figures *f, const char *path, const char *arch)
{
    int dearer = 0;

    printf("| what | times what was recorded | now | recorded |\n| --- | --- | --- | --- |\n");
    for (size_t i = 0; i < ARRAY_LEN(set); i++) {
        double was = recorded(path, arch, f->kind, set[i].name);
        bool bad = was > 0 && f->of[i] > was * f->slack;
        dearer += bad;
        if (was > 0)
            printf("| %s | %.2f%s | %.4g | %.4g |\n", set[i].what, f->of[i] / was, bad ? " **dearer**" : "", f->of[i],
                   was);
        else
            printf("| %s | not recorded for %s | %.4g | |\n", set[i].what, arch, f->of[i]);
    }
    if (dearer)
        fprintf(stderr, "bench/guard: %d of %zu take more than %.1f times the %s they took\n", dearer, ARRAY_LEN(set),
                f->slack, strcmp(f->kind, "cpu") == 0 ? "CPU" : "instructions");
    return dearer;
}

int main(int argc, char **argv)
{
    bool record = argc > 2 && strcmp(argv[2], "record") == 0;
    struct figures f = {0};
    struct utsname u;

    if (argc < 2 || argc > 3 + record) {
        fprintf(stderr, "usage: guard FILE [record] [COUNTS], guard count\n");
        return 2;
    }
    if (argc == 2 && strcmp(argv[1], "count") == 0) {
        in_folders(count_all, &f);
        return 0;
    }
    uname(&u);
    if (argc == 3 + record) {
        take_counts(argv[2 + record], u.machine, &f);
    } else {
        counter_open();
        in_folders(measure_all, &f);
    }
    for (size_t i = 0; i < ARRAY_LEN(set) && record; i++)
        printf("%s %s %s %.4g\n", u.machine, f.kind, set[i].name, f.of[i]);
    return !record && compare(&f, argv[1], u.machine) ? 1 : 0;
}
