/* pace.h: when agents must send: the interval, and the phase within it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct hub;
bool pace_watched(const struct hub *h, int64_t now_ms);        /* a client requested the state recently */
int64_t pace_interval_ms(const struct hub *h, int64_t now_ms); /* shorter while a client is connected */
int64_t pace_phase_ms(const struct hub *h, const char *node, int64_t interval_ms);
