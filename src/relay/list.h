/*
 * list.h: which machines are read over ssh: entries as people write them, and the old config.ini. Pure.
 * An entry is [user@]host[:port]; host may have ranges, gpu[01-20] or r[1-2]n[1,3,5-7]. Several may stand in one text,
 * with commas between. A machine is called as it was written, less the user.
 */
#pragma once

#include "base/err.h"
#include "base/lookup.h"
#include "model/fact.h"
#include "relay/settings.h"

#define TARGETS_MAX 16384

struct relay_target {
    char name[ORIGIN_NAME_MAX + 1];
    char *host, *user; /* user NULL: not said */
    int port;          /* 0: not said */
    char *labels;      /* model/labels.h; NULL: none */
};

struct target_list {
    struct relay_target *v;
    size_t n, cap;
    struct lookup by_name; /* places in v */
};
void target_list_fini(struct target_list *l);

/* Append what text says; one that is there already (same name) is not added again. user: for entries that name none;
 * may be NULL. 0 or -EINVAL with a sentence. */
int target_list_add(struct target_list *l, struct str text, const char *user, struct err *err);

/* One machine by its parts; false: its name is there already, or none, or the list is full. */
bool target_list_put(struct target_list *l, struct str name, const char *host, const char *user, int port);

/* More labels for the machine of this name, if it is there; those it has stay. */
void target_list_label(struct target_list *l, struct str name, const char *labels);

/* Those of another list, with their labels. */
void target_list_join(struct target_list *l, const struct target_list *more);

/* Where the machine of this name is in v, or -1. */
int64_t target_list_find(const struct target_list *l, struct str name);

/* [common] user, hosts, key_filename, as Python's configparser reads them; blanks around hosts go. Text is the caller's
 * to free; NULL: not there. */
struct ini {
    char *user, *hosts, *key;
};
int ini_parse(struct str text, struct ini *ret, struct err *err);
void ini_fini(struct ini *i);

/* Everything the settings say, config.ini too. *ret_key: the key to use, the settings' own first; owned by the caller.
 */
int target_list_of(const struct relay_settings *s, struct target_list *ret, char **ret_key, struct err *err);
