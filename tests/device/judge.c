/*
 * judge.c: what the rules make of jobs that tests/device/work.py recorded through the agent, and how near `flops` comes
 * to what each job counted. Reads its CSV from standard input: job, tflops, at_ms, then metrics by name in stored
 * steps; an empty cell is absent. Prints a line per job, and 1 is returned when one is not as its column `want` says.
 */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/str.h"
#include "verdict/tracker.h"

enum { COLUMNS = 64 };

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
    size_t n = tracker_tell(now.t, a, ADVICE_COUNT);
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
    static char line[65536];
    int column[COLUMNS], n = 0;
    if (!fgets(line, sizeof(line), stdin))
        return 2;
    struct str rest = str_trim(str_of(line)), cell;
    while (n < COLUMNS && str_cut(&rest, ',', &cell))
        column[n++] = metric_by_name(cell);
    while (fgets(line, sizeof(line), stdin)) {
        struct sample s = {0};
        char job[64] = "", want[32] = "";
        int64_t v, tflops = 0;
        rest = str_trim(str_of(line));
        for (int i = 0; i < n && str_cut(&rest, ',', &cell); i++) {
            if (i == 0)
                memcpy(job, cell.p, MIN(cell.len, sizeof(job) - 1));
            else if (i == 1)
                memcpy(want, cell.p, MIN(cell.len, sizeof(want) - 1));
            else if (str_fixed(cell, i == 2 ? 1000 : 1, &v)) {
                if (i == 2)
                    tflops = v;
                else if (i == 3)
                    s.at_ms = v;
                else if (column[i] >= 0)
                    sample_set(&s, (enum metric)column[i], v);
            }
        }
        if (strcmp(job, now.job) != 0) {
            end_job();
            memset(&now, 0, sizeof(now));
            memcpy(now.job, job, sizeof(job));
            memcpy(now.want, want, sizeof(want));
            now.counted = (double)tflops / 1000;
            now.t = tracker_new(ADVICE_READING_MS);
        }
        tracker_add(now.t, &s);
        now.seconds++;
        if (sample_has(&s, M_flops)) {
            now.flops += (double)s.v[M_flops] / 1000;
            now.n_flops++;
        }
    }
    end_job();
    return bad;
}
