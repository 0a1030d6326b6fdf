/*
 * advice.h: the rules about what a GPU is used for, each with its evidence and a remedy. Pure: samples in, advice out;
 * docs/advice.md has the rules, and tests/verdict replays recorded jobs against every one.
 * A1 A rule is told only when it was true for at least ADVICE_MS; breaks of up to ADVICE_BREAK_MS do not end it.
 * A2 What is not known makes no rule true: a GPU that tells no activity gets no advice from it.
 * A3 Memory is bounded, however long the run.
 */
#pragma once

#include "model/metric.h"

enum advice_rule {
#define ADVICE(id, ...) ADVICE_##id,
#include "verdict/advice.def"
    ADVICE_COUNT
};
struct advice_info {
    const char *name, *title, *remedy;
};
extern const struct advice_info advice_rules[ADVICE_COUNT];

enum {
    ADVICE_MS = 60000,
    ADVICE_BREAK_MS = 10000,
    ADVICE_READING_MS = 15000, /* a live reading stands for at most this: they come every 5 s */
};

struct advice {
    enum advice_rule rule;
    int64_t from_ms, ms; /* since when, and how long it was true in all */
    bool now;            /* it still is */
    double lost;         /* share of that time that heeding it would give back; 0: nobody knows */
    char evidence[200];  /* "active 59 %, SM 53 %, busiest process 1.0 cores" */
};
