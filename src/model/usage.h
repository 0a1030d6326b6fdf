/*
 * usage.h: who held which device for how long, in whole numbers: per node and hour, rolled up to days. usage.def says
 * what is counted.
 * Of every device: sum of held + free + unused + down is the time counted, exactly; of every login: busy <= held,
 * effective <= measured <= held.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct usage_sum {
#define SUM(field, ...) int64_t field;
#include "model/usage.def"
};

struct usage_held {
    const char *login; /* "": somebody, nobody knows who */
    struct usage_sum s;
};

struct usage_device {
    const char *device, *model; /* uuid; name */
#define WALL(field, ...) int64_t field;
#define REST(field)      int64_t field;
#include "model/usage.def"
    size_t n;
    struct usage_held *held; /* by login */
};

/* What a node's devices did from at_ms on: an hour (or less: the one under way), or a day. */
struct usage_span {
    int64_t at_ms, end_ms;
    size_t n;
    struct usage_device *devices;
};

static inline void usage_add(struct usage_sum *to, const struct usage_sum *s)
{
#define SUM(field, ...) to->field += s->field;
#include "model/usage.def"
}

#define USAGE_ZONES   8        /* whose days are kept */
#define USAGE_LATE_MS 600000ll /* a process that has not ended was there so long after it was last written down */
/* Memory and shares as weights: in steps, so that a process that grows a little does not change its past. */
int64_t usage_weight(int64_t v);

/* ---- what a question about it is answered with ---- */

enum usage_by { BY_PERSON, BY_TEAM, BY_PROJECT, BY_COMPANY, BY_NODE, BY_MODEL, BY_DEVICE, BY_JOB, USAGE_BYS };
extern const char *const usage_by_words[]; /* "person", ..., NULL */

struct usage_row {
    const char *key;  /* a person, a team, ... a uuid, a job's id; NULL: nobody known, in no group, on no job */
    const char *name; /* of a device "dgx1:0", of a job its name, of what was nobody's "nobody"; else NULL */
    const char *node, *model, *person; /* where the key has one: of a device, a job; else NULL */
    int64_t at_ms;
    char label[24]; /* of the period */
    struct usage_sum s;
#define WALL(field, ...) int64_t field; /* where has_wall; energy of nobody is in s.mj then */
#include "model/usage.def"
    uint32_t gpus; /* different devices held; with has_wall: there were */
    int64_t cost;  /* in millionths */
    int64_t co2_mg;
};

/* Energy for each hour of work: millijoules; -1: not known, or nothing was done. */
static inline int64_t usage_per_work_mj(const struct usage_sum *s)
{
    return s->work_ms > 0 ? (int64_t)((__int128)s->work_mj * 3600000 / s->work_ms) : -1;
}

static inline int64_t usage_wall_ms(const struct usage_row *r) /* all of the time there was */
{
    return r->s.held_ms
#define WALL(field, ...) +r->field
#include "model/usage.def"
        ;
}

/* What GPUs used while nobody held them, where rows are of people: energy alone. */
static inline bool usage_is_nobody(const struct usage_row *r)
{
    return !r->key && r->name;
}

struct usage_table {
    enum usage_by by;
    int64_t from_ms, to_ms, counted_to_ms;
    int64_t records_ms; /* the first hour that is counted of any node; 0: none */
    size_t waiting;     /* hours that are still to be counted */
    const char *period; /* a word of base/zone.h */
    char zone[64], currency[16];
    const char *split;
    bool has_wall, has_cost, has_co2, total_wall;
    size_t n;
    struct usage_row *v;    /* by time, then by time held */
    struct usage_row total; /* everything once */
};

/* Which part of a shared device is whose. */
enum usage_split { SPLIT_MEMORY, SPLIT_EQUAL, SPLIT_SM, SPLITS };
extern const char *const usage_split_words[]; /* "memory", "equal", "sm", NULL */
