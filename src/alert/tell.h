/*
 * tell.h: turns alerts into messages: several alerts of one rule are one message, each channel gets what it accepts,
 * and each person what concerns them.
 *
 * T1 A rule's news wait until the oldest is TELL_GROUP_MS old, and longer while more of them come; then all of that
 * rule go together. T2 Nothing is told of what is silenced. T3 Nothing here reads a clock or writes. T4 That it is
 * over, or still so, is told to those alone who were told that it fired. T5 Of a rule there is one reminder to each of
 * them when one is due, of all that still fires; in quiet hours there is none. T6 Who has no address, or wants nothing
 * told, is passed over. T7 Through a channel with `each` every alert is a message of its own; what only such channels
 * take waits for no others.
 */
#pragma once

#include "alert/rule.h"
#include "base/buf.h"
#include "notify/channel.h"

#define TELL_GROUP_MS   10000 /* so long the first waits for others */
#define TELL_CALM_MS    6000  /* and until none came for so long; more than two looks are apart */
#define TELL_LONGEST_MS 30000 /* but no longer than this */
#define TELL_RETURN_MS                                                                                                 \
    15000                     /* of what is over: until none came for so long, since nodes return one after the other  \
                               */
#define TELL_LATEST_MS 120000 /* ... and no longer than this */

struct alert_news {
    const struct alert *a;
    int32_t kind;     /* enum message_kind: fired; resolved; reminder: it still fires; notice: it fired and is over, and
                         nobody was told in between */
    int64_t since_ms; /* when it became news */
    bool silenced;
    bool due;       /* out: its time has come, whether anybody wants to know or not */
    bool told;      /* out: it is in a message */
    struct buf who; /* out, where it is: who was told of it, as told.h has it; for buf_fini() */
};

struct tell_ask {
    int64_t now_ms;
    int32_t minute; /* of the day, where the hub is */
    const struct channels *channels;
    const struct alert_rules *rules;
    const struct people *people; /* NULL: nobody is known */
    struct live *live;           /* how nodes are now; NULL: not known */
    /* Called for every person who is not told for want of an address; NULL: nobody wants to know. */
    void (*passed)(void *arg, const char *channel, const char *person);
};
typedef void tell_fn(void *arg, const struct message *m); /* without an id; borrowed for the call */
void tell(const struct tell_ask *k, struct alert_news *v, size_t n, tell_fn *say, void *arg);
