/* rule_expr.h: within wandb_pull/: an expression as a program, in postfix order. */
#pragma once

#include "wandb_pull/pattern.h"
#include "wandb_pull/rule.h"

#define RULE_PARTS 8 /* of a name: config.a.b has two */

/* The first word of a name: a member of struct run_node, which is JSON with parts, a text, or a number. */
struct rule_source {
    const char *name;
    enum { SOURCE_JSON, SOURCE_TEXT, SOURCE_COUNT } kind;
    size_t at;
    unsigned field; /* enum run_field */
};

enum rule_code {
    RULE_NUMBER, /* push v / 1e9 */
    RULE_LOOK,   /* push a name's number */
    RULE_MATCH,  /* push the number a pattern finds in a name's text */
    RULE_ADD,
    RULE_SUB,
    RULE_MUL,
    RULE_DIV,
    RULE_MIN,
    RULE_MAX,
    RULE_OR, /* present and not zero: jump to `to`; else drop it and continue */
};

struct rule_op {
    enum rule_code code;
    uint16_t to;
    int64_t v;
    const struct rule_source *source;
    uint8_t n_parts;
    struct str parts[RULE_PARTS]; /* in the expression's text */
    const char *name;             /* as written in the rule: "config.nnodes" */
    struct pattern *pattern;
};

struct rule_expr {
    char *text;
    struct arena arena;
    unsigned fields;
    size_t n;
    struct rule_op ops[RULE_OPS];
};
