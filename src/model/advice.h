/* advice.h: a finding about how a GPU is used: its rule, since when, and the values behind it (docs/advice.md). */
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
int advice_by_name(struct str name); /* -1 if not found */

struct advice {
    enum advice_rule rule;
    int64_t from_ms, ms; /* its start, and for how long in total it held */
    bool now;            /* it still holds, */
    int64_t to_ms;       /* with now: the time of the last known sample */
    double lost;         /* share of that time that following the advice would save; 0: unknown */
    char evidence[200];  /* "active 59 %, SM 53 %, busiest process 1.0 cores" */
};

/* A finding of a GPU in the live state. Its numbers are those of its run's verdict (jobs/verdict.h), and only those. */
struct advice_now {
    enum advice_rule rule;
    int64_t from_ms; /* since when the live rules find it: its alert counts from then */
};
