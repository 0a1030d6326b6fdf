/* tracker.h: one GPU over a run or until now: readings in, in the order of time; what the rules make of them out. */
#pragma once

#include "verdict/advice.h"

struct tracker;
/* reading_ms: the longest time that one reading stands for; ADVICE_READING_MS live, the step where means are given. */
struct tracker *tracker_new(int64_t reading_ms);
void tracker_free(struct tracker *w); /* accepts NULL */
/* Whatever was read at a moment, later than the one before. What comes seldom (limits, memory) counts until it comes
 * again; a sample without activity is no reading. */
void tracker_add(struct tracker *w, const struct sample *s);
/* All advice there is, in the order of the table, at most max; returns how many. Can be asked at any time. */
size_t tracker_tell(const struct tracker *w, struct advice *ret, size_t max);
