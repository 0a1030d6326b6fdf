/* node.h: a node of the live state with its internal data, and how facts and batches change it. */
#pragma once

#include "now/gpu_watch.h"
#include "now/judge.h"
#include "now/last_minute.h"

#define LATELY_MS 600000 /* older observations are ignored */

/* Internal data of a device; same index as node_now.devices. */
struct live_dev {
    int64_t known_ms, work_ms;         /* newest tick with a known work state, and with work */
    int64_t new_known_ms, new_work_ms; /* the same in the current batch; 0: none */
    int64_t left_ms;                   /* its users before the hub's start left then; 0: none, or seen since */
    int64_t free_ms;                   /* out of sight: free since then before that; 0: it was not free */
    bool idle_told;                    /* idle_since_ms came from another hub */
    bool from_before;                  /* known_ms and work_ms are from before the hub's start */
    size_t cap_procs, cap_custom;
    struct last_minute util; /* for device_now.util_mean */
    struct gpu_watch *watch; /* NULL: no processes, or no activity values */
    enum reason_code why;    /* of the reason text */
    int64_t amount;
};

struct live_node {
    struct node_now now; /* first: a node_now of ours is a live_node */
    char own_name[NAME_MAX_LEN], admin_name[NAME_MAX_LEN];
    char why_told[160]; /* the agent's text about its collector */
    bool spoke;         /* since the hub's start */
    bool given;         /* admin_name was generated: another node has its own name */
    unsigned twins;     /* last suffix given to a node with the same name */
    char remark[160];   /* reason to show if there is no other */
    char refused[160];  /* why another agent was refused, shown until … */
    int64_t refused_until_ms;
    uint64_t facts, procs_id, run;
    int64_t run_ms;         /* last report of that run */
    uint64_t elder, twin;   /* the previous run; a run refused because the previous one is alive */
    int64_t first_ms;       /* waiting for it since then */
    uint64_t rank;          /* order of arrival */
    int64_t chance_ms;      /* loaded from records: may still report until then; 0: has reported */
    int64_t next_ms;        /* state is valid until then without new data */
    struct proc_list procs; /* list with the processes on the devices */
    struct proc_list procs_next;
    bool procs_new;            /* procs_next replaces procs with the next batch */
    bool told_down, stopped;   /* EVENT_DOWN was raised; the run reported that it stops */
    unsigned clock_off_streak; /* consecutive exchanges with a clock difference */
    size_t n_slots;            /* slots of batches; devices from this index on are lost */
    size_t cap_custom;
    struct live_dev *devs;
    enum reason_code why;
    int64_t amount;
};

/* Times are external input: limits them to a range safe for sums. */
static inline int64_t node_sane_ms(int64_t ms)
{
    return MAX(0, MIN(ms, (int64_t)1 << 52));
}
/* Applies new facts. Devices keep their data by uuid; devices that are not listed any longer are lost. */
void node_take_facts(struct live_node *n, uint64_t id, const struct node_fact *f);
/* Applies a batch's values and, if it is the newest, its processes; returns true then. Allocates nothing in steady
 * state. */
struct live_since;
/* Like live_since; d of n, or NULL. */
bool node_take_since(struct live_node *n, struct device_now *d, const struct live_since *s, bool *ret_differs);
bool node_take_batch(struct live_node *n, const struct state_rule *rule, const struct batch *b, int64_t shift_ms,
                     int64_t now_ms);
/* Sets the booking of a device; NULL: none. Returns true if it changed. */
bool node_set_booking(struct booking_now **at, const struct booking_now *to);
void node_make_remark(struct live_node *n); /* about its name and its GPUs */
void node_free(struct live_node *n);
/* Judges the node and its devices again. Returns true if anything visible changed. */
bool node_judge(struct live_node *n, const struct state_rule *rule, int64_t now_ms);
