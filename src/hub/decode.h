/* decode.h: the functions by which the store decodes batches and facts. */
#pragma once

#include "store/samples.h"

extern const struct store_decoder hub_decoder;
