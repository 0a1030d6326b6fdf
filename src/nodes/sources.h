/*
 * sources.h: reports of relays about their sources of names (docs/discovery.md), kept in memory per relay. A new
 * report replaces the old one; a report expires after SOURCES_KEEP_MS.
 */
#pragma once

#include "base/err.h"
#include "model/now.h"

#define SOURCES_KEEP_MS 120000

struct source_status;
struct source_status *source_status_new(void);
void source_status_free(struct source_status *s);
/* A message for every screen about failing sources; empty: none fails. */
void source_status_notice(const struct source_status *s, int64_t now_ms, char out[NOTICE_MAX]);
