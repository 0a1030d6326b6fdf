/*
 * notified.h: the recipients of an alert, in the format of its record (struct alert, told_to). One line each: time,
 * channel, address, person. The list does not depend on muster.yaml or on the known people: the recipients of the
 * first message also get the resolved message.
 */
#pragma once

#include "base/str.h"

struct buf;

#define TOLD_MAX 200 /* recipients per alert; further ones are not notified */

struct notified {
    int64_t at_ms; /* last notification */
    struct str channel, to, person;
};

/* Returns the next entry of the list, or false at the end. Skips invalid lines. */
bool notified_next(struct str *rest, struct notified *ret);
/* Replaces the entry with the same channel and address, or appends. Returns false if the list is full. */
bool notified_add(struct buf *list, const struct notified *t);
