/*
 * auto.h: runs that nobody labelled: a person's processes on the same GPUs of a node, or of one container, pod, Slurm
 * job or process group, without a long break between. Pure: processes as they are recorded go in, and now and then
 * what is stored of their nodes; jobs of kind auto come out.
 *
 * R1 Work follows processes that come and go, never batches or the number of nodes; a node is looked at in the store
 * when a run of it has lasted `after` and when it is over. R2 What a labelled job covers is no run beside it; where the
 * label came later, the run leads to it. R3 A run that is in the store already, of before a restart or of another hub,
 * is found there and goes on under its id. R4 Runs that turn out to be one become the one that began first, and the
 * other ids lead to it. R5 Memory is bounded: AUTO_RUNS, and of each run AUTO_PROCS.
 */
#pragma once

#include "model/fact.h"
#include "model/job.h"

#define AUTO_RUNS  200000
#define AUTO_PROCS 256
#define AUTO_KIND  "auto"

struct auto_conf {
    int64_t after_ms; /* what lasts less is no run; 0: none is made */
    int64_t gap_ms;
};

struct auto_seen { /* a process on a device, as it is put: begun, extended or ended */
    const char *node, *device;
    const struct proc_fact *fact; /* its user is known */
    int64_t first_ms, last_ms;
    bool ended;
};

/* Jobs as they are to be stored; borrowed for the call. */
struct auto_out {
    void (*begin)(void *arg, const struct job_fact *j);
    void (*change)(void *arg, const struct job_change *c);
    void *arg;
};

struct auto_look { /* jobs of this node that overlap this time are wanted */
    char node[NODE_KEY_MAX];
    int64_t from_ms, to_ms;
};

struct auto_runs;
struct auto_runs *auto_new(const struct auto_out *out);
void auto_free(struct auto_runs *a); /* accepts NULL */
void auto_set(struct auto_runs *a, const struct auto_conf *conf);
void auto_see(struct auto_runs *a, const struct auto_seen *s, int64_t now_ms);
/* Nodes that are to be looked at now, at most max. Each is settled, or put off. */
size_t auto_due(struct auto_runs *a, int64_t now_ms, struct auto_look *ret, size_t max);
void auto_settle(struct auto_runs *a, const char *node, struct job_fact *const *jobs, size_t n, int64_t now_ms);
void auto_put_off(struct auto_runs *a, const char *node, int64_t now_ms);
/* Another hub makes them: what ended is forgotten. */
void auto_rest(struct auto_runs *a, int64_t now_ms);
/* From now on this hub makes them: all are looked for in the store. */
void auto_begin(struct auto_runs *a, int64_t now_ms);
void auto_forget(struct auto_runs *a, const char *node); /* it is gone, or has another name */
size_t auto_count(const struct auto_runs *a);

struct auto_found { /* the run that goes on on a device, as people know it: its label's job, or the first of its launch
                     */
    int64_t id;
    uint64_t launch;  /* what it has in common with its parts on other nodes; 0: it is on this one alone */
    int64_t start_ms; /* the first of all of it that is known */
};
bool auto_find(const struct auto_runs *a, const char *node, const char *device, struct auto_found *ret);
/* Whether it goes on, or ended so lately that it may: this run on that node, by the id that people know it by; a launch
 * on any node. */
bool auto_goes_on(const struct auto_runs *a, const char *node, int64_t id);
bool auto_launched(const struct auto_runs *a, uint64_t launch);

/* What is said of the record id, which began then, when it is no run any more and leads to another job. */
#define AUTO_JOINED_LEN 48
struct job_change auto_leads_to(int64_t id, int64_t start_ms, int64_t into, char attrs[AUTO_JOINED_LEN]);
/* The job that this one became, or is part of since it was labelled; 0: none, it stands for itself. */
int64_t auto_joined(const struct job_fact *j);
