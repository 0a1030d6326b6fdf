/*
 * finder.h: the machines that sources name (relay/source.h), beside those that are listed.
 * I1 A source that fails keeps its machines; that it fails, and why, goes to the log once. I2 Settings that are set
 * again change only the sources that are new or gone; and no machine is gone before a new source has answered.
 */
#pragma once

#include "base/json.h"
#include "relay/list.h"

#define SOURCES_MAX 64

struct event_base;
struct finder;
/* changed is called when what finder_add would add has changed; not from inside finder_set. */
struct finder *finder_new(struct event_base *loop, void (*changed)(void *arg), void *arg);
void finder_free(struct finder *f);
/* 0 or -errno with a sentence; then nothing has changed. */
int finder_set(struct finder *f, const struct relay_settings *s, struct err *err);
int finder_check(const struct relay_settings *s, struct err *err); /* are they sources? Opens nothing */
/* Each source as {"source", "way", "nodes"} and, while it fails, "error" and "since". */
void finder_tell(const struct finder *f, const char *way, struct json *j);
void finder_add(const struct finder *f,
                struct target_list *l); /* names that are there already stay as they are, but for more labels */
