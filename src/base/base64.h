/* base64.h: bytes as text, as RFC 4648 writes them, with padding and without line ends. */
#pragma once

#include "base/str.h"

struct buf;

void base64_add(struct buf *out, struct str bytes);
/* Onto the end of out. -EBADMSG: it is not base64; out is as it was then. */
int base64_read(struct str text, struct buf *out);
