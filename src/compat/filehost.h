/*
 * filehost.h: the machines that are known by GPU Monitor's files (relay/readings.h), however the files come. Each is a
 * node `file:HOST` and belongs to whoever brought its first file.
 *
 * L1 Readings are sent when one is newer than the last; when there is none for a minute, what the machine says of
 * itself is sent alone. L2 Readings of the future are sent as of now; those older than a day are not sent. L3 Newest
 * reading older than FILES_STALE_MS: the node says so.
 */
#pragma once

#include "relay/readings.h"
#include "uplink/post.h"

#define FILEHOSTS_MAX      8192
#define FILES_FORGET_MS    600000 /* nobody has brought it for this long: it is forgotten here */
#define FILES_MACHINES_MAX 64     /* of one listing */

struct filehosts;
struct filehost;
struct filehosts *filehosts_new(struct event_base *loop, struct post *post);
void filehosts_free(struct filehosts *all);
void filehosts_zone(struct filehosts *all, const struct readings_zone *z);
size_t filehosts_count(const struct filehosts *all, size_t ret_states[COLLECT_STATES]);

/* The one of that name, made when there is none. NULL: it is somebody else's, or there are too many. */
struct filehost *filehosts_get(struct filehosts *all, struct str host, const void *owner);
/* Everything of owner, in turn: at is 0 before the first. NULL: that was all. */
struct filehost *filehosts_next(struct filehosts *all, const void *owner, size_t *at);

const char *filehost_name(const struct filehost *l);
void filehost_take(struct filehost *l, enum readings_file which, struct str text, int64_t written_ms);
void filehost_labels(struct filehost *l, const char *labels); /* what sources say of it; NULL: nothing */
void filehost_round(struct filehost *l);                      /* all files of a pass have been taken */
void filehost_fail(struct filehost *l, const char *why);      /* they cannot be had */
void filehost_leave(struct filehost *l, const char *why);     /* nobody brings it any more; forgotten after a while */
