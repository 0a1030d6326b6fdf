/*
 * probe.c: the NVML collector alone, one tick a second, on a machine with a GPU: what it reads and what it costs.
 *   probe SECONDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "collect/collect.h"

static double cpu_s(int who)
{
    struct rusage u;
    getrusage(who, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void memory(const char *when)
{
    char text[4096];
    int n = file_read_small("/proc/self/smaps_rollup", text, sizeof(text));
    struct str rest = str_n(text, n > 0 ? (size_t)n : 0), line;
    printf("memory %s:", when);
    while (str_line(&rest, &line))
        if (str_starts(line, "Rss:") || str_starts(line, "Pss:") || str_starts(line, "Private_"))
            printf(" %.*s", STR_ARG(line));
    printf("\n");
}

static void show(const struct device_reading *d, const struct sample *s, const int *count)
{
    const struct device_fact *f = &d->fact;
    printf("device %d %s '%s' pci %s minor %d mig %d parent '%s' %s%s'%s'\n", f->index, f->uuid, f->name, f->pci,
           f->minor, f->mig, f->parent, f->lost ? "lost " : "", f->asleep ? "asleep " : "", f->note);
    for (enum metric m = 0; m < M_COUNT; m++) {
        AUTO_BUF b = BUF_INIT(256);
        if (!sample_has(s, m))
            continue;
        metric_base(&b, m, s->v[m]);
        printf("  %-16s %-20s %d times\n", metrics[m].name, b.p, count[m]);
    }
    for (size_t i = 0; i < d->n_uses; i++)
        printf("  process %d kind %d memory %lld sm %d\n", d->uses[i].pid, d->uses[i].kind, (long long)d->uses[i].mem,
               d->uses[i].sm);
}

int main(int argc, char **argv)
{
    int64_t seconds = argc > 1 ? strtol(argv[1], NULL, 10) : 30;
    struct collect_conf conf = {.tick_ms = 1000};
    struct collector *c = NULL;
    struct reading r = {0};
    struct err err = {0};
    static struct sample newest[DEVICES_MAX];
    static int count[DEVICES_MAX][M_COUNT];
    memory("before");
    int64_t t0 = clock_mono_us(), sum = 0, most = 0;
    if (collector_nvml.open(&c, &conf, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    printf("open took %lld us\n", (long long)(clock_mono_us() - t0));
    memory("after open");
    double cpu = 0, own = 0;
    int64_t start = clock_mono_us();
    for (int64_t tick = 0; tick < seconds; tick++) {
        while (clock_mono_us() < start + tick * 1000000)
            usleep((useconds_t)(start + tick * 1000000 - clock_mono_us()));
        reading_reset(&r);
        r.at_ms = clock_wall_ms();
        int64_t at = clock_mono_us();
        if (tick == 3) { /* opening and the first round of dear calls are done */
            cpu = cpu_s(RUSAGE_SELF);
            own = cpu_s(RUSAGE_THREAD);
        }
        if (collector_nvml.read(c, &r, &err) < 0) {
            fprintf(stderr, "tick %lld: %s\n", (long long)tick, err.msg);
            return 1;
        }
        int64_t took = clock_mono_us() - at;
        sum += took;
        most = tick ? MAX(most, took) : 0;
        for (size_t i = 0; i < r.n_devices; i++)
            for (enum metric m = 0; m < M_COUNT; m++)
                if (sample_has(&r.devices[i].sample, m)) {
                    sample_set(&newest[i], m, r.devices[i].sample.v[m]);
                    count[i][m]++;
                }
        for (size_t i = 0; i < r.n_events; i++)
            printf("event %u slot %u code %lld %s\n", r.events[i].kind, r.events[i].slot, (long long)r.events[i].code,
                   r.events[i].text);
    }
    printf("cpu to start: %.3f s\n", cpu);
    cpu = cpu_s(RUSAGE_SELF) - cpu;
    own = cpu_s(RUSAGE_THREAD) - own;
    memory("at the end");
    printf("driver %s cuda %s\n", r.driver, r.cuda);
    for (size_t i = 0; i < r.n_devices; i++)
        show(&r.devices[i], &newest[i], count[i]);
    printf("ticks: mean %lld us, longest %lld us\n", (long long)(sum / seconds), (long long)most);
    double span = (double)(seconds - 3);
    printf("cpu: %.3f s in %.0f s, %.3f %% of a core; ticks alone %.3f %%\n", cpu, span, 100 * cpu / span,
           100 * own / span);
    collector_nvml.close(c);
    reading_fini(&r);
    return 0;
}
