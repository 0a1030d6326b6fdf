/*
 * sampler.c: libmuster at 10 ms on eight replayed GPUs: how even its intervals are and what it costs, in a program that
 * does nothing and in one that keeps every processor busy.
 *   build/bench/sampler [SECONDS] [GPUS]
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "lib/muster.h"

static atomic_bool done;

static void *spin(void *arg)
{
    volatile unsigned long *n = arg;
    while (!atomic_load_explicit(&done, memory_order_relaxed))
        ++*n;
    return NULL;
}

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void run(const char *title, const char *metrics, double seconds, int gpus, int threads)
{
    char why[256], collector[32];
    muster_sampler *s;
    struct muster_options o = {.size = sizeof(o), .interval_us = 10000, .collector = collector, .metrics = metrics};
    pthread_t t[64];
    unsigned long n[64][8] = {{0}};

    snprintf(collector, sizeof(collector), "replay:%d", gpus);
    if (muster_open(&s, &o, why, sizeof(why)) < 0 || muster_start(s, why, sizeof(why)) < 0) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
    atomic_store(&done, false);
    for (int i = 0; i < threads; i++)
        pthread_create(&t[i], NULL, spin, n[i]);
    double cpu = cpu_s();
    usleep((useconds_t)(seconds * 1e6));
    cpu = cpu_s() - cpu;
    atomic_store(&done, true);
    for (int i = 0; i < threads; i++)
        pthread_join(t[i], NULL);
    muster_stop(s);

    struct muster_stats st = {.size = sizeof(st)};
    muster_stats(s, &st);
    size_t count = (size_t)muster_count(s);
    double *at = mem_zero(count, sizeof(*at)), *v = mem_zero(count, sizeof(*v));
    if (muster_read(s, 0, 0, 0, (int64_t)count, at, v, NULL) != (int64_t)count || count < 10)
        exit(1);
    for (size_t i = 0; i + 1 < count; i++) /* how far each interval is from what was asked for, in ms */
        v[i] = fabs((at[i + 1] - at[i]) * 1e3 - 10);
    qsort(v, count - 1, sizeof(*v), by_size);
    printf("%-34s %6zu samples, skipped %4lld, off by p50 %.3f p99 %.3f max %.3f ms", title, count,
           (long long)st.skipped, v[count / 2], v[count * 99 / 100], v[count - 2]);
    if (!threads)
        printf("; %.1f us a sample, %.2f %% of a processor", cpu / (double)count * 1e6, 100 * cpu / seconds);
    char *text;
    size_t bytes;
    cpu = cpu_s();
    if (muster_csv_text(s, 0, (int64_t)count, 1, &text, &bytes, NULL) >= 0) {
        printf("; CSV %.1f us a row", (cpu_s() - cpu) / (double)count * 1e6);
        muster_free(text);
    }
    printf("\n");
    free(at);
    free(v);
    muster_close(s);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 10;
    int gpus = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 8, cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);

    run("idle program, 3 metrics", NULL, seconds, gpus, 0);
    run("idle program, 8 metrics", "total-mem,mem-util,compute-util,power,temp,clock_sm,clock_mem,energy", seconds,
        gpus, 0);
    run("one busy thread a processor", NULL, seconds, gpus, MIN(cpus, 64));
    return 0;
}
