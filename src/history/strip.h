/*
 * strip.h: the rows of the night strip: what every GPU did and whose it was, bin by bin, from history, process records,
 * bookings and events. Made on the loop (strip_new), read on any thread (strip_run); the work is that of a query of
 * history.h. Private to history/.
 */
#pragma once

#include "draw/night.h"
#include "history/history.h"
#include "model/state.h"

enum strip_sort { STRIP_BY_NODE, STRIP_BY_WORK, STRIP_BY_IDLE, STRIP_SORTS };
extern const char *const strip_sort_words[STRIP_SORTS + 1]; /* "node", "work": most first, "idle": longest first */

struct strip_row {
    struct night_row drawn;
    const char *node, *node_id, *device, *model;
    int32_t index, mig;
    enum dev_state state; /* now */
    int64_t worked, idle; /* sort keys: sums */
    size_t at;
    int8_t *work;
};

struct strip {
    struct arena mem;
    struct history_query *query, *power; /* util and sm_active of each device; power in total */
    enum strip_sort sort;
    int64_t now_ms, busy_util; /* busy from this value on, in 0.01 % */
    struct night night;        /* strip_run fills rows and columns */
    size_t n;
    struct strip_row *rows; /* in the query's order of devices, then sorted */
    int64_t step_ms;
    int64_t *watts;
    int32_t *free;
};

struct state_rule;
/* words: device, from, to, points and step, as in history, with a default of one day. Errors as in
 * history_query_new. */
int strip_new(struct history_words *words, const struct view *v, const struct state_rule *rule, int64_t now_ms,
              bool (*keep)(void *arg, const struct node_now *n, const struct device_now *d), void *arg,
              struct strip **ret, struct err *err);
int strip_run(struct strip *s, const struct past_source *past, struct err *err);
void strip_free(struct strip *s);
