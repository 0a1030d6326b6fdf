/*
 * answers.h: answers about history that are kept with their compressed form: the same question about what has not
 * changed since is not read again. Loop only.
 *
 * A1 An answer is given again only while nothing was stored that begins before the end of its span (store_same), so no
 * late batch is ever missing. A2 What is asked is compared as it was resolved: nodes, devices, names, times. A3 Bytes
 * and number are bounded; who was asked for longest ago goes first. A4 Who asks was admitted before.
 */
#pragma once

#include "history/history.h"
#include "http/cache.h"

struct answers;
struct answers *answers_new(size_t max_bytes);
void answers_free(struct answers *a);
/* A new reference, or NULL. */
struct blob *answers_get(struct answers *a, const struct history_key *key, struct store *s);
uint64_t answers_given(const struct answers *a); /* how many, so far */
/* stamp: of the store, before it was read. Takes a reference of its own, unless it is too large. */
void answers_put(struct answers *a, const struct history_key *key, uint64_t stamp, int64_t to_ms, struct blob *b);
