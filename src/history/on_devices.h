/* on_devices.h: which person is on which devices: now, from a view; and in the past, from process records. */
#pragma once

#include "base/mem.h"
#include "history/history.h"
#include "model/now.h"

/* One device a person is on. */
struct holding {
    const struct node_now *node;
    const struct device_now *device;
    int64_t mem;      /* of this person's processes; -1 unknown */
    int64_t since_ms; /* the first of them was there; 0 unknown */
    const char *program;
    size_t n_procs;
};

#define PERSON_LOGINS 8
struct person_now {
    const char *name; /* a person, or a login that nobody is told of; "" is whoever could not be found out */
    size_t n_logins;
    const char *logins[PERSON_LOGINS]; /* under which they are on devices now, the first few */
    size_t n, cap, idle;
    struct holding *v; /* by node, then as the node counts them */
    int64_t mem, since_ms;
    double used; /* GPUs with data; one that several persons are on is split by the memory of their processes */
};

/* Everything borrows from the view but the arrays. Most devices first, then by name. */
struct on_devices {
    size_t n, cap;
    struct person_now *v;
};
void on_devices_of(const struct view *v, struct on_devices *ret);
void on_devices_fini(struct on_devices *p);

/* A stretch of time in which a process, or a person, was seen on a device. */
struct span {
    char node[NODE_KEY_MAX], device[UUID_MAX], user[64], program[64];
    int32_t pid; /* 0: of a person, not of one process */
    bool ended;  /* false: still there when last heard of */
    int64_t first_ms, last_ms, mem;
    int64_t start_ms; /* the oldest of its processes began; 0 unknown */
    int64_t uid;      /* -1 unknown */
    uint32_t procs;
};

struct span_ask {
    const char *node, *device;                          /* key, uuid; NULL: all */
    const char *user;                                   /* NULL: all */
    bool (*keep)(void *arg, const struct proc_span *p); /* which of them; NULL: all */
    void *arg;
    int64_t from_ms, to_ms;
    bool by_user;   /* one span for what a person's processes on a device cover together */
    int64_t gap_ms; /* by_user: two stretches no further apart are one */
    size_t limit;
};

struct spans {
    size_t n, cap;
    struct span *v; /* by node, device, beginning */
    bool more;      /* limit was reached: the rest is left out */
};
/* Out of past's process records, on any thread. 0 or -errno. ret is ended with spans_fini in any case. */
int spans_of(const struct span_ask *ask, const struct past_source *past, struct spans *ret, struct err *err);
void spans_fini(struct spans *s);
