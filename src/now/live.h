/*
 * live.h: the newest state of every node and device, in memory. Single-threaded; whoever owns the loop owns this.
 * L1 An older batch never overwrites newer values (catch-up beside live data). L2 Absent stays absent; every value
 * knows its age. L3 Each change a screen would show raises the node's version and the live version. L4 Nothing here
 * reads a clock: the caller passes now_ms.
 */
#pragma once

#include "model/now.h"

/* When a device counts as busy or held. Presets: "muster" (default), "web-gpu-monitor", "gpu-monitor", "strict"; each
 * threshold can be set alone. docs/states.md tells the rule in full. */
struct state_rule {
    int64_t busy_util; /* 0.01 %: at or above is work (default 500 = 5 %; checked over the last minute, not one tick) */
    int64_t busy_mem_util;  /* 0.01 %: above counts as taken (-1: not asked; web-gpu-monitor: 200) */
    int64_t held_mem;       /* bytes in use without a visible process: above is held (default 1 GiB; -1 not asked) */
    int64_t graphics_mem;   /* a graphics-only process below this does not hold (default 512 MiB) */
    int64_t stale_after_ms; /* no sample for this long: stale (default 15 s, at least 3 batches) */
    int64_t down_after_ms;  /* no news of the node at all: down (default 60 s) */
    bool down_exact;        /* that is meant of senders, too, of which three ticks are longer */
    int64_t hung_after_ms;  /* agent says the driver has not answered for this long (default 5 s) */
};
extern const struct state_rule state_rule_default;
int state_rule_preset(const char *name, struct state_rule *ret); /* 0 or -ENOENT */
/* Pure: the state of d at now_ms under rule, and why. d->state is the state it was in (work seen in the last minute
 * keeps a busy device busy); those of n's MIG instances make their GPU's. since_ms is kept up by live. */
enum dev_state state_of(const struct state_rule *rule, const struct node_now *n, const struct device_now *d,
                        int64_t now_ms, char reason[160]);

/* This process holds the device it is on: it is not a display server or the like. */
bool state_rule_holds(const struct state_rule *rule, const struct proc_now *p);
/* Memory is in use on it that no visible process explains. */
bool live_held_memory(const struct state_rule *rule, const struct device_now *d);

struct sibling;
struct live;
/* Called for node events the hub itself finds (new, down, back, clock): to be stored and told. Not for retired nodes.
 */
typedef void live_event_fn(void *arg, const struct node_now *n, const struct node_event *e);

struct live *live_new(const struct state_rule *rule, live_event_fn *on_event, void *arg);
void live_free(struct live *l);
/* Who the login of a process on n is; NULL: as the login says. What it returns lives until live_who is called again. */
typedef const struct identity *live_who_fn(void *arg, const struct node_now *n, const struct proc_fact *f);
/* From now on, and for every process there is: all are asked for again. NULL: nobody knows more than the login. */
void live_who(struct live *l, live_who_fn *who, void *arg);
void live_set_rule(struct live *l, const struct state_rule *rule);
const struct state_rule *live_rule(const struct live *l);

/* The node with this key, made if new. name: what it calls itself. now_ms 0, here and in live_facts and live_procs:
 * read back from records, not news; no event, and the node counts as not heard from since the hub started. */
struct node_now *live_node(struct live *l, const char *key, const char *name, int64_t now_ms);
struct node_now *live_find(const struct live *l, const char *key_or_name);
/* The one node that has this key or name; NULL: none has, or several have. */
const struct node_now *live_only(const struct live *l, const char *key_or_name);
/* A came, or was read back, before the other. */
bool live_elder(const struct node_now *a, const struct node_now *than);
/* A device by its uuid, and its node, of several the one it belongs to; NULL: there is none. Retired nodes count. */
const struct device_now *live_find_device(const struct live *l, struct str uuid, const struct node_now **ret_node);
/* The same by its uuid, or by NODE:N as commands print it (of a MIG instance dgx1:0.1). NULL: there is none; ret_node
 * is the node of that name all the same, or NULL. */
const struct device_now *live_named_device(const struct live *l, struct str word, const struct node_now **ret_node);
void live_drop(struct live *l, const char *key);
/* Not heard for 30 s or since we were started, or stopped in good order. */
bool live_silent(const struct node_now *n, int64_t now_ms);
/* More than half of old's GPUs are among facts. */
bool live_brings_gpus(const struct node_now *old, const struct node_fact *facts);
/* heir takes old's place: an admin's name and maintenance stay, old is gone from here. */
void live_join(struct live *l, struct node_now *heir, struct node_now *old, int64_t now_ms);
/* What an admin or, where its own name is another's, we call it: to be kept. Empty: its own name. */
const char *live_called(const struct node_now *n);
/* Another node, not retired, that has this GPU and has not lost it; of several one that is not silent, or the eldest.
 * NULL: none. */
const struct node_now *live_gpu_twin(const struct live *l, const char *uuid, const struct node_now *but,
                                     int64_t now_ms);
bool live_has_gpu(const struct live *l, const char *uuid); /* any node */
/* A device of n is known by another uuid from now on, with what is known of it. */
void live_rename_gpu(struct live *l, struct node_now *n, const char *from, const char *to);
/* n has the GPUs of old, which is silent; NULL: it has not. */
void live_set_was(struct live *l, struct node_now *n, const struct node_now *old, int64_t now_ms);

void live_hello(struct live *l, struct node_now *n, const struct hello *h, const char *address, int64_t now_ms);
/*
 * Two live runs with one id. A new run takes the node at once, since most are an agent started again after a crash;
 * when the run before it then speaks again, both live: the elder has the node back, and the newcomer is refused (true,
 * to be shown) while the elder speaks at least every 30 s.
 */
bool live_run_conflict(const struct live *l, const struct node_now *n, uint64_t run, int64_t now_ms);
/* That happened: why is the node's reason for a minute, so that every screen shows it. */
void live_refused(struct live *l, struct node_now *n, const char *why, int64_t now_ms);
void live_facts(struct live *l, struct node_now *n, uint64_t id, const struct node_fact *f, int64_t now_ms);
void live_procs(struct live *l, struct node_now *n, uint64_t id, const struct proc_list *p, int64_t now_ms);
/* These blobs are the ones in force (0: the batch needs none). For a batch that is older than n->sample_at_ms do not
 * change them: live_batch passes over values taken under other facts. */
bool live_knows(const struct node_now *n, uint64_t facts, uint64_t procs);
uint64_t live_facts_id(const struct node_now *n);                 /* in force */
const char *live_why_told(const struct node_now *n);              /* the agent's words for its collector's state */
const struct proc_list *live_proc_list(const struct node_now *n); /* in force */
/* Devices that slots of batches name, by the facts in force; those behind them are lost ones. */
size_t live_slots(const struct node_now *n);
/* shift_ms is added to the batch's times (clock correction). */
void live_batch(struct live *l, struct node_now *n, const struct batch *b, int64_t shift_ms, int64_t now_ms);
/*
 * The hub starts: a batch of before, read back with its blobs, oldest first. Values and processes are as it says, with
 * their age; it is no news, and nobody is told. Then, once, live_resume: the hub was last alive at alive_ms. Who had
 * been silent for long by then is down since its last news; who had not had no chance to be heard, and is given one.
 */
void live_recall(struct live *l, struct node_now *n, const struct batch *b, int64_t shift_ms, int64_t now_ms);
void live_resume(struct live *l, int64_t alive_ms, int64_t now_ms);
/*
 * Since when the node (device NULL) or a device of it is in this state, as another hub knows it: the earlier time
 * counts. True: it is known to be earlier here. Only idle_ms counts where the state is another one.
 */
struct live_since {
    unsigned state;
    int64_t since_ms, idle_ms; /* idle_ms: no work seen since; 0: working, or unknown */
    bool work;                 /* the GPU worked until idle_ms; false: the hub did not see it before */
    bool idle;                 /* the sender decides whether the GPU is idle at all */
};
bool live_since(struct live *l, struct node_now *n, struct device_now *device, const struct live_since *s);
bool live_saw_work(const struct node_now *n, size_t device); /* idle_since_ms is the end of work that was seen */
/* What the store knows of a device of the time before the hub started; 0: nothing. Told once, when that was read. */
struct live_before {
    int64_t known_ms; /* the newest moment at which it was seen */
    int64_t work_ms;  /* the newest with work, where there was any without a gap until then */
    int64_t idle_ms;  /* no work since */
    int64_t left_ms;  /* the last of those who were on it left */
};
void live_before(struct live *l, struct node_now *n, size_t device, const struct live_before *b, int64_t now_ms);
/* name NULL or empty: its own, or where another has that "dgx1~2". A retired node holds no name. It stays hidden when
 * it speaks again, its data is kept all the same, until an admin takes that back. */
void live_admin(struct live *l, struct node_now *n, const char *name, bool retired, bool maintenance);

/* What sources of names say of it (model/labels.h); NULL: nothing. Kept until they say something else. */
void live_labels(struct live *l, struct node_now *n, const char *labels);

/* Sets the bookings of a device of n (by its place), now and next; NULL: none. Zero unused members of the structs.
 * ended_ms: when the booking ended that the device had until now; 0: unknown. */
void live_book(struct live *l, struct node_now *n, size_t device, const struct booking_now *booking,
               const struct booking_now *next, int64_t ended_ms, int64_t now_ms);

/* What screens call nodes and models from now on; takes them. NULL: as they are. */
struct names;
void live_set_names(struct live *l, struct names *names);

/* What an hour of a GPU costs from now on, in millionths of a currency; below 0: nothing is told. */
typedef int64_t live_price_fn(const void *arg, const char *model);
void live_set_prices(struct live *l, live_price_fn *price, const void *arg, const char *currency);
const char *live_currency(const struct live *l);

/* What the hub has to say of itself, in a sentence, for every screen; "" or NULL: nothing. A change raises the version.
 */
void live_set_notice(struct live *l, const char *text);
const char *live_notice(const struct live *l); /* NULL: nothing */

/* How a device of n does among the GPUs of its run; NULL: not known. And that it is apart from them; NULL: it is not.
 */
const struct sibling *live_sibling(const struct node_now *n, size_t device);
void live_first(struct node_now *n, size_t device, const struct sibling *first); /* its first minutes, as stored */
void live_apart(struct node_now *n, size_t device, const struct advice *a, int64_t now_ms);

/* Once a second: states that change by time alone. */
void live_tick(struct live *l, int64_t now_ms);
uint64_t live_version(const struct live *l);
size_t live_count(const struct live *l);
uint64_t live_renames(const struct live *l); /* so far: nodes that had another name */
/* Borrowed, sorted by name in natural order (dgx2 before dgx10); retired ones left out unless all. Valid until a node
 * is added or dropped. */
const struct node_now *const *live_nodes(struct live *l, bool all, size_t *ret_n);
/* The same with those of followed hubs (sites.h), for screens. */
struct node_now *live_any(struct live *l, const char *key_or_name);
const struct node_now *const *live_shown(struct live *l, bool all, size_t *ret_n);
