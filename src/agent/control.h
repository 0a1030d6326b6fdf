/*
 * control.h: `muster-agent pause 10m`, `resume` and `status` reach the running agent by a unix socket in its state
 * folder (0600). One line in, some lines out, closed. Only root and the agent's own user are heard.
 */
#pragma once

#include <event2/event.h>

#include "base/err.h"
#include "base/str.h"

struct buf;

/* line: what was asked, trimmed. Write the answer to out. 0, or -errno: then what is in out is the reason. */
typedef int control_fn(void *arg, struct str line, struct buf *out);

struct control;
int control_open(struct control **ret, struct event_base *base, const char *state_dir, control_fn *fn, void *arg,
                 struct err *err);
void control_close(struct control *c); /* removes the socket */

/* The other end: ask and wait. 0 with the answer; -ENOENT, -ECONNREFUSED: no agent runs there; -EREMOTEIO: it said no,
 * and the answer says why. */
int control_ask(const char *state_dir, const char *line, int64_t timeout_ms, struct buf *ret, struct err *err);
