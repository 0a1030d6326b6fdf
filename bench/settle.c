/*
 * settle.c: compacts what a stopped hub left in its data folder, as it would have done itself within minutes, and says
 * what that took: a line "CPU_SECONDS PEAK_RSS_MB".
 *
 *   build/bench/settle DATA_FOLDER
 */
#include <sys/resource.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "hub/decode.h"

/* Of this program alone: ru_maxrss also counts what the process was before it ran this. */
static double peak_mb(void)
{
    char text[4096];
    int64_t kb = 0;
    struct str rest, word;

    if (file_read_small("/proc/self/status", text, sizeof(text)) >= 0) {
        rest = str_of(text);
        while (str_word(&rest, &word))
            if (str_eq(word, "VmHWM:") && str_word(&rest, &word))
                str_int(word, &kb);
    }
    return (double)kb / 1024;
}

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
    int64_t begin_us = clock_thread_us();
    int r = store_open(&s, &conf, NULL, &err);
    int64_t open_us = clock_thread_us() - begin_us; /* reading the log again, as only a start does */
    if (r < 0 || store_settle(s, &err) < 0) {
        fprintf(stderr, "settle: %s\n", err.msg);
        return 1;
    }
    store_close(s);
    getrusage(RUSAGE_SELF, &u);
    printf("%.3f %.1f\n",
           (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
               (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec - open_us) / 1e6,
           peak_mb());
    return 0;
}
