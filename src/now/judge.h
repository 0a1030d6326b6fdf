/*
 * judge.h: the rule of states, for live.c: which state, why, and how long that stays so if nothing more is heard. Quick
 * enough for every batch; words are only made when why or amount changed.
 */
#pragma once

#include "now/live.h"

#define BUSY_KEEP_MS 60000 /* work seen this lately keeps a device busy, so that it does not flicker between steps */

enum why {
    WHY_NOT_YET, /* never judged */
    WHY_NOBODY,
    WHY_DISPLAY,
    WHY_ASLEEP,
    WHY_UNTOLD, /* whether it is used */
    WHY_MAINTENANCE,
    WHY_BOOKED,
    WHY_PROCS,         /* amount: how many */
    WHY_PROCS_UNKNOWN, /* the same, but nothing tells whether they work */
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
    WHY_AWAITED, /* amount: ms without news; the hub was away for some of it */
};

struct verdict {
    int state; /* enum dev_state, or enum node_state */
    enum why why;
    int64_t amount;
    int64_t until_ms; /* time alone changes nothing before this */
};

bool judge_tells(enum metric m); /* this metric tells of work */
bool judge_is_work(const struct state_rule *rule, enum metric m, int64_t v);
int64_t judge_down_ms(const struct state_rule *rule, const struct node_now *n); /* without news for so long: down */
struct verdict judge_device(const struct state_rule *rule, const struct node_now *n, const struct device_now *d,
                            int64_t now_ms);
/* stopped: its agent said it was stopped in good order. chance_ms: nobody listened before now, and until then it may
 * still be heard; 0: it had its chance. */
struct verdict judge_node(const struct state_rule *rule, const struct node_now *n, bool stopped, int64_t chance_ms,
                          int64_t now_ms);
/* told: what the agent says of its collector, or a device's note, or who has booked it until when; may be empty. */
/* The last: "kim until Tue 17 Nov 14:00". */
const char *judge_booked(const struct device_now *d, char out[160]);
void judge_words(const struct verdict *v, const char *told, char reason[160]);
