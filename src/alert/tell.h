/*
 * tell.h: from alerts to messages: many alerts of one rule are one message, and each channel gets what it takes.
 *
 * T1 A rule's news wait until the oldest is TELL_GROUP_MS old; then all of that rule go together. T2 Nothing is told of
 * what is silenced. T3 Nothing here reads a clock or writes.
 */
#ifndef ALERT_TELL_H
#define ALERT_TELL_H

#include "alert/channel.h"
#include "alert/rule.h"

#define TELL_GROUP_MS 10000
#define TELL_PLACES   10 /* named in a message; the others are counted */

struct news { /* an alert that fires, or is over */
    const struct alert *a;
    int64_t since_ms; /* when it became news */
    bool silenced;
    bool told; /* out: it is in a message */
};

struct tell_ask {
    int64_t now_ms;
    const struct channels *channels;
    const struct alert_rules *rules;
};
typedef void tell_fn(void *arg, const struct message *m); /* without an id; borrowed for the call */
void tell(const struct tell_ask *k, struct news *v, size_t n, tell_fn *say, void *arg);
/* Does this channel take it? rule NULL: of one that is not there any more. */
bool tell_takes(const struct channel *c, const struct alert_rule *rule, const struct alert *a);

#endif
