/* filter_prog.h: a filter as a program: conditions and the operations between them, in postfix order. */
#pragma once

#include "now/filter.h"

/* The value that a condition reads. */
enum get {
    /* numbers */
    GET_DEVICE_METRIC, /* op.which: enum metric */
    GET_NODE_METRIC,
    GET_MEM_FREE,
    GET_MEM_SHARE, /* of the total memory, in millionths */
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
    GET_BOOKER, /* the user who has it booked now */
    /* any process */
    GET_PROC_TEXT,
    GET_PROC_WHO, /* op.which: enum proc_info */
    GET_SLURM,
    GET_PID,
};

enum { FLAG_ASLEEP = 1, FLAG_MIG = 2, FLAG_MAINTENANCE = 4, FLAG_BOOKED = 8 };
/* The user of a process: the person; one of the groups, in the order of struct identity; the user of the request. */
enum proc_info { WHO_PERSON, WHO_GROUP, WHO_ME = WHO_GROUP + IDENTITY_GROUPS };
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
    OP_AND_SKIP, /* the left side is false: continue at op.to, after the right side and its OP_AND */
    OP_OR_SKIP,
};

struct filter_op {
    uint8_t code, get, cmp, match;
    uint16_t which; /* a metric, or the text's offset within its struct */
    uint16_t to;    /* target of a skip; start of the text in filter.pool */
    uint16_t len;   /* length of the text */
    int64_t v;
};

/* Each of FILTER_DEPTH nested levels can have the left side of an `or` and of an `and` on the stack; a bare word needs
 * one more. */
#define FILTER_STACK (2 * (FILTER_DEPTH + 1) + 2)

struct filter {
    size_t n, cap;
    struct filter_op *ops;
    char *text, *key;
    char pool[FILTER_MAX + 128]; /* values, and the user of `mine`, in lower case */
    size_t pool_len;
    bool timed, mine;
    size_t n_words;
    uint16_t words[FILTER_WORDS]; /* index in ops of the first condition of each bare word */
};

/* Kinds of a bare word: one condition each, joined by `or`. */
enum word_kind { KIND_PERSON, KIND_LOGIN, KIND_NODE, KIND_MODEL, KIND_PROGRAM, KINDS };
_Static_assert(KINDS *FILTER_WORDS <= FILTER_TERMS, "the bare words must fit");
#define KIND_OP(kind) ((kind) ? 3 * (kind)-1 : 0) /* after the first: between a skip and an `or` */
