/*
 * peers.h: what the hub keeps of a node beside its live state: its record, its clock, what it sent lately, the
 * processes whose end is still to come. Every node in the live state has one, found by its key.
 */
#pragma once

#include "now/live.h"
#include "store/samples.h"

#define PEER_RECENT 32

struct peer_proc { /* a process on a device that has not ended */
    char device[UUID_MAX];
    int64_t first_ms, last_ms, mem_max, saved_ms;
    int64_t saved_first_ms, saved_weight; /* as the record has them; 0: there is none */
    bool seen;
    int32_t pid;
    int64_t start_ms;
    bool named, was_named; /* its user is known; the record knows it */
    uint8_t kind;
    int64_t sm_sum, sm_n; /* shares of the multiprocessors that were told */
    char *fact;           /* packed, ours */
};

struct peer {
    struct store_node rec;
    int64_t saved_ms;        /* when rec was last put */
    bool heard;              /* since the hub started */
    bool mine;               /* this hub took its newest batch: the record is written here. Else rec is as stored */
    int64_t sampled_from_ms; /* the earliest sample since then; 0: none */
    int64_t shift_ms;        /* added to the times it sends */
    int64_t refused_ms;
    unsigned in_flight; /* requests waiting for the disk */
    bool wanting;       /* blobs of it are on their way from the store (shown.c) */
    bool shares;        /* another node has GPUs of it, too (twins.c) */
    struct {
        uint64_t told, own; /* facts as its agent names them, and as they are kept */
    } facts[2];
    uint64_t sight; /* where it shares: who else had its GPUs when that was looked at, see twins_sight */
    struct budget {
        int64_t spent, at_ms;
    } work, events; /* what it made us do lately: bytes to unpack, events told; see peer_may and peer_may_tell */
    struct {
        uint64_t run, number;
    } recent[PEER_RECENT]; /* taken since the hub started: a repeat is not news */
    unsigned at;
    struct {
        int64_t at_ms; /* 0: never */
        uint64_t state;
    } others;            /* when they were last told of it, whoever looks, and how it was (shown.c) */
    uint64_t told_procs; /* a list that came ahead of its batch, 0 for none: */
    struct proc_list told;
    size_t n_procs, cap_procs;
    struct peer_proc *procs;
    char minted[64]; /* a token it was given and has not used yet, */
    char minted_with[20];
    uint64_t minted_for; /* by which enroll token, and in which run */
    /* vesta's */
    uint64_t run, number;
    struct vesta_pace {
        int64_t post_ms, gap_ms; /* its last post, and the time before it without one; 0: not known */
        int64_t mean_ms;
    } vesta_pace;
};

struct peers;
struct peers *peers_new(struct store *store);
/* Told before a record is put: something about who was there in [from, to] is different now. */
void peers_watch(struct peers *p, void (*changed)(void *arg, const char *node, int64_t from_ms, int64_t to_ms),
                 void *arg);
/* Told of every process on a device that begins, goes on for long or has ended; also of one that is another hub's to
 * put. */
void peers_procs(struct peers *p, void (*seen)(void *arg, const struct proc_span *sp), void *arg);
/* Told of batches that another hub took, of a time that is shown already: what is in them is in the store alone. */
void peers_late(struct peers *p, void (*late)(void *arg, const char *node, int64_t from_ms, int64_t to_ms), void *arg);
void peers_tell_late(const struct peers *p, const char *node, int64_t from_ms, int64_t to_ms);
/* Whoever counts hours registers what it knows of a node's past: its first hour, where no sample of then_ms or later
 * can have made it; 0: there is none. */
void peers_counted(struct peers *p, int64_t (*first_before)(void *arg, const char *node, int64_t then_ms), void *arg);
int64_t peers_counted_before(const struct peers *p, const char *node, int64_t then_ms); /* asks that; 0: nobody did */
/* From now on processes are another hub's to put: they are only known here. */
void peers_quiet(struct peers *p, bool quiet);
void peers_free(struct peers *p);
struct peer *peers_find(const struct peers *p, const char *key);
struct peer *peers_get(struct peers *p, const char *key); /* made if it is not there */
void peers_drop(struct peers *p, const char *key);
size_t peers_count(const struct peers *p);
/* Put the record if it changed or a minute has passed. Its facts are put only by the hub that takes its batches. */
void peer_save(struct peers *p, struct peer *peer, const struct node_now *n, bool now, int64_t now_ms);
/* May this node make so much work now? It has 8 MiB a second, 64 MiB at once: one that floods us slows itself down. */
bool peer_may(struct peer *peer, int64_t bytes, int64_t now_ms);
void peer_spent(struct peer *peer, int64_t bytes); /* what was allowed took this much more */
/* May one more event of it be told and kept as a record? Ten a second, 4096 at once; its batches keep them all. */
bool peer_may_tell(struct peer *peer, int64_t now_ms);
/* True the first time this key is seen. */
bool peer_is_news(struct peer *peer, uint64_t run, uint64_t number);

/* Since when a process is on its device: when it was first seen there; of one that ran when its node was first heard of
 * (watched), since it began. */
int64_t peer_watched_ms(const struct peer *peer); /* when it was first heard of, or its first sample */
int64_t held_since_ms(int64_t watched_ms, int64_t start_ms, int64_t first_ms);
/* After a batch went live: processes that came and went, as records, and since when they are there, in n. at_ms: of the
 * batch's newest tick. */
void peer_track(struct peers *p, struct peer *peer, const struct node_now *n, int64_t at_ms);
/*
 * Processes out of batches that come late (an agent back after a day), gathered over one request: a day of batches
 * becomes a few puts. What is still there is extended backwards; what is not has ended.
 */
struct late_procs {
    size_t n, cap, hint, looked;
    struct peer_proc *v;
};
void late_see(struct late_procs *l, const char *device, const struct proc_fact *fact, const struct proc_use *use,
              int64_t first_ms, int64_t last_ms);
void late_put(struct late_procs *l, struct peers *p, struct peer *peer); /* and ends l */
/* Records of processes from before the hub started, so that their end is seen. */
int peers_load_procs(struct peers *p, int64_t from_ms, struct err *err);
