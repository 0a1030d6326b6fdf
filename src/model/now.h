/*
 * now.h: the newest state of nodes and devices, with the age of every fact: what now/ keeps and selects, and format/
 * shows, and the command line gets back from a hub's JSON. A view borrows; it never owns.
 */
#pragma once

#include "model/advice.h"
#include "model/batch.h"
#include "model/booking.h"
#include "model/fact.h"
#include "model/state.h"

/* Who a login is, where more is known than the login itself (people/). Groups: those of the moment. */
#define IDENTITY_GROUPS 3 /* teams, projects, companies: as enum group_kind has them */
struct identity {
    const char *person;                  /* "": nobody, as told of root and the like */
    const char *groups[IDENTITY_GROUPS]; /* names with '\n' between; "": none */
};
extern const char *const identity_words[IDENTITY_GROUPS]; /* "teams", "projects", "companies": in JSON */

/* One process on one device. */
struct proc_now {
    struct proc_fact *fact; /* borrowed: of the node's list, or behind the device's procs in the same block */
    uint8_t kind;
    int64_t mem;                /* -1 unknown */
    int32_t sm;                 /* -1 unknown */
    int64_t since_ms;           /* on this device; 0: nobody noted it */
    const struct identity *who; /* borrowed like the fact; NULL: the login is all there is to know */
};
/* How long it has held its device: since it was seen there, where that is noted. 0: not known. */
static inline int64_t proc_since_ms(const struct proc_now *p)
{
    return p->since_ms ? p->since_ms : MAX(p->fact->start_ms, 0);
}
/* Whose it is: a person, or the login where nobody said who that is; "": not known, or nobody's. */
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
    char reason[160];         /* why it is in this state, in words */
    int64_t since_ms;         /* in this state since */
    int64_t idle_since_ms;    /* no work seen since; 0: working now or unknown */
    int64_t at_ms;            /* newest sample; 0: none yet */
    struct sample now;        /* newest known value of each metric */
    int64_t v_at_ms[M_COUNT]; /* when each was read */
    int64_t util_mean;        /* of M_util over the last minute; 0: not known */
    size_t n_procs, n_custom;
    struct proc_now *procs;
    struct custom_now *custom;
    size_t n_advice;
    struct advice_now *advice; /* what to do about how it is used, the best first; NULL: nothing. The device's */
    struct booking_now *booking, *next; /* who has it booked now, and who next; NULL: nobody. The device's */
    const char *display, *brief; /* what screens call its model, and where there is little room; NULL: as it is */
    int64_t price;               /* of an hour, millionths of the view's currency; 0: none is told */
    bool split;                  /* in a filtered view: it has MIG instances, listed or not */
};

#define SITE_NAME_MAX 32
struct node_now {
    char site[SITE_NAME_MAX]; /* of which hub that this one follows; "": its own */
    const char *site_url;     /* where its page is; NULL: not known. Borrowed */
    char key[NODE_KEY_MAX];   /* id in text; the public "id" */
    char name[NAME_MAX_LEN];  /* an admin's name for it, else its own */
    const char *display;      /* what screens call it (names.h); NULL: its name */
    char address[64];         /* where it last came from */
    char *labels;             /* what sources of names say of it (labels.h); NULL: nothing. The node's */
    enum node_state state;
    char reason[160];
    int64_t since_ms;
    int64_t at_ms;        /* newest news of any kind, hub's clock; 0: never */
    int64_t clock_off_ms; /* node minus hub, when above 5 s; else 0 */
    bool demo, retired, maintenance;
    bool unlisted;                                /* no list and no source names it any more: its GPUs do not count */
    bool never_sampled;                           /* it has sent no sample, ever */
    size_t of;                                    /* in a filtered view: GPUs it has, where not all match; else 0 */
    bool awaited;                                 /* not heard since the hub started */
    char was_id[NODE_KEY_MAX], was[NAME_MAX_LEN]; /* the silent node whose GPUs it has; empty: none */
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
    uint64_t named;   /* another number than any node had before, with each change of what it or its devices are called;
                         0: nobody counts that */
};

/* A batch of it will be taken: the values that it changes are on their way from memory while it is decoded. */
static inline void node_expect(const struct node_now *n)
{
    for (size_t i = 0; i < MIN(n->n_devices, 16u); i++)
        for (const char *at = (const char *)&n->devices[i].now; at < (const char *)&n->devices[i].n_procs; at += 64)
            __builtin_prefetch(at, 1);
}

#define NOTICE_MAX 240

enum time_form { TIME_NUMBER, TIME_YMD, TIME_MDY, TIME_DMY }; /* as vesta's TIMESTAMP_FORMAT; NUMBER: as documented */

#define FILTER_SAID 400 /* bytes of what is said of a filter's bare words */

struct view {
    int64_t at_ms;
    bool demo;
    uint64_t version;
    size_t n;
    const struct node_now *const *nodes; /* sorted by name */
    const struct node_now *one;          /* of a view of one node: what nodes points at */
    bool show_cmd;                       /* full command lines may be shown to this reader */
    char reader[64];                     /* whose own command lines may be shown; empty: nobody's */
    enum time_form time_form;            /* how vesta's readers have times */
    const char *filter;                  /* nodes and devices are those that match this; NULL: all */
    size_t of;                           /* with a filter: how many devices it chose from */
    const char *currency;                /* of prices */
    const char *words;                   /* what its bare words are: "kim: person, h200: model"; NULL: it has none */
    bool odd_words;                      /* one of them is nothing here */
    const char *notice; /* what the hub has to say of itself ("store full: …"), for every screen; NULL: nothing */
};

/* The one place that counts states: what every screen says of a cluster comes from here. */
#define TALLY_IDLE_MS 7200000ll /* held without work for so long is said apart */
struct tally {
    size_t nodes, devices, by_state[DEV_STATES];
    size_t idle;       /* held without work for TALLY_IDLE_MS */
    int64_t idle_cost; /* of those, since they last worked: millionths of the currency */
    size_t told;       /* busy ones that tell utilisation, */
    int64_t util,
        power; /* and the sum of their means of a minute; power of all that tell it. As metrics.def has them */
    struct {
        size_t n;
        char name[NAME_MAX_LEN];
    } most[6]; /* nodes with most of what the answer counts, most first; 0: no more */
};
/* One node more. v without its nodes: when it is, and whether there is a filter, which chose n's devices. */
void tally_add(struct tally *t, const struct view *v, const struct node_now *n);
void view_tally(const struct view *v, struct tally *ret);
/* "11 of 48 free: 6 on dgx2, 4 on dgx5, 1 on ws3"; of a filtered view "3 of 48 match 'mem>40G': …" */
int view_answer(const struct view *v, const struct tally *t, struct buf *out);
/* All the others: "30 busy, utilisation 58 % · 6 held, 2 idle for 2 h, 0.80 EUR · 2 offline · 14.5 kW"; nothing of
 * what there is none. first: written before it, if there is any; between: " · " */
int view_counts(const struct view *v, const struct tally *t, const char *first, const char *between, struct buf *out);

/* Whether this reader may see the process's whole command line. */
bool view_shows_cmd(const struct view *v, const struct proc_now *p);

int64_t device_age_ms(const struct device_now *d, int64_t now_ms); /* -1: never */
/* Since when the first of those who are on it hold it; 0: nobody does, or it is not known. */
int64_t device_held_ms(const struct device_now *d);
/* No work seen since, as every screen shows it: not longer than it is held. 0: working now or unknown. */
int64_t device_idle_ms(const struct device_now *d);
/* What every screen shows as "since": held or busy, the same; else in its state. 0: not known. */
int64_t device_since_ms(const struct device_now *d);
/* Who holds it: the distinct users (at most DEVICE_USERS), most memory first. Borrowed. */
#define DEVICE_USERS 8
size_t device_user_names(const struct device_now *d, const char *ret[DEVICE_USERS]);
/* The same, comma separated; "" if none. */
int device_users(const struct device_now *d, struct buf *out);
bool node_is_silent(
    const struct node_now *n); /* nothing is heard of its GPUs: down, hung, or not to be read from afar */
bool device_has_gone(const struct device_now *d); /* a process of PROC_GONE */
/* A MIG parent with instances cannot itself be free: its instances are what one takes. */
bool device_is_parent(const struct node_now *n, const struct device_now *d);
size_t node_gpus(const struct node_now *n);   /* how many it has, without those */
size_t node_counts(const struct node_now *n); /* how many of them count in a cluster: none of an unlisted node */

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
