/*
 * outline.h: what of a node is more than a value: its state and those of its devices, who is on them, what is booked
 * and advised. Pure.
 */
#pragma once

#include <stdint.h>

#include "model/now.h"

/* A hash of it: the same for as long as values alone change. */
uint64_t node_outline(const struct node_now *n);
