/*
 * config.h: the settings of a pull: config.yaml of the W&B dashboard unchanged (docs/wandb.md), plus keys of our own.
 * Unknown keys are ignored: testmode, wandb_dir, max_workers and the like.
 *
 * G1 A config is read completely or not at all. The first mistake is reported with its place.
 * G2 A config is immutable. What it returns lives as long as the config.
 * G3 It does not contain the key of W&B (wandb_pull/key.h).
 */
#pragma once

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/zone.h"
#include "people/people.h"

#define WANDB_BASE_URL    "https://api.wandb.ai"
#define WANDB_SAMPLES     10000 /* default maximum of samples per run */
#define WANDB_SAMPLES_MIN 100
#define WANDB_FLIGHT      32 /* default number of concurrent requests */

struct rules;

/* A place in W&B; members are NULL if not configured. */
struct wandb_place {
    const char *entity, *project;
    const char *name; /* of an artifact; of the dashboard: the tag of the newest tables (default "latest") */
};

/* CPUs lent to a company in addition to its nodes. */
struct cpu_lent {
    const char *company;
    int32_t cpus;
};

struct wandb_config {
    const char *path; /* as it was given */
    uint64_t hash;    /* of the text: two pulls with another hash are not the same pull */

    struct people *people;                            /* the companies: people_companies() */
    struct zone *zone;                                /* of days; default Asia/Tokyo */
    const char *zone_name;                            /* as for zone_load */
    size_t n_ignore_tags;                             /* in lower case: */
    const char *const *ignore_tags;                   /* runs with one of these tags are not counted */
    bool enable_alert;                                /* send overlaps to W&B as an alert */
    struct wandb_place dashboard, dataset, blacklist; /* `blacklist.name` is NULL if not configured */
    const char *deleted_name;                         /* artifact of deleted runs; NULL if not configured */
    struct rules *rules;                              /* how many GPUs a run has: wandb_pull/rule.h */

    /* our own keys; zero or NULL if not configured, except where noted */
    const char *base_url; /* default WANDB_BASE_URL; without a trailing slash */
    int32_t samples;      /* maximum per run; default WANDB_SAMPLES */
    int32_t in_flight;    /* maximum concurrent requests; default WANDB_FLIGHT */
    int32_t rate_milli;   /* maximum requests in 1000 s; 0: limited by the server's headers only */
    size_t n_cpu_tables;
    struct cpu_lent *cpu_tables; /* companies that also have tables of CPU hours */
    int32_t project_start;       /* day: start if only the end is given; default 2024-10-25 */

    struct arena arena; /* of the text above; private */
};

/* text: at most 1 MiB. path: its name in errors, copied. Free *ret with wandb_config_free. */
int wandb_config_read(struct str text, const char *path, struct wandb_config **ret, struct err *err);
int wandb_config_load(const char *path, struct wandb_config **ret, struct err *err);
void wandb_config_free(struct wandb_config *c);

/* The company of a W&B team; the first by name. NULL if not found. */
const struct company *wandb_config_company(const struct wandb_config *c, const char *team);
/*
 * True if the company may have nodes on any of the days [from, to], so that the team must be queried. By the old rule:
 * from the first step of its schedule until the day of a last step of 0 nodes.
 */
bool wandb_company_active(const struct company *co, int32_t from, int32_t to);

/*
 * The days of a pull by the old tool's rule, with today in the config's zone. INT32_MIN means not given. Neither given:
 * yesterday. Only the end: from project_start. Only the start: until yesterday. Returns -EINVAL if the start is after
 * the end.
 */
int wandb_config_days(const struct wandb_config *c, int32_t today, int32_t *from, int32_t *to, struct err *err);

/* Number of samples to request of a run: one for each minute of its life, within WANDB_SAMPLES_MIN and c->samples. */
int32_t wandb_config_samples(const struct wandb_config *c, int64_t created_ms, int64_t heartbeat_ms);
