/*
 * collect.h: the interface of a collector: one way to read devices, as one const struct. It runs in the agent's child
 * process, never in the agent itself. Every collector that finds devices is used, in the order of collectors[]. A
 * device that two collectors see (same uuid or PCI address) belongs to the first.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "model/batch.h"
#include "model/fact.h"

/* A process on a device as reported by the driver; proc_info.c adds the rest. */
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
    struct sample sample; /* only the values that are fresh at this tick */
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
    char driver[32], cuda[16]; /* empty if this collector does not report them */
    struct arena known;        /* see reading_known */
};
struct device_reading *reading_add(struct reading *r); /* zeroed, mig and minor -1; moves the others */
void device_reading_use(struct device_reading *d, struct raw_use u);
struct custom_reading *reading_custom(struct reading *r); /* zeroed; NULL when there are too many */
/*
 * A process that is known without /proc, for raw_use.known. Only the file name of the program's path is kept. Returns
 * NULL if there are too many. Owned by the reading, valid until reading_reset().
 */
struct proc_fact *reading_known(struct reading *r, int32_t pid, const char *program);
void reading_event(struct reading *r, const struct node_event *e);
/* Why work is unknown (model/work.h), as the note of devices that have no other. */
void reading_no_work(struct reading *r, const char *why);
void reading_reset(struct reading *r);
void reading_fini(struct reading *r);

struct collect_conf {
    int64_t tick_ms;
    const char *nvml_lib;    /* NULL: the system's */
    const char *root;        /* path prefix of /sys and /proc for the NVML collector; NULL if none; for tests */
    const char *smi_path;    /* nvidia-smi */
    const char *replay;      /* a trace; NULL if none */
    struct str replay_text;  /* the trace itself, for a replay that names no file (":8") */
    const char *const *exec; /* commands or files of `name value` lines, NULL-terminated; may be NULL */
    bool cmdline;            /* read command lines at all */
    /*
     * Only these metrics, for a caller that reads often: no processes, no events, no closing of the driver to let GPUs
     * sleep. Quick metrics are read at every tick; slow metrics keep their normal interval. NULL: everything.
     */
    const struct bits *want;
};

/* Cheap enough for every tick. Other metrics are read less often and appear in a tick only when fresh. */
bool collect_quick(enum metric m);

struct collector; /* each backend's own */
struct collector_ops {
    const char *name;
    bool (*present)(const struct collect_conf *conf); /* cheap, no side effects */
    int (*open)(struct collector **ret, const struct collect_conf *conf, struct err *err);
    /*
     * Fills ret (already reset, at_ms set). Returns 0 or -errno: -ENODEV "no driver now, try later", -ESTALE "library
     * and driver differ: replace this process", -EAGAIN "nothing yet". With 0, err->msg may hold a remark for users ("3
     * lines skipped: ...").
     */
    int (*read)(struct collector *c, struct reading *ret, struct err *err);
    void (*close)(struct collector *c); /* accepts NULL */
    const char *unless; /* with "auto": this collector is a stand-in, closed while the collector of this name reads;
                           NULL if none */
};
extern const struct collector_ops collector_nvml, collector_smi, collector_replay, collector_exec;
extern const struct collector_ops *const collectors[]; /* NULL-terminated */

/* Parsed list of collectors: "auto" (each that is present), comma-separated names, or "none" (read no devices). */
struct collect_choice {
    bool automatic;
    uint32_t use; /* bit n: table[n] */
};
/* Returns 0, or -EINVAL with the unknown name and the known names in err. */
int collect_choose(const struct collector_ops *const *table, const char *list, struct collect_choice *ret,
                   struct err *err);

/*
 * Copies text of a driver or a process into dst[size], clean for messages. Control characters become spaces, invalid
 * UTF-8 becomes '?', leading and trailing spaces are removed. Cuts long text at a whole character and zeroes the rest
 * of dst.
 */
void collect_text(char *dst, size_t size, struct str s);
void collect_quoted(char *dst, size_t size, struct str s); /* the same, less quotes around it */
/* "00000000:3B:00.0" -> "0000:3b:00.0". Empty if it is not a PCI address. */
void collect_pci(char dst[20], struct str s);
