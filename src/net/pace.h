/*
 * pace.h: how fast to send requests to a server that limits them and says so in each answer: RateLimit-Remaining (in a
 * unit of its own) and RateLimit-Reset (seconds until there is all of it again). Pure: told the time, reads no clock.
 *
 * Whether what remains is one sum for all, or one for each part of a server (a project), is not said, and found out:
 * does a part's fall with its own requests or with everybody's? Until that is known both are heeded.
 *
 * A1 What is under way is taken off before anything more is sent, so what the server gave is never overdrawn. A2 Fast
 * while more than half is left; the rest is spread over the time until the reset. A3 Never slower than one request in
 * ten seconds, but for a Retry-After, and until the reset when the server said that nothing remains: for all parts,
 * also where they are counted apart.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct pace {
    double rate;                   /* requests a second at most; 0: any */
    double remaining, limit, cost; /* as last told; the most ever told; of one request */
    double first;                  /* what was told first in this window */
    int answers;                   /* since remaining last fell */
    int64_t end_ms;                /* when there is all of it again; 0: nothing was told */
    int64_t sent_ms, hold_ms;      /* the newest request; nothing before this */
};

void pace_init(struct pace *p, double rate);
/* How long until one more may be sent, given how many are under way; 0: now. */
int64_t pace_wait(const struct pace *p, int64_t now_ms, int under_way);
void pace_sent(struct pace *p, int64_t now_ms);
/* An answer's headers; remaining or reset empty: it had none. */
void pace_update(struct pace *p, int64_t now_ms, struct str remaining, struct str reset);
void pace_hold(struct pace *p, int64_t until_ms); /* Retry-After */

/* A pace for each part, by a number that names it, and one for all. */
struct pace_parts {
    struct pace all;
    bool known;       /* which of the two it is */
    bool one;         /* what remains is one sum for all */
    int hint;         /* how often it looked so, less how often not */
    int under_way;    /* of all */
    int64_t answers;  /* so far */
    int64_t empty_ms; /* when all parts that have nothing left have some again; 0: all have */
    struct pace_part {
        uint64_t name;
        struct pace pace;
        int under_way;
        int64_t answers, others; /* answers of its own, of all, when remaining last fell */
    } * v;
    size_t n, cap;
};
void pace_parts_init(struct pace_parts *p, double rate);
void pace_parts_fini(struct pace_parts *p);
int64_t pace_parts_wait(struct pace_parts *p, uint64_t part, int64_t now_ms);
void pace_parts_sent(struct pace_parts *p, uint64_t part, int64_t now_ms);
void pace_parts_back(struct pace_parts *p, uint64_t part); /* it is not under way any more */
void pace_parts_update(struct pace_parts *p, uint64_t part, int64_t now_ms, struct str remaining, struct str reset);
void pace_parts_hold(struct pace_parts *p, uint64_t part, int64_t until_ms);
