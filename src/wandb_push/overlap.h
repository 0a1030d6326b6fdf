/*
 * overlap.h: runs of a company that were on one host at the same time: a program that logs in to W&B several times, or
 * two programs on one machine. Their hours are counted twice. Searches all projects and teams of a company, using the
 * whole time of the runs (report/overlap.h). Skips runs that are deleted, barred, tagged as ignored, of projects that
 * do not count, or only on days without nodes. Late runs are the summary's overlap_runs.
 */
#pragma once

#include "base/mem.h"
#include "wandb/store.h"
#include "wandb_pull/config.h"

struct buf;

struct overlap {
    const struct company *company;                  /* of the config */
    const char *team, *project, *id, *host, *state; /* of the run */
    int64_t from_ms, until_ms;
    bool ignored; /* by a tag; never set in results */
    bool late;    /* it started during another run */
    size_t group; /* from 1; the same for runs that overlap directly or through others */
};

struct overlaps {
    size_t n, cap, groups;
    struct overlap *v; /* by company, group, start */
    struct arena arena;
};

#define OVERLAP_RUNS_MAX 4000000

/*
 * Searches runs with a day in [from, to]; company NULL: all. Returns 0; -E2BIG; or an error of the store. Free ret with
 * overlaps_fini() in all cases.
 */
int overlaps_find(struct wandb_store *s, const struct wandb_config *c, const char *company, int32_t from, int32_t to,
                  struct overlaps *ret, struct err *err);
void overlaps_fini(struct overlaps *o);
#define AUTO_OVERLAPS __attribute__((cleanup(overlaps_fini))) struct overlaps

/* "https://wandb.ai/TEAM/PROJECT/runs/ID/overview". base_url: of the API; a private server shows runs itself. */
void overlap_url(struct buf *out, const char *base_url, const struct overlap *run);

/*
 * The text of the event for one company, whose runs start at v[at]: the number of late runs, then a line for each group
 * with the runs' addresses; cut after OVERLAP_SHOWN runs. Returns the index of the next company's runs.
 */
#define OVERLAP_SHOWN 40
size_t overlaps_text(struct buf *out, const struct overlaps *o, size_t at, const struct zone *zone,
                     const char *base_url);
/* The text of W&B's alert: the teams with overlaps, by name, a line each. */
#define OVERLAP_TITLE "Overlap of runs found"
void overlaps_teams(struct buf *out, const struct overlaps *o);
