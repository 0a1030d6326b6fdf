/*
 * demo_cluster.h: a simulated cluster that plays the recorded H200 trace: nodes, GPUs, users and their jobs. For the
 * demo, load and tests; the same seed gives the same result.
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
    uint64_t procs_changed; /* changes with procs: send them again */
    enum demo_cluster_trouble trouble;
    struct prng rng;
    struct demo_cluster_gpu *gpus;
    size_t n_gpus;
    const struct replay *trace;
    int64_t last_ms, boot_ms;
    int32_t next_pid;
    unsigned people;
    int64_t every_ms; /* each tick this far apart shows the next row of the trace; 0: real time */
    int64_t net_rx, net_tx;
    bool tells; /* its GPUs report activity of their parts (Hopper and later); the demo's do */
    /* demo only */
    unsigned no;
    int64_t story_ms;    /* start time of the story; 0: no story, jobs are random */
    int64_t trouble_ms;  /* start of its trouble */
    int64_t directed_ms; /* jobs are decided up to here, in whole minutes, regardless of the tick */
    struct prng noise;   /* for everything except the choice of users */
};

/* Node `no` of a cluster with this seed, named prefix + number. people: number of users; 0: eight. */
void demo_cluster_init(struct demo_cluster_node *n, const struct replay *trace, const char *prefix, unsigned no,
                       unsigned gpus, uint64_t seed, unsigned people, int64_t now_ms);
/*
 * The demo's six nodes: at story_ms one is down, one has a hung driver, a GPU is allocated but idle, and several users
 * work. It starts a week earlier and leads to that state. Every run to the same time, minute by minute, gives the same
 * jobs and counters, so that live data continues the generated history.
 */
#define DEMO_CLUSTER_DEMO_NODES  6
#define DEMO_CLUSTER_DEMO_GPUS   8
#define DEMO_CLUSTER_DEMO_PREFIX "dgx"
#define DEMO_CLUSTER_DEMO_SEED   20261115
#define DEMO_CLUSTER_PAST_MS     (7ll * 1440 * 60000)
void demo_cluster_init_demo(struct demo_cluster_node *n, const struct replay *trace, unsigned no, int64_t story_ms);
/* Plays up to now; then ticks in real time. */
void demo_cluster_catch_up(struct demo_cluster_node *n, int64_t now_ms);
bool demo_cluster_has_trouble(const struct demo_cluster_node *n, enum demo_cluster_trouble trouble, int64_t at_ms);
/* End of the current job on this GPU, as far as the story is known. */
int64_t demo_cluster_until_ms(const struct demo_cluster_node *n, size_t gpu);
void demo_cluster_fini(struct demo_cluster_node *n);
/* Plays up to at_ms and adds one tick to g. A hung node adds only its own metrics. */
void demo_cluster_tick(struct demo_cluster_node *n, int64_t at_ms, struct gather *g);
