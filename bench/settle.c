/*
 * settle.c: compacts what a stopped hub left in its data folder, as it would have done itself within minutes, and says
 * what that took: a line "CPU_SECONDS PEAK_RSS_MB".
 *
 *   build/bench/settle DATA_FOLDER
 */
#include <sys/resource.h>

#include "base/clock.h"
#include "base/mem.h"
#include "hub/decode.h"

int main(int argc, char **argv)
{
    struct store_conf conf = {.dir = argv[1], .now_ms = clock_wall_ms, .decoder = &hub_decoder};
    struct err err = {0};
    struct store *s;
    struct rusage u;

    if (argc != 2) {
        fprintf(stderr, "usage: settle DATA_FOLDER\n");
        return 2;
    }
    if (store_open(&s, &conf, NULL, &err) < 0 || store_settle(s, &err) < 0) {
        fprintf(stderr, "settle: %s\n", err.msg);
        return 1;
    }
    store_close(s);
    getrusage(RUSAGE_SELF, &u);
    printf("%.3f %.1f\n",
           (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6,
           (double)u.ru_maxrss / 1024);
    return 0;
}
