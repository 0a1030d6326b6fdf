/*
 * now.h: the newest state of nodes and devices, with the age of every fact. now/ maintains and selects it, format/
 * shows it, and the command line reads it from a hub's JSON. A view borrows; it never owns.
 */
#pragma once

#include "model/advice.h"
#include "model/batch.h"
#include "model/booking.h"
#include "model/fact.h"
#include "model/state.h"

/* The identity behind a login, if there is more than the login itself (people/). Groups: the current ones. */
#define IDENTITY_GROUPS 3 /* teams, projects, companies: in the order of enum group_kind */
struct identity {
    const char *person;                  /* "": unowned, as configured for root and the like */
    const char *groups[IDENTITY_GROUPS]; /* names separated by '\n'; "": none */
};
extern const char *const identity_words[IDENTITY_GROUPS]; /* "teams", "projects", "companies": in JSON */

/* One process on one device. */
struct proc_now {
    struct proc_fact *fact; /* borrowed: from the node's list, or stored behind the device's procs in the same block */
    uint8_t kind;
    int64_t mem;                /* -1 unknown */
    int32_t sm;                 /* -1 unknown */
    int64_t since_ms;           /* on this device; 0: not recorded */
    const struct identity *who; /* borrowed like the fact; NULL: only the login is known */
};
/* Since when it holds its device: when it was first seen there, if recorded. 0: unknown. */
static inline int64_t proc_since_ms(const struct proc_now *p)
{
    return p->since_ms ? p->since_ms : MAX(p->fact->start_ms, 0);
}
/* Its owner: a person, or the login without a mapping; "": unknown, or unowned. */
static inline const char *proc_person(const struct proc_now *p)
{
    return p->who ? p->who->person : strcmp(p->fact->user, PROC_GONE) == 0 ? "" : p->fact->user;
}

struct custom_now {
    uint16_t metric; /* METRIC_CUSTOM + position in the node's custom list */
    int64_t v, at_ms;
};

struct device_now {
    struct device_fact fact;
    enum dev_state state;
    char reason[160];         /* the cause of this state, as text */
    int64_t since_ms;         /* start of this state */
    int64_t idle_since_ms;    /* idle since; 0: busy or unknown */
    int64_t at_ms;            /* newest sample; 0: none yet */
    struct sample now;        /* newest known value of each metric */
    int64_t v_at_ms[M_COUNT]; /* when each was read */
    int64_t util_mean;        /* of M_util over the last minute; 0: unknown */
    size_t n_procs, n_custom;
    struct proc_now *procs;
    struct custom_now *custom;
    size_t n_advice;
    struct advice_now *advice; /* advice on its use, the most important first; NULL: none. Owned by the device */
    struct booking_now *booking, *next; /* its current and its next booking; NULL: none. Owned by the device */
    const char *display, *brief;        /* display names of its model, long and short; NULL: the real name */
    int64_t price;                      /* of an hour, millionths of the view's currency; 0: not configured */
    bool split;                         /* in a filtered view: it has MIG instances, listed or not */
};

#define SITE_NAME_MAX 32
struct node_now {
    char site[SITE_NAME_MAX]; /* the followed hub that it belongs to; "": this hub */
    const char *site_url;     /* URL of its page; NULL: unknown. Borrowed */
    char key[NODE_KEY_MAX];   /* id in text; the public "id" */
    char name[NAME_MAX_LEN];  /* an admin's name for it, else its own */
    const char *display;      /* display name (names.h); NULL: its name */
    char address[64];         /* source address of its last message */
    char *labels;             /* from sources of names (labels.h); NULL: none. Owned by the node */
    enum node_state state;
    char reason[160];
    int64_t since_ms;
    int64_t at_ms;        /* newest message of any kind, hub's clock; 0: never */
    int64_t clock_off_ms; /* node minus hub, when above 5 s; else 0 */
    bool demo, retired, maintenance;
    bool unlisted;                                /* missing in all lists and sources: its GPUs do not count */
    bool never_sampled;                           /* it has sent no sample, ever */
    size_t of;                                    /* in a filtered view: its number of GPUs, if not all match; else 0 */
    bool awaited;                                 /* no message since the hub started */
    char was_id[NODE_KEY_MAX], was[NAME_MAX_LEN]; /* the unreachable node whose GPUs it has; "": none */
    enum collect_state collect;
    int64_t collect_since_ms;
    uint32_t backlog;
    struct node_fact fact; /* its devices are in devices[], not here */
    int64_t sample_at_ms;
    struct sample now;
    int64_t v_at_ms[M_COUNT];
    size_t n_devices, n_custom;
    struct device_now *devices;
    struct custom_now *custom;
    uint64_t version; /* grows with each change a screen would show */
    uint64_t named;   /* a new unique number whenever a name of it or of its devices changes; 0: not counted */
};

/* Prefetches the values that a batch of this node will change, while the batch is decoded. */
static inline void node_expect(const struct node_now *n)
{
    for (size_t i = 0; i < MIN(n->n_devices, 16u); i++)
        for (const char *at = (const char *)&n->devices[i].now; at < (const char *)&n->devices[i].n_procs; at += 64)
            __builtin_prefetch(at, 1);
}

#define NOTICE_MAX 240

enum time_form { TIME_NUMBER, TIME_YMD, TIME_MDY, TIME_DMY }; /* as vesta's TIMESTAMP_FORMAT; NUMBER: as documented */

#define FILTER_SAID 400 /* bytes of the explanation of a filter's bare words */

struct view {
    int64_t at_ms;
    bool demo;
    uint64_t version;
    size_t n;
    const struct node_now *const *nodes; /* sorted by name */
    const struct node_now *one;          /* in a view of one node: the node that nodes points at */
    bool show_cmd;                       /* full command lines may be shown to this reader */
    char reader[64];                     /* login that may see its own command lines; "": none */
    enum time_form time_form;            /* time format for vesta's clients */
    const char *filter;                  /* nodes and devices match this filter; NULL: no filter */
    size_t of;                           /* with a filter: number of devices before it */
    const char *currency;                /* of prices */
    const char *words;                   /* explanation of the filter's bare words: "kim: person, h200: model"; NULL:
                                          * none */
    bool odd_words;                      /* a bare word matches nothing */
    const char *notice;                  /* a notice of the hub ("store full: …"), for every screen; NULL: none */
};

/* The only place that counts states: the sums on every screen come from here. */
#define TALLY_IDLE_MS 7200000ll /* idle time from which held GPUs are listed separately */
struct tally {
    size_t nodes, devices, by_state[DEV_STATES];
    size_t idle;         /* held and idle for TALLY_IDLE_MS */
    int64_t idle_cost;   /* of the idle ones, since they were last busy: millionths of the currency */
    size_t told;         /* busy devices with a known utilisation, */
    int64_t util, power; /* and the sum of their means of a minute; sum of known power. Units of metrics.def */
    struct {
        size_t n;
        char name[NAME_MAX_LEN];
    } most[6]; /* nodes with most of the counted GPUs, most first; 0: no more */
};
/* Adds a node. v without its nodes: has the time, and whether a filter chose n's devices. */
void tally_add(struct tally *t, const struct view *v, const struct node_now *n);
void view_tally(const struct view *v, struct tally *ret);
/* "11 of 48 free: 6 on dgx2, 4 on dgx5, 1 on ws3"; of a filtered view "3 of 48 match 'mem>40G': …" */
int view_answer(const struct view *v, const struct tally *t, struct buf *out);
/* All other states: "30 busy, utilisation 58 % · 6 held, 2 idle for over 2 h, cost so far 0.80 EUR · 2 offline · 14.5
 * kW"; skips empty ones. first: written before the text, if there is any; between: " · " */
int view_counts(const struct view *v, const struct tally *t, const char *first, const char *between, struct buf *out);

/* Whether this client may see the process's whole command line. */
bool view_shows_cmd(const struct view *v, const struct proc_now *p);

int64_t device_age_ms(const struct device_now *d, int64_t now_ms); /* -1: never */
/* Start of its longest current use; 0: not held, or unknown. */
int64_t device_held_ms(const struct device_now *d);
/* Idle since, for every screen: never before it was held. 0: busy or unknown. */
int64_t device_idle_ms(const struct device_now *d);
/* The "since" of every screen: of the same user for held or busy; else of its state. 0: unknown. */
int64_t device_since_ms(const struct device_now *d);
/* Its distinct users (at most DEVICE_USERS), most memory first. Borrowed. */
#define DEVICE_USERS 8
size_t device_user_names(const struct device_now *d, const char *ret[DEVICE_USERS]);
/* The same, comma separated; "" if none. */
int device_users(const struct device_now *d, struct buf *out);
bool node_is_silent(
    const struct node_now *n); /* its GPUs are not reported: it is down, hung, or not readable remotely */
bool device_has_dead_process(const struct device_now *d); /* a process of PROC_GONE */
/* A MIG parent with instances is never free itself: users get its instances. */
bool device_is_parent(const struct node_now *n, const struct device_now *d);
size_t node_gpus(const struct node_now *n);   /* number of its GPUs, without MIG parents */
size_t node_counts(const struct node_now *n); /* number of its GPUs that count in a cluster: 0 for an unlisted node */

static inline const char *node_shown(const struct node_now *n)
{
    return n->display ? n->display : n->name;
}
static inline const char *device_shown(const struct device_now *d)
{
    return d->display ? d->display : d->fact.name;
}

void device_now_fini(struct device_now *d);
void node_now_fini(struct node_now *n);
