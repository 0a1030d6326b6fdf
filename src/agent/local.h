/*
 * local.h: this machine without a hub, for `muster ls` and `muster top`: the collector process is started, and what it
 * says comes as the same four things a hub gets from an agent, so that the caller can feed its live state.
 */
#pragma once

#include "agent/conf.h"
#include "model/batch.h"

/* All borrowed for the length of the call. facts before the first batch that names them, procs likewise. */
struct local_sink {
    void *arg;
    void (*hello)(void *arg, const struct hello *h);
    void (*facts)(void *arg, uint64_t id, const struct node_fact *f);
    void (*procs)(void *arg, uint64_t id, const struct proc_list *l);
    void (*batch)(void *arg, const struct batch *b);
};

struct local;
/* conf and sink are copied, what they point to is not. */
int local_open(struct local **ret, const struct agent_conf *conf, const struct local_sink *sink, struct err *err);
/*
 * Wait for the next tick, or the word that there is nothing to read, and deliver it. 1 delivered; 0 nothing came in
 * time: a hello says that the driver does not answer (collect_timeout), or is starting; -errno: the collector ended.
 */
int local_next(struct local *l, int64_t timeout_ms, struct err *err);
int local_fd(const struct local *l); /* readable when local_next has something to do */
void local_close(struct local *l);   /* lets go of the driver; never waits for it for long */

/* Open, the first tick and one more (what is a difference of two is known then), close. Returns as local_next for the
 * first; the second may be missing when it does not come in time. */
int local_snapshot(const struct agent_conf *conf, int64_t timeout_ms, const struct local_sink *sink, struct err *err);
