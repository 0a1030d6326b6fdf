/*
 * outline.h: the parts of a node that are not values: its state and its devices' states, processes, bookings and
 * advice. Pure.
 */
#pragma once

#include <stdint.h>

#include "model/now.h"

/* A hash of these parts: it stays the same while only values change. */
uint64_t node_outline(const struct node_now *n);
