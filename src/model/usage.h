/*
 * usage.h: who held which device for how long, in whole numbers: per node and hour, rolled up to days. usage.def
 * defines the values.
 * For every device: sum of held + free + unused + down is the counted time, exactly; for every login: busy <= held,
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
    const char *login; /* "": unknown user */
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

/* Usage of a node's devices from at_ms on: an hour (or less: the current one), or a day. */
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

#define USAGE_ZONES   8        /* maximum number of zones whose days are stored */
#define USAGE_LATE_MS 600000ll /* a process that has not ended counts this long after it was last recorded */
/* Memory and shares as weights: in steps, so that a process that grows a little does not change its past. */
int64_t usage_weight(int64_t v);

/* ---- the result of a usage query ---- */

enum usage_by { BY_PERSON, BY_TEAM, BY_PROJECT, BY_COMPANY, BY_NODE, BY_MODEL, BY_DEVICE, BY_JOB, USAGE_BYS };
extern const char *const usage_by_words[]; /* "person", ..., NULL */

struct usage_row {
    const char *key;  /* a person, a team, ... a uuid, a job's id; NULL: unknown user, no group or no job */
    const char *name; /* of a device "dgx1:0", of a job its name, of unowned usage "nobody"; else NULL */
    const char *node, *model, *person; /* of a key that has them: a device, a job; else NULL */
    int64_t at_ms;
    char label[24]; /* of the period */
    struct usage_sum s;
#define WALL(field, ...) int64_t field; /* if has_wall; s.mj then includes unowned energy */
#include "model/usage.def"
    uint32_t gpus; /* different devices held; with has_wall: that existed */
    int64_t cost;  /* in millionths */
    int64_t co2_mg;
};

/* Energy per effective hour: millijoules; -1: unknown, or no effective time. */
static inline int64_t usage_per_work_mj(const struct usage_sum *s)
{
    return s->work_ms > 0 ? (int64_t)((__int128)s->work_mj * 3600000 / s->work_ms) : -1;
}

static inline int64_t usage_wall_ms(const struct usage_row *r) /* the whole counted time */
{
    return r->s.held_ms
#define WALL(field, ...) +r->field
#include "model/usage.def"
        ;
}

/* Whether the row has the unowned usage of GPUs, if rows are of people: energy only. */
static inline bool usage_is_nobody(const struct usage_row *r)
{
    return !r->key && r->name;
}

struct usage_table {
    enum usage_by by;
    int64_t from_ms, to_ms, counted_to_ms;
    int64_t records_ms; /* the first counted hour of any node; 0: none */
    size_t waiting;     /* hours still to count */
    const char *period; /* a word of base/zone.h */
    char zone[64], currency[16];
    const char *split;
    bool has_wall, has_cost, has_co2, total_wall;
    size_t n;
    struct usage_row *v;    /* by time, then by time held */
    struct usage_row total; /* everything once */
};

/* How the time of a shared device is split. */
enum usage_split { SPLIT_MEMORY, SPLIT_EQUAL, SPLIT_SM, SPLITS };
extern const char *const usage_split_words[]; /* "memory", "equal", "sm", NULL */
