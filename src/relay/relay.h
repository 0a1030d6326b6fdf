/*
 * relay.h: all machines that are read over ssh, and which of them may connect next.
 *
 * R1 At most `connections` are being opened at the same time; established connections do not count.
 * R2 Machines are added and removed with the list. A removed machine is kept as unlisted for UNLISTED_MS.
 * R3 Machines do not affect each other.
 */
#pragma once

#include "relay/ssh_node.h"

#define UNLISTED_MS 600000

struct relay;
struct relay *relay_new(struct event_base *loop, struct post *post);
void relay_free(struct relay *r); /* before its post */
/* Applies new settings and their list. Returns 0 or -errno with a message in err; on failure nothing changes. */
int relay_set(struct relay *r, const struct relay_settings *s, struct err *err);

struct json;
void relay_sources(const struct relay *r, struct json *j); /* finder_status_json of its sources */

struct relay_stat {
    size_t nodes, connecting, waiting;
    size_t states[COLLECT_STATES];
    uint64_t rounds;
};
void relay_stat(const struct relay *r, struct relay_stat *ret);
