/* chunk_v1.h: a column as version 1 wrote it, and what it has in common with those of today. */
#pragma once

#include "codec/chunk.h"

/* c has its sizes and room; v and have are filled in. False: makes no sense. */
bool chunk_v1_column(struct rd *r, struct chunk_cells *c);

/* ---- chunk_read.c ---- */
/* Fills in have and present. every: all devices have all ticks, and nothing is said of them. */
bool chunk_get_presence(struct rd *r, struct chunk_cells *c, bool every,
                        bool (*get)(struct rd *r, struct chunk_cells *c, uint64_t *h));
/* n values at from go to where h says, from the end, since they may lie in the front of v itself. */
void chunk_spread(int64_t *v, const int64_t *from, const uint64_t *h, size_t n_ticks, size_t n);
