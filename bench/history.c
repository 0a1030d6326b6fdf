/*
 * history.c: what history takes on disk and in time: generated telemetry (a port of the trial's generator: jobs of five
 * kinds on hosts of 8 GPUs, 30 metrics each) goes through wire and the store, is compacted, and asked for. Prints bytes
 * per sample of raw chunks, of the tiers and of the whole file, CPU per million samples, and how long questions take.
 *
 *   build/bench/history [GPUS [SECONDS]]
 */
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/rand.h"
#include "hub/decode.h"
#include "model/gather.h"
#include "wire/wire.h"

#define NUMBERS 30
#define PER     8 /* GPUs per host */
#define BATCH   5 /* seconds */
#define T0      1700000000000ll

enum job { IDLE, TRAIN, WAVE, INFER, NOTEBOOK };
struct gpu {
    struct prng g;
    enum job job;
    int left, period, phase, mem, want_mem, clock, replay, sbe, xid;
    double temp, mem_temp, watts, burst;
    int64_t energy;
};

static double gauss(struct prng *g)
{
    double u = prng_unit(g) + 1e-12, v = prng_unit(g);

    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static int below(struct prng *g, int n)
{
    return (int)(prng_next(g) % (uint64_t)n);
}

static double within(double v, double least, double most)
{
    return v < least ? least : v > most ? most : v;
}

static void gpu_job(struct gpu *x, bool whole)
{
    double r = prng_unit(&x->g);

    x->job = whole ? TRAIN : r < .30 ? IDLE : r < .55 ? WAVE : r < .80 ? INFER : NOTEBOOK;
    x->left = whole ? 100000 : 60 + (int)(-400 * log(prng_unit(&x->g) + 1e-9));
    x->period = 20 + below(&x->g, 180);
    x->phase = below(&x->g, x->period);
    x->burst = 0;
    x->want_mem = x->job == IDLE ? 0 : x->job == TRAIN ? 60000 + below(&x->g, 19000) : 2000 + below(&x->g, 60000);
}

static double gpu_util(struct gpu *x)
{
    struct prng *g = &x->g;

    switch (x->job) {
    case TRAIN:
        return x->phase % x->period < 2 ? 20 + prng_unit(g) * 50 : 96 + prng_unit(g) * 4.99;
    case WAVE:
        return 55 + 40 * sin(6.2831853 * x->phase / 12.0) + gauss(g) * 6;
    case INFER:
        if (prng_unit(g) < .08)
            x->burst = 20 + prng_unit(g) * 70;
        x->burst *= .86;
        return x->burst < 1 ? 0 : x->burst + gauss(g) * 2;
    case NOTEBOOK:
        if (prng_unit(g) < .004)
            x->burst = 5 + below(g, 30);
        return x->burst-- > 0 ? 70 + gauss(g) * 15 : 0;
    default:
        return 0;
    }
}

static void gpu_mem(struct gpu *x)
{
    if (x->mem != x->want_mem)
        x->mem = x->want_mem < x->mem ? x->want_mem : MIN(x->want_mem, x->mem + 2048);
    else if (x->job != IDLE && prng_unit(&x->g) < .006)
        x->want_mem = (int)within(x->want_mem + (below(&x->g, 9) - 4) * 64, 500, 80000);
}

static void gpu_step(struct gpu *x, int64_t v[NUMBERS])
{
    struct prng *g = &x->g;

    x->phase++;
    int util = (int)within(gpu_util(x), 0, 100);
    bool busy = util > 0;
    gpu_mem(x);
    x->watts += ((busy ? 120 + 5.4 * util : x->mem ? 112 : 69) - x->watts) * .6;
    double watts = x->watts + gauss(g) * (busy ? 4 : .35);
    watts = watts > 700 ? 700 - prng_unit(g) * 2 : MAX(watts, 50);
    x->temp += (28 + watts / 15 - x->temp) * .02 + gauss(g) * .05;
    x->mem_temp += (34 + watts / 13 - x->mem_temp) * .015 + gauss(g) * .05;
    x->energy += (int64_t)(watts * 1000 * (1 + gauss(g) * .004));
    bool cap = watts > 640;
    if (!busy)
        x->clock = x->mem ? 1980 : 345;
    else if (cap && prng_unit(g) < .5)
        x->clock = 1980 - 15 * (1 + below(g, 10));
    else if (!cap && (prng_unit(g) < .3 || x->clock < 1000))
        x->clock = 1980;
    x->replay += prng_unit(g) < 2e-6;
    x->sbe += prng_unit(g) < 1e-6;
    int64_t tx = busy ? (int64_t)fabs(util * 9000 + gauss(g) * 60000) : prng_unit(g) < .1 ? below(g, 300) : 0;
    int64_t rx = busy ? (int64_t)fabs(util * 14000 + gauss(g) * 90000) : prng_unit(g) < .1 ? below(g, 900) : 0;
    int64_t nv = x->job == TRAIN && busy ? (int64_t)fabs(util * 1.6e6 + gauss(g) * 4e6) : 0;
    int64_t nv2 = nv ? (int64_t)fabs((double)nv + gauss(g) * 2e5) : 0;
    int sm = busy ? (int)within(util * 8.6 + gauss(g) * 6, 0, 1000) : 0;
    int tensor = x->job == TRAIN          ? (int)MAX(sm * .62 + gauss(g) * 4, 0)
                 : x->job == WAVE && busy ? (int)MAX(sm * .2 + gauss(g) * 2, 0)
                                          : 0;
    int copy = busy ? (int)within(util * .55 + gauss(g) * 1.5, 0, 100) : 0;
    int dec = x->job == INFER && busy ? (int)MAX(util * .2 + gauss(g), 0) : 0;
    int64_t used = x->mem + (x->mem ? 520 : 4);
    const int64_t all[NUMBERS] = {util,
                                  copy,
                                  0,
                                  dec,
                                  used,
                                  81559 - 551 - used,
                                  551,
                                  x->mem ? 5 : 1,
                                  (int64_t)floor(x->temp + .5),
                                  (int64_t)floor(x->mem_temp + .5),
                                  (int64_t)(watts * 1000),
                                  700000,
                                  x->energy,
                                  x->clock,
                                  2619,
                                  x->clock > 1000 ? 1545 : 765,
                                  tx,
                                  rx,
                                  x->replay,
                                  nv,
                                  nv2,
                                  x->sbe,
                                  0,
                                  0,
                                  x->xid,
                                  busy ? (cap ? 4 : 0) : 1,
                                  0,
                                  0,
                                  sm,
                                  tensor};
    memcpy(v, all, sizeof(all));
    if (--x->left <= 0)
        gpu_job(x, false);
}

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

static int64_t ask(const char *dir, const char *sql)
{
    AUTO_FREE char *path = mem_fmt("%s/history.db", dir);
    sqlite3 *h;
    sqlite3_stmt *st;

    must(sqlite3_open(path, &h) == SQLITE_OK && sqlite3_prepare_v2(h, sql, -1, &st, NULL) == SQLITE_OK, sql);
    must(sqlite3_step(st) == SQLITE_ROW, sql);
    int64_t v = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(h);
    return v;
}

static int64_t sim_now; /* the clock of what is fed */

static int64_t now_ms(void)
{
    return sim_now;
}

/* One node's samples of BATCH seconds. */
static void feed(struct store *s, struct wire_enc *enc, struct gpu *gpus, int node, int64_t at_ms, uint64_t number,
                 uint64_t facts)
{
    struct gather *g = gather_new();
    char key[16];
    struct batch b;
    int64_t v[NUMBERS];

    for (int i = 0; i < BATCH; i++) {
        gather_tick(g, at_ms + i * 1000);
        for (int d = 0; d < PER; d++) {
            gpu_step(&gpus[d], v);
            for (int k = 0; k < NUMBERS; k++)
                gather_value(g, (uint16_t)(d + 1), (uint16_t)(k + 1), v[k]);
        }
    }
    gather_batch(g, &b);
    b.key = (struct batch_key){.node = {{1}}, .run = 1, .number = number};
    b.facts = facts;
    AUTO_BUF out = BUF_INIT(1 << 20);
    must(wire_put_batch(enc, &out, &b) == 0, "a batch");
    snprintf(key, sizeof(key), "node%04d", node);
    store_append(s,
                 &(struct store_batch){.node = key,
                                       .run = 1,
                                       .number = number,
                                       .facts = facts,
                                       .at_ms = at_ms,
                                       .bytes = buf_str(&out)},
                 1, NULL, NULL);
    gather_free(g);
}

static uint64_t put_facts(struct store *s, int node)
{
    struct device_fact v[PER] = {0};
    struct node_fact f = {.name = "n", .n_devices = PER, .devices = v};
    AUTO_BUF out = BUF_INIT(1 << 20);
    uint64_t id;
    char key[16];

    for (int i = 0; i < PER; i++)
        snprintf(v[i].uuid, sizeof(v[i].uuid), "GPU-%08x-aaaa-bbbb-cccc-%012x", node, i);
    must(wire_put_facts(&out, &(struct node_id){{1}}, &f, &id) == 0, "facts");
    snprintf(key, sizeof(key), "node%04d", node);
    store_put_blob(s, key, BLOB_FACTS, id, buf_str(&out));
    return id;
}

static void question(struct store *s, const char *what, const char *const *metrics_asked, size_t n, size_t devices,
                     int64_t to_ms, int64_t step, int tier)
{
    const char *devs[PER];
    char names[PER][UUID_MAX];
    int rounds = 20;

    for (size_t i = 0; i < PER; i++) {
        snprintf(names[i], sizeof(names[i]), "GPU-%08x-aaaa-bbbb-cccc-%012zx", 0, i);
        devs[i] = names[i];
    }
    struct history_ask q = {.node = "node0000",
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
    int64_t gpus = 200, seconds = 600;
    char dir[] = "/var/tmp/muster-history-XXXXXX";
    struct err err = {0};
    struct store *s;

    if ((argc > 1 && !str_int(str_of(argv[1]), &gpus)) || (argc > 2 && !str_int(str_of(argv[2]), &seconds)) ||
        gpus < PER || gpus > 80000 || seconds < BATCH || !mkdtemp(dir)) {
        fprintf(stderr, "usage: history [GPUS [SECONDS]]\n");
        return 2;
    }
    int nodes = (int)(gpus / PER);
    struct gpu *v = mem_zero((size_t)nodes * PER, sizeof(*v));
    uint64_t *facts = mem_zero((size_t)nodes, sizeof(*facts));
    struct wire_enc *enc = wire_enc_new(1);
    struct store_conf conf = {.dir = dir, .now_ms = now_ms, .decoder = &hub_decoder};
    if (store_open(&s, &conf, NULL, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    for (int i = 0; i < nodes * PER; i++) {
        struct prng host = {(uint64_t)(i / PER) + 7919};
        v[i].g.s = 1000003 + (uint64_t)i * 2654435761u;
        gpu_job(&v[i], prng_unit(&host) < .5);
        v[i].mem = v[i].want_mem;
        v[i].temp = 45;
        v[i].mem_temp = 50;
        v[i].watts = 100;
        v[i].energy = (int64_t)(prng_next(&v[i].g) % 900000000000ull);
        int64_t none[NUMBERS];
        for (int k = 0; k < 60; k++)
            gpu_step(&v[i], none);
    }
    for (int i = 0; i < nodes; i++)
        facts[i] = put_facts(s, i);
    double fed = 0, packed = 0;
    for (int64_t t = 0; t < seconds; t += BATCH) {
        double cpu = cpu_now();
        sim_now = T0 + t * 1000;
        for (int i = 0; i < nodes; i++)
            feed(s, enc, &v[i * PER], i, T0 + t * 1000, (uint64_t)(t / BATCH) + 1, facts[i]);
        must(store_flush(s, &err) == 0, err.msg);
        fed += cpu_now() - cpu;
        if ((t + BATCH) % 600 == 0 || t + BATCH >= seconds) { /* the log is ten minutes old */
            cpu = cpu_now();
            must(store_settle(s, &err) == 0, err.msg);
            packed += cpu_now() - cpu;
        }
    }
    double samples = (double)nodes * PER * NUMBERS * (double)seconds;
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
        static const char *const one[] = {"power"};
        const char *all[NUMBERS];
        for (int i = 0; i < NUMBERS; i++) {
            int m = metric_by_no((uint16_t)(i + 1));
            all[i] = m >= 0 ? metrics[m].name : "none";
        }
        int64_t end = T0 + MIN(seconds, 600) * 1000;
        question(s, "one device, one metric, 10 min at 1 s", one, 1, 1, end, 1000, TIER_RAW);
        question(s, "8 devices, one metric, everything at 60 s, raw", one, 1, PER, T0 + seconds * 1000, 60000,
                 TIER_RAW);
        question(s, "8 devices, one metric, everything at 60 s, minutes", one, 1, PER, T0 + seconds * 1000, 60000, -1);
        question(s, "8 devices, all metrics, everything at 60 s, minutes", all, NUMBERS, PER, T0 + seconds * 1000,
                 60000, -1);
    }
    printf("feeding (encode, append, commit): CPU %.4f s per million samples\n", fed / samples * 1e6);
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
    free(v);
    return 0;
}
