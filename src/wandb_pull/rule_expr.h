/* rule_expr.h: within wandb_pull/: an expression as a program, in postfix order. */
#pragma once

#include "wandb_pull/pattern.h"
#include "wandb_pull/rule.h"

#define RULE_PARTS 8 /* of a name: config.a.b has two */

enum rule_source {
    FROM_CONFIG, /* these three have parts */
    FROM_SUMMARY,
    FROM_METADATA,
    FROM_DESCRIPTION,
    FROM_DISPLAY,
    FROM_HOST,
    FROM_GPU,
    FROM_GPU_COUNT,
    FROM_CPU_COUNT,
    RULE_SOURCES
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
    RULE_OR, /* there and not zero: go on at `to`; else drop it, and go on */
};

struct rule_op {
    enum rule_code code;
    uint16_t to;
    int64_t v;
    enum rule_source source;
    uint8_t n_parts;
    struct str parts[RULE_PARTS]; /* in the expression's text */
    const char *name;             /* as it is written: "config.nnodes" */
    struct pattern *pattern;
};

struct rule_expr {
    char *text;
    struct arena arena;
    unsigned fields;
    size_t n;
    struct rule_op ops[RULE_OPS];
};
