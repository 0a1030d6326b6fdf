/* advice.h: what there is to say of how a GPU is used: by which rule, since when, by which values (docs/advice.md). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum advice_rule {
#define ADVICE(id, ...) ADVICE_##id,
#include "model/advice.def"
    ADVICE_COUNT
};
struct advice_info {
    const char *name, *title, *remedy;
};
extern const struct advice_info advice_rules[ADVICE_COUNT];
int advice_by_name(struct str name); /* -1: there is none */

struct advice {
    enum advice_rule rule;
    int64_t from_ms, ms; /* since when, and how long it was true in all */
    bool now;            /* it still is, */
    int64_t to_ms;       /* then: at this moment, the last of which it is known */
    double lost;         /* share of that time that heeding it would give back; 0: nobody knows */
    char evidence[200];  /* "active 59 %, SM 53 %, busiest process 1.0 cores" */
};

/* A finding of a GPU in the live state. Its numbers are those of its run's verdict (jobs/verdict.h), and only those. */
struct advice_now {
    enum advice_rule rule;
    int64_t from_ms; /* since when the live rules find it: its alert counts from then */
};
