/* decode.h: how the store reads batches and facts: through wire. */
#ifndef NODES_DECODE_H
#define NODES_DECODE_H

#include "store/history.h"

extern const struct store_decoder hub_decoder;

#endif
