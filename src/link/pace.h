/*
 * pace.h: how fast a server may be asked that says so with each answer: RateLimit-Remaining (in a unit of its own) and
 * RateLimit-Reset (seconds until there is all of it again). Pure: told the time, reads no clock.
 *
 * A1 What is under way is taken off before anything more is sent, so what the server gave is never overdrawn. A2 Fast
 * while more than half is left; the rest is spread over the time until the reset. A3 Never slower than one request in
 * ten seconds, but for a Retry-After.
 */
#ifndef LINK_PACE_H
#define LINK_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct pace {
    double rate;                   /* requests a second at most; 0: any */
    double remaining, limit, cost; /* as last told; the most ever told; of one request */
    int answers;                   /* since remaining last fell */
    int64_t end_ms;                /* when there is all of it again; 0: nothing was told */
    int64_t sent_ms, hold_ms;      /* the newest request; nothing before this */
};

void pace_init(struct pace *p, double rate);
/* How long until one more may be sent, given how many are under way; 0: now. */
int64_t pace_wait(const struct pace *p, int64_t now_ms, int under_way);
void pace_sent(struct pace *p, int64_t now_ms);
/* An answer's headers; remaining or reset empty: it had none. */
void pace_told(struct pace *p, int64_t now_ms, struct str remaining, struct str reset);
void pace_hold(struct pace *p, int64_t until_ms); /* Retry-After */

#endif
