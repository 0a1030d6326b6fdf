/* chunk_v1.h: columns of version 1, and code shared with the current version. */
#pragma once

#include "codec/chunk.h"

/* c has its sizes and room; sets v and have. Returns false if invalid. */
bool chunk_v1_column(struct rd *r, struct chunk_cells *c);

/* ---- chunk_read.c ---- */
/* Sets have and present. every: all devices have all ticks, and no presence is stored. */
bool chunk_get_presence(struct rd *r, struct chunk_cells *c, bool every,
                        bool (*get)(struct rd *r, struct chunk_cells *c, uint64_t *h));
/* Moves n values at from to the positions set in h, from the end, since they may be in the front of v itself. */
void chunk_spread(int64_t *v, const int64_t *from, const uint64_t *h, size_t n_ticks, size_t n);
