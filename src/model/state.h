/* state.h: the states of a device and of a node: one order, one mark, one word on every screen. */
#pragma once

#include "base/str.h"

enum dev_state { DEV_FREE, DEV_HELD, DEV_BUSY, DEV_UNKNOWN, DEV_STARTING, DEV_STALE, DEV_HUNG, DEV_LOST, DEV_STATES };
#define DEV_IN_SIGHT DEV_UNKNOWN /* the last state with current values */

struct state_info {
    const char *word;         /* "free", "stale": in the API, in filters, in CSV */
    const char *mark, *ascii; /* "○", "." */
    const char *meaning;
    int ansi; /* SGR colour number: 32 green, 31 red, 33 amber, 90 grey, 35 magenta */
};
extern const struct state_info dev_states[DEV_STATES];

/* State of the collector child; sent in every HELLO. */
enum collect_state {
    COLLECT_STARTING,
    COLLECT_OK,
    COLLECT_HUNG,
    COLLECT_PAUSED,
    COLLECT_NONE,
    COLLECT_FAILED,
    COLLECT_STATES
};
#define UNLISTED "unlisted: " /* starts the reason of COLLECT_PAUSED if no list and no source names the node */
extern const char *const collect_words[COLLECT_STATES]; /* "starting", "ok", "hung", "paused", "none", "failed" */

/* up: a recent message; down: none for down_after; hung: agent alive, driver not; paused; maintenance (set by an
 * admin) */
enum node_state { NODE_UP, NODE_DOWN, NODE_HUNG, NODE_PAUSED, NODE_MAINTENANCE, NODE_STATES };
extern const char *const node_words[NODE_STATES];

/* The name on screens of the state of a device, a node or an event: "offline" for "stale" and "down". */
const char *state_shown(const char *word);

int dev_state_by_word(struct str s);  /* or -1 */
int node_state_by_word(struct str s); /* or -1 */
