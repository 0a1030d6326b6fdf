/*
 * sources.h: reports of relays about their sources of names (docs/discovery.md), kept in memory per relay. A new
 * report replaces the old one; a report expires after SOURCES_KEEP_MS.
 */
#pragma once

#include "base/err.h"
#include "model/now.h"

#define SOURCES_KEEP_MS 120000

struct sources_said;
struct sources_said *sources_said_new(void);
void sources_said_free(struct sources_said *s);
/* A message for every screen about failing sources; empty: none fails. */
void sources_said_notice(const struct sources_said *s, int64_t now_ms, char out[NOTICE_MAX]);
