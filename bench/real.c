/*
 * real.c: recorded telemetry into a data folder, as agents' batches of 5 s, compacted: what does it take there?
 *
 *   build/bench/real h200 data/h200-trace.csv FOLDER      one GPU at 100 ms, recorded on an H200
 *   build/bench/real dask worker_0.csv FOLDER             8 GPUs of a Dask worker, about every 0.23 s:
 * job,dag,timestamp, then a quoted list per metric
 *
 * Prints the number of samples and of ticks.
 */
#include "base/clock.h"
#include "base/file.h"
#include "collect/replay.h"
#include "hub/decode.h"
#include "model/gather.h"
#include "wire/wire.h"

#define BATCH_MS 5000
#define KEY      "01000000000000000000000000000000"

static const char *const dask_columns[] = {"total-mem", "mem-util", "compute-util"};
static const struct {
    enum metric m;
    int64_t times;
} dask_metrics[] = {{M_mem_used, 1}, {M_mem_util, 100}, {M_util, 100}};

struct real {
    struct store *store;
    struct wire_enc *enc;
    struct gather *gather;
    int64_t samples, ticks, first_ms;
    uint64_t number, facts;
};

static void die(const char *what)
{
    fprintf(stderr, "real: %s\n", what);
    exit(1);
}

static int64_t much_later(void) /* every bucket is over */
{
    return clock_wall_ms() + 40ll * 86400000;
}

static void put_facts(struct real *r, size_t gpus)
{
    AUTO_FREE struct device_fact *v = mem_zero(gpus, sizeof(*v));
    struct node_fact f = {.name = "recorded", .n_devices = gpus, .devices = v};
    AUTO_BUF out = BUF_INIT(1 << 20);

    for (size_t i = 0; i < gpus; i++)
        snprintf(v[i].uuid, sizeof(v[i].uuid), "GPU-4f6c1d52-0000-0000-0000-%012zx", i);
    if (wire_put_facts(&out, &(struct node_id){{1}}, &f, &r->facts) < 0)
        die("facts");
    store_put_blob(r->store, KEY, BLOB_FACTS, r->facts, buf_str(&out));
}

static void seal(struct real *r)
{
    struct batch b;
    AUTO_BUF out = BUF_INIT(1 << 20);

    gather_batch(r->gather, &b);
    if (!b.n_ticks)
        return;
    b.key = (struct batch_key){.node = {{1}}, .run = 1, .number = ++r->number};
    b.facts = r->facts;
    for (size_t c = 0; c < b.n_columns; c++)
        for (size_t t = 0; t < b.n_ticks; t++)
            r->samples += column_has(&b.columns[c], t);
    r->ticks += (int64_t)b.n_ticks;
    if (wire_put_batch(r->enc, &out, &b) < 0)
        die("a batch");
    struct store_batch s = {.node = KEY, .run = 1, .number = r->number, .facts = r->facts, .at_ms = b.at_ms[0]};
    s.bytes = buf_str(&out);
    store_append(r->store, &s, 1, NULL, NULL);
    gather_reset(r->gather);
}

static void tick(struct real *r, int64_t at_ms)
{
    if (gather_ticks(r->gather) && at_ms - r->first_ms >= BATCH_MS)
        seal(r);
    if (!gather_ticks(r->gather))
        r->first_ms = at_ms;
    gather_tick(r->gather, at_ms);
}

static void h200(struct real *r, struct str text)
{
    struct replay *trace;
    struct err err = {0};
    struct str line, field;
    int64_t at_ms, began_ms = 0;
    struct sample s;

    if (replay_load(&trace, text, "the trace", &err) < 0)
        die(err.msg);
    put_facts(r, 1);
    str_line(&text, &line);
    while (str_line(&text, &line)) {
        if (!str_cut(&line, ',', &field) || !str_fixed(field, 1000, &at_ms))
            die("a line without a time");
        began_ms = began_ms ? began_ms : at_ms;
        replay_at(trace, at_ms - began_ms, &s);
        tick(r, at_ms);
        gather_sample(r->gather, 1, &s);
    }
    replay_free(trace);
}

/* The next cell, with or without quotes. */
static bool cut_cell(struct str *line, struct str *ret)
{
    if (!str_skip(line, "\""))
        return str_cut(line, ',', ret);
    bool ok = str_cut(line, '"', ret);
    str_skip(line, ",");
    return ok;
}

static void dask(struct real *r, struct str text, int64_t t0_ms)
{
    struct str line, cell, value;
    int64_t at_ms, v;

    if (!str_line(&text, &line) || !str_eq(line, "job,dag,timestamp,total-mem,mem-util,compute-util"))
        die("not a worker's file");
    put_facts(r, 8);
    while (str_line(&text, &line)) {
        if (!cut_cell(&line, &cell) || !cut_cell(&line, &cell) || !cut_cell(&line, &cell) ||
            !str_fixed(cell, 1000, &at_ms))
            die("a line without a time");
        tick(r, t0_ms + at_ms);
        for (size_t m = 0; m < ARRAY_LEN(dask_metrics) && cut_cell(&line, &cell); m++)
            for (uint16_t slot = 1; slot <= 8 && str_cut(&cell, ',', &value); slot++) {
                if (!str_int(str_trim(value), &v))
                    die(dask_columns[m]);
                gather_value(r->gather, slot, metrics[dask_metrics[m].m].no, v * dask_metrics[m].times);
            }
    }
}

int main(int argc, char **argv)
{
    struct real r = {0};
    struct err err = {0};
    AUTO_BUF text = {0};

    if (argc != 4 || (strcmp(argv[1], "h200") != 0 && strcmp(argv[1], "dask") != 0)) {
        fprintf(stderr, "usage: real h200|dask FILE FOLDER\n");
        return 2;
    }
    struct store_conf conf = {.dir = argv[3], .now_ms = much_later, .decoder = &hub_decoder};
    if (file_read(argv[2], 64 << 20, &text, &err) < 0 || store_open(&r.store, &conf, NULL, &err) < 0)
        die(err.msg);
    r.enc = wire_enc_new(3);
    r.gather = gather_new();
    if (strcmp(argv[1], "h200") == 0)
        h200(&r, buf_str(&text));
    else
        dask(&r, buf_str(&text), (clock_wall_ms() / 86400000 - 1) * 86400000 + 7200000);
    seal(&r);
    if (store_flush(r.store, &err) < 0 || store_settle(r.store, &err) < 0)
        die(err.msg);
    store_close(r.store);
    printf("%lld %lld\n", (long long)r.samples, (long long)r.ticks);
    gather_free(r.gather);
    wire_enc_free(r.enc);
    return 0;
}
