/*
 * real.c: what recorded telemetry takes in chunks: bytes per sample of raw columns and of minutes, names and heads
 * included, and CPU per million samples. CSV of two kinds is read: the H200 trace (a column per metric, `t` in seconds)
 * and the Dask recordings of gpu-bdb (a list of one number per GPU in quotes).
 *
 *   build/bench/real FILE...
 */
#include <stdio.h>
#include <time.h>

#include "base/file.h"
#include "base/mem.h"
#include "codec/table.h"
#include "model/gather.h"

#define COLUMNS 64

struct sizes {
    size_t bytes[TIER_COUNT];
    size_t chunks;
};

static int take(void *arg, const struct table_chunk *c)
{
    struct sizes *s = arg;

    s->bytes[c->tier] += c->bytes.len;
    s->chunks++;
    return 0;
}

static double cpu_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The next field of a line of CSV; quotes hold commas together. */
static bool next_field(struct str *line, struct str *ret)
{
    size_t n = 0;

    if (!line->p)
        return false;
    if (line->len && line->p[0] == '"') {
        for (n = 1; n < line->len && line->p[n] != '"'; n++)
            ;
        *ret = str_n(line->p + 1, n - 1);
        n = MIN(n + 1, line->len);
    } else {
        for (; n < line->len && line->p[n] != ','; n++)
            ;
        *ret = str_n(line->p, n);
    }
    *line = n < line->len ? str_n(line->p + n + 1, line->len - n - 1) : (struct str){0};
    return true;
}

static const struct {
    const char *column, *metric; /* of metrics.def, or NULL: any number will do */
    int64_t times;
} known[] = {
    {"gpu_util", "util", 100},
    {"mem_util", "mem_util", 100},
    {"mem_used_b", "mem_used", 1},
    {"mem_reserved_b", "mem_reserved", 1},
    {"mem_free_b", "mem_total", 1},
    {"temp_c", "temp", 1000},
    {"power_mw", "power", 1},
    {"energy_mj", "energy", 1},
    {"power_limit_mw", "power_limit", 1},
    {"sm_clock_mhz", "clock_sm", 1000000},
    {"mem_clock_mhz", "clock_mem", 1000000},
    {"throttle_mask", "throttle", 1},
    {"pstate", "pstate", 1},
    {"pcie_tx_kbps", "pcie_tx", 1000},
    {"pcie_rx_kbps", "pcie_rx", 1000},
    {"pcie_replay", "pcie_replay", 1},
    {"pcie_gen", "pcie_gen", 1},
    {"pcie_width", "pcie_width", 1},
    {"enc_util", "enc", 100},
    {"dec_util", "dec", 100},
    {"ecc_ce_vol", "ecc_corrected", 1},
    {"ecc_ue_vol", "ecc_uncorrected", 1},
    {"total-mem", "mem_used", 1},
    {"mem-util", "mem_util", 100},
    {"compute-util", "util", 100},
};

struct reading {
    int64_t at_ms;
    uint16_t metric[COLUMNS];
    int64_t times[COLUMNS];
    size_t n_columns;
    size_t samples;
};

static void read_head(struct reading *r, struct str line)
{
    struct str field;

    for (; r->n_columns < COLUMNS && next_field(&line, &field); r->n_columns++)
        for (size_t k = 0; k < ARRAY_LEN(known); k++)
            if (str_eq(str_trim(field), known[k].column)) {
                r->metric[r->n_columns] = metrics[metric_by_name(str_of(known[k].metric))].no;
                r->times[r->n_columns] = known[k].times;
            } else if (str_eq(field, "t") || str_eq(field, "timestamp")) {
                r->times[r->n_columns] = -1000; /* the time, in ms */
            }
}

static void read_line(struct reading *r, struct str line, struct gather *g, bool time_only)
{
    struct str field, one;
    int64_t v;

    for (size_t i = 0; i < r->n_columns && next_field(&line, &field); i++) {
        uint16_t slot = 1;
        if (time_only && r->times[i] == -1000 && str_fixed(str_trim(field), 1000, &v))
            r->at_ms = v;
        while (!time_only && r->metric[i] && str_cut(&field, ',', &one)) {
            if (str_fixed(str_trim(one), r->times[i], &v)) {
                gather_value(g, slot, r->metric[i], v);
                r->samples++;
            }
            slot++;
        }
    }
}

#define GATHER 1024 /* ticks of a batch */

static void flush(struct gather **g, struct table *t)
{
    struct batch b;

    gather_batch(*g, &b);
    table_add(t, &b, NULL, 0);
    gather_free(*g);
    *g = gather_new();
}

static int file(const char *path, struct table *t, struct chunk_writer *w)
{
    AUTO_BUF text = {0};
    struct err err = {0};
    struct reading r = {0};
    struct sizes all = {0};
    struct gather *g = gather_new();
    size_t lines = 0, ticks = 0;
    double cpu = 0;

    if (file_read(path, 256 << 20, &text, &err) < 0) {
        fprintf(stderr, "real: %s\n", err.msg);
        return 1;
    }
    struct str rest = buf_str(&text), line;

    while (rest.len && str_cut(&rest, '\n', &line)) {
        if (lines++ == 0) {
            read_head(&r, line);
            continue;
        }
        if (!line.len)
            continue;
        read_line(&r, line, g, true);
        gather_tick(g, r.at_ms);
        read_line(&r, line, g, false);
        if (++ticks % GATHER == 0)
            flush(&g, t);
    }
    flush(&g, t);
    double begun = cpu_now();
    if (table_write(t, w, TIER_MINUTE, take, &all) < 0)
        fprintf(stderr, "real: '%s' does not fit\n", path);
    cpu = cpu_now() - begun;
    printf("%s: %zu ticks, %zu samples: raw %.4f, minutes %.4f, together %.4f B/sample; CPU %.4f s per million; %zu "
           "chunks\n",
           path, ticks, r.samples, (double)all.bytes[TIER_RAW] / (double)r.samples,
           (double)all.bytes[TIER_MINUTE] / (double)r.samples,
           (double)(all.bytes[TIER_RAW] + all.bytes[TIER_MINUTE]) / (double)r.samples, cpu / (double)r.samples * 1e6,
           all.chunks);
    table_reset(t);
    gather_free(g);
    return 0;
}

int main(int argc, char **argv)
{
    struct table *t = table_new();
    struct chunk_writer *w = chunk_writer_new();
    int r = argc < 2;

    if (r)
        fprintf(stderr, "usage: real FILE...\n");
    for (int i = 1; i < argc; i++)
        r |= file(argv[i], t, w);
    chunk_writer_free(w);
    table_free(t);
    return r;
}
