/*
 * audit.h: the audit log: who wrote what over HTTP, from where, and how that ended. An entry is a note in the store
 * (NOTE_AUDIT): one JSON object. It is made by the request path (hub/routes.c) when the reply is known, and is a line
 * of the hub's log as well.
 *
 * A1 Every write of a route without no_audit is one entry, refused ones too. What machines' tokens write is an entry
 * only if it is refused. A2 No body, no query and no secret is in an entry; its detail has
 * only words that the handler knows: keys, a role. A3 Its size is bounded, and nobody can push
 * the entries of others out: entries are made at a limited rate, with separate limits for refused requests of users,
 * other refused requests, writes without a token, and the writes of each token or person. `skipped` of the next entry
 * is the number of the others; those of users are lines of the hub's log. The store keeps the newest AUDIT_MAX.
 */
#pragma once

#include "access/tokens.h"

#define AUDIT_BURST      100   /* entries of one limit that are made immediately; … */
#define AUDIT_USER_BURST 1000  /* … the same for the writes of one token or person; … */
#define AUDIT_EVERY      60000 /* … then one in this many ms */

struct api;
struct audit;
struct request;
struct store;
struct trail;

struct audit *audit_new(void);
void audit_free(struct audit *a);
/* Stores an entry of a command that writes to the store without a hub, with the user that runs it. */
int audit_command(struct store *s, const char *command, int status, const char *object, const char *detail,
                  struct err *err);
struct trail *audit_begin(struct api *a, const struct request *rq); /* hub/api.h */
/* The request is this token's, though it came without: who logs in. */
void audit_by(const struct request *rq, const struct token *t);
/* The request changes nothing: no entry unless it is refused. */
void audit_none(const struct request *rq);
