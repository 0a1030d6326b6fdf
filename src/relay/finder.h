/*
 * finder.h: finds machines through sources (relay/source.h), in addition to the listed ones.
 *
 * I1 A failing source keeps its machines. The failure and its reason are logged once.
 * I2 New settings change only sources that were added or removed. No machine is removed before a new source has
 *    responded.
 */
#pragma once

#include "base/json.h"
#include "relay/list.h"

#define SOURCES_MAX 64

struct event_base;
struct finder;
/* changed is called when the result of finder_add has changed; not from inside finder_set. */
struct finder *finder_new(struct event_base *loop, void (*changed)(void *arg), void *arg);
void finder_free(struct finder *f);
/* Returns 0 or -errno with a message in err; on failure nothing changes. */
int finder_set(struct finder *f, const struct relay_settings *s, struct err *err);
int finder_check(const struct relay_settings *s, struct err *err); /* are they sources? Opens nothing */
/* Each source as {"source", "way", "nodes"} and, while it fails, "error" and "since". */
void finder_status_json(const struct finder *f, const char *way, struct json *j);
void finder_add(const struct finder *f,
                struct target_list *l); /* existing names stay unchanged, but may get more labels */
