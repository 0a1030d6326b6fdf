/*
 * audit.h: the audit log: who wrote what over HTTP, from where, and how that ended. An entry is a note in the store
 * (NOTE_AUDIT): one JSON object. It is made by the request path (hub/routes.c) when the reply is known, and is a line
 * of the hub's log as well.
 *
 * A1 Every write of a route without no_audit is one entry, refused ones too. What machines' tokens write is an entry
 * only if it is refused. A2 No body, no query and no secret is in an entry. A3 Its size is bounded: refused requests
 * are entries only at a limited rate, those of unknown clients apart from those of users; the next entry has the number
 * of the others in `skipped`. The store keeps the newest AUDIT_MAX.
 */
#pragma once

#include "access/tokens.h"

#define AUDIT_REFUSED_BURST 100   /* refused requests that are entries at once; … */
#define AUDIT_REFUSED_EVERY 60000 /* … then one in this many ms */

struct api;
struct audit;
struct request;
struct trail;

struct audit *audit_new(void);
struct trail *audit_begin(struct api *a, const struct request *rq); /* hub/api.h */
/* The request is this token's, though it came without: who logs in. */
void audit_by(const struct request *rq, const struct token *t);
