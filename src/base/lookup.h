/*
 * lookup.h: finds things by a hash of their name. It holds pointers to them; the caller keeps ownership and compares
 * names, since two may have one hash. Zero-initialise struct lookup.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct lookup {
    struct lookup_slot *v;
    size_t n, cap; /* a power of two, or 0 */
};

/* Eight bytes at a time; for tables in memory alone, since the order of bytes is the processor's. */
uint64_t lookup_hash_str(struct str name);
static inline uint64_t lookup_hash(const char *name)
{
    return lookup_hash_str(str_of(name));
}
void lookup_add(struct lookup *l, uint64_t hash, void *thing);
void lookup_drop(struct lookup *l, uint64_t hash, const void *thing); /* one entry; no effect if it is not found */
void lookup_fini(struct lookup *l);

/* Returns the next thing with this hash, or NULL at the end. at is the position, 0 for the first. Do not
 * change the lookup meanwhile. */
void *lookup_next(const struct lookup *l, uint64_t hash, size_t *at);
/* The same for things with this name, a text at `offset` bytes into each; they were added with its hash. */
void *lookup_next_named(const struct lookup *l, const char *name, size_t offset, size_t *at);
static inline void *lookup_named(const struct lookup *l, const char *name, size_t offset)
{
    size_t at = 0;

    return lookup_next_named(l, name, offset, &at);
}
/* The same for all there are. */
void *lookup_each(const struct lookup *l, size_t *at);

/* For things identified by their index in a vector, which may move. */
static inline void lookup_add_place(struct lookup *l, uint64_t hash, size_t place)
{
    lookup_add(l, hash, (void *)(uintptr_t)(place + 1));
}
/* SIZE_MAX: no more. */
static inline size_t lookup_next_place(const struct lookup *l, uint64_t hash, size_t *at)
{
    return (size_t)(uintptr_t)lookup_next(l, hash, at) - 1;
}
