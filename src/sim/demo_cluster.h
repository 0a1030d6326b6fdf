/*
 * demo_cluster.h: an invented cluster that plays the recorded H200 trace: nodes, GPUs, people and their jobs, which begin and
 * end. For the demo, for load and for tests; the same seed gives the same play.
 */
#ifndef SIM_DEMO_CLUSTER_H
#define SIM_DEMO_CLUSTER_H

#include "base/rand.h"
#include "collect/replay.h"
#include "model/gather.h"

enum cast_trouble { CAST_WELL, CAST_HUNG, CAST_DOWN };

struct cast_node {
    struct node_id id;
    struct node_fact fact;
    struct proc_list procs;
    struct proc_use *uses;
    size_t n_uses;
    uint64_t procs_changed; /* grows when procs did: time to send them again */
    enum cast_trouble trouble;
    struct prng rng;
    struct cast_gpu *gpus;
    size_t n_gpus;
    const struct replay *trace;
    int64_t last_ms, boot_ms;
    int32_t next_pid;
    unsigned people;
    int64_t every_ms; /* ticks this far apart each show another row of the trace; 0: as time goes */
    bool calm;        /* no new jobs: the demo's fixed scenes */
    int64_t net_rx, net_tx;
};

/* Node number `no` of a cluster with this seed, named prefix + number. people: how many come to it; 0: the usual eight.
 */
void cast_init(struct cast_node *n, const struct replay *trace, const char *prefix, unsigned no, unsigned gpus,
               uint64_t seed, unsigned people, int64_t now_ms);
/* The demo's six nodes: one down, one with a hung driver, one GPU held and idle, several people at work. */
#define CAST_DEMO_NODES  6
#define CAST_DEMO_GPUS   8
#define CAST_DEMO_PREFIX "dgx"
#define CAST_DEMO_SEED   20261115
void cast_init_demo(struct cast_node *n, const struct replay *trace, unsigned no, int64_t now_ms);
void cast_fini(struct cast_node *n);
/* Play up to at_ms and add one tick to g. A hung node adds its own metrics only. */
void cast_tick(struct cast_node *n, int64_t at_ms, struct gather *g);

#endif
