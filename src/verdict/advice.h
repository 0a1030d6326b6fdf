/*
 * advice.h: what all rules about what a GPU is used for keep to. Pure: samples in, advice out; docs/advice.md has the
 * rules, and tests/verdict replays recorded jobs against every one.
 * A1 A rule is told only when it was true for at least ADVICE_MS; breaks of up to ADVICE_BREAK_MS do not end it.
 * A2 What is not known makes no rule true: a GPU that tells no activity gets no advice from it.
 * A3 Memory is bounded, however long the run.
 */
#pragma once

#include "model/advice.h"
#include "model/metric.h"

enum {
    ADVICE_MS = 60000,
    ADVICE_BREAK_MS = 10000,
    ADVICE_READING_MS = 15000, /* a live reading stands for at most this: they come every 5 s */
};
