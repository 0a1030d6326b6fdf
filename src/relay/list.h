/*
 * list.h: the list of machines read over ssh: entries as users write them, and the old config.ini. Pure. An entry is
 * [user@]host[:port]; host may have ranges, gpu[01-20] or r[1-2]n[1,3,5-7]. A text may have several entries,
 * comma-separated. The name of a machine is its entry without the user.
 */
#pragma once

#include "base/err.h"
#include "base/lookup.h"
#include "model/fact.h"
#include "relay/settings.h"

#define TARGETS_MAX 16384

struct relay_target {
    char name[ORIGIN_NAME_MAX + 1];
    char *host, *user; /* user NULL if not given */
    int port;          /* 0 if not given */
    char *labels;      /* model/labels.h; NULL if none */
};

struct target_list {
    struct relay_target *v;
    size_t n, cap;
    struct lookup by_name; /* indexes into v */
};
void target_list_fini(struct target_list *l);

/*
 * Appends the entries of text; skips names that are already in the list. user: for entries without one; may be NULL.
 * Returns 0, or -EINVAL with a message in err.
 */
int target_list_add(struct target_list *l, struct str text, const char *user, struct err *err);

/* Adds one machine by its parts. Returns false if the name is empty or in the list already, or if the list is full. */
bool target_list_put(struct target_list *l, struct str name, const char *host, const char *user, int port);

/* Adds labels to the machine of this name, if it exists; existing labels stay. */
void target_list_label(struct target_list *l, struct str name, const char *labels);

/* Adds the machines of another list, with their labels. */
void target_list_join(struct target_list *l, const struct target_list *more);

/* Where the machine of this name is in v, or -1. */
int64_t target_list_find(const struct target_list *l, struct str name);

/*
 * [common] user, hosts, key_filename, as Python's configparser reads them; spaces around hosts are removed. The caller
 * frees the text; NULL if not present.
 */
struct ini {
    char *user, *hosts, *key;
};
int ini_parse(struct str text, struct ini *ret, struct err *err);
void ini_fini(struct ini *i);

/*
 * All machines of the settings, including config.ini. *ret_key: the key to use, preferably of the settings; owned by
 * the caller.
 */
int target_list_of(const struct relay_settings *s, struct target_list *ret, char **ret_key, struct err *err);
