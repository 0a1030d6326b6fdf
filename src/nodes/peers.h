/*
 * peers.h: the hub's data about a node apart from its live state: record, clock, recent batches, and running
 * processes. Every node in the live state has one, found by its key.
 */
#pragma once

#include "now/live.h"
#include "store/samples.h"

#define PEER_RECENT 32

struct peer_proc { /* a running process on a device */
    char device[UUID_MAX];
    int64_t first_ms, last_ms, mem_max, saved_ms;
    int64_t saved_first_ms, saved_weight; /* as stored in the record; 0: none */
    bool seen;
    int32_t pid;
    int64_t start_ms;
    bool named, was_named; /* its user is known; the record has it */
    uint8_t kind;
    int64_t sm_sum, sm_n; /* sum and number of reported SM shares */
    char *fact;           /* packed, owned */
};

struct peer {
    struct store_node rec;
    int64_t saved_ms; /* last write of rec */
    bool heard;       /* since the hub's start */
    bool mine;        /* this hub ingested its newest batch, so the record is written here. Else rec is as stored */
    int64_t sampled_from_ms; /* the earliest sample since then; 0: none */
    int64_t shift_ms;        /* added to the times it sends */
    int64_t refused_ms;
    unsigned in_flight; /* requests that wait for the disk */
    bool wanting;       /* its blobs are being read from the store (shown.c) */
    bool shares;        /* another node has some of its GPUs, too */
    struct {
        uint64_t told, own; /* id of facts from the agent, and of the stored ones */
    } facts[2];
    uint64_t sight; /* if it shares: the last result of dup_gpus_hash */
    struct budget {
        int64_t spent, at_ms;
    } work, events; /* recent cost: bytes to unpack, events published; see peer_rate_ok and peer_event_rate_ok */
    struct {
        uint64_t run, number;
    } recent[PEER_RECENT]; /* ingested since the hub's start, to ignore repeats */
    unsigned at;
    struct {
        int64_t at_ms; /* 0: never */
        uint64_t state;
    } others;            /* last message to other hubs, whatever the pace, and the state in it (shown.c) */
    uint64_t told_procs; /* a list that came before its batch, 0 for none: */
    struct proc_list told;
    size_t n_procs, cap_procs;
    struct peer_proc *procs;
    char minted[64]; /* a token created for it and not used yet, */
    char minted_with[20];
    uint64_t minted_for; /* the enroll token and run it was created for */
    /* vesta's */
    uint64_t run, number;
    struct vesta_pace {
        int64_t post_ms, gap_ms; /* its last post, and the interval before it; 0: unknown */
        int64_t mean_ms;
    } vesta_pace;
};

struct peers;
struct peers *peers_new(struct store *store);
/* changed() is called before a record is written that changes the usage in [from, to]. */
void peers_watch(struct peers *p, void (*changed)(void *arg, const char *node, int64_t from_ms, int64_t to_ms),
                 void *arg);
/* seen() is called for every process on a device when it starts, runs for long or has ended; also if another hub
 * stores it. */
void peers_procs(struct peers *p, void (*seen)(void *arg, const struct proc_span *sp), void *arg);
/* late() is called for batches that another hub ingested, of a period shown already: their data is in the store only.
 */
void peers_late(struct peers *p, void (*late)(void *arg, const char *node, int64_t from_ms, int64_t to_ms), void *arg);
void peers_publish_late(const struct peers *p, const char *node, int64_t from_ms, int64_t to_ms);
/* Registers a callback that returns a node's first counted hour, if no sample of then_ms or later can have caused it;
 * else 0. */
void peers_counted(struct peers *p, int64_t (*first_before)(void *arg, const char *node, int64_t then_ms), void *arg);
int64_t peers_counted_before(const struct peers *p, const char *node, int64_t then_ms); /* 0: not registered */
/* quiet: another hub stores processes; this hub only tracks them. */
void peers_quiet(struct peers *p, bool quiet);
void peers_free(struct peers *p);
struct peer *peers_find(const struct peers *p, const char *key);
struct peer *peers_get(struct peers *p, const char *key); /* created if missing */
void peers_drop(struct peers *p, const char *key);
size_t peers_count(const struct peers *p);
/* Writes the record if it changed or a minute has passed. Only the hub that ingests its batches writes its facts. */
void peer_save(struct peers *p, struct peer *peer, const struct node_now *n, bool now, int64_t now_ms);
/* Whether the node may cause this cost now: 8 MiB per second, bursts of 64 MiB. A node that floods the hub only slows
 * itself down. */
bool peer_rate_ok(struct peer *peer, int64_t bytes, int64_t now_ms);
void peer_spent(struct peer *peer, int64_t bytes); /* adds cost beyond the allowed one */
/* Whether one more event of the node may be published and stored: 10 per second, bursts of 4096. Its batches keep all
 * events. */
bool peer_event_rate_ok(struct peer *peer, int64_t now_ms);
/* Returns true the first time this key is seen. */
bool peer_first_seen(struct peer *peer, uint64_t run, uint64_t number);

/* Start of a process on its device: the time it was first seen there. If it ran when its node was first seen
 * (watched), the start of the process. */
int64_t peer_watched_ms(const struct peer *peer); /* its first contact or first sample */
int64_t held_since_ms(int64_t watched_ms, int64_t start_ms, int64_t first_ms);
/* After a batch was applied: stores started and ended processes, and sets their start times in n. at_ms: newest tick
 * of the batch. */
void peer_track(struct peers *p, struct peer *peer, const struct node_now *n, int64_t at_ms);
/*
 * Processes from late batches (an agent reconnects after a day), collected over one request: a day of batches needs
 * only a few writes. A process that still runs is extended backwards; others have ended.
 */
struct late_procs {
    size_t n, cap, hint, looked;
    struct peer_proc *v;
};
void late_see(struct late_procs *l, const char *device, const struct proc_fact *fact, const struct proc_use *use,
              int64_t first_ms, int64_t last_ms);
void late_put(struct late_procs *l, struct peers *p, struct peer *peer); /* also frees l */
/* Loads records of processes from before the hub's start, so that their end is noticed. */
int peers_load_procs(struct peers *p, int64_t from_ms, struct err *err);
