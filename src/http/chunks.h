/*
 * chunks.h: parses a chunked body as strictly as a head (head.h): sizes are hexadecimal digits and nothing else, every
 * line ends with CR LF, and there is no bare CR or LF, NUL or other control character in a line. Trailers are checked
 * and discarded; a trailer with the length or target of the body is refused.
 */
#pragma once

#include "base/buf.h"

enum chunk_part { CHUNK_SIZE, CHUNK_DATA, CHUNK_END, CHUNK_TRAILER };

struct chunks {
    enum chunk_part part;
    size_t left, trailers, max;
    struct buf body; /* what came so far, without its chunks */
};

void chunks_init(struct chunks *c, size_t max);
void chunks_fini(struct chunks *c);
/*
 * Consumes as much of in as possible: *used bytes. Returns 0: needs more; 1: the body is complete; or a negative HTTP
 * status: -400, -413 (larger than max), -431.
 */
int chunks_take(struct chunks *c, struct str in, size_t *used);
