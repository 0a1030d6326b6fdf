/* chunk_v1.h: a column as version 1 wrote it. */
#pragma once

#include "codec/chunk.h"

/* c has its sizes and room; v and have are filled in. False: makes no sense. */
bool chunk_v1_column(struct rd *r, struct chunk_cells *c);
