/*
 * fact.h: data that rarely changes: the node, its devices, its processes, metrics declared at run time. Agents send it
 * as blobs named by their content (wire/), only when it changes. Text is capped here, checked where it enters (wire/):
 * valid UTF-8, no control characters.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "model/metric.h"
#include "model/record.h"

#define NODE_ID_LEN  16  /* bytes; shown as 32 hex digits */
#define NODE_KEY_MAX 72  /* the text form of an id: 32 hex digits, or "vesta:…", "ssh:…", "file:…" */
#define NAME_MAX_LEN 128 /* node names, device names, users */
#define UUID_MAX     80
#define CMD_MAX      1024
#define LAUNCH_MAX   96
#define DEVICES_MAX  256 /* per node, MIG instances included */
#define PROCS_MAX    1024
#define CUSTOM_MAX   256

enum vendor { VENDOR_UNKNOWN, VENDOR_NVIDIA, VENDOR_AMD, VENDOR_INTEL, VENDOR_COUNT };

/* A GPU, or a MIG instance of one. Slot n of a batch is devices[n - 1]; slot 0 is the node itself. */
struct device_fact {
    char uuid[UUID_MAX];   /* identity: GPU-…, MIG-…, amd-…; the same after a reboot */
    char parent[UUID_MAX]; /* a MIG instance's GPU; empty otherwise */
    char name[NAME_MAX_LEN];
    char serial[40];
    char pci[20];   /* 0000:05:00.0, lower case */
    int32_t index;  /* as numbered by the driver now; may change at a reboot */
    int32_t minor;  /* /dev/nvidiaN, -1 unknown */
    int32_t mig;    /* instance number within the parent, -1 when not MIG */
    uint8_t vendor; /* enum vendor */
    bool lost;      /* it was present before */
    bool asleep;    /* runtime suspended; muster does not wake it */
    char note[96];  /* why values are missing, as text; "": all are there */
};

struct custom_fact { /* a metric declared at run time; its id is METRIC_CUSTOM + position */
    char name[64];
    uint8_t unit; /* enum unit */
    uint8_t kind; /* enum kind */
    int64_t per;
};

struct node_fact {
    char name[NAME_MAX_LEN]; /* host name by default */
#define NUMBER(type, field, ...) type field;
#define TEXT(size, field, ...)   char field[size];
#include "model/node.def"
    size_t n_devices, n_custom;
    struct device_fact *devices;
    struct custom_fact *custom;
};

extern const struct record_kind node_facts;

enum proc_kind { PROC_COMPUTE = 1, PROC_GRAPHICS = 2, PROC_MPS = 4 }; /* bits */

/* Whether it is a display server: graphics only, with less memory than graphics_mem, or unknown memory (-1).
 * graphics_mem 0: never. */
static inline bool proc_only_draws(uint8_t kind, int64_t mem, int64_t graphics_mem)
{
    return kind == PROC_GRAPHICS && graphics_mem > 0 && mem < graphics_mem;
}

/* User name of a process that the driver lists and ps does not know, as in Web-GPU-Monitor; and its meaning. */
#define PROC_GONE       "Zombie"
#define PROC_GONE_WORDS "a process that is gone still holds memory"

/* A process that uses a device. Identity: (boot, pid, start_ms). */
struct proc_fact {
#define NUMBER(wire, kept, shown, type, field, ...) type field;
#define TEXT(wire, kept, shown, size, field, ...)   char field[size];
#include "model/proc.def"
#undef NUMBER
#undef TEXT
};
extern const struct record_kind proc_wire, proc_shown; /* its fields in the order of the wire and of the state's JSON */

struct proc_span {             /* a process on a device: start and end */
    const char *node, *device; /* key, uuid */
    struct proc_fact fact;
    int64_t first_ms, last_ms; /* when seen */
    int64_t mem_max;
    bool ended;
    uint8_t kind; /* enum proc_kind bits; 0 unknown */
    int32_t sm;   /* mean so far, 0.01 %; -1 unknown */
};
extern const struct record_kind proc_record;

struct proc_list {
    size_t n;
    struct proc_fact *v;
};

/* The index among those of f; -1: not found. add: appends an unknown device or metric, unless f is full. */
int node_fact_device(struct node_fact *f, const char *uuid, bool add);
int node_fact_custom(struct node_fact *f, const char *name, bool add);
/* Deep copies, and their fini; all accept zeroed structs. */
void node_fact_fini(struct node_fact *f);
void node_fact_copy(struct node_fact *to, const struct node_fact *from);
void proc_list_fini(struct proc_list *l);
void proc_list_copy(struct proc_list *to, const struct proc_list *from);

struct node_id {
    uint8_t b[NODE_ID_LEN];
};
bool node_id_parse(struct str hex, struct node_id *ret);
const char *node_id_text(const struct node_id *id, char out[33]);
/*
 * Nodes without an agent have keys with their source, "ssh:gpu01", "file:gpu01", and an id derived from the key: FNV-1a
 * of the key, and FNV-1a of those eight bytes xor its length. (The hub makes the keys of vesta's nodes.)
 */
#define ORIGIN_NAME_MAX (NODE_KEY_MAX - 6)
#define FILES_STALE_MS  500000 /* maximum age of a sample of a `file:` node, as in GPU Monitor */
bool node_origin_ok(struct str key);
void node_origin_id(struct str key, struct node_id *ret);

/* The part after the colon of "dgx1:0": its index; for a MIG instance "0.1". Returns out. */
const char *device_index_text(const struct device_fact *f, char out[24]);

/* Names that enter from outside: non-empty, at most max bytes, valid UTF-8, no control characters, no '"', '\\' or '/'.
 */
bool name_ok(struct str s, size_t max);
