/*
 * tokens.h: the hub's tokens: looked up for every request, bound to a node at first use, made for nodes that enrol.
 * All are in memory. The command line makes and revokes them beside the hub: what it revoked ends within a second
 * (tokens_tick), and one that is not known is looked for in the store before it is refused.
 * Who has a node is decided by what was put, whether or not the disk has it yet. Of several hubs that give a token to a
 * node, or add one node too many, at once, the store takes the first; the others know it some seconds later.
 */
#pragma once

#include "access/auth.h"

struct hub;
struct request;
struct store;
struct store_token;
struct tokens;

struct tokens *tokens_new(struct store *store);
void tokens_free(struct tokens *t);
void tokens_share(struct tokens *t); /* other hubs put them into the same store: what it says in the end counts */
int tokens_load(struct tokens *t, struct err *err); /* all that are in the store */
void tokens_tick(struct hub *h);                    /* once a second: a thread looks whether any changed */
void tokens_know(struct tokens *t, const struct store_token *st); /* the store has this one */
bool tokens_find(const struct tokens *t, const char *id, struct token *ret);
/* Of one that is not known, while a request is admitted: -EINPROGRESS: it is looked for, and the request is admitted
 * again; 0: it was, and there is none; -errno. */
int tokens_admit_later(struct hub *h, struct request *rq, const char *id);
/* tokens_find inside a handler, of one that may be new: 1, 0 or -errno; -EINPROGRESS: as look.h says. */
int tokens_find_for(struct hub *h, struct request *rq, const char *id, struct token *ret);
#define TOKENS_UNREADABLE "tokens cannot be read just now; try again"
/*
 * An agent token is used by this node: bind it if it is not bound yet, note the day. Of several the first used counts.
 * 0; -EACCES with a sentence when it is another node's, or the node belongs to another token.
 */
int tokens_use(struct tokens *t, const char *id, const char *node, int64_t now_ms, struct err *err);
/*
 * A token of its own for a node that came with an enroll token. A node enrolled before with the same enroll token gets
 * a new secret in place of the old, unless it is alive: who has the enroll token must not take a living node's token
 * away from it (-EBUSY). -EACCES: its token was revoked, or somebody else gave it one. -EDQUOT: the enroll token has
 * added as many nodes as it was made for. -EUSERS: too many at once, in *retry_s seconds it is its turn. The disk is
 * not waited for, and the caller tells nobody before a record put after this is durable.
 */
#define ENROLL_BURST 100 /* nodes that a token not made for a number of them adds at once, … */
#define ENROLL_RATE  10  /* … and then in a second */
int tokens_enroll(struct tokens *t, const char *enroll_id, const char *node, bool alive, int64_t now_ms, char text[64],
                  int *retry_s, struct err *err);
/* An agent token's node has a new id. */
int tokens_move(struct tokens *t, const char *id, const char *node, int64_t now_ms, struct err *err);
/* The node's tokens are on their way out of the store: none of them is good any more. */
void tokens_forget(struct tokens *t, const char *node);
