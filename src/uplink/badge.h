/*
 * badge.h: how a sender proves to one hub who it is: with the token it was given (flag, environment, file) or, after an
 * enrolment, with the node's own token, kept in the hub's folder. The node's own is used as long as the hub accepts it.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct badge_conf {
    const char *token, *token_file; /* configured; NULL if not */
    bool removable;                 /* token_file is for the first contact: ours to remove once we have our own */
};

struct badge;
/* dir: where the node's own token is kept; NULL: in memory alone. */
int badge_open(struct badge **ret, const struct badge_conf *conf, const char *dir, struct err *err);
void badge_free(struct badge *t);
const char *badge_now(const struct badge *t);                      /* NULL: we have none */
void badge_turn(struct badge *t);                                  /* it was refused: try the other, if any */
int badge_keep(struct badge *t, const char *own, struct err *err); /* a new own one: to disk (0600), used from now on */
/* The hub took what we sent. If it was with the own one, a given one that is removable is removed: a node that was
 * taken over gives away no token that adds others. */
void badge_accepted(struct badge *t);
bool badge_in(const struct badge *t, struct str text); /* text holds one of them: do not show it */
