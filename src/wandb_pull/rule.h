/*
 * rule.h: how many GPUs a run has. A list of rules, each for some teams, projects and days, with an expression over
 * what the run says of itself (docs/internals/wandb-rules.md). The first rule that is for the run and whose expression
 * has a value applies; where none does, it is runInfo.gpuCount.
 *
 * L1 Text becomes a small program once; running it is bounded by its length and that of the texts it looks at, and
 * nothing in it can loop. L2 Everything is capped (RULE_...); an error names the column. L3 What is not there makes the
 * expression absent, not zero. L4 Numbers are exact fractions; what overflows, divides by zero, is below zero or above
 * RULE_GPUS_MAX is absent. L5 A zero that was read somewhere is as good as absent (an unreadable field gives one); a
 * zero that was written in the rule is meant: such runs are left out.
 */
#pragma once

#include "base/err.h"
#include "parse/ytree.h"
#include "wandb_pull/run.h"

#define RULES_MAX      1000
#define RULE_TEXT_MAX  1000     /* bytes of an expression */
#define RULE_DEPTH     32       /* parentheses */
#define RULE_OPS       200      /* names, numbers and operations of one */
#define RULE_GPUS_MAX  10000000 /* of a run: far beyond what there is */
#define RULE_MATCH_MAX 8192     /* bytes of a text that match() looks at: the rest is passed over */

struct rules; /* never changes once it is read: any thread may use it */

/*
 * The `gpu_count:` of a config: a list of {team, project, from, to, gpus, name}. list NULL: there is none, and what the
 * old tool's documentation promises holds (num_nodes * num_gpus, else world_size, else runInfo.gpuCount). Teams of
 * companies with `distributed_learning` have a rule of their own behind those of the list. Errors name the place.
 */
int rules_read(const struct ytree *t, const struct ynode *list, const struct company *companies, size_t n_companies,
               struct rules **ret, struct err *err);
void rules_free(struct rules *r);
/* What any of them looks at: enum run_field bits. A query need not ask for the others. */
unsigned rules_fields(const struct rules *r);

struct rule_answer {
    int32_t gpus;     /* 0: left out, or nobody knows */
    bool by_rule;     /* a rule of the config gave it, which holds for runs without runInfo.gpu, too */
    const char *rule; /* which: "gpu_count[3]: config.nnodes * 8", "gpu_count[3] NAME: ...", or "runInfo.gpuCount";
                         lives as long as the rules */
};

enum rules_told { RULES_DONE, RULES_NEED_METADATA };
/*
 * day: on which the run was created, in the config's zone; what `from` and `to` of rules speak of (both days are in).
 * RULES_NEED_METADATA: a rule that is reached looks at metadata, which run_node_metadata has not been told; then ret is
 * untouched: fetch it, tell it (or that there is none), and ask again. told: each step; NULL: nobody wants to know.
 */
struct rule_listener;
enum rules_told rules_apply(const struct rules *r, const char *team, const char *project, int32_t day,
                            struct run_node *run, const struct rule_listener *told, struct rule_answer *ret);

enum rule_why {
    RULE_APPLIES,
    RULE_OTHER_TEAM,
    RULE_OTHER_PROJECT,
    RULE_OTHER_DAY,
    RULE_NO_VALUE,    /* the expression has none: `because` says why */
    RULE_NOT_REACHED, /* one before it applies */
};
/* Told of each rule in order, and before that of each value its expression looked at. Text is good during the call. */
struct rule_listener {
    void (*value)(void *arg, const char *name, const char *value /* NULL: not there */);
    void (*rule)(void *arg, const char *rule, enum rule_why why, const char *because /* or NULL */);
    void *arg;
};

/* ---- one expression; for the above, and for tests ---- */

struct rule_expr;
/* -EINVAL with "column N: sentence". */
int rule_expr_new(struct str text, struct rule_expr **ret, struct err *err);
void rule_expr_free(struct rule_expr *e);
#define RULE_BECAUSE 200
/* 0 with *ret, -ENODATA: it has no value, -EAGAIN: it needs metadata. because (may be NULL): why, then. */
int rule_expr_run(const struct rule_expr *e, struct run_node *run, const struct rule_listener *told, int32_t *ret,
                  char because[RULE_BECAUSE]);
