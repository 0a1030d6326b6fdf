/*
 * bench/wire: encode and decode batches of 8 devices and 30 metrics. In the same run: zstd's part of the decoding
 * alone, and what zstd alone would make of the same numbers as plain 64-bit integers. Figures are CPU time of this
 * process.
 *
 *     build/bench/wire [TICKS [LEVEL]]        5 ticks, level 1 unless told otherwise
 */
#include <stdlib.h>
#include <time.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/rand.h"
#include "wire/wire.h"

enum { SLOTS = 8, METRICS = 30, HOSTS = 64, ROUNDS = 60, FIXED = 48 + 5 };

static double cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* A device's metrics at a tick, in the units of metrics.def: a third constant, some whole percents, counters, noise. */
static int64_t value(struct prng *g, int metric, int64_t *state)
{
    uint64_t r = prng_next(g);
    int64_t load = (int64_t)(*state % 101);

    switch (metric) {
    case 0: /* utilisation: whole percents around the device's load */
        return 100 * MIN(100, load + (int64_t)(r % 5));
    case 1:
        return 50 * load;
    case 2: /* memory: megabytes, seldom another */
        return ((load * 700 + (r % 100 == 0 ? 64 : 0)) << 20);
    case 3:
    case 4: /* temperatures */
        return 1000 * (35 + load / 3 + (int64_t)(r % 8 == 0));
    case 5: /* power: noise of some watts */
        return 90000 + load * 5500 + (int64_t)(r % 8000);
    case 6:                                              /* energy: grows by about the power */
    case 7:                                              /* busy time */
        *state += 101 * (600000 + (int64_t)(r % 40000)); /* a multiple of 101: the load stays */
        return *state / 101;
    case 8:
        return 1000000 * (1980 - 15 * (int64_t)(r % 4));
    case 9:
    case 10: /* traffic */
        return load ? (int64_t)(r % 900000) * 1000 : 0;
    case 11:
    case 12:
    case 13: /* activity in 0.1 % */
        return load * 86 / 10 * 10 + 10 * (int64_t)(r % 12) * (load > 0);
    default: /* limits, totals, link width, error counts */
        return metric % 3 ? 0 : 1000 * metric;
    }
}

struct made {
    struct batch b;
    struct buf frame;
    char *plain; /* the values, through zstd alone */
    size_t plain_len;
};

static void make(struct made *m, struct prng *g, size_t n_ticks, uint64_t host)
{
    int64_t *at = mem_zero(n_ticks, sizeof(*at)), *v = mem_zero(n_ticks * SLOTS * METRICS, sizeof(*v));
    struct column *c = mem_zero(SLOTS * METRICS, sizeof(*c));

    for (size_t t = 0; t < n_ticks; t++)
        at[t] = 1794700803555 + 1000 * (int64_t)t;
    for (size_t i = 0; i < SLOTS * METRICS; i++) {
        int64_t state = (int64_t)(host % 3 == 0 ? 0 : (host * 37 + i % SLOTS * 13) % 101 + 101 * (host + 1000));
        c[i] = (struct column){(uint16_t)(i / SLOTS + 1), (uint16_t)(i % SLOTS + 1), NULL, v + i * n_ticks};
        for (size_t t = 0; t < n_ticks; t++)
            v[i * n_ticks + t] = value(g, (int)(i / SLOTS), &state);
    }
    m->b = (struct batch){.key = {{{(uint8_t)host}}, host, 1},
                          .n_ticks = n_ticks,
                          .n_columns = SLOTS * METRICS,
                          .at_ms = at,
                          .columns = c};
    m->frame = BUF_INIT(WIRE_BODY_MAX);
}

static void must(int rc)
{
    if (rc < 0)
        abort();
}

int main(int argc, char **argv)
{
    int64_t n_ticks = 5, level = 1;
    static struct made made[HOSTS];
    static char raw[8 << 20];
    struct prng g = {1};
    struct wire_enc *enc;
    struct wire_dec *dec = wire_dec_new();
    ZSTD_DCtx *z = ZSTD_createDCtx();
    double put = 0, get = 0, unpack = 0, plain = 0;
    size_t bytes = 0, plain_bytes = 0;

    if ((argc > 1 && !str_int(str_of(argv[1]), &n_ticks)) || (argc > 2 && !str_int(str_of(argv[2]), &level)) ||
        n_ticks < 1 || n_ticks > 600) {
        fprintf(stderr, "usage: wire [TICKS [LEVEL]]\n");
        return 2;
    }
    enc = wire_enc_new((int)level);
    for (size_t i = 0; i < HOSTS; i++) {
        struct made *m = &made[i];
        make(m, &g, (size_t)n_ticks, i);
        size_t size = (size_t)n_ticks * SLOTS * METRICS * sizeof(int64_t), room = ZSTD_compressBound(size);
        m->plain = mem_alloc(room);
        m->plain_len = ZSTD_compress(m->plain, room, m->b.columns[0].v, size, (int)level);
    }
    for (int round = 0; round < ROUNDS; round++) {
        double t0 = cpu_us();
        for (size_t i = 0; i < HOSTS; i++) {
            buf_reset(&made[i].frame);
            must(wire_put_batch(enc, &made[i].frame, &made[i].b));
        }
        double t1 = cpu_us();
        for (size_t i = 0; i < HOSTS; i++) {
            struct frame f;
            struct batch b;
            must(wire_one(buf_str(&made[i].frame), &f, NULL));
            must(wire_batch(dec, &f, &b, NULL));
        }
        double t2 = cpu_us();
        for (size_t i = 0; i < HOSTS; i++) {
            const struct buf *f = &made[i].frame;
            if (f->p[9 + 48] == 1 &&
                ZSTD_isError(ZSTD_decompressDCtx(z, raw, sizeof(raw), f->p + 9 + FIXED, f->len - 9 - FIXED)))
                abort();
        }
        double t3 = cpu_us();
        for (size_t i = 0; i < HOSTS; i++)
            if (ZSTD_isError(ZSTD_decompressDCtx(z, raw, sizeof(raw), made[i].plain, made[i].plain_len)))
                abort();
        double t4 = cpu_us();
        put += t1 - t0;
        get += t2 - t1;
        unpack += t3 - t2;
        plain += t4 - t3;
    }
    for (size_t i = 0; i < HOSTS; i++) {
        bytes += made[i].frame.len;
        plain_bytes += made[i].plain_len;
    }
    double n = (double)HOSTS * ROUNDS, samples = (double)(n_ticks * SLOTS * METRICS);
    printf("batches of %.0f samples (%lld ticks), level %lld\n", samples, (long long)n_ticks, (long long)level);
    printf("  bytes a sample       %6.3f    zstd alone %6.3f    ratio %.2f\n", (double)bytes / HOSTS / samples,
           (double)plain_bytes / HOSTS / samples, (double)bytes / (double)plain_bytes);
    printf("  decode, us a batch   %6.2f    zstd alone %6.2f    ratio %.2f\n", get / n, plain / n, get / plain);
    printf("  of that zstd         %6.2f\n", unpack / n);
    printf("  encode, us a batch   %6.2f\n", put / n);
    return 0;
}
