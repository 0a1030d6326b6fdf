/* on_devices.h: the persons and their devices: now, from a view; and in the past, from process records. */
#pragma once

#include "base/mem.h"
#include "history/history.h"
#include "model/now.h"

/* A device that a person uses. */
struct device_user {
    const struct node_now *node;
    const struct device_now *device;
    int64_t mem;      /* of this person's processes; -1 unknown */
    int64_t since_ms; /* start of the first of them; 0 unknown */
    const char *program;
    size_t n_procs;
};

#define PERSON_LOGINS 8
struct person_now {
    const char *name; /* a person, or a login without a mapping; "": unknown user */
    size_t n_logins;
    const char *logins[PERSON_LOGINS]; /* their logins on devices now, the first few */
    size_t n, cap, idle;
    struct device_user *v; /* by node, then by device index */
    int64_t mem, since_ms;
    double used; /* GPUs with data; a GPU shared by persons is split by the memory of their processes */
};

/* All pointers except the arrays are borrowed from the view. Most devices first, then by name. */
struct on_devices {
    size_t n, cap;
    struct person_now *v;
};
void on_devices_of(const struct view *v, struct on_devices *ret);
void on_devices_fini(struct on_devices *p);

/* A period in which a process, or a person, was seen on a device. */
struct span {
    char node[NODE_KEY_MAX], device[UUID_MAX], user[64], program[64];
    int32_t pid; /* 0: a person's span, not one process */
    bool ended;  /* false: still there at the last report */
    int64_t first_ms, last_ms, mem;
    int64_t start_ms; /* start of its oldest process; 0 unknown */
    int64_t uid;      /* -1 unknown */
    uint32_t procs;
};

struct span_query {
    const char *node, *device;                          /* key, uuid; NULL: all */
    const char *user;                                   /* NULL: all */
    bool (*keep)(void *arg, const struct proc_span *p); /* filter; NULL: all */
    void *arg;
    int64_t from_ms, to_ms;
    bool by_user;   /* merge a person's processes on a device into one span */
    int64_t gap_ms; /* by_user: maximum gap between two spans to merge */
    size_t limit;
};

struct spans {
    size_t n, cap;
    struct span *v; /* by node, device, start */
    bool more;      /* limit was reached: the rest is omitted */
};
/* From past's process records. Thread-safe. Returns 0 or -errno. Call spans_fini() in both cases. */
int spans_of(const struct span_query *ask, const struct past_source *past, struct spans *ret, struct err *err);
void spans_fini(struct spans *s);
