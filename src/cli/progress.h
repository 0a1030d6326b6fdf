/* progress.h: progress of a long command, on standard error if that is a terminal; silent otherwise. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *unit;                 /* "bytes", or a plain noun: "samples" */
    int64_t total, start_ms, said_ms; /* total 0: unknown */
    char what[24];
    bool on, shown;
};

/* what: a noun, "backup". A second progress_start may change it and restart the line. */
void progress_start(struct progress *p, const char *what, const char *unit, int64_t total, bool quiet);
void progress_at(struct progress *p, int64_t done);        /* cheap: prints four times a second */
void progress_watch(void *p, int64_t done, int64_t total); /* the same as a callback with both numbers */
void progress_end(struct progress *p);                     /* removes the line */
