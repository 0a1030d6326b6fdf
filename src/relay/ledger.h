/*
 * ledger.h: the machines that are known by GPU Monitor's files (collect/readings.h), however these come. Each is a node
 * `file:HOST` and belongs to whoever brought its first file.
 *
 * L1 A round is told when a reading is newer than the last; when there is none for a minute, what the machine says of
 * itself is told alone. L2 Readings
 * of the future are told as of now; older than a day they are not told. L3 Newest reading older than FILES_STALE_MS:
 * the node says so.
 */
#ifndef RELAY_LEDGER_H
#define RELAY_LEDGER_H

#include "collect/readings.h"
#include "relay/post.h"

#define LEDGERS_MAX        8192
#define FILES_FORGET_MS    600000 /* nobody has brought it for this long: it is forgotten here */
#define FILES_MACHINES_MAX 64     /* of one listing */

struct ledgers;
struct ledger;
struct ledgers *ledgers_new(struct event_base *loop, struct post *post);
void ledgers_free(struct ledgers *all);
void ledgers_zone(struct ledgers *all, const struct readings_zone *z);
size_t ledgers_count(const struct ledgers *all, size_t ret_states[COLLECT_STATES]);

/* The one of that name, made when there is none. NULL: it is somebody else's, or there are too many. */
struct ledger *ledgers_get(struct ledgers *all, struct str host, const void *owner);
/* Everything of owner, in turn. */
void ledgers_each(struct ledgers *all, const void *owner, void (*call)(void *arg, struct ledger *l), void *arg);

const char *ledger_name(const struct ledger *l);
void ledger_take(struct ledger *l, enum readings_file which, struct str text, int64_t written_ms);
void ledger_round(struct ledger *l);                  /* all files of a pass have been taken */
void ledger_fail(struct ledger *l, const char *why);  /* they cannot be had */
void ledger_leave(struct ledger *l, const char *why); /* nobody brings it any more; forgotten after a while */

#endif
