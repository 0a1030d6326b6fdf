/*
 * collect.h: what a collector is: one way to read devices, as one const struct. It runs in the agent's child process,
 * never in the agent itself. Every collector that finds devices is used, in the order of collectors[]; a device two of
 * them see (same uuid or PCI address) belongs to the first.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "model/batch.h"
#include "model/fact.h"

/* A process on a device as the driver tells it; who.c finds out the rest. */
struct raw_use {
    int32_t pid;
    uint8_t kind;
    int64_t mem;             /* -1 unknown */
    int32_t sm;              /* 0.01 %, -1 unknown */
    struct proc_fact *known; /* filled by sources that know more than a pid (replay, text from elsewhere); NULL
                                otherwise; owned by the collector or the reading */
};

struct device_reading {
    struct device_fact fact;
    struct sample sample; /* only what is fresh at this tick */
    size_t n_uses, cap_uses;
    struct raw_use *uses;
};

struct custom_reading {
    char name[64];
    char device[UUID_MAX]; /* uuid, index as text, or empty for the node */
    uint8_t unit, kind;
    int64_t per, v;
};

/* One tick of one collector. Kept and reused between ticks: reading_reset keeps the memory. */
struct reading {
    int64_t at_ms;
    size_t n_devices, cap_devices;
    struct device_reading *devices;
    size_t n_custom, cap_custom;
    struct custom_reading *custom;
    size_t n_events, cap_events;
    struct node_event *events; /* slot counts devices of this reading from 1 */
    struct sample node;        /* replay only: node metrics */
    char driver[32], cuda[16]; /* empty: not this collector's to say */
    struct arena known;        /* see reading_known */
};
struct device_reading *reading_add(struct reading *r); /* zeroed, mig and minor -1; moves the others */
void device_reading_use(struct device_reading *d, struct raw_use u);
struct custom_reading *reading_custom(struct reading *r); /* zeroed; NULL when there are too many */
/* What is known of a process without /proc, for raw_use.known; the reading's own, until it is reset. The program's path
 * goes, its name stays. NULL when there are too many. */
struct proc_fact *reading_known(struct reading *r, int32_t pid, const char *program);
void reading_event(struct reading *r, const struct node_event *e);
/* Why work is not known (model/work.h), as the note of devices that have no other. */
void reading_no_work(struct reading *r, const char *why);
void reading_reset(struct reading *r);
void reading_fini(struct reading *r);

struct collect_conf {
    int64_t tick_ms;
    const char *nvml_lib;    /* NULL: the system's */
    const char *root;        /* before /sys and /proc where the NVML collector reads them; NULL: none; for tests */
    const char *smi_path;    /* nvidia-smi */
    const char *replay;      /* a trace; NULL: none */
    struct str replay_text;  /* the trace itself, for a replay that names no file (":8") */
    const char *const *exec; /* commands or files of `name value` lines, NULL-terminated; may be NULL */
    bool cmdline;            /* read command lines at all */
    /*
     * Only these metrics, for one who asks often: no processes, no events, no letting go of GPUs that may sleep. What
     * is quick is asked at every tick, what is slow as seldom as ever. NULL: everything.
     */
    const struct bits *want;
};

/* Cheap enough for every tick; others are asked now and then, and come when they are fresh. */
bool collect_quick(enum metric m);

struct collector; /* each backend's own */
struct collector_ops {
    const char *name;
    bool (*present)(const struct collect_conf *conf); /* cheap, no side effects */
    int (*open)(struct collector **ret, const struct collect_conf *conf, struct err *err);
    /*
     * Fill ret (already reset, at_ms set). 0, or -errno: -ENODEV "no driver now, try later", -ESTALE "library and
     * driver differ: replace this process", -EAGAIN "nothing yet". With 0, err->msg may hold a remark for people ("3
     * lines skipped: ...").
     */
    int (*read)(struct collector *c, struct reading *ret, struct err *err);
    void (*close)(struct collector *c); /* accepts NULL */
    const char *unless; /* with "auto": a stand-in, closed while the collector of this name reads; NULL: none */
};
extern const struct collector_ops collector_nvml, collector_smi, collector_replay, collector_exec;
extern const struct collector_ops *const collectors[]; /* NULL-terminated */

/* What a list of collectors means: "auto" (each that is present), names with commas, "none" (read no devices). */
struct collect_choice {
    bool automatic;
    uint32_t use; /* bit n: table[n] */
};
/* 0, or -EINVAL with the word that is not known and those that are. */
int collect_choose(const struct collector_ops *const *table, const char *list, struct collect_choice *ret,
                   struct err *err);

/*
 * Text of a driver or a process into dst[size], fit to travel: controls become blanks, what is not UTF-8 becomes '?',
 * blanks go off both ends, cut where it must be at a whole character; the rest of dst is zeroed.
 */
void collect_text(char *dst, size_t size, struct str s);
void collect_quoted(char *dst, size_t size, struct str s); /* the same, less quotes around it */
/* "00000000:3B:00.0" -> "0000:3b:00.0". Empty when it is no PCI address. */
void collect_pci(char dst[20], struct str s);
