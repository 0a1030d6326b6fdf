/*
 * demo_cluster.h: an invented cluster that plays the recorded H200 trace: nodes, GPUs, people and their jobs, which
 * begin and end. For the demo, for load and for tests; the same seed gives the same play.
 */
#pragma once

#include "base/rand.h"
#include "collect/replay.h"
#include "model/gather.h"

enum demo_cluster_trouble { DEMO_CLUSTER_WELL, DEMO_CLUSTER_HUNG, DEMO_CLUSTER_DOWN };

struct demo_cluster_node {
    struct node_id id;
    struct node_fact fact;
    struct proc_list procs;
    struct proc_use *uses;
    size_t n_uses;
    uint64_t procs_changed; /* grows when procs did: time to send them again */
    enum demo_cluster_trouble trouble;
    struct prng rng;
    struct demo_cluster_gpu *gpus;
    size_t n_gpus;
    const struct replay *trace;
    int64_t last_ms, boot_ms;
    int32_t next_pid;
    unsigned people;
    int64_t every_ms; /* ticks this far apart each show another row of the trace; 0: as time goes */
    bool calm;        /* no new jobs: the demo's fixed scenes */
    int64_t net_rx, net_tx;
};

/* Node number `no` of a cluster with this seed, named prefix + number. people: how many come; 0: the usual eight. */
void demo_cluster_init(struct demo_cluster_node *n, const struct replay *trace, const char *prefix, unsigned no,
                       unsigned gpus, uint64_t seed, unsigned people, int64_t now_ms);
/* The demo's six nodes: one down, one with a hung driver, one GPU held and idle, several people at work. */
#define DEMO_CLUSTER_DEMO_NODES  6
#define DEMO_CLUSTER_DEMO_GPUS   8
#define DEMO_CLUSTER_DEMO_PREFIX "dgx"
#define DEMO_CLUSTER_DEMO_SEED   20261115
void demo_cluster_init_demo(struct demo_cluster_node *n, const struct replay *trace, unsigned no, int64_t now_ms);
void demo_cluster_fini(struct demo_cluster_node *n);
/* Play up to at_ms and add one tick to g. A hung node adds its own metrics only. */
void demo_cluster_tick(struct demo_cluster_node *n, int64_t at_ms, struct gather *g);
