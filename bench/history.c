/*
 * history.c: what history takes on disk and in time: invented telemetry goes through wire and the store, is compacted,
 * and asked for. Prints bytes per sample of raw chunks, of the tiers and of the whole file, CPU per million samples,
 * and how long questions take.
 *
 *   build/bench/history [-BATCH_SECONDS] [GPUS [SECONDS [DIR [fresh]]]]
 *
 * With DIR that folder is filled for a hub to be started on (bench/query.py), ending with the last whole minute, and
 * left there; fresh: the batches stay in their logs, as a hub has them for the first ten minutes.
 */
#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "hub/decode.h"
#include "telemetry.h"
#include "wire/wire.h"

#define PER TELEMETRY_PER

static double cpu_now(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "bench/history: %s failed\n", what);
        exit(1);
    }
}

/* All of the folder, as the issue counts. */
static int64_t folder_bytes(const char *dir)
{
    DIR *d = opendir(dir);
    int64_t sum = 0;

    must(d != NULL, dir);
    for (struct dirent *e; (e = readdir(d));) {
        AUTO_FREE char *path = mem_fmt("%s/%s", dir, e->d_name);
        struct stat st;
        if (*e->d_name != '.' && strcmp(e->d_name + strlen(e->d_name) - MIN(strlen(e->d_name), 4), "-shm") != 0 &&
            stat(path, &st) == 0)
            sum += st.st_size;
    }
    closedir(d);
    return sum;
}

static double peak_mb(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_maxrss / 1024;
}

static double thread_cpu(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int64_t ask(const char *dir, const char *sql)
{
    AUTO_FREE char *path = mem_fmt("%s/history.db", dir);
    sqlite3 *h;
    sqlite3_stmt *st = NULL;

    must(sqlite3_open(path, &h) == SQLITE_OK && sqlite3_prepare_v2(h, sql, -1, &st, NULL) == SQLITE_OK, sql);
    must(sqlite3_step(st) == SQLITE_ROW, sql);
    int64_t v = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(h);
    return v;
}

static int64_t T0 = 1700000000000ll; /* the first tick */
static int batch_s = 5;              /* seconds */
static int64_t sim_now;              /* the clock of what is fed */

static int64_t now_ms(void)
{
    return sim_now;
}

static double appending; /* CPU of this thread within the store */

/* One node's samples of a batch. */
static void feed(struct store *s, struct wire_enc *enc, struct telemetry *t, int node, int64_t at_ms, uint64_t number,
                 uint64_t facts)
{
    struct gather *g = gather_new();
    char key[16];
    struct batch b;
    int64_t power = 0;

    for (int i = 0; i < batch_s; i++)
        telemetry_gather(t, node, at_ms + i * 1000, g, &power);
    gather_batch(g, &b);
    b.key = (struct batch_key){.node = {{1}}, .run = 1, .number = number};
    b.facts = facts;
    AUTO_BUF out = BUF_INIT(1 << 20);
    must(wire_put_batch(enc, &out, &b) == 0, "a batch");
    snprintf(key, sizeof(key), "node%04d", node);
    double cpu = thread_cpu();
    store_append(s,
                 &(struct store_batch){.node = key,
                                       .run = 1,
                                       .number = number,
                                       .facts = facts,
                                       .at_ms = at_ms,
                                       .bytes = buf_str(&out)},
                 1, NULL, NULL);
    appending += thread_cpu() - cpu;
    gather_free(g);
}

static uint64_t put_facts(struct store *s, const struct telemetry *t, int node)
{
    struct node_fact f;
    struct store_node rec = {.first_ms = T0, .last_ms = T0};
    AUTO_BUF out = BUF_INIT(1 << 20);
    uint64_t id;
    char key[16];

    telemetry_facts(t, node, &f);
    must(wire_put_facts(&out, &(struct node_id){{1}}, &f, &id) == 0, "facts");
    snprintf(key, sizeof(key), "node%04d", node);
    store_put_blob(s, key, BLOB_FACTS, id, buf_str(&out));
    node_fact_fini(&f);
    snprintf(rec.key, sizeof(rec.key), "%s", key);
    snprintf(rec.own_name, sizeof(rec.own_name), "%s", key);
    rec.facts = id;
    store_put(s, STORE_NODE, &rec, 1, NULL, NULL);
    return id;
}

static const char *devs[PER]; /* of the first node */

static void question(struct store *s, const char *what, const char *const *metrics_asked, size_t n, size_t devices,
                     int64_t to_ms, int64_t step, int tier)
{
    int rounds = 20;

    struct bins_query q = {.node = "node0000",
                           .devices = devs,
                           .n_devices = devices,
                           .metrics = metrics_asked,
                           .n_metrics = n,
                           .from_ms = T0,
                           .to_ms = to_ms,
                           .step_ms = step,
                           .tier = tier};
    double cpu = cpu_now();
    uint64_t count = 0;
    for (int i = 0; i < rounds; i++) {
        struct history h;
        must(store_history(s, &q, &h, NULL) == 0, "a question");
        for (size_t k = 0; k < h.n * h.n_series; k++)
            count += h.v[k].count;
        history_fini(&h);
    }
    printf("  %-58s %8.0f us CPU (%llu samples)\n", what, (cpu_now() - cpu) / rounds * 1e6,
           (unsigned long long)(count / (uint64_t)rounds));
}

int main(int argc, char **argv)
{
    if (argc > 1 && argv[1][0] == '-') { /* as agents catching up send: larger batches */
        int64_t batch = 0;
        must(str_int(str_of(argv[1] + 1), &batch) && batch > 0 && batch <= 600, argv[1]);
        batch_s = (int)batch;
        argc--;
        argv++;
    }
    int64_t gpus = 200, seconds = 600;
    char room[] = "/var/tmp/muster-history-XXXXXX", *dir = argc > 3 ? argv[3] : room;
    bool fresh = argc > 4;
    struct err err = {0};
    struct store *s;

    if ((argc > 1 && !str_int(str_of(argv[1]), &gpus)) || (argc > 2 && !str_int(str_of(argv[2]), &seconds)) ||
        gpus < PER || gpus > 80000 || seconds < batch_s || (dir == room && !mkdtemp(dir))) {
        fprintf(stderr, "usage: history [-BATCH_SECONDS] [GPUS [SECONDS [DIR [fresh]]]]\n");
        return 2;
    }
    int nodes = (int)(gpus / PER);
    if (dir != room)
        T0 = clock_wall_ms() / 60000 * 60000 - seconds * 1000;
    struct telemetry *v = telemetry_new(nodes * PER, T0, 1000, 1);
    uint64_t *facts = mem_zero((size_t)nodes, sizeof(*facts));
    struct wire_enc *enc = wire_enc_new(1);
    struct store_conf conf = {.dir = dir, .now_ms = now_ms, .decoder = &hub_decoder};
    if (store_open(&s, &conf, NULL, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    for (int i = 0; i < PER; i++)
        devs[i] = telemetry_uuid(v, i);
    for (int i = 0; i < nodes; i++)
        facts[i] = put_facts(s, v, i);
    double fed = 0, packed = 0, committing = 0;
    for (int64_t t = 0; t < seconds; t += batch_s) {
        double cpu = cpu_now(), mine = thread_cpu();
        sim_now = T0 + t * 1000;
        for (int i = 0; i < nodes; i++)
            feed(s, enc, v, i, T0 + t * 1000, (uint64_t)(t / batch_s) + 1, facts[i]);
        must(store_flush(s, &err) == 0, err.msg);
        fed += cpu_now() - cpu;
        committing += cpu_now() - cpu - (thread_cpu() - mine);
        if (!fresh && ((t + batch_s) % 600 == 0 || t + batch_s >= seconds)) { /* the log is ten minutes old */
            cpu = cpu_now();
            must(store_settle(s, &err) == 0, err.msg);
            packed += cpu_now() - cpu;
        }
    }
    double samples = (double)nodes * PER * TELEMETRY_METRICS * (double)seconds;
    if (dir != room) {
        store_close(s);
        printf("%.0f samples from %lld to %lld\n", samples, (long long)T0, (long long)(T0 + seconds * 1000));
        return 0;
    }
    for (int last = 0; last < 2; last++) {
        double cpu = cpu_now();
        sim_now += last ? 40ll * 86400000 : 0;
        must(store_settle(s, &err) == 0, err.msg);
        packed += cpu_now() - cpu;
        printf("%s: %.1f million samples\n", last ? "all buckets over" : "fresh", samples / 1e6);
        printf("  raw %.4f, minutes %.4f, hours %.4f, whole file %.4f B/sample; CPU %.4f s per million to compact\n",
               (double)ask(dir, "SELECT sum(length(bytes)) FROM chunk WHERE tier = 0") / samples,
               (double)ask(dir, "SELECT sum(length(bytes)) FROM chunk WHERE tier = 1") / samples,
               (double)ask(dir, "SELECT sum(length(bytes)) FROM chunk WHERE tier = 2") / samples,
               (double)ask(dir, "SELECT page_count * 4096 FROM pragma_page_count()") / samples, packed / samples * 1e6);
        printf("  everything in the folder %.4f B/sample; peak memory of the process %.1f MB\n",
               (double)folder_bytes(dir) / samples, peak_mb());
        static const char *const one[] = {"power"};
        const char *all[TELEMETRY_METRICS];
        for (int i = 0; i < TELEMETRY_METRICS; i++)
            all[i] = telemetry_metrics[i].muster ? telemetry_metrics[i].muster : telemetry_metrics[i].name;
        int64_t end = T0 + MIN(seconds, 600) * 1000;
        question(s, "one device, one metric, 10 min at 1 s", one, 1, 1, end, 1000, TIER_RAW);
        question(s, "8 devices, one metric, everything at 60 s, raw", one, 1, PER, T0 + seconds * 1000, 60000,
                 TIER_RAW);
        question(s, "8 devices, one metric, everything at 60 s, minutes", one, 1, PER, T0 + seconds * 1000, 60000, -1);
        question(s, "8 devices, all metrics, everything at 60 s, minutes", all, TELEMETRY_METRICS, PER,
                 T0 + seconds * 1000, 60000, -1);
    }
    printf("appending and committing batches of %d s: CPU %.4f s per million samples (inventing and encoding them: "
           "%.4f)\n",
           batch_s, (appending + committing) / samples * 1e6, (fed - appending - committing) / samples * 1e6);
    store_close(s);
    static const char *const files[] = {"history.db", "muster.db", "lock"};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        AUTO_FREE char *path = mem_fmt("%s/%s", dir, files[i]);
        unlink(path);
    }
    for (int i = 1; i < 1000; i++) {
        AUTO_FREE char *path = mem_fmt("%s/log-%d.db", dir, i);
        unlink(path);
    }
    rmdir(dir);
    wire_enc_free(enc);
    free(facts);
    telemetry_free(v);
    return 0;
}
