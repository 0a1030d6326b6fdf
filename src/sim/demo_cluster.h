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
    int64_t net_rx, net_tx;
    bool tells; /* its GPUs say what their parts do, as from Hopper on; the demo's do */
    /* of the demo */
    unsigned no;
    int64_t story_ms;    /* the moment of its opening; 0: no story, jobs come and go by chance alone */
    int64_t trouble_ms;  /* from when on it is in trouble */
    int64_t directed_ms; /* who comes and goes is settled up to here, by whole minutes: however often it ticks */
    struct prng noise;   /* for what does not say who comes */
};

/* Node number `no` of a cluster with this seed, named prefix + number. people: how many come; 0: the usual eight. */
void demo_cluster_init(struct demo_cluster_node *n, const struct replay *trace, const char *prefix, unsigned no,
                       unsigned gpus, uint64_t seed, unsigned people, int64_t now_ms);
/* The demo's six nodes: at the moment story_ms one is down, one has a hung driver, a GPU is held and idle, and several
 * people are at work. It begins a week before, and the week leads there: whoever plays it up to the same moment, by the
 * minute, sees the same jobs and counters, so that what is live goes on where the past that was made up ends. */
#define DEMO_CLUSTER_DEMO_NODES  6
#define DEMO_CLUSTER_DEMO_GPUS   8
#define DEMO_CLUSTER_DEMO_PREFIX "dgx"
#define DEMO_CLUSTER_DEMO_SEED   20261115
#define DEMO_CLUSTER_PAST_MS     (7ll * 1440 * 60000)
void demo_cluster_init_demo(struct demo_cluster_node *n, const struct replay *trace, unsigned no, int64_t story_ms);
/* Plays up to now; from there on it ticks as time goes. */
void demo_cluster_catch_up(struct demo_cluster_node *n, int64_t now_ms);
bool demo_cluster_has_trouble(const struct demo_cluster_node *n, enum demo_cluster_trouble trouble, int64_t at_ms);
/* When who is on this GPU will go, as far as the story is known. */
int64_t demo_cluster_until_ms(const struct demo_cluster_node *n, size_t gpu);
void demo_cluster_fini(struct demo_cluster_node *n);
/* Play up to at_ms and add one tick to g. A hung node adds its own metrics only. */
void demo_cluster_tick(struct demo_cluster_node *n, int64_t at_ms, struct gather *g);
