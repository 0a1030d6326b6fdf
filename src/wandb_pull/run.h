/*
 * run.h: one run as W&B's GraphQL tells it (a node of project.runs.edges, or project.run), in our terms, and whether it
 * counts. Nulls, missing and unknown fields are as if nobody had asked; what is of the wrong type is absent too.
 *
 * N1 It borrows from the json_t it was read from, which must outlive it. N2 config and summaryMetrics are JSON within
 * JSON; they are decoded when a rule first looks at them, and at most RUN_SCALAR_MAX bytes of each.
 */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "wandb_pull/config.h"

struct buf;

#define RUN_SCALAR_MAX (4u << 20) /* bytes of a config or a summary: more is as if it were not there, and said so */
#define RUN_ID_MAX     255        /* of a run's id, host, user, state: as the store and the dataset take them */
#define RUN_TEXT_MAX   1023       /* of other names: one that is longer, or no plain line, is as if it were not there */

/* JSON within JSON, decoded once. */
struct run_scalar {
    const json_t *raw; /* NULL: not there */
    json_t *tree;      /* an object, ours; NULL: not there, not decoded yet, or not readable */
    bool decoded;      /* tree is what there is */
    const char *bad;   /* why it could not be read; NULL: it could, or nobody looked */
};

struct run_node {
    const char *id;                              /* node.name: never NULL */
    const char *storage_id, *display, *state;    /* NULL: not told; so below */
    const char *host, *user, *description;       /* user: user.username, else user.name */
    const json_t *tags;                          /* a list; NULL: not told */
    int64_t created_ms, heartbeat_ms;            /* UTC; of a run never heard of again both are created */
    bool gpu_info;                               /* runInfo.gpu was there and not empty */
    const char *gpu;                             /* its name */
    int32_t gpus, cpus;                          /* runInfo's; -1: not told */
    struct run_scalar config, summary, metadata; /* metadata: from elsewhere, run_node_metadata */
};

/* What of a node a query has to ask for, given what rules look at: rules_fields(). */
enum run_field { RUN_CONFIG = 1, RUN_SUMMARY = 2, RUN_DESCRIPTION = 4, RUN_METADATA = 8, RUN_CPUS = 16 };

/* -EBADMSG with a sentence: not an object, no name, or no time of creation that can be read. */
int run_node_read(const json_t *node, struct run_node *ret, struct err *err);
void run_node_fini(struct run_node *r);
/* The text of wandb-metadata.json, copied; an empty one: asked for, and there is none. */
void run_node_metadata(struct run_node *r, struct str text);
/* The object of a scalar, decoded at the first call; NULL: there is none that can be read. */
const json_t *run_scalar_get(struct run_scalar *s);

/* Its tags as W&B has them, in the text of a JSON list; "[]" for none. At most ret->max bytes. */
int run_node_tags(const struct run_node *r, struct buf *ret);
/* Whether it has a tag that says it is not ours (run's tags are compared in lower case). */
bool run_node_ignored(const struct run_node *r, const struct wandb_config *c);

/* ---- does it count ---- */

enum run_fate {
    RUN_COUNTS,
    RUN_NO_GPU,     /* no runInfo.gpu, and no rule gave a number */
    RUN_EXCLUDED,   /* a rule gave 0 */
    RUN_OUTSIDE,    /* it ran on none of the days asked for */
    RUN_UNASSIGNED, /* it ran on none of the days on which its team was in the programme */
    RUN_PROJECT,    /* the company's patterns leave the project out */
    RUN_NO_COMPANY, /* no company has the team */
    RUN_FATES
};
extern const char *const run_fate_words[RUN_FATES]; /* a sentence's end each: "it has no GPU" */

struct rule_answer;
/*
 * The first reason against it, in the order above but for the GPUs, which come last (answer NULL: not asked yet).
 * Ignored tags are no reason: such runs are kept, and marked. Days are those of the config's zone.
 */
enum run_fate run_node_fate(const struct wandb_config *c, const char *team, const char *project,
                            const struct run_node *r, int32_t from, int32_t to, const struct rule_answer *answer);

/*
 * Where a run is, as people write it: "team/project/run", "team/project/runs/run", or an address of its page, with
 * whatever follows. At most RUN_ID_MAX bytes each. False: not one.
 */
struct run_path {
    char team[RUN_ID_MAX + 1], project[RUN_ID_MAX + 1], id[RUN_ID_MAX + 1];
};
bool run_path_parse(struct str s, struct run_path *ret);

/* ISO 8601 as W&B writes it, with or without Z, fraction or offset: UTC where it names none. False: not one. */
bool run_time(struct str s, int64_t *ret_ms);
