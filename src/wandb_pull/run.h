/*
 * run.h: one run as returned by W&B's GraphQL (a node of project.runs.edges, or project.run), in our terms, and whether
 * it counts. Null, missing and unknown fields, and fields of the wrong type, are absent.
 *
 * N1 It borrows from the json_t it was read from, which must outlive it.
 * N2 config and summaryMetrics are JSON within JSON. Each is decoded when a rule first reads it, if it has at most
 *    RUN_SCALAR_MAX bytes.
 */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "wandb_pull/config.h"

struct buf;

#define RUN_SCALAR_MAX (4u << 20) /* bytes of a config or a summary: longer ones are absent, see `bad` */
#define RUN_ID_MAX     255        /* of a run's id, host, user, state: the limit of the store and the dataset */
#define RUN_TEXT_MAX   1023 /* of other names: longer ones, or text that is not a plain line, are treated as absent */

/* JSON within JSON, decoded once. */
struct run_scalar {
    const json_t *raw; /* NULL: not there */
    json_t *tree;      /* an object, owned; NULL: absent, not decoded yet, or not readable */
    bool decoded;      /* tree is final */
    const char *bad;   /* why it could not be read; NULL if it could, or if it is not decoded */
};

struct run_node {
    const char *id;                              /* node.name: never NULL */
    const char *storage_id, *display, *state;    /* NULL if absent; the same below */
    const char *host, *user, *description;       /* user: user.username, else user.name */
    const json_t *tags;                          /* a list; NULL if absent */
    int64_t created_ms, heartbeat_ms;            /* UTC; a run without a heartbeat has created_ms in both */
    bool gpu_info;                               /* runInfo.gpu was there and not empty */
    const char *gpu;                             /* its name */
    int32_t gpus, cpus;                          /* of runInfo; -1: unknown */
    struct run_scalar config, summary, metadata; /* metadata: from elsewhere, run_node_metadata */
};

/* Fields of a node that a query must request, from rules_fields(). */
enum run_field { RUN_CONFIG = 1, RUN_SUMMARY = 2, RUN_DESCRIPTION = 4, RUN_METADATA = 8, RUN_CPUS = 16 };

/* Returns -EBADMSG with a message in err if it is not an object, has no name, or no readable creation time. */
int run_node_read(const json_t *node, struct run_node *ret, struct err *err);
void run_node_fini(struct run_node *r);
/* Sets the text of wandb-metadata.json, copied. An empty text means that the run has none. */
void run_node_metadata(struct run_node *r, struct str text);
/* Returns the object of a scalar, decoded at the first call; NULL if absent or not readable. */
const json_t *run_scalar_get(struct run_scalar *s);

/* Its tags as in W&B, as the text of a JSON list; "[]" for none. At most ret->max bytes. */
int run_node_tags(const struct run_node *r, struct buf *ret);
/* True if it has one of the ignored tags (run's tags are compared in lower case). */
bool run_node_ignored(const struct run_node *r, const struct wandb_config *c);

/* ---- does it count ---- */

enum run_fate {
    RUN_COUNTS,
    RUN_NO_GPU,     /* no runInfo.gpu, and no rule gave a number */
    RUN_EXCLUDED,   /* a rule gave 0 */
    RUN_OUTSIDE,    /* it ran on none of the requested days */
    RUN_UNASSIGNED, /* it ran on none of the days on which its team was in the programme */
    RUN_PROJECT,    /* the company's patterns leave the project out */
    RUN_NO_COMPANY, /* no company has the team */
    RUN_FATES
};
extern const char *const run_fate_words[RUN_FATES]; /* end of a sentence: "it has no GPU" */

struct rule_answer;
/*
 * The first reason against it, in the order above, except that the GPUs are checked last (answer NULL: not checked
 * yet). Ignored tags are no reason: such runs are stored and marked. Days are days of the config's zone.
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

/*
 * Parses ISO 8601 as W&B writes it, with or without Z, fraction or offset; UTC by default. Returns false if it is not a
 * time.
 */
bool run_time(struct str s, int64_t *ret_ms);
