/*
 * people_build.h: makes a struct people out of what was read: sections of muster.yaml, aliases.csv, a W&B dashboard's
 * config.yaml, Unix groups. All of it or none: the first mistake is named with its place, and nothing is made.
 */
#pragma once

#include "base/err.h"
#include "base/opt.h"
#include "base/zone.h"
#include "people/people.h"
#include "people/unix_groups.h"

/* Text is borrowed while it is built; zeroed parts are not there. */
struct people_src {
    const struct opt_section *people, *teams, *projects, *companies; /* of muster.yaml */
    struct str aliases, wandb;                                       /* the files' text */
    const char *aliases_path, *wandb_path;                           /* what errors call them */
    const struct opt_list *ignore;                                   /* patterns of logins */
    const struct unix_groups *groups;   /* each makes a team of its name; NULL: not read yet */
    const struct opt_list *unix_groups; /* names and patterns of those that do; a section may name others */
    const struct zone *zone;            /* where days begin; NULL: UTC */
};
int people_new(const struct people_src *src, struct people **ret, struct err *err);
