/*
 * files.h: machines known by GPU Monitor's files: those that are asked for them, listed or found by sources, and those
 * whose files come into a folder.
 */
#pragma once

#include "compat/filehost.h"
#include "relay/settings.h"

struct files;
int files_new(struct files **ret, struct event_base *loop, struct post *post, struct err *err);
void files_free(struct files *f); /* before its post */
/* What source.* says holds for these sources, too. 0 or -errno with a sentence; then nothing has changed. */
int files_set(struct files *f, const struct relay_settings *s, struct err *err);
int files_check(const struct relay_settings *s, struct err *err);
bool files_wanted(const struct relay_settings *s);
struct json;
void files_sources(const struct files *f, struct json *j); /* finder_status_json of its sources; the folder is one */
size_t files_count(const struct files *f, size_t ret_states[COLLECT_STATES]); /* adds to the states */
