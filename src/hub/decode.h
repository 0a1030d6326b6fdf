/* decode.h: the functions by which the store decodes batches and facts. */
#ifndef HUB_DECODE_H
#define HUB_DECODE_H

#include "store/samples.h"

extern const struct store_decoder hub_decoder;

#endif
