/* blacklist.h: the dashboard's list of runs that are not counted: a JSON file, or the artifact named in the config. */
#pragma once

#include "base/str.h"
#include "wandb/store.h"
#include "wandb_pull/config.h"
#include "wandb_pull/web_api.h"

struct blacklist {
    size_t n;
    struct wandb_run *v; /* their keys; the text is its own */
};
#define BLACKLIST_MAX       1000000    /* runs */
#define BLACKLIST_BYTES_MAX (64 << 20) /* of the file */
/* A JSON list of {"run_path": "team/project/run", "tags": [...]}. All of it or -EINVAL with which one is wrong. */
int blacklist_read(struct str text, struct blacklist *ret, struct err *err);
void blacklist_fini(struct blacklist *b);
#define AUTO_BLACKLIST __attribute__((cleanup(blacklist_fini))) struct blacklist

/*
 * Replaces the stored list by the newest version of the config's artifact (its file NAME.json). Returns 1 if it did; 0
 * if the config names none, or W&B does not have it; -errno if it could not be read. With 0 and -errno the stored list
 * stays. Runs the event loop while it waits.
 */
int blacklist_pull(struct wandb *w, const struct wandb_config *c, struct wandb_store *s, struct err *err);
