/*
 * config.h: the settings of a pull: config.yaml of the W&B dashboard as it is (docs/wandb.md), with keys of our own in
 * the same file. Keys that are not known are none of our business: testmode, wandb_dir, max_workers and the like.
 *
 * G1 All of it or none: the first mistake is named with its place, and nothing comes of it. G2 A config never changes
 * once it is read; what it returns lives as long as it does. G3 It holds no key of W&B (wandb_pull/key.h).
 */
#pragma once

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/zone.h"
#include "people/people.h"

#define WANDB_BASE_URL    "https://api.wandb.ai"
#define WANDB_SAMPLES     10000 /* most samples asked of a run, unless told */
#define WANDB_SAMPLES_MIN 100
#define WANDB_FLIGHT      32 /* requests under way, unless told */

struct rules;

/* Where something is kept in W&B; each NULL where it was not told. */
struct wandb_place {
    const char *entity, *project;
    const char *name; /* of an artifact; of the dashboard: the tag of the newest tables, "latest" unless told */
};

/* CPUs that a company is lent beside its nodes. */
struct cpu_lent {
    const char *company;
    int32_t cpus;
};

struct wandb_config {
    const char *path; /* as it was given */
    uint64_t hash;    /* of the text: two pulls with another hash are not the same pull */

    struct people *people;                            /* the companies: people_companies() */
    struct zone *zone;                                /* of days; Asia/Tokyo unless told */
    const char *zone_name;                            /* as zone_load takes it */
    size_t n_ignore_tags;                             /* in lower case: */
    const char *const *ignore_tags;                   /* runs that have one are not ours */
    bool enable_alert;                                /* overlaps go to W&B as an alert */
    struct wandb_place dashboard, dataset, blacklist; /* blacklist.name NULL: there is none */
    const char *deleted_name;                         /* artifact of deleted runs; NULL: not told */
    struct rules *rules;                              /* how many GPUs a run has: wandb_pull/rule.h */

    /* our own keys; zero or NULL where not told, but where it says otherwise */
    const char *base_url; /* WANDB_BASE_URL unless told; without a slash at the end */
    int32_t samples;      /* of a run, at most; WANDB_SAMPLES unless told */
    int32_t in_flight;    /* requests under way at once; WANDB_FLIGHT unless told */
    int32_t rate_milli;   /* requests in 1000 s at most; 0: as the server's headers say */
    size_t n_cpu_tables;
    struct cpu_lent *cpu_tables; /* companies that have tables of CPU hours, too */
    int32_t project_start;       /* day: the beginning when only the end is told; 2024-10-25 unless told */

    struct arena arena; /* of the text above; nobody else's business */
};

/* text: at most 1 MiB. path: what errors call it, copied. The caller owns *ret: wandb_config_free. */
int wandb_config_read(struct str text, const char *path, struct wandb_config **ret, struct err *err);
int wandb_config_load(const char *path, struct wandb_config **ret, struct err *err);
void wandb_config_free(struct wandb_config *c);

/* The company that has a W&B team; the first by name. NULL: none. */
const struct company *wandb_config_company(const struct wandb_config *c, const char *team);
/* Whether nodes may be assigned on any of the days [from, to], so that the team is worth asking for: old rule, from the
 * first step of its schedule until the day of a last step of 0 nodes. */
bool wandb_company_active(const struct company *co, int32_t from, int32_t to);

/*
 * The days of a pull by the old tool's rule, today as the zone has it: neither told: yesterday; only the end: from
 * project_start; only the start: until yesterday. -EINVAL: the start is after the end. INT32_MIN: not told.
 */
int wandb_config_days(const struct wandb_config *c, int32_t today, int32_t *from, int32_t *to, struct err *err);

/* How many samples to ask of a run: one for each minute of its life, within WANDB_SAMPLES_MIN and c->samples. */
int32_t wandb_config_samples(const struct wandb_config *c, int64_t created_ms, int64_t heartbeat_ms);
