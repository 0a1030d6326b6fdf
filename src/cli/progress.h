/* progress.h: how far a long command has got, on standard error when that is a terminal; silent otherwise. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *unit;                 /* "bytes", or a plain noun: "samples" */
    int64_t total, start_ms, said_ms; /* total 0: not known */
    char what[24];
    bool on, shown;
};

/* what: a verb's noun, "backup". It may be changed by progress_start again: the line begins anew. */
void progress_start(struct progress *p, const char *what, const char *unit, int64_t total, bool quiet);
void progress_at(struct progress *p, int64_t done);        /* cheap: says something four times a second */
void progress_watch(void *p, int64_t done, int64_t total); /* the same for whoever is told both */
void progress_end(struct progress *p);                     /* takes the line away */
