/*
 * runs.h: run-days out of what agents saw, for the report. A run is a labelled job (model/job.h), else all processes of
 * one Slurm job, else one process tree of a login on a node. It has the devices its processes were on: while their
 * number changes, a day has one run-day per number, so that minutes * gpus is what was held.
 *
 * U1 Whose it is is looked up in people/, day by day: the company of the person, else that of the node. U2 Utilisation
 * is that of its devices while it was on them, from the minute tier (the hour tier where minutes are not kept any
 * more); what was not measured stays absent. U3 Work and memory are bounded, and it stops when told to.
 */
#pragma once

#include "base/mem.h"
#include "base/zone.h"
#include "history/history.h"
#include "report/report.h"

struct runs_node {
    const char *key, *name;
    int64_t last_ms; /* heard of */
};

/* Where it comes from. Text is borrowed by the result: people, nodes. */
struct runs_query {
    const struct people *people;
    const struct zone *zone;
    int32_t from, to;    /* days, both counted */
    const char *company; /* runs that are never of it are left out; NULL: all */
    int64_t now_ms;
    int64_t graphics_mem; /* a graphics process with less memory is a display server, and no run; 0: none is */
    size_t n_nodes;
    const struct runs_node *nodes;
    const struct past_source *past;
    bool util;  /* utilisation is wanted, too */
    bool spans; /* and who was on which device when */
};

/* A node of the records; the first n_nodes are those asked about, in their order. */
struct runs_host {
    const char *key, *name;
    size_t n_devices;
    const char **devices; /* uuids */
};

/* A run on one device, without a gap. The same login is the same pointer. */
struct run_span {
    uint32_t host, device; /* of hosts, of its devices */
    const char *login;
    int64_t uid;
    int64_t from_ms, until_ms; /* until_ms is the last moment that counts */
};

struct runs {
    size_t n, cap;
    struct run_day *v;
    size_t n_hosts, n_spans, cap_spans;
    struct runs_host *hosts; /* with spans */
    struct run_span *spans;
    struct known known; /* of days that somebody else counted (source.h) */
    struct arena arena; /* its text */
};

#define RUNS_PIECES_MAX 4000000 /* stretches of a process on a device */
#define RUNS_JOBS_MAX   200000
#define RUNS_DAYS_MAX   40000

/* 0; -E2BIG: more than that; -ECANCELED; what the three gave. ret is ended with runs_fini in any case. */
int runs_of(const struct runs_query *ask, struct runs *ret, struct err *err);
void runs_fini(struct runs *r);
/* For struct report_query: NULL where nothing was told of that. */
static inline const struct known *runs_known(const struct runs *r)
{
    return r->known.told ? &r->known : NULL;
}

enum runs_metric {
    RUNS_UTIL,
    RUNS_MEM,  /* of the memory controllers */
    RUNS_WORK, /* and on: enum work_kind */
    RUNS_METRICS = RUNS_WORK + WORK_KINDS
};

/* Each of these of a node's devices, device by device: by the minute, or by the hour where minutes are not kept any
 * more. ret is ended with history_fini. */
int runs_history(const struct runs_query *ask, const char *key, const char *const *devices, size_t n, int64_t from_ms,
                 int64_t to_ms, struct history *ret, struct err *err);
#define RUNS_CHUNK_DAYS 8 /* of a node are read at once */
