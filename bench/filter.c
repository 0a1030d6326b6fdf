/*
 * bench/filter: a cluster of 1,000 nodes with 8 GPUs each in memory: what a filter costs per GPU, and a filtered state
 * in whole, beside an unfiltered one. Prints a table; medians of five.
 */
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "format/render.h"
#include "now/view.h"

enum { NODES = 1000, GPUS = 8, RUNS = 5 };
#define NOW 1794737172345ll

static struct node_now nodes[NODES];
static const struct node_now *list[NODES];

static void fill(void)
{
    for (size_t i = 0; i < NODES; i++) {
        struct node_now *n = &nodes[i];
        list[i] = n;
        snprintf(n->name, sizeof(n->name), "dgx%zu", i);
        snprintf(n->key, sizeof(n->key), "%032zx", i);
        snprintf(n->fact.driver, sizeof(n->fact.driver), "580.65.06");
        n->at_ms = NOW - 500;
        n->n_devices = GPUS;
        n->devices = mem_zero(GPUS, sizeof(*n->devices));
        for (size_t k = 0; k < GPUS; k++) {
            struct device_now *d = &n->devices[k];
            snprintf(d->fact.uuid, sizeof(d->fact.uuid), "GPU-%08zx-%04zx", i, k);
            snprintf(d->fact.name, sizeof(d->fact.name), i % 2 ? "NVIDIA H200" : "NVIDIA H100 80GB HBM3");
            d->fact.index = (int32_t)k;
            d->fact.mig = -1;
            d->state = (i + k) % 3 ? DEV_BUSY : DEV_FREE;
            d->at_ms = d->since_ms = NOW - 1000;
            for (int m = 0; m < M_COUNT; m++)
                if (metrics[m].scope == SCOPE_DEVICE)
                    sample_set(&d->now, (enum metric)m, (int64_t)(i * 7919 + k * 104729) % 10000);
            d->now.v[M_mem_total] = 80ll << 30;
            d->now.v[M_mem_used] = (int64_t)((i * 31 + k * 17) % 80) << 30;
            if (d->state == DEV_FREE)
                continue;
            d->n_procs = 2;
            d->procs = mem_zero(2, sizeof(*d->procs));
            for (size_t p = 0; p < 2; p++) {
                struct proc_fact *fact = d->procs[p].fact = mem_zero(1, sizeof(*fact));
                snprintf(fact->user, sizeof(fact->user), "user%zu", (i + p) % 50);
                snprintf(fact->name, sizeof(fact->name), "python");
            }
        }
    }
}

static int by_us(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static int64_t median(int64_t us[RUNS])
{
    qsort(us, RUNS, sizeof(*us), by_us);
    return us[RUNS / 2];
}

int main(void)
{
    static const char *const texts[] = {NULL,
                                        "free",
                                        "gpu:0",
                                        "user:user7",
                                        "free model:h200 memfree>=40G",
                                        "util>50% or mem>60G and not user:root",
                                        "host:dgx1* (program:python or model:*hbm?) since<1h",
                                        "hung"};
    struct view all = {.at_ms = NOW, .n = NODES, .nodes = list, .version = 1};

    fill();
    printf("%-52s %8s %9s %9s %9s %9s\n", "filter", "devices", "ns/device", "view/ms", "state/ms", "bytes");
    for (size_t t = 0; t < ARRAY_LEN(texts); t++) {
        int64_t match_us[RUNS], view_us[RUNS], state_us[RUNS];
        size_t count = 0, bytes = 0;
        struct filter *f = NULL;
        struct filter_err err;
        if (texts[t] && filter_new(str_of(texts[t]), NULL, &f, &err) < 0)
            return 1;
        for (int run = 0; run < RUNS; run++) {
            struct view v = all;
            AUTO_ARENA arena = {0};
            AUTO_BUF out = BUF_INIT(1u << 30);
            int64_t from = clock_mono_us();
            count = 0;
            for (size_t i = 0; i < NODES; i++)
                for (size_t k = 0; k < GPUS; k++)
                    count += !f || filter_match(f, &nodes[i], &nodes[i].devices[k], NOW);
            match_us[run] = clock_mono_us() - from;
            from = clock_mono_us();
            if (f)
                view_filter(&v, f, &arena);
            view_us[run] = clock_mono_us() - from;
            render_state(&out, &v);
            state_us[run] = clock_mono_us() - from;
            bytes = out.len;
        }
        printf("%-52s %8zu %9.1f %9.2f %9.2f %9zu\n", texts[t] ? texts[t] : "(none)", count,
               (double)median(match_us) * 1000 / (NODES * GPUS), (double)median(view_us) / 1000,
               (double)median(state_us) / 1000, bytes);
        filter_free(f);
    }
    return 0;
}
