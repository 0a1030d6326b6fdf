/*
 * control.h: `muster-agent pause 10m`, `resume` and `status` reach the running agent through a unix socket in its state
 * folder (0600). A client sends one line and gets some lines, then the socket is closed. Only root and the agent's own
 * user may connect.
 */
#pragma once

#include <event2/event.h>

#include "base/err.h"
#include "base/str.h"

struct buf;

/* line: the command, trimmed. Writes the reply to out. Returns 0, or -errno: out then has the reason. */
typedef int control_fn(void *arg, struct str line, struct buf *out);

struct control;
int control_open(struct control **ret, struct event_base *base, const char *state_dir, control_fn *fn, void *arg,
                 struct err *err);
void control_close(struct control *c); /* removes the socket */

/*
 * The client: sends a line and waits for the reply. Returns 0 with the reply; -ENOENT, -ECONNREFUSED: no agent runs
 * there; -EREMOTEIO: it refused, and the reply has the reason.
 */
int control_request(const char *state_dir, const char *line, int64_t timeout_ms, struct buf *ret, struct err *err);
