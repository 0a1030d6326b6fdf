/*
 * people_build.h: makes a struct people from sections of muster.yaml, aliases.csv, a W&B dashboard's config.yaml, and
 * Unix groups. All or nothing: the first error is reported with its position.
 */
#pragma once

#include "base/err.h"
#include "base/opt.h"
#include "base/zone.h"
#include "people/people.h"
#include "people/unix_groups.h"

/* Text is borrowed during the call; zeroed parts are absent. */
struct people_src {
    const struct opt_section *people, *teams, *projects, *companies; /* of muster.yaml */
    struct str aliases, wandb;                                       /* the files' text */
    const char *aliases_path, *wandb_path;                           /* names for errors */
    const struct opt_list *ignore;                                   /* patterns of logins */
    const struct unix_groups *groups;   /* each makes a team of its name; NULL: not read yet */
    const struct opt_list *unix_groups; /* their names and patterns; a section may name others */
    const struct zone *zone;            /* of days; NULL: UTC */
};
int people_new(const struct people_src *src, struct people **ret, struct err *err);
