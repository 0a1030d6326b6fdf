/*
 * answers.h: a cache of responses about history, with their compressed form. A repeated query of unchanged data is not
 * read again. Loop thread only.
 *
 * A1 A cached response is used only while nothing was stored that starts before the end of its span (store_same), so it
 *    never misses a late batch.
 * A2 The key is the resolved query: nodes, devices, names, times.
 * A3 Bytes and number are bounded; the least recently used response is dropped first.
 * A4 The client was authorised before.
 */
#pragma once

#include "history/history.h"
#include "http/cache.h"

struct answers;
struct answers *answers_new(size_t max_bytes);
void answers_free(struct answers *a);
/* A new reference, or NULL. */
struct blob *answers_get(struct answers *a, const struct history_key *key, struct store *s);
uint64_t answers_given(const struct answers *a); /* number of hits so far */
/* stamp: of the store, from before the read. Takes its own reference to b, unless b is too large. */
void answers_put(struct answers *a, const struct history_key *key, uint64_t stamp, int64_t to_ms, struct blob *b);
