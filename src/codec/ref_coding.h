/*
 * ref_coding.h: codes a metric against a reference metric of the same devices (energy with power, what a link receives
 * with what it sends): only the remainder after subtracting a multiple of the reference is stored.
 * docs/internals/store.md describes the bytes. Pure: no clock, no disk.
 *
 * Where the reference is 0, such as the utilisation of an idle GPU, coding against it rarely helps. Then values are
 * split: those where it is not 0 are coded against it, the others are stored unchanged.
 *
 * L1 ref_decode(ref_encode(v)) == v, for every v and every reference, and so is ref_merge.
 * L2 ref_read never reads past r.
 */
#pragma once

#include "base/buf.h"

#define LEAN_BASES 4u /* number of reference metrics */

/*
 * The reference of this metric, and whether its differences are coded rather than its values; 0: none. A custom metric
 * (0) may be used memory in another form.
 */
uint16_t ref_metric(uint16_t metric, bool *ret_sums);
/* Index of the metric among the references; LEAN_BASES: none. */
unsigned ref_index(uint16_t metric);

struct ref_coding { /* zero-initialise; free with ref_fini() */
    uint64_t by;
    unsigned shift;
    bool sums, split;
    int64_t *slope, *first; /* of each series; split: of those with values where the reference is not 0 */
    int64_t *busy;          /* split: number of these values, per series */
    size_t cap;
};
/* Whether to split the values by the reference being 0 or not: there are enough of both. */
bool ref_can_split(const uint64_t *const *base, const size_t *n, size_t n_series);
/*
 * Writes the remainders of all series to ret, consecutively. Base: as many values as v. Returns false if that saves
 * next to nothing or is impossible; ret is undefined then.
 */
bool ref_encode(struct ref_coding *l, bool sums, const uint64_t *const *v, const uint64_t *const *base, const size_t *n,
                size_t n_series, uint64_t *ret);
/*
 * The same for a column that is its reference plus a constant, or a constant minus its reference: free and used memory.
 */
bool ref_encode_const(struct ref_coding *l, const uint64_t *const *v, const uint64_t *const *base, const size_t *n,
                      size_t n_series, uint64_t *ret);
/* After ref_encode on the values where the reference is not 0: counts these per series. */
void ref_split(struct ref_coding *l, const uint64_t *const *base, const size_t *n, size_t n_series);
int ref_write(const struct ref_coding *l, struct buf *out, size_t n_series);
bool ref_read(struct ref_coding *l, struct rd *r, bool sums, size_t n_series);
/*
 * Values [0, to) of a series that was split: of slope `at`, from its busy values and its others. Returns false if their
 * number differs from what the reference requires; all: there must be no more either.
 */
struct ref_parts {
    const uint64_t *busy, *idle;
    size_t n_busy, n_idle;
};
bool ref_merge(const struct ref_coding *l, size_t at, const struct ref_parts *p, int64_t *v, const int64_t *base,
               const uint64_t *have, size_t to, bool all);
/*
 * Restores values [from, to) of a series, in place, where have has a bit (NULL: everywhere); with sums from must be 0.
 */
void ref_decode(const struct ref_coding *l, size_t series, int64_t *v, const int64_t *base, const uint64_t *have,
                size_t from, size_t to);
void ref_fini(struct ref_coding *l);
