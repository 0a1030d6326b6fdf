/*
 * usage.h: who held which device for how long, in whole numbers: per node and hour, rolled up to days.
 * Of every device: sum of held + free + unused + down is the time counted, exactly; of every login: busy <= held.
 */
#ifndef MODEL_USAGE_H
#define MODEL_USAGE_H

#include <stddef.h>
#include <stdint.h>

struct usage_sum {
    int64_t held_ms, busy_ms; /* idle is held - busy */
    int64_t long_ms;          /* of idle: in spells of at least usage.idle_spell */
    int64_t mib_s;            /* device memory, MiB times seconds */
    int64_t mj;               /* energy, millijoules */
};

struct usage_held {
    const char *login; /* "": somebody, nobody knows who */
    struct usage_sum s;
};

struct usage_device {
    const char *device, *model;          /* uuid; name */
    int64_t free_ms, unused_ms, down_ms; /* unused: booked, and nobody on it */
    int64_t mj;                          /* energy while nobody held it */
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
    to->held_ms += s->held_ms;
    to->busy_ms += s->busy_ms;
    to->long_ms += s->long_ms;
    to->mib_s += s->mib_s;
    to->mj += s->mj;
}

/* Which part of a shared device is whose. */
enum usage_split { SPLIT_MEMORY, SPLIT_EQUAL, SPLIT_SM, SPLITS };
extern const char *const usage_split_words[]; /* "memory", "equal", "sm", NULL */

#endif
