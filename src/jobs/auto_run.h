/* auto_run.h: shared by auto.c and auto_settle.c: the runs of nodes in memory. */
#pragma once

#include <sys/queue.h>

#include "base/buf.h"
#include "base/lookup.h"
#include "base/mem.h"
#include "jobs/auto.h"

enum auto_queue { AUTO_WAITS_NOT, AUTO_BEGINS, AUTO_ENDS, AUTO_QUEUES };

struct auto_proc {
    int32_t pid, root_pid, ppid;
    uint16_t device; /* index in its run's devices */
    bool ended, covered;
    int64_t start_ms, first_ms, last_ms;
};

/* The runs of one launch, on any nodes. */
struct auto_launch {
    uint64_t hash; /* of its launch text and its user */
    size_t n;      /* runs */
    int64_t start_ms;
};

struct auto_run {
    TAILQ_ENTRY(auto_run) link;
    enum auto_queue queue;
    int64_t due_ms;
    struct auto_node *node;
    int64_t id, parent, start_ms, last_ms;
    int64_t label; /* the job that covers it; 0: none */
    int64_t label_start_ms;
    bool kept;    /* it has a record; as stored last: */
    bool looking; /* the stored jobs of its node are being read */
    bool planned; /* it was queued before */
    bool early;   /* it is read before its label may have arrived: again later */
    int64_t put_start_ms, put_end_ms, put_parent;
    size_t put_devices;
    char login[64], name[64], pod[48], container[72];
    char *cmd, *at; /* at: where its launch meets; NULL: unknown */
    int64_t slurm;
    struct auto_launch *launch; /* NULL: none */
    bool leads;                 /* the other runs of its launch are its parts */
    bool first_read;            /* the first minutes of its GPUs were read from the store (apart_first.h) */
    uint64_t *groups;
    char **devices;
    struct auto_proc *procs;
    size_t n_groups, cap_groups, n_devices, cap_devices, n_procs, cap_procs;
    size_t n_active; /* of procs: not ended */
};

struct auto_node {
    char key[NODE_KEY_MAX];
    struct auto_run **runs;
    size_t n, cap;
};

struct auto_runs {
    struct auto_conf conf;
    struct auto_out out;
    struct lookup by_node;
    struct lookup launches;  /* struct auto_launch */
    struct lookup by_launch; /* runs that lead a launch */
    TAILQ_HEAD(, auto_run) queues[AUTO_QUEUES];
    size_t n;
};

void auto_queue(struct auto_runs *a, struct auto_run *r, enum auto_queue to, int64_t due_ms);
void auto_drop(struct auto_runs *a, struct auto_run *r);
size_t auto_device(struct auto_run *r, struct str uuid); /* its index; added if not found */
/* Gives it an id that no other run of its node and none of these jobs has. */
void auto_name(struct auto_run *r, struct job_fact *const *jobs, size_t n_jobs);
int64_t auto_until(const struct auto_run *r);
int64_t auto_shown(const struct auto_run *r); /* the id that users see */
/* Stores that record id is no longer a run and leads to another job. */
void auto_publish_joined(struct auto_runs *a, int64_t id, int64_t start_ms, int64_t into);
/* Uses the jobs of its node: the run is covered, found again, started, changed or ended. */
void auto_settle_run(struct auto_runs *a, struct auto_run *r, struct job_fact *const *jobs, size_t n, int64_t now_ms);
