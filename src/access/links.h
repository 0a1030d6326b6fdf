/*
 * links.h: links that log a browser in with somebody's token. In the store a link is a note of one line, "HASH TOKEN",
 * so that any hub that has the store takes it.
 *
 * K1 A link works once, whichever hubs it comes to at once, and for ONCE_MS. K2 There are at most ONCE_MAX: the one
 * that ends first gives way.
 */
#pragma once

#include "access/tokens.h"

#define ONCE_MS  600000
#define ONCE_MAX 32

/* On a thread that may wait for the store. */
int link_put(struct store *s, const char *token, int64_t now_ms, char text[SECRET_MAX], struct err *err);
/* 1: whose token it is, as the store has that; 0: none such, or no more. */
int link_take(struct store *s, struct str text, int64_t now_ms, struct store_token *ret, struct err *err);

/* The same inside a handler, as look.h says: -EINPROGRESS, else as above. */
int link_put_for(struct hub *h, struct request *rq, char text[SECRET_MAX]);
int link_take_for(struct hub *h, struct request *rq, struct str text, struct token *ret);
