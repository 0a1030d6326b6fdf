/* blacklist.h: the dashboard's list of runs that count nowhere: a JSON file, and where the config says so an artifact.
 */
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
 * The newest version of the config's artifact (its file NAME.json) takes the place of the list that is stored. 1: it
 * did; 0: the config names none, or there is none at W&B, and the stored one stays. -errno: it could not be read, and
 * the stored one stays. The loop runs meanwhile.
 */
int blacklist_pull(struct wandb *w, const struct wandb_config *c, struct wandb_store *s, struct err *err);
