/* filter_prog.h: a filter as a program: conditions and the operations between them, in postfix order. */
#pragma once

#include "now/filter.h"

/* What a condition looks at. */
enum get {
    /* numbers */
    GET_DEVICE_METRIC, /* op.which: enum metric */
    GET_NODE_METRIC,
    GET_MEM_FREE,
    GET_MEM_SHARE, /* of the memory there is, in millionths */
    GET_FREE_SHARE,
    GET_IDLE, /* times in ms */
    GET_SINCE,
    GET_AGE,
    GET_INDEX,
    GET_MIG,
    /* sets: true when a bit of op.v is there */
    GET_STATE,
    GET_THROTTLE,
    GET_ADVICE, /* bits: enum advice_rule */
    GET_FLAGS,
    /* text at op.which of … */
    GET_NODE_TEXT,
    GET_DEVICE_TEXT,
    GET_BOOKER, /* who has it booked now */
    /* any process */
    GET_PROC_TEXT,
    GET_PROC_WHO, /* op.which: enum who */
    GET_SLURM,
    GET_PID,
};

enum { FLAG_ASLEEP = 1, FLAG_MIG = 2, FLAG_MAINTENANCE = 4, FLAG_BOOKED = 8 };
/* Whose a process is: the person; one of the groups, from here on as struct identity has them; the one who asks. */
enum who { WHO_PERSON, WHO_GROUP, WHO_ME = WHO_GROUP + IDENTITY_GROUPS };
enum cmp { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE };
enum text_match { TEXT_WHOLE, TEXT_PART, TEXT_GLOB };

enum op_code {
    OP_NUMBER,
    OP_SET,
    OP_TEXT,
    OP_PROC_TEXT,
    OP_PROC_WHO,
    OP_PROC_NUMBER,
    OP_CUSTOM, /* a metric declared at run time, by the name at op.to; op.v is in units of 1 / op.which */
    OP_LABEL,  /* a label: its value at op.to, its name at op.which, of op.v bytes; op.get: how the name is matched */
    OP_NOT,    /* those before it are conditions */
    OP_AND,
    OP_OR,
    OP_AND_SKIP, /* the left side is false: go on at op.to, behind the right side and its OP_AND */
    OP_OR_SKIP,
};

struct filter_op {
    uint8_t code, get, cmp, match;
    uint16_t which; /* a metric, or the text's offset within its struct */
    uint16_t to;    /* where a skip leads; where a text begins in filter.pool */
    uint16_t len;   /* of that text */
    int64_t v;
};

/* Parentheses nest FILTER_DEPTH deep, and each level can have the left side of an `or` and of an `and` waiting;
 * within a bare word one more. */
#define FILTER_STACK (2 * (FILTER_DEPTH + 1) + 2)

struct filter {
    size_t n, cap;
    struct filter_op *ops;
    char *text, *key;
    char pool[FILTER_MAX + 128]; /* the values, and who `mine` is, in lower case */
    size_t pool_len;
    bool timed, mine;
    size_t n_words;
    uint16_t words[FILTER_WORDS]; /* the bare ones: where the first of their conditions is in ops */
};

/* What a bare word may be: a condition each, joined by `or`. */
enum word_kind { KIND_PERSON, KIND_LOGIN, KIND_NODE, KIND_MODEL, KIND_PROGRAM, KINDS };
_Static_assert(KINDS *FILTER_WORDS <= FILTER_TERMS, "the bare words must fit");
#define KIND_OP(kind) ((kind) ? 3 * (kind)-1 : 0) /* behind the first: between a skip and an `or` */
