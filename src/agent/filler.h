/*
 * filler.h: makes batches, tick by tick, of the collector's messages and this machine's own metrics. It has no loop and
 * no socket: the owner of the clock calls it. It encodes the facts and the process list, since a batch refers to them
 * by hash.
 *
 * F1 A batch's slots and process numbers always belong to the facts and the list it refers to: a change of facts closes
 *    the batch first.
 * F2 M_busy never falls within a run (counter.h).
 * F3 Node metrics do not depend on the collector.
 * F4 A batch never exceeds the caps of wire.h.
 */
#pragma once

#include "collect/child.h"
#include "collect/host.h"
#include "wire/packet.h"

/* One closed batch, borrowed for the length of the call. */
struct filled {
    struct batch batch;
    int64_t at_ms;
    struct enclosure *facts, *procs; /* procs NULL: none received yet */
    const struct node_fact *node;
    const struct proc_list *list;
};
typedef void filler_out_fn(void *arg, const struct filled *f);

struct filler;
/* name empty or NULL: the host's. host may be NULL: no node metrics (it stays the caller's). */
struct filler *filler_new(const struct node_id *id, uint64_t run, const char *name, int64_t tick_ms, struct host *host,
                          filler_out_fn *out, void *arg);
void filler_free(struct filler *f);

void filler_rename(struct filler *f, const char *name, int64_t tick_ms); /* new settings */
void filler_restart(struct filler *f); /* the next messages are from a new collector */
void filler_msg(struct filler *f, const struct child_msg *m, int64_t mono_ms);
/*
 * Called once per tick: if the collector sent none for more than one and a half ticks, adds one with node metrics only.
 */
void filler_beat(struct filler *f, int64_t now_ms, int64_t mono_ms);
void filler_event(struct filler *f, enum event_kind kind, int64_t at_ms, int64_t code, const char *text);
void filler_flush(struct filler *f);             /* closes the batch if there is anything in it */
const char *filler_name(const struct filler *f); /* the node's name as it goes out */
