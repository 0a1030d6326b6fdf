/*
 * told.h: who was told of an alert, as its record has it (struct alert, told_to): one line each: when, through which
 * channel, to which address, and who that is. It outlives changes of muster.yaml and of the people known: whoever was
 * told that it fired is the one to be told that it is over.
 */
#pragma once

#include "base/str.h"

struct buf;

#define TOLD_MAX 200 /* of one alert; nobody else is told then */

struct told {
    int64_t at_ms; /* last */
    struct str channel, to, person;
};

/* The next line of a list. False: there is none. Lines that are none are passed over. */
bool told_next(struct str *rest, struct told *ret);
/* Puts it into the list: instead of the same one told before, or behind all. False: the list is full. */
bool told_put(struct buf *list, const struct told *t);
