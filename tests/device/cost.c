/*
 * cost.c: what each NVML call of the collector costs when it is made once a second (the library's own short cache does
 * not answer then): mean and longest wait, and processor time, in microseconds.
 *   cost ROUNDS
 *   cost --gpm ROUNDS   what each of GPM's values costs, asked for alone and with all others
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "collect/nvml_lib.h"

static struct nvml lib;
static nvml_handle dev;
static struct nvml_sample samples[200];
static struct nvml_process_sample processes[200];
static char records[64 * 32];
static void *gpm[2], *set;
static nvml_u64 seen_util, seen_process;

static int c_util(void)
{
    struct nvml_utilization u;
    return lib.utilization(dev, &u);
}
static int c_memory(void)
{
    struct nvml_memory_v2 m = {.version = NVML_MEMORY_V2};
    return lib.memory_v2(dev, &m);
}
#define NUMBER(call, ...)                                                                                              \
    static int c_##call(void)                                                                                          \
    {                                                                                                                  \
        unsigned u, period = 0;                                                                                        \
        (void)period;                                                                                                  \
        return lib.call(dev, __VA_ARGS__);                                                                             \
    }
NUMBER(temperature, 0, &u)
NUMBER(power, &u)
NUMBER(clock, NVML_CLOCK_SM, &u)
NUMBER(pstate, &u)
NUMBER(encoder, &u, &period)
NUMBER(decoder, &u, &period)
NUMBER(fan, &u)
NUMBER(power_limit, &u)
NUMBER(clock_max, NVML_CLOCK_SM, &u)
NUMBER(pcie_gen, &u)
NUMBER(pcie_width, &u)
NUMBER(pcie_replay, &u)
NUMBER(link_state, 0, &u)
static int c_clock_mem(void)
{
    unsigned u;
    return lib.clock(dev, NVML_CLOCK_MEM, &u);
}
static int c_reasons(void)
{
    nvml_u64 u;
    return lib.reasons(dev, &u);
}
static int c_mem_temp(void)
{
    struct nvml_field f = {.id = NVML_FIELD_MEM_TEMP};
    return lib.fields(dev, 1, &f);
}
static int list(int (*f)(nvml_handle, unsigned *, void *))
{
    unsigned n = 64;
    return f ? f(dev, &n, records) : -1;
}
static int c_compute(void)
{
    return list(lib.compute_v3);
}
static int c_graphics(void)
{
    return list(lib.graphics_v3);
}
static int c_mps(void)
{
    return list(lib.mps_v3);
}
static int c_energy(void)
{
    nvml_u64 u;
    return lib.energy(dev, &u);
}
static int c_ecc(void)
{
    nvml_u64 u;
    return lib.ecc(dev, 1, 0, &u);
}
static int c_rows(void)
{
    unsigned a, b, c, d;
    return lib.rows(dev, &a, &b, &c, &d);
}
static int c_mig(void)
{
    unsigned a, b;
    return lib.mig_mode(dev, &a, &b);
}
static int c_samples(void)
{
    unsigned type, n = 200;
    int rc = lib.samples(dev, NVML_SAMPLES_UTIL, seen_util, &type, &n, samples);
    if (rc == 0 && n)
        seen_util = samples[n - 1].at_us;
    return rc;
}
static int c_process(void)
{
    unsigned n = 200;
    int rc = lib.process_util(dev, processes, &n, seen_process);
    for (unsigned i = 0; rc == 0 && i < n; i++)
        seen_process = MAX(seen_process, processes[i].at_us);
    return rc;
}
static int c_gpm_sample(void)
{
    void *t = gpm[0];
    gpm[0] = gpm[1];
    gpm[1] = t;
    return lib.gpm_sample(dev, gpm[1]);
}
static int c_gpm_get(void)
{
    struct nvml_gpm_get q = {.version = 1, .count = 6, .first = gpm[0], .second = gpm[1]};
    static const unsigned ids[] = {2, 3, 5, 10, 20, 21};
    for (unsigned i = 0; i < q.count; i++)
        q.metric[i].id = ids[i];
    return lib.gpm_get(&q);
}
static int c_wait(void)
{
    struct nvml_event e;
    return lib.set_wait(set, &e, 20);
}

static struct {
    const char *name;
    int (*call)(void);
    int rc, n;
    double wait, longest, cpu;
} calls[] = {
#define C(f)                                                                                                           \
    {                                                                                                                  \
#f, c_##f, 0, 0, 0, 0, 0                                                                                       \
    }
    C(util),     C(memory),     C(temperature), C(power),      C(clock),       C(clock_mem),
    C(reasons),  C(pstate),     C(encoder),     C(decoder),    C(mem_temp),    C(compute),
    C(graphics), C(mps),        C(samples),     C(process),    C(gpm_sample),  C(gpm_get),
    C(energy),   C(fan),        C(ecc),         C(rows),       C(power_limit), C(clock_max),
    C(pcie_gen), C(pcie_width), C(pcie_replay), C(link_state), C(mig),         C(wait),
};

static double us(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double cpu_of_get(const unsigned *ids, unsigned n)
{
    struct nvml_gpm_get q = {.version = 1, .count = n, .first = gpm[0], .second = gpm[1]};
    for (unsigned i = 0; i < n; i++)
        q.metric[i].id = ids[i];
    double c = us(CLOCK_THREAD_CPUTIME_ID);
    if (lib.gpm_get(&q) != 0)
        return -1;
    return us(CLOCK_THREAD_CPUTIME_ID) - c;
}

static void gpm_costs(int rounds)
{
    static const unsigned ids[] = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 20, 21, 60, 61};
    double sum[ARRAY_LEN(ids)] = {0}, all = 0, sample = 0;
    c_gpm_sample();
    for (int r = 0; r < rounds; r++) {
        sleep(1);
        double c = us(CLOCK_THREAD_CPUTIME_ID);
        c_gpm_sample();
        sample += us(CLOCK_THREAD_CPUTIME_ID) - c;
        if (r % 2) /* in turns, in case a first one pays for the others */
            all += cpu_of_get(ids, ARRAY_LEN(ids) - 2);
        for (size_t i = 0; i < ARRAY_LEN(ids); i++)
            sum[r % 2 ? i : ARRAY_LEN(ids) - 1 - i] += cpu_of_get(&ids[r % 2 ? i : ARRAY_LEN(ids) - 1 - i], 1);
        if (r % 2 == 0)
            all += cpu_of_get(ids, ARRAY_LEN(ids) - 2);
    }
    printf("a sample %.1f us; all but NVLink %.1f us;", sample / rounds, all / rounds);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        printf(" id %u %.1f", ids[i], sum[i] / rounds);
    printf("\n");
}

int main(int argc, char **argv)
{
    bool only_gpm = argc > 2 && strcmp(argv[1], "--gpm") == 0;
    argv += only_gpm;
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 10;
    struct err err = {0};
    const char *path = getenv("MUSTER_NVML_LIB");
    if (nvml_load(&lib, path, &err) < 0 || lib.init() != 0 || lib.by_index(0, &dev) != 0) {
        fprintf(stderr, "no driver: %s\n", err.msg);
        return 1;
    }
    lib.gpm_new(&gpm[0]);
    lib.gpm_new(&gpm[1]);
    if (only_gpm) {
        gpm_costs(MAX(rounds, 1));
        return 0;
    }
    lib.set_new(&set);
    lib.event_register(dev, NVML_EVENT_XID, set);
    for (int r = 0; r < rounds; r++, sleep(1))
        for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
            double w = us(CLOCK_MONOTONIC), c = us(CLOCK_THREAD_CPUTIME_ID);
            calls[i].rc = calls[i].call();
            c = us(CLOCK_THREAD_CPUTIME_ID) - c;
            w = us(CLOCK_MONOTONIC) - w;
            if (r < 2) /* the first ones set things up */
                continue;
            calls[i].n++;
            calls[i].wait += w;
            calls[i].cpu += c;
            calls[i].longest = MAX(calls[i].longest, w);
        }
    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        printf("%-12s rc %3d  wait %8.1f us, longest %8.1f  cpu %8.1f us\n", calls[i].name, calls[i].rc,
               calls[i].wait / calls[i].n, calls[i].longest, calls[i].cpu / calls[i].n);
    return 0;
}
