/* tracker.h: one GPU over a run or until now: the input is readings in order of time, the output is the findings of the
 * rules. */
#pragma once

#include "verdict/advice.h"

struct tracker;
/* reading_ms: maximum time of one reading; ADVICE_READING_MS live, the step if the input is means. */
struct tracker *tracker_new(int64_t reading_ms);
void tracker_free(struct tracker *w); /* accepts NULL */
/* Adds the values read at one time, later than the previous one. Rarely read values (limits, memory) count until their
 * next value; a sample without activity is no reading. */
void tracker_add(struct tracker *w, const struct sample *s);
/* Fills all current advice, in the order of the table, at most max; returns the number. Can be called at any time. */
size_t tracker_advice(const struct tracker *w, struct advice *ret, size_t max);
