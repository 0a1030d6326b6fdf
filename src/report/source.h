/*
 * source.h: run-days that somebody else counted, beside those of agents (runs.h): W&B. Whoever has them registers with
 * report when it opens.
 */
#pragma once

#include "report/runs.h"

/* What there is in a data folder, or on the server that hubs share. */
struct runs_available {
    bool any;                 /* days of runs; false: there is no file, or nothing in it */
    char zone[ZONE_NAME_MAX]; /* theirs */
    int64_t pulled_ms;        /* when the newest pull that came to its end began; 0: none did */
};

struct runs_available_query {
    int32_t from, to; /* days, both counted */
    size_t n_ignore_tags;
    const char *const *ignore_tags; /* in any case of letters */
    bool (*stop)(void *arg);        /* asked now and then; NULL: never */
    void *arg;
};

/* Both on any thread. dir NULL: there is nothing. */
struct runs_source {
    int (*told)(const char *dir, struct runs_available *ret, struct err *err);
    /* By team, project, run, day. -E2BIG, -ECANCELED, what the store gave. ret is ended with runs_fini in any case. */
    int (*days)(const char *dir, const struct runs_available_query *ask, struct runs *ret, struct err *err);
};

struct hub;
void report_take_source(struct hub *h, const struct runs_source *s);
const struct runs_source *report_source(void *hub); /* NULL: nobody registered */
