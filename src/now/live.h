/*
 * live.h: the newest state of every node and device, in memory. Not thread-safe: the hub uses its own on the loop
 * thread only.
 *
 * L1 An older batch never overwrites newer values (catch-up in parallel with live data).
 * L2 Missing values stay missing; every value has a time.
 * L3 Each change visible on a screen raises the node's version and the live version.
 * L4 No clock: the caller passes now_ms.
 */
#pragma once

#include "model/now.h"

/* Thresholds for busy and held. Presets: "muster" (default), "web-gpu-monitor", "gpu-monitor", "strict"; each
 * threshold can be set separately. docs/states.md describes the full rule. */
struct state_rule {
    int64_t busy_util; /* 0.01 %: at or above is work (default 500 = 5 %; checked over the last minute, not one tick) */
    int64_t busy_mem_util;  /* 0.01 %: above counts as in use (-1: not used; web-gpu-monitor: 200) */
    int64_t held_mem;       /* bytes in use without a visible process: above is held (default 1 GiB; -1: not used) */
    int64_t graphics_mem;   /* a graphics-only process below this does not hold (default 512 MiB) */
    int64_t stale_after_ms; /* no sample for this long: stale (default 15 s, at least 3 batches) */
    int64_t down_after_ms;  /* no report of the node at all: down (default 60 s) */
    bool down_exact;        /* down_after_ms also applies to senders for which three ticks are longer */
    int64_t hung_after_ms;  /* driver does not respond for this long, by the agent (default 5 s) */
};
extern const struct state_rule state_rule_default;
int state_rule_preset(const char *name, struct state_rule *ret); /* 0 or -ENOENT */
/* Pure: the state of d at now_ms under rule, and the reason. d->state is the previous state (work in the last minute
 * keeps a device busy). The state of a split GPU depends on its MIG instances. live maintains since_ms. */
enum dev_state state_of(const struct state_rule *rule, const struct node_now *n, const struct device_now *d,
                        int64_t now_ms, char reason[160]);

/* Whether this process holds its device: it is not a display server or similar. */
bool state_rule_holds(const struct state_rule *rule, const struct proc_now *p);
/* Whether memory is in use that no visible process explains. */
bool live_held_memory(const struct state_rule *rule, const struct device_now *d);

struct sibling;
struct live;
/* Called for node events that the hub detects (new, down, back, clock), to store and publish them. Not called for
 * retired nodes. */
typedef void live_event_fn(void *arg, const struct node_now *n, const struct node_event *e);

struct live *live_new(const struct state_rule *rule, live_event_fn *on_event, void *arg);
void live_free(struct live *l);
/* Maps the login of a process on n to an identity; NULL: use the login. The result is valid until the next
 * live_set_identity_fn().
 */
typedef const struct identity *live_who_fn(void *arg, const struct node_now *n, const struct proc_fact *f);
/* Sets the mapping and applies it to all processes. NULL: no mapping. */
void live_set_identity_fn(struct live *l, live_who_fn *who, void *arg);
void live_set_rule(struct live *l, const struct state_rule *rule);
const struct state_rule *live_rule(const struct live *l);

/* Returns the node with this key; creates it if new. name: its own name. now_ms 0, here and in live_facts and
 * live_procs: loaded from records; no event, and the node counts as not seen since the hub's start. */
struct node_now *live_node(struct live *l, const char *key, const char *name, int64_t now_ms);
struct node_now *live_find(const struct live *l, const char *key_or_name);
/* The only node with this key or name; NULL if no node or several nodes have it. */
const struct node_now *live_only(const struct live *l, const char *key_or_name);
/* Whether a arrived, or was loaded, first. */
bool live_is_older(const struct node_now *a, const struct node_now *than);
/* Finds a device by uuid, and its node (the owner if several have it). Returns NULL if not found. Includes retired
 * nodes. */
const struct device_now *live_find_device(const struct live *l, struct str uuid, const struct node_now **ret_node);
/* Finds a device by uuid, or by NODE:N as in the output of commands (a MIG instance: dgx1:0.1). Returns NULL if not
 * found; ret_node is still the node of that name, or NULL. */
const struct device_now *live_named_device(const struct live *l, struct str word, const struct node_now **ret_node);
void live_drop(struct live *l, const char *key);
/* Whether the node did not report for 30 s or since the hub's start, or stopped cleanly. */
bool live_silent(const struct node_now *n, int64_t now_ms);
/* Whether facts contain more than half of old's GPUs. */
bool live_has_gpus_of(const struct node_now *old, const struct node_fact *facts);
/* Replaces old by the other node, which gets its admin-set name and maintenance flag. Removes old. */
void live_join(struct live *l, struct node_now *heir, struct node_now *old, int64_t now_ms);
/* The name set by an admin, or the suffixed name if its own is taken; the caller stores it. Empty: its own name. */
const char *live_called(const struct node_now *n);
/* Another node, not retired, that has this GPU and has not lost it. If there are several: a reporting one, or the
 * oldest. Returns NULL if none. */
const struct node_now *live_find_dup_gpu(const struct live *l, const char *uuid, const struct node_now *but,
                                         int64_t now_ms);
bool live_has_gpu(const struct live *l, const char *uuid); /* any node */
/* Changes the uuid of a device of n; its values stay. */
void live_rename_gpu(struct live *l, struct node_now *n, const char *from, const char *to);
/* Sets that n has the GPUs of old, which does not report; NULL: it does not. */
void live_set_replaced(struct live *l, struct node_now *n, const struct node_now *old, int64_t now_ms);

void live_hello(struct live *l, struct node_now *n, const struct hello *h, const char *address, int64_t now_ms);
/*
 * Whether two live runs share one id. A new run takes over the node immediately, since it usually is an agent
 * restarted after a crash. If the previous run reports again, both are alive: the older run gets the node back. The
 * newer one is refused (returns true) while the older reports at least every 30 s.
 */
bool live_run_conflict(const struct live *l, const struct node_now *n, uint64_t run, int64_t now_ms);
/* Shows a refused run: why is the node's reason for a minute, on every screen. */
void live_refused(struct live *l, struct node_now *n, const char *why, int64_t now_ms);
void live_facts(struct live *l, struct node_now *n, uint64_t id, const struct node_fact *f, int64_t now_ms);
void live_procs(struct live *l, struct node_now *n, uint64_t id, const struct proc_list *p, int64_t now_ms);
/* Whether these blobs are the current ones (0: the batch needs none). Do not change them for a batch older than
 * n->sample_at_ms: live_batch ignores values of other facts. */
bool live_knows(const struct node_now *n, uint64_t facts, uint64_t procs);
uint64_t live_facts_id(const struct node_now *n);                 /* current */
const char *live_agent_reason(const struct node_now *n);          /* the agent's text about its collector */
const struct proc_list *live_proc_list(const struct node_now *n); /* current */
/* Number of device slots in the current facts. Slots from this index on are lost devices. */
size_t live_slots(const struct node_now *n);
/* shift_ms is added to the batch's times (clock correction). */
void live_batch(struct live *l, struct node_now *n, const struct batch *b, int64_t shift_ms, int64_t now_ms);
/*
 * At the hub's start: applies a stored batch with its blobs; call oldest first. Values and processes keep their time;
 * no events. Then call live_resume once: alive_ms is the time the hub was last running. A node that had not reported
 * for long then is down since its last report. Other nodes get time to report.
 */
void live_recall(struct live *l, struct node_now *n, const struct batch *b, int64_t shift_ms, int64_t now_ms);
void live_resume(struct live *l, int64_t alive_ms, int64_t now_ms);
/*
 * The time since when the node (device NULL) or a device is in this state, from another hub: the earlier time is used.
 * Returns true if this hub has an earlier one. If the states differ, only idle_ms is used.
 */
struct live_since {
    unsigned state;
    int64_t since_ms, idle_ms; /* idle_ms: no work seen since; 0: working, or unknown */
    bool work;                 /* the GPU worked until idle_ms; false: the hub did not see it before */
    int64_t util_mean;         /* of device_now */
    bool better;               /* the sender decides whether the GPU is idle at all, and its util_mean counts */
};
bool live_since(struct live *l, struct node_now *n, struct device_now *device, const struct live_since *s);
bool live_saw_work(const struct node_now *n, size_t device); /* idle_since_ms is the end of work that was seen */
/* Stored data of a device from before the hub's start; 0: none. Applied once, after it was read. */
struct live_before {
    int64_t known_ms; /* newest time at which it was seen */
    int64_t work_ms;  /* newest time with work, without a gap until known_ms */
    int64_t idle_ms;  /* no work since */
    int64_t left_ms;  /* when its last process ended */
};
void live_before(struct live *l, struct node_now *n, size_t device, const struct live_before *b, int64_t now_ms);
/* name NULL or empty: its own, or "dgx1~2" if another node has that name. A retired node holds no name. It stays
 * hidden when it reports again, and its data is kept, until an admin undoes that. */
void live_admin(struct live *l, struct node_now *n, const char *name, bool retired, bool maintenance);

/* Labels of the node from the sources of names (model/labels.h); NULL: none. Valid until the next call. */
void live_labels(struct live *l, struct node_now *n, const char *labels);

/* Sets the current and next booking of device i of n; NULL: none. Zero unused members of the structs. ended_ms: end of
 * the device's previous booking; 0: unknown. */
void live_book(struct live *l, struct node_now *n, size_t device, const struct booking_now *booking,
               const struct booking_now *next, int64_t ended_ms, int64_t now_ms);

/* Sets display names of nodes and models. Takes ownership of names. NULL: no renaming. */
struct names;
void live_set_names(struct live *l, struct names *names);

/* Sets the price of a GPU-hour in millionths of a currency; below 0: unknown. */
typedef int64_t live_price_fn(const void *arg, const char *model);
void live_set_prices(struct live *l, live_price_fn *price, const void *arg, const char *currency);
const char *live_currency(const struct live *l);

/* Sets the hub's status message for all screens; "" or NULL: none. A change raises the version. */
void live_set_notice(struct live *l, const char *text);
const char *live_notice(const struct live *l); /* NULL: none */

/* Values of a device compared with the GPUs of its run; NULL: unknown. live_apart sets the advice that it deviates
 * from them; NULL: it does not. */
const struct sibling *live_sibling(const struct node_now *n, size_t device);
void live_first(struct node_now *n, size_t device, const struct sibling *first); /* its stored first minutes */
void live_apart(struct node_now *n, size_t device, const struct advice *a, int64_t now_ms);

/* Call once a second: updates states that depend on time. */
void live_tick(struct live *l, int64_t now_ms);
uint64_t live_version(const struct live *l);
size_t live_count(const struct live *l);
uint64_t live_renames(const struct live *l); /* counts renamed nodes */
/* Nodes sorted by name in natural order (dgx2 before dgx10), without retired ones unless all. Valid until a node is
 * added or dropped. */
const struct node_now *const *live_nodes(struct live *l, bool all, size_t *ret_n);
/* The same with nodes of followed hubs (sites.h), for screens. */
struct node_now *live_any(struct live *l, const char *key_or_name);
const struct node_now *const *live_shown(struct live *l, bool all, size_t *ret_n);
