/*
 * digest.h: several messages that waited, as one. In their order, each with its time and all it says: nothing is left
 * out. A digest can be part of another one, and shows as the messages it is of.
 */
#pragma once

#include "base/zone.h"
#include "model/message.h"

#define DIGEST_RULE "digest" /* what is told of no single rule */

/* May it be part of one? Answers and reports stand for themselves, as does what has files or a thread. */
bool digest_takes(const struct message *m);
/*
 * The first of v in one message, with the first one's id and receiver; as many as fit into max bytes of text, and at
 * least one. The caller frees it.
 */
struct message *digest_of(const struct message *const *v, size_t n, size_t max, const struct zone *z,
                          size_t *ret_taken);
