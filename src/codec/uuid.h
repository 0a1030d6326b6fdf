/* uuid.h: names of GPUs in drivers' format, GPU-01234567-89ab-cdef-0123-456789abcdef <-> 16 bytes. */
#pragma once

#include "base/str.h"

#define UUID_BYTES 16u
#define UUID_TEXT  40u

bool uuid_read(struct str name, uint8_t ret[UUID_BYTES]); /* returns false for other formats */
/* returns the text in to, which is not NUL-terminated */
struct str uuid_write(const uint8_t bytes[UUID_BYTES], char to[UUID_TEXT]);
