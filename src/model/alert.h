/*
 * alert.h: something is wrong now, or was: which rule found it, with what, since when. All text is borrowed, and never
 * NULL in what is handed out.
 */
#ifndef MODEL_ALERT_H
#define MODEL_ALERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum severity { SEV_INFO, SEV_WARNING, SEV_CRITICAL, SEVERITIES };
extern const char *const severity_words[SEVERITIES + 1]; /* ends with NULL */

struct alert {
    int64_t id; /* above 0; 0: it is not told of yet */
    int32_t severity;
    int64_t since_ms;    /* it is so since */
    int64_t fired_ms;    /* it was so for long enough; 0: not yet, and nobody is told */
    int64_t resolved_ms; /* it is not so any more since; 0: it is */
    int64_t told_ms;     /* when somebody was told last */
    int32_t tells;       /* how often */
    int64_t closed_ms;   /* when somebody was told that it is over; 0: nobody */
    int32_t notice;      /* it happened, and has no end: resolved as it fired; told once */
    const char *rule;
    const char *subject; /* what it is wrong with: "node:KEY", "gpu:UUID", "person:kim", "booking:7", "hub", ... */
    const char *node;    /* its key; empty: of none */
    const char *place;   /* as people say it: "dgx2:3", "dgx2"; empty: none */
    const char *device;  /* uuid */
    const char *person;  /* whom it concerns: "kim", "kim, lee" */
    const char *text;    /* what, in a sentence */
    const char *advice;  /* what to do */
    const char *told_to; /* who was told of it: alert/told.h */
};

struct alert *alert_copy(const struct alert *a); /* in one piece, for free() */
enum alert_state { ALERT_PENDING, ALERT_FIRING, ALERT_RESOLVED, ALERT_STATES };
extern const char *const alert_words[ALERT_STATES];
enum alert_state alert_state(const struct alert *a);

/* Nothing is told of alerts that fit, until it ends. */
struct silence {
    int64_t id, created_ms, until_ms;
    const char *rule, *node, *person; /* patterns of the rule, of the place, of the person; empty: any */
    const char *by, *reason;
    const char *owner; /* a member's: of critical alerts it fits those about this person alone; empty: an admin's */
};
struct silence *silence_copy(const struct silence *s);
bool silence_fits(const struct silence *s, const struct alert *a, int64_t now_ms);
bool alert_concerns(const struct alert *a, const char *person); /* it is about that person's GPUs or bookings */

#endif
