/* telemetry.c: invented GPUs. Every random number is drawn in a fixed order from the GPU's own stream. */
#include "telemetry.h"

#include <math.h>

#include "base/mem.h"
#include "base/rand.h"

/* clang-format off */
const struct telemetry_metric telemetry_metrics[TELEMETRY_METRICS] = {
    {"gpu_util", "util", 100, 0, 0},
    {"mem_copy_util", "mem_util", 100, 0, 0},
    {"enc_util", "enc", 100, 0, 0},
    {"dec_util", "dec", 100, 0, 0},
    {"fb_used_mib", "mem_used", 1 << 20, 0, 0},
    {"fb_free_mib", NULL, 1 << 20, UNIT_BYTES, 1},
    {"fb_reserved_mib", "mem_reserved", 1 << 20, 0, 0},
    {"bar1_used_mib", NULL, 1 << 20, UNIT_BYTES, 1},
    {"temp_c", "temp", 1000, 0, 0},
    {"mem_temp_c", "temp_mem", 1000, 0, 0},
    {"power_mw", "power", 1, 0, 0},
    {"power_limit_mw", "power_limit", 1, 0, 0},
    {"energy_mj", "energy", 1, 0, 0},
    {"sm_clock_mhz", "clock_sm", 1000000, 0, 0},
    {"mem_clock_mhz", "clock_mem", 1000000, 0, 0},
    {"video_clock_mhz", NULL, 1000000, UNIT_HERTZ, 1},
    {"pcie_tx_kbps", "pcie_tx", 1000, 0, 0},
    {"pcie_rx_kbps", "pcie_rx", 1000, 0, 0},
    {"pcie_replay", "pcie_replay", 1, 0, 0},
    {"nvlink_tx_kbps", "nvlink_tx", 1000, 0, 0},
    {"nvlink_rx_kbps", "nvlink_rx", 1000, 0, 0},
    {"ecc_sbe", "ecc_corrected", 1, 0, 0},
    {"ecc_dbe", "ecc_uncorrected", 1, 0, 0},
    {"retired_pages", "rows_remapped", 1, 0, 0},
    {"xid_last", NULL, 1, UNIT_NONE, 1},
    {"throttle_mask", "throttle", 1, 0, 0},
    {"pstate", "pstate", 1, 0, 0},
    {"fan_pct", "fan", 100, 0, 0},
    {"sm_active_pm", "sm_active", 10, 0, 0},
    {"tensor_active_pm", "tensor_active", 10, 0, 0},
};
/* clang-format on */

enum job { IDLE, TRAIN, WAVE, INFER, NOTEBOOK };

struct gpu {
    struct prng g;
    enum job job;
    int left, period, phase, mem, want_mem, clock, replay, sbe, xid;
    double temp, mem_temp, watts, burst;
    int64_t energy;
    char uuid[48];
};

struct telemetry {
    int n, hosts;
    int64_t t0_ms, step_ms;
    struct gpu *gpus;
    int *offset_ms;
    uint16_t number[TELEMETRY_METRICS]; /* on the wire */
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

static void new_job(struct gpu *x, bool whole)
{
    struct prng *g = &x->g;

    if (whole) {
        x->job = TRAIN;
        x->left = 100000;
    } else {
        double r = prng_unit(g);
        x->job = r < .30 ? IDLE : r < .55 ? WAVE : r < .80 ? INFER : NOTEBOOK;
        x->left = 60 + (int)(-400 * log(prng_unit(g) + 1e-9));
    }
    x->period = 20 + below(g, 180);
    x->phase = below(g, x->period);
    (void)prng_next(g); /* whose job it is */
    x->burst = 0;
    x->want_mem = x->job == IDLE ? 0 : x->job == TRAIN ? 60000 + below(g, 19000) : 2000 + below(g, 60000);
}

static double next_util(struct gpu *x)
{
    struct prng *g = &x->g;

    switch (x->job) {
    case TRAIN:
        return x->phase % x->period < 2 ? 20 + prng_unit(g) * 50 : 96 + prng_unit(g) * 4.99;
    case WAVE:
        return 55 + 40 * sin(6.2831853 * x->phase / 12.0) + gauss(g) * 6;
    case INFER: {
        if (prng_unit(g) < .08)
            x->burst = 20 + prng_unit(g) * 70;
        x->burst *= .86;
        double u = x->burst + gauss(g) * 2;
        return x->burst < 1 ? 0 : u;
    }
    case NOTEBOOK:
        if (prng_unit(g) < .004)
            x->burst = 5 + below(g, 30);
        if (x->burst <= 0)
            return 0;
        x->burst--;
        return 70 + gauss(g) * 15;
    default:
        return 0;
    }
}

static void next_mem(struct gpu *x)
{
    if (x->mem > x->want_mem)
        x->mem = x->want_mem;
    else if (x->mem < x->want_mem)
        x->mem = MIN(x->want_mem, x->mem + 2048);
    else if (x->job != IDLE && prng_unit(&x->g) < .006)
        x->want_mem = (int)within(x->want_mem + (below(&x->g, 9) - 4) * 64, 500, 80000);
}

static double next_watts(struct gpu *x, int util, double dt)
{
    struct prng *g = &x->g;

    x->watts += ((util ? 120 + 5.4 * util : x->mem ? 112 : 69) - x->watts) * .6;
    double watts = x->watts + gauss(g) * (util ? 4 : .35);
    watts = watts > 700 ? 700 - prng_unit(g) * 2 : MAX(watts, 50);
    x->temp += (28 + watts / 15 - x->temp) * .02 * dt + gauss(g) * .05;
    x->mem_temp += (34 + watts / 13 - x->mem_temp) * .015 * dt + gauss(g) * .05;
    x->energy += (int64_t)(watts * 1000 * dt * (1 + gauss(g) * .004)); /* the hardware looks more often than we do */
    return watts;
}

static void next_clock(struct gpu *x, bool busy, bool capped)
{
    struct prng *g = &x->g;

    if (!busy)
        x->clock = x->mem ? 1980 : 345;
    else if (capped)
        x->clock = prng_unit(g) < .5 ? 1980 - 15 * (1 + below(g, 10)) : x->clock;
    else if (prng_unit(g) < .3 || x->clock < 1000)
        x->clock = 1980;
    x->replay += prng_unit(g) < 2e-6;
    x->sbe += prng_unit(g) < 1e-6;
    if (prng_unit(g) < 5e-7)
        x->xid = 31 + below(g, 60);
}

static void gpu_step(struct gpu *x, double dt, int64_t v[TELEMETRY_METRICS])
{
    struct prng *g = &x->g;

    x->phase++;
    int util = (int)within(next_util(x), 0, 100);
    bool busy = util > 0;
    next_mem(x);
    double watts = next_watts(x, util, dt);
    bool capped = watts > 640;
    next_clock(x, busy, capped);
    int64_t tx = busy ? (int64_t)fabs(util * 9000 + gauss(g) * 60000) : prng_unit(g) < .1 ? below(g, 300) : 0;
    int64_t rx = busy ? (int64_t)fabs(util * 14000 + gauss(g) * 90000) : prng_unit(g) < .1 ? below(g, 900) : 0;
    int64_t nv_tx = x->job == TRAIN && busy ? (int64_t)fabs(util * 1.6e6 + gauss(g) * 4e6) : 0;
    int64_t nv_rx = nv_tx ? (int64_t)fabs((double)nv_tx + gauss(g) * 2e5) : 0;
    int sm = busy ? (int)within(util * 8.6 + gauss(g) * 6, 0, 1000) : 0;
    int tensor = x->job == TRAIN          ? (int)(sm * .62 + gauss(g) * 4)
                 : x->job == WAVE && busy ? (int)(sm * .2 + gauss(g) * 2)
                                          : 0;
    int copy = busy ? (int)within(util * .55 + gauss(g) * 1.5, 0, 100) : 0;
    int dec = x->job == INFER && busy ? (int)(util * .2 + gauss(g)) : 0;
    int64_t used = x->mem + (x->mem ? 520 : 4);
    int64_t all[TELEMETRY_METRICS] = {
        util,
        copy,
        0,
        MAX(dec, 0),
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
        nv_tx,
        nv_rx,
        x->sbe,
        0,
        0,
        x->xid,
        busy ? (capped ? 4 : 0) : 1,
        0,
        0,
        sm,
        MAX(tensor, 0),
    };
    memcpy(v, all, sizeof(all));
    if (--x->left <= 0)
        new_job(x, false);
}

static void gpu_init(struct gpu *x, uint64_t seed, int i, bool whole)
{
    x->g.s = seed * 1000003 + (uint64_t)i * 2654435761u;
    (void)prng_next(&x->g);
    new_job(x, whole);
    x->mem = x->want_mem;
    x->temp = 45;
    x->mem_temp = 50;
    x->watts = 100;
    x->energy = (int64_t)(prng_next(&x->g) % 900000000000u);
}

struct telemetry *telemetry_new(int gpus, int64_t t0_ms, int64_t step_ms, uint64_t seed)
{
    struct telemetry *t = mem_zero(1, sizeof(*t));
    struct prng g = {seed * 7919};
    int64_t unused[TELEMETRY_METRICS];

    t->n = gpus;
    t->hosts = (gpus + TELEMETRY_PER - 1) / TELEMETRY_PER;
    t->t0_ms = t0_ms;
    t->step_ms = step_ms;
    t->gpus = mem_zero((size_t)gpus, sizeof(*t->gpus));
    t->offset_ms = mem_zero((size_t)t->hosts, sizeof(*t->offset_ms));
    AUTO_FREE bool *whole = mem_zero((size_t)t->hosts, sizeof(*whole));
    for (int h = 0; h < t->hosts; h++) {
        whole[h] = prng_unit(&g) < .5;
        t->offset_ms[h] = below(&g, 1000) % (int)step_ms;
    }
    for (int i = 0; i < gpus; i++) {
        struct gpu *x = &t->gpus[i], *first = &t->gpus[i / TELEMETRY_PER * TELEMETRY_PER];
        gpu_init(x, seed, i, whole[i / TELEMETRY_PER]);
        uint64_t a = prng_next(&g), b = prng_next(&g);
        snprintf(x->uuid, sizeof(x->uuid), "GPU-%08x-%04x-%04x-%04x-%012llx", (unsigned)(a >> 32),
                 (unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xffff), (unsigned)(b >> 48),
                 (unsigned long long)(b & 0xffffffffffff));
        if (whole[i / TELEMETRY_PER]) { /* one job: they dip together */
            x->period = first->period;
            x->phase = first->phase;
        }
    }
    for (int i = 0; i < gpus; i++)
        for (int k = 0; k < 30; k++) { /* until temperatures and power have settled */
            t->gpus[i].left += t->gpus[i].left < 40 ? 40 : 0;
            gpu_step(&t->gpus[i], (double)step_ms / 1000, unused);
        }
    unsigned customs = 0;
    for (int k = 0; k < TELEMETRY_METRICS; k++) {
        const char *name = telemetry_metrics[k].muster;
        t->number[k] = (uint16_t)(name ? metrics[metric_by_name(str_of(name))].no : METRIC_CUSTOM + customs++);
    }
    return t;
}

void telemetry_free(struct telemetry *t)
{
    if (!t)
        return;
    free(t->gpus);
    free(t->offset_ms);
    free(t);
}

int telemetry_hosts(const struct telemetry *t)
{
    return t->hosts;
}

int telemetry_gpus_of(const struct telemetry *t, int host)
{
    return MIN(TELEMETRY_PER, t->n - host * TELEMETRY_PER);
}

const char *telemetry_uuid(const struct telemetry *t, int gpu)
{
    return t->gpus[gpu].uuid;
}

int64_t telemetry_at_ms(const struct telemetry *t, int host, int64_t tick)
{
    return t->t0_ms + tick * t->step_ms + t->offset_ms[host];
}

void telemetry_step(struct telemetry *t, int gpu, int64_t v[TELEMETRY_METRICS])
{
    gpu_step(&t->gpus[gpu], (double)t->step_ms / 1000, v);
}

void telemetry_facts(const struct telemetry *t, int host, struct node_fact *ret)
{
    struct node_fact f = {.tick_ms = (int32_t)t->step_ms, .n_devices = (size_t)telemetry_gpus_of(t, host)};

    snprintf(f.name, sizeof(f.name), "node%04d", host);
    f.devices = mem_zero(f.n_devices, sizeof(*f.devices));
    for (size_t i = 0; i < f.n_devices; i++) {
        struct device_fact *d = &f.devices[i];
        mem_copy_str(d->uuid, sizeof(d->uuid), t->gpus[host * TELEMETRY_PER + (int)i].uuid);
        mem_copy_str(d->name, sizeof(d->name), "Generated GPU");
        d->index = d->minor = (int32_t)i;
        d->mig = -1;
        d->vendor = VENDOR_NVIDIA;
    }
    f.custom = mem_zero(TELEMETRY_METRICS, sizeof(*f.custom));
    for (int k = 0; k < TELEMETRY_METRICS; k++) {
        const struct telemetry_metric *m = &telemetry_metrics[k];
        if (m->muster)
            continue;
        struct custom_fact *c = &f.custom[f.n_custom++];
        mem_copy_str(c->name, sizeof(c->name), m->name);
        c->unit = (uint8_t)m->unit;
        c->kind = KIND_GAUGE;
        c->per = m->per;
    }
    *ret = f;
}

void telemetry_gather(struct telemetry *t, int host, int64_t at_ms, struct gather *g, int64_t *power)
{
    int64_t v[TELEMETRY_METRICS];

    gather_tick(g, at_ms);
    for (int d = 0; d < telemetry_gpus_of(t, host); d++) {
        telemetry_step(t, host * TELEMETRY_PER + d, v);
        *power += v[TELEMETRY_POWER];
        for (int k = 0; k < TELEMETRY_METRICS; k++)
            gather_value(g, (uint16_t)(d + 1), t->number[k], v[k] * telemetry_metrics[k].times);
    }
}
