/*
 * sessions.h: browsers that logged in with a token. A session is a record in the store (a note), read at the start and
 * looked up in memory; of its secret, which the browser has as a cookie, SHA-256 is kept.
 *
 * S1 A session that was ended, is past its time, or whose token was revoked is nobody's. S2 There are at most
 * SESSIONS_PER_TOKEN of a token and SESSIONS_MAX in all: the one not used for longest gives way. S3 When a session was
 * last used is noted once an hour.
 */
#pragma once

#include "access/tokens.h"

#define SESSIONS_MAX       10000
#define SESSIONS_PER_TOKEN 64

struct note;
struct sessions;

#define SETTINGS access
#include "base/opt_def.h"

struct sessions *sessions_new(struct store *store, struct tokens *tokens);
void sessions_free(struct sessions *s);
/* Another hub let a browser in, or out. */
void sessions_take(struct sessions *s, const struct note *n, bool gone, int64_t now_ms);
int sessions_load(struct sessions *s, int64_t now_ms, struct err *err);
size_t sessions_count(const struct sessions *s);

void sessions_begin(struct sessions *s, const struct token *t, int64_t now_ms, int64_t until_ms,
                    char cookie[SECRET_MAX]);
bool sessions_find(struct sessions *s, struct str cookie, int64_t now_ms, struct token *ret);
/* A session as it may be shown. */
struct session_view {
    int64_t id; /* of its note: says nothing of the secret */
    const char *person;
    struct token token;
    int64_t created_ms, until_ms, used_ms;
};
/* The i-th of sessions_count(), in no order. False: it is over. ret->person is borrowed. */
bool sessions_view(const struct sessions *s, size_t i, int64_t now_ms, struct session_view *ret);
/* Whether it is one of this person, or without a name of this token. */
bool session_is_of(const char *person, const char *token, const struct token *own);
int64_t sessions_id(struct str cookie); /* 0: it is no cookie of ours */
/* False: not found; else done is called when that is on disk. */
bool sessions_end_one(struct sessions *s, int64_t id, void (*done)(void *arg, int result), void *arg);
/* The sessions of a Cookie header; all: and every one of this person, or without a name of this token. How many; done
 * is called when that is on disk, unless it is 0. */
size_t sessions_end(struct sessions *s, struct str header, const struct token *own, bool all,
                    void (*done)(void *arg, int result), void *arg);
