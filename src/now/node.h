/* node.h: a node of the live state, with what is known beyond what is shown, and how facts and batches change it. */
#pragma once

#include "now/gpu_watch.h"
#include "now/judge.h"
#include "now/last_minute.h"

#define LATELY_MS 600000 /* what was seen longer ago says nothing of now */

/* What live knows of a device beyond what it shows; same index as node_now.devices. */
struct live_dev {
    int64_t known_ms, work_ms;         /* newest tick that told of work or its absence, and of work */
    int64_t new_known_ms, new_work_ms; /* the same within the batch being read; 0: none */
    int64_t left_ms;  /* who was on it before the hub started left it then; 0: nobody, or it was seen since */
    int64_t free_ms;  /* out of sight, it was free before, since then; 0: it was not */
    bool idle_told;   /* idle_since_ms came from another hub */
    bool from_before; /* known_ms and work_ms are of before the hub started */
    size_t cap_procs, cap_custom;
    struct last_minute util; /* for device_now.util_mean */
    struct gpu_watch *watch; /* NULL: nobody is on it, or it tells no activity */
    enum why why;            /* what reason says */
    int64_t amount;
};

struct live_node {
    struct node_now now; /* first: a node_now of ours is a live_node */
    char own_name[NAME_MAX_LEN], admin_name[NAME_MAX_LEN];
    char why_told[160]; /* the agent's words for its collector's state */
    bool spoke;         /* since we were started */
    bool given;         /* admin_name is ours: its own name is another node's */
    unsigned twins;     /* the last number given to one that came with this one's name */
    char remark[160];   /* what there is to say of it where nothing else is */
    char refused[160];  /* why another agent was turned away, shown until … */
    int64_t refused_until_ms;
    uint64_t facts, procs_id, run;
    int64_t run_ms;         /* when that run last spoke */
    uint64_t elder, twin;   /* the run before this one; a run refused because its elder lives */
    int64_t first_ms;       /* since when we wait for it */
    uint64_t rank;          /* the how manieth it was to come */
    int64_t chance_ms;      /* read back from records: until then it may be well, though it was not heard; 0: heard */
    int64_t next_ms;        /* time alone changes nothing before this */
    struct proc_list procs; /* those on the devices are of this list */
    struct proc_list procs_next;
    bool procs_new;            /* procs_next takes its place with the next batch */
    bool told_down, stopped;   /* EVENT_DOWN was raised; the run said it stops */
    unsigned clock_off_streak; /* exchanges in a row with a clock off */
    size_t n_slots;            /* slots of batches; devices behind them are lost ones */
    size_t cap_custom;
    struct live_dev *devs;
    enum why why;
    int64_t amount;
};

/* Times come from outside: within what can be added and subtracted. */
static inline int64_t node_sane_ms(int64_t ms)
{
    return MAX(0, MIN(ms, (int64_t)1 << 52));
}
/* New facts: devices keep what is known of them by uuid; those no longer listed are lost. */
void node_take_facts(struct live_node *n, uint64_t id, const struct node_fact *f);
/* A batch's values and, if it is the newest, its processes; true when it is. Allocates nothing while things go on. */
struct live_since;
/* As live_since; d of n, or NULL. */
bool node_take_since(struct live_node *n, struct device_now *d, const struct live_since *s, bool *ret_differs);
bool node_take_batch(struct live_node *n, const struct state_rule *rule, const struct batch *b, int64_t shift_ms,
                     int64_t now_ms);
/* Who has a device booked; NULL: nobody. True when that is another one. */
bool node_set_booking(struct booking_now **at, const struct booking_now *to);
void node_make_remark(struct live_node *n); /* of its name, its GPUs and whose they were */
void node_free(struct live_node *n);
/* Everything a node is, judged again; true when a screen would show a difference. */
bool node_judge(struct live_node *n, const struct state_rule *rule, int64_t now_ms);
