/*
 * judge.h: the state rule, for live.c: the state, its reason, and how long it is valid without further reports. Fast
 * enough for every batch; texts are only made when why or amount changes.
 */
#pragma once

#include "now/live.h"

#define BUSY_KEEP_MS 60000 /* work within this time keeps a device busy, so that it does not flicker between steps */

enum reason_code {
    WHY_NOT_YET, /* never judged */
    WHY_NOBODY,
    WHY_DISPLAY,
    WHY_ASLEEP,
    WHY_UNTOLD, /* usage is not reported */
    WHY_MAINTENANCE,
    WHY_BOOKED,
    WHY_PROCS,         /* amount: how many */
    WHY_PROCS_UNKNOWN, /* the same, but activity is not reported */
    WHY_MEMORY,        /* amount: bytes */
    WHY_SPLIT,         /* amount: MIG instances */
    WHY_SPLIT_BUSY,
    WHY_WORKS,
    WHY_SPINS,
    WHY_WORKED,
    WHY_NEVER_HEARD,
    WHY_NO_NEWS,    /* amount: ms */
    WHY_STOPPED,    /* amount: ms */
    WHY_NO_SAMPLE,  /* none yet */
    WHY_OLD_SAMPLE, /* amount: ms */
    WHY_PAUSED,
    WHY_UNREADABLE,
    WHY_HUNG, /* amount: ms */
    WHY_LOST,
    WHY_UP,
    WHY_STARTING,
    WHY_NO_DEVICE,
    WHY_AWAITED, /* amount: ms without reports; the hub was down for part of it */
};

struct verdict {
    int state; /* enum dev_state, or enum node_state */
    enum reason_code why;
    int64_t amount;
    int64_t until_ms; /* valid until then without new data */
};

bool judge_is_activity(enum metric m); /* whether this metric shows work */
bool judge_is_work(const struct state_rule *rule, enum metric m, int64_t v);
int64_t judge_down_ms(const struct state_rule *rule, const struct node_now *n); /* no report for this long: down */
struct verdict judge_device(const struct state_rule *rule, const struct node_now *n, const struct device_now *d,
                            int64_t now_ms);
/* stopped: the agent reported a clean stop. chance_ms: the hub has just started, and the node may still report until
 * then; 0: it had time to report. */
struct verdict judge_node(const struct state_rule *rule, const struct node_now *n, bool stopped, int64_t chance_ms,
                          int64_t now_ms);
/* told: the agent's text about its collector, a device's note, or the booking ("kim until Tue 17 Nov 14:00"); may be
 * empty. */
/* Formats the booking for `told`. */
const char *judge_booked(const struct device_now *d, char out[160]);
void judge_words(const struct verdict *v, const char *told, char reason[160]);
