/* jpeg.h: pixels as a JPEG file. Pure. */
#pragma once

#include <stddef.h>

struct buf;

/* pixels: 0x00RRGGBB each, as cairo has them; stride: bytes from a row to the next. At most 65,535 each way. */
void jpeg_draw(struct buf *out, const unsigned char *pixels, size_t stride, int width, int height);
