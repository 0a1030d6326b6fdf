/*
 * rule.h: the number of GPUs of a run. A list of rules, each for some teams, projects and days, with an expression over
 * the run's own data (docs/internals/wandb-rules.md). The first rule that matches the run and whose expression has a
 * value applies. Otherwise it is runInfo.gpuCount.
 *
 * L1 Text is compiled once to a small program without loops. Its cost is bounded by its length and the length of the
 *    texts it reads.
 * L2 Everything is capped (RULE_...); an error names the column.
 * L3 A missing value makes the expression absent, not zero.
 * L4 Numbers are exact fractions. A result that overflows, divides by zero, is below zero or above RULE_GPUS_MAX is
 *    absent.
 * L5 A zero read from the run's data counts as absent (an unreadable field gives one). A zero written in the rule is
 *    meant: such runs are excluded.
 */
#pragma once

#include "base/err.h"
#include "parse/ytree.h"
#include "wandb_pull/run.h"

#define RULES_MAX      1000
#define RULE_TEXT_MAX  1000     /* bytes of an expression */
#define RULE_DEPTH     32       /* parentheses */
#define RULE_OPS       200      /* names, numbers and operations of one */
#define RULE_GPUS_MAX  10000000 /* of a run: far beyond real runs */
#define RULE_MATCH_MAX 8192     /* bytes of a text that match() reads: the rest is ignored */

struct rules; /* immutable and thread-safe */

/*
 * Reads the `gpu_count:` of a config: a list of {team, project, from, to, gpus, name}. If list is NULL, the rules of
 * the old tool's documentation apply (num_nodes * num_gpus, else world_size, else runInfo.gpuCount). Teams of companies
 * with `distributed_learning` get an additional rule after the list. Errors name the place.
 */
int rules_read(const struct ytree *t, const struct ynode *list, const struct company *companies, size_t n_companies,
               struct rules **ret, struct err *err);
void rules_free(struct rules *r);
/* The fields that the rules read: enum run_field bits. A query may omit the others. */
unsigned rules_fields(const struct rules *r);

struct rule_answer {
    int32_t gpus;     /* 0: excluded, or unknown */
    bool by_rule;     /* a rule of the config set it, so that it also holds for runs without runInfo.gpu */
    const char *rule; /* which: "gpu_count[3]: config.nnodes * 8", "gpu_count[3] NAME: ...", or "runInfo.gpuCount".
                         Lives as long as the rules */
};

enum rules_result { RULES_DONE, RULES_NEED_METADATA };
/*
 * day: the run's creation day in the config's zone, compared with `from` and `to` of rules (both inclusive). told:
 * called for each step; may be NULL. Returns RULES_NEED_METADATA if a rule reads metadata that run_node_metadata has
 * not set, and leaves ret unchanged. Fetch it, set it (or an empty text), and call again.
 */
struct rule_listener;
enum rules_result rules_apply(const struct rules *r, const char *team, const char *project, int32_t day,
                              struct run_node *run, const struct rule_listener *told, struct rule_answer *ret);

enum rule_reason {
    RULE_APPLIES,
    RULE_OTHER_TEAM,
    RULE_OTHER_PROJECT,
    RULE_OTHER_DAY,
    RULE_NO_VALUE,    /* the expression has none: `because` is the reason */
    RULE_NOT_REACHED, /* an earlier rule applies */
};
/* Called for each rule in order, and before that for each value its expression read. Text is valid during the call. */
struct rule_listener {
    void (*value)(void *arg, const char *name, const char *value /* NULL: not there */);
    void (*rule)(void *arg, const char *rule, enum rule_reason why, const char *because /* or NULL */);
    void *arg;
};

/* ---- one expression; for the above, and for tests ---- */

struct rule_expr;
/* Returns 0, or -EINVAL with "column N: message" in err. */
int rule_expr_new(struct str text, struct rule_expr **ret, struct err *err);
void rule_expr_free(struct rule_expr *e);
#define RULE_BECAUSE 200
/* Returns 0 with *ret, -ENODATA if it has no value, -EAGAIN if it needs metadata. because (may be NULL): the reason. */
int rule_expr_run(const struct rule_expr *e, struct run_node *run, const struct rule_listener *told, int32_t *ret,
                  char because[RULE_BECAUSE]);
