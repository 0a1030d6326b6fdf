/*
 * lean.h: a metric that goes with another one of the same devices (energy with power, what a link receives with what it
 * sends) is written as what is left of it when a multiple of the other is taken away. docs/store.md describes the
 * bytes. Pure: no clock, no disk.
 *
 * L1 lean_undo(lean_take(v)) == v, for every v and every base. L2 lean_get never reads past r.
 */
#pragma once

#include "base/buf.h"

#define LEAN_BASES 3u /* metrics that others lean on */

/* The metric that this one may lean on, and whether its differences do rather than its values; 0: on none. */
uint16_t lean_on(uint16_t metric, bool *ret_sums);
/* Which of the bases it is; LEAN_BASES: none. */
unsigned lean_base(uint16_t metric);

struct lean { /* zeroed at first, ended with lean_fini */
    uint64_t by;
    unsigned shift;
    bool sums;
    int64_t *slope, *first; /* of each series */
    size_t cap;
};
/*
 * What is left of each series: in ret, one after another. Base: as many values as v. False: leaning saves next to
 * nothing, or cannot be; ret does not matter then.
 */
bool lean_take(struct lean *l, bool sums, const uint64_t *const *v, const uint64_t *const *base, const size_t *n,
               size_t n_series, uint64_t *ret);
int lean_put(const struct lean *l, struct buf *out, size_t n_series);
bool lean_get(struct lean *l, struct rd *r, bool sums, size_t n_series);
/* Values [from, to) of a series, in place, where have has a bit (NULL: everywhere); with sums from must be 0. */
void lean_undo(const struct lean *l, size_t series, int64_t *v, const int64_t *base, const uint64_t *have, size_t from,
               size_t to);
void lean_fini(struct lean *l);
