/*
 * local.h: reads this machine without a hub, for `muster ls` and `muster top`. Starts the collector process and
 * delivers its messages in the four forms that a hub gets from an agent, so that the caller can feed its live state.
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
/* conf and sink are copied, but not the data they point to. */
int local_open(struct local **ret, const struct agent_conf *conf, const struct local_sink *sink, struct err *err);
/*
 * Waits for the next tick, or for the message that there is nothing to read, and delivers it. Returns 1 if delivered; 0
 * on a timeout, after a hello with the state (the driver does not respond within collect_timeout, or is starting);
 * -errno: the collector ended.
 */
int local_next(struct local *l, int64_t timeout_ms, struct err *err);
int local_fd(const struct local *l); /* readable when local_next has something to do */
void local_close(struct local *l);   /* releases the driver; waits for it only for a short time */

/*
 * Opens, delivers the first tick and a second one (for values that are differences), and closes. Returns as local_next
 * for the first; the second may be missing if it is late.
 */
int local_snapshot(const struct agent_conf *conf, int64_t timeout_ms, const struct local_sink *sink, struct err *err);
