/*
 * digest.h: joins several waiting messages into one. All are included in order, each with its time. A digest can be
 * part of another one, and shows as its messages.
 */
#pragma once

#include "base/zone.h"
#include "model/message.h"

#define DIGEST_RULE "digest" /* rule name of a message about several rules */

/* Whether it may be part of a digest: not replies, reports, and messages with files or a thread. */
bool digest_accepts(const struct message *m);
/*
 * Joins the first messages of v, as many as fit into max bytes of text, at least one. Uses the id and recipient of the
 * first. The caller frees the result.
 */
struct message *digest_of(const struct message *const *v, size_t n, size_t max, const struct zone *z,
                          size_t *ret_taken);
