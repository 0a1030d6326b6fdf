/*
 * judge.c: what the rules make of jobs that tests/device/work.py recorded through the agent, and how near `flops` comes
 * to what each job counted. Reads its CSV (tests/kit/recorded.h) from standard input. Prints a line per job, and 1 is
 * returned when one is not as its column `want` says.
 */
#include <math.h>
#include <stdio.h>

#include "recorded.h"
#include "verdict/tracker.h"

static struct {
    char job[64], want[32];
    double counted, flops;
    int n_flops, seconds;
    struct tracker *t;
} now;
static int bad;

static void end_job(void)
{
    struct advice a[ADVICE_COUNT];
    if (!now.t)
        return;
    size_t n = tracker_advice(now.t, a, ADVICE_COUNT);
    double flops = now.n_flops ? now.flops / now.n_flops : NAN;
    int right = n == 0 ? now.want[0] == 0 : n == 1 && strcmp(advice_rules[a[0].rule].name, now.want) == 0;
    bad |= !right;
    printf("%-5s %s, %d samples: wanted %s;", right ? "ok" : "WRONG", now.job, now.seconds,
           now.want[0] ? now.want : "nothing");
    for (size_t i = 0; i < n; i++)
        printf(" %s (%s)", advice_rules[a[i].rule].name, a[i].evidence);
    printf("%s; flops %.1f, counted %.1f", n ? "" : " nothing", flops, now.counted);
    if (now.counted > 0)
        printf(" (%+.1f %%)", (flops / now.counted - 1) * 100);
    printf("\n");
    tracker_free(now.t);
}

int main(void)
{
    static struct recorded file;
    struct recorded_row row;
    if (!recorded_begin(&file, stdin))
        return 2;
    while (recorded_next(&file, &row)) {
        if (strcmp(row.job, now.job) != 0) {
            end_job();
            memset(&now, 0, sizeof(now));
            memcpy(now.job, row.job, sizeof(now.job));
            memcpy(now.want, row.want, sizeof(now.want));
            now.counted = row.tflops;
            now.t = tracker_new(ADVICE_READING_MS);
        }
        tracker_add(now.t, &row.s);
        now.seconds++;
        if (sample_has(&row.s, M_flops)) {
            now.flops += (double)row.s.v[M_flops] / 1000;
            now.n_flops++;
        }
    }
    end_job();
    return bad;
}
