/*
 * batch.h: one message of an agent: some ticks of samples, column by column, the processes on the devices, and events.
 * Key: (node, run, number). run is 64 random bits per agent start; number counts up from 1.
 */
#pragma once

#include "base/mem.h"
#include "model/event.h"
#include "model/fact.h"
#include "model/state.h"

#define TICKS_MAX 4096 /* per batch */

struct batch_key {
    struct node_id node;
    uint64_t run, number;
};

/* One metric of one slot over the batch's ticks. v[i] is valid only if its bit in have is set (NULL: all are). */
struct column {
    uint16_t metric; /* the wire number (metrics.def), or METRIC_CUSTOM and up */
    uint16_t slot;   /* 0: the node; n: facts.devices[n - 1] */
    const uint64_t *have;
    const int64_t *v;
};

/* A process on a device, as last seen in the batch. */
struct proc_use {
    uint16_t proc; /* index into the process list named by procs */
    uint16_t slot;
    uint8_t kind; /* enum proc_kind bits */
    int64_t mem;  /* bytes, -1 unknown */
    int32_t sm;   /* 0.01 %, -1 unknown */
};

struct batch {
    struct batch_key key;
    uint64_t facts; /* hash of the node_fact blob; 0: none */
    uint64_t procs; /* hash of the proc_list blob; 0: none */
    size_t n_ticks, n_columns, n_uses, n_events;
    const int64_t *at_ms;         /* ascending */
    const struct column *columns; /* by metric, then slot; each (metric, slot) once */
    const struct proc_use *uses;
    const struct node_event *events;
};

static inline bool column_has(const struct column *c, size_t tick)
{
    return !c->have || (c->have[tick / 64] >> (tick % 64) & 1);
}

/* Status of the agent, sent with every POST, batch or not. */
struct hello {
    struct node_id node;
    uint64_t run;
    int64_t sent_ms;        /* its wall clock when it sent */
    int64_t state_since_ms; /* start of the current value of collect */
    uint8_t collect;        /* enum collect_state */
    uint8_t stuck;          /* collector children that cannot be ended */
    uint32_t backlog;       /* batches waiting on disk */
    char name[NAME_MAX_LEN];
    char why[160]; /* the reason as text, if collect is not ok */
};
