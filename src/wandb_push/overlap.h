/*
 * overlap.h: runs of a company that were on one host at the same time: a program that logs in to W&B several times, or
 * two that share a machine. Their hours are counted twice. Looked for across all projects and teams of a company, by
 * the whole time of the runs (report/overlap.h); runs that are deleted, barred, tagged as not ours, of projects that do
 * not count, or on days without nodes alone are not looked at: those that are late are the summary's overlap_runs.
 */
#pragma once

#include "base/mem.h"
#include "wandb/store.h"
#include "wandb_pull/config.h"

struct buf;

struct overlap {
    const struct company *company;                  /* of the config */
    const char *team, *project, *id, *host, *state; /* its own */
    int64_t from_ms, until_ms;
    bool ignored; /* by a tag; none of those that were found */
    bool late;    /* it began while another was there */
    size_t group; /* those that hang together have the same; from 1 on */
};

struct overlaps {
    size_t n, cap, groups;
    struct overlap *v; /* by company, group, beginning */
    struct arena arena;
};

#define OVERLAP_RUNS_MAX 4000000

/* Of runs that have a day in [from, to]; company NULL: all. 0; -E2BIG; what the store gave. ret: overlaps_fini, in any
 * case. */
int overlaps_find(struct wandb_store *s, const struct wandb_config *c, const char *company, int32_t from, int32_t to,
                  struct overlaps *ret, struct err *err);
void overlaps_fini(struct overlaps *o);
#define AUTO_OVERLAPS __attribute__((cleanup(overlaps_fini))) struct overlaps

/* "https://wandb.ai/TEAM/PROJECT/runs/ID/overview". base_url: of the API; a server of one's own shows runs itself. */
void overlap_url(struct buf *out, const char *base_url, const struct overlap *run);

/*
 * What an event says of one company's, which are v[at] and what follows: how many began late, then a line for each
 * group with the runs' addresses; cut after OVERLAP_SHOWN runs. Returns where the next company's begin.
 */
#define OVERLAP_SHOWN 40
size_t overlaps_text(struct buf *out, const struct overlaps *o, size_t at, const struct zone *zone,
                     const char *base_url);
/* What W&B's alert says: the teams that have any, by name, a line each. */
#define OVERLAP_TITLE "Overlap of runs found"
void overlaps_teams(struct buf *out, const struct overlaps *o);
