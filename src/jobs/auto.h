/*
 * auto.h: detects runs that no user labelled: a person's processes on the same GPUs of a node, or of one container,
 * pod, Slurm job or process group, without a long pause. Pure: the input is recorded processes and, occasionally, the
 * stored jobs of their nodes; the output is jobs of kind auto.
 *
 * R1 Work depends on processes that start and end, never on batches or the number of nodes. A node's stored jobs are
 *    read when one of its runs has lasted `after`, and when the run ends.
 * R2 Processes that a labelled job covers are not a separate run. If the label came later, the run leads to it.
 * R3 A run that is already stored, from before a restart or by another hub, is found in the store and continues under
 *    its id.
 * R4 Runs that turn out to be one merge into the run that started first, and the other ids lead to it.
 * R5 Memory is bounded: AUTO_RUNS, and AUTO_PROCS per run.
 */
#pragma once

#include "model/fact.h"
#include "model/job.h"

#define AUTO_RUNS  200000
#define AUTO_PROCS 256
#define AUTO_KIND  "auto"

struct auto_conf {
    int64_t after_ms; /* minimum duration of a run; 0: no runs are detected */
    int64_t gap_ms;
};

struct auto_seen { /* a process on a device, as recorded: started, extended or ended */
    const char *node, *device;
    const struct proc_fact *fact; /* its user is known */
    int64_t first_ms, last_ms;
    bool ended;
};

/* Receives the jobs to store; borrowed for the call. */
struct auto_out {
    void (*begin)(void *arg, const struct job_fact *j);
    void (*change)(void *arg, const struct job_change *c);
    void *arg;
};

struct auto_query { /* a read of the jobs of this node that overlap this time */
    char node[NODE_KEY_MAX];
    int64_t from_ms, to_ms;
};

struct auto_runs;
struct auto_runs *auto_new(const struct auto_out *out);
void auto_free(struct auto_runs *a); /* accepts NULL */
void auto_set(struct auto_runs *a, const struct auto_conf *conf);
void auto_see(struct auto_runs *a, const struct auto_seen *s, int64_t now_ms);
/* Nodes to read now, at most max. The caller settles or puts off each one. */
size_t auto_due(struct auto_runs *a, int64_t now_ms, struct auto_query *ret, size_t max);
void auto_settle(struct auto_runs *a, const char *node, struct job_fact *const *jobs, size_t n, int64_t now_ms);
void auto_put_off(struct auto_runs *a, const char *node, int64_t now_ms);
/* Another hub detects the runs now: forgets ended ones. */
void auto_rest(struct auto_runs *a, int64_t now_ms);
/* From now on this hub detects the runs: looks for all of them in the store. */
void auto_begin(struct auto_runs *a, int64_t now_ms);
void auto_forget(struct auto_runs *a, const char *node); /* the node was removed or renamed */
size_t auto_count(const struct auto_runs *a);

struct auto_found { /* the current run on a device, as users see it: its label's job, or the first of its launch */
    int64_t id;
    uint64_t launch;  /* shared with its parts on other nodes; 0: it uses only this node */
    int64_t start_ms; /* earliest known start of all its parts */
};
bool auto_find(const struct auto_runs *a, const char *node, const char *device, struct auto_found *ret);
/* Whether a run continues or ended so recently that it may resume: the run with this id on that node, by the id that
 * users see; a launch on any node. */
bool auto_is_active(const struct auto_runs *a, const char *node, int64_t id);
bool auto_launched(const struct auto_runs *a, uint64_t launch);

/* The change to store for record id, which started at start_ms, when it is no longer a run and leads to another job. */
#define AUTO_JOINED_LEN 48
struct job_change auto_leads_to(int64_t id, int64_t start_ms, int64_t into, char attrs[AUTO_JOINED_LEN]);
/* The job that this one merged into, or is part of since it was labelled; 0: none. */
int64_t auto_joined(const struct job_fact *j);
