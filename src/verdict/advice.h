/*
 * advice.h: common to all rules about the use of a GPU. Pure: samples in, advice out; docs/advice.md has the rules, and
 * tests/verdict replays recorded jobs against each one.
 * A1 A rule reports only after it held for at least ADVICE_MS; breaks of up to ADVICE_BREAK_MS do not end it.
 * A2 Unknown values match no rule: a GPU without activity counters gets no advice from it.
 * A3 Memory is bounded, however long the run.
 */
#pragma once

#include "model/advice.h"
#include "model/metric.h"

enum {
    ADVICE_MS = 60000,
    ADVICE_BREAK_MS = 10000,
    ADVICE_READING_MS = 15000, /* maximum time of a live reading: they come every 5 s */
};
