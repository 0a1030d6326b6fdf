/*
 * sources.h: what relays say of their sources of names (docs/discovery.md): kept in memory, by relay, until they say
 * something else or nothing for SOURCES_KEEP_MS.
 */
#pragma once

#include "base/err.h"
#include "model/now.h"

#define SOURCES_KEEP_MS 120000

struct sources_said;
struct sources_said *sources_said_new(void);
void sources_said_free(struct sources_said *s);
/* A sentence for every screen on those that fail; empty: none does. */
void sources_said_notice(const struct sources_said *s, int64_t now_ms, char out[NOTICE_MAX]);
