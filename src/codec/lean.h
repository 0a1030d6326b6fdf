/*
 * lean.h: a metric that goes with another one of the same devices (energy with power, what a link receives with what it
 * sends) is written as what is left of it when a multiple of the other is taken away. docs/internals/store.md describes
 * the bytes. Pure: no clock, no disk.
 *
 * Where the base is 0, as a GPU's utilisation is that does nothing, there is mostly nothing to tell: then values are
 * split into those where it is not 0, which lean, and the others, which are kept as they are.
 *
 * L1 lean_undo(lean_take(v)) == v, for every v and every base, and so is lean_join. L2 lean_get never reads past r.
 */
#pragma once

#include "base/buf.h"

#define LEAN_BASES 4u /* metrics that others lean on */

/* The metric that this one may lean on, and whether its differences do rather than its values; 0: on none. A custom one
 * (0) may be used memory said in another way. */
uint16_t lean_on(uint16_t metric, bool *ret_sums);
/* Which of the bases it is; LEAN_BASES: none. */
unsigned lean_base(uint16_t metric);

struct lean { /* zeroed at first, ended with lean_fini */
    uint64_t by;
    unsigned shift;
    bool sums, split;
    int64_t *slope, *first; /* of each series; split: of those that have values where the base is not 0 */
    int64_t *busy;          /* split: so many these are, of each series */
    size_t cap;
};
/* Values where the base is not 0 are worth to be told apart from the others: there are enough of both. */
bool lean_splits(const uint64_t *const *base, const size_t *n, size_t n_series);
/*
 * What is left of each series: in ret, one after another. Base: as many values as v. False: leaning saves next to
 * nothing, or cannot be; ret does not matter then.
 */
bool lean_take(struct lean *l, bool sums, const uint64_t *const *v, const uint64_t *const *base, const size_t *n,
               size_t n_series, uint64_t *ret);
/* The same for a column that is its base and a constant, or a constant less its base: free memory beside used memory.
 */
bool lean_same(struct lean *l, const uint64_t *const *v, const uint64_t *const *base, const size_t *n, size_t n_series,
               uint64_t *ret);
/* What was taken is that of values where the base is not 0: of which series how many are. */
void lean_split(struct lean *l, const uint64_t *const *base, const size_t *n, size_t n_series);
int lean_put(const struct lean *l, struct buf *out, size_t n_series);
bool lean_get(struct lean *l, struct rd *r, bool sums, size_t n_series);
/* Values [0, to) of a series that was split: of slope `at`, from its busy values and its others. False: these are not
 * as many as the base says; all: and no more. */
struct lean_parts {
    const uint64_t *busy, *idle;
    size_t n_busy, n_idle;
};
bool lean_join(const struct lean *l, size_t at, const struct lean_parts *p, int64_t *v, const int64_t *base,
               const uint64_t *have, size_t to, bool all);
/* Values [from, to) of a series, in place, where have has a bit (NULL: everywhere); with sums from must be 0. */
void lean_undo(const struct lean *l, size_t series, int64_t *v, const int64_t *base, const uint64_t *have, size_t from,
               size_t to);
void lean_fini(struct lean *l);
