/* pace.h: when agents are asked to send: how often, and when within that time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct hub;
bool pace_watched(const struct hub *h, int64_t now_ms);        /* somebody looked at the state lately */
int64_t pace_interval_ms(const struct hub *h, int64_t now_ms); /* more often while somebody looks */
int64_t pace_phase_ms(const struct hub *h, const char *node, int64_t interval_ms);
