/* led_node.h: the hours of a node to count. Private to the ledger. */
#pragma once

#include "model/fact.h"
#include "model/usage.h"

struct hour_mark {
    int64_t at_ms, seq;
    int64_t since_ms, touched_ms; /* dirty since, and last marked */
    int64_t until_ms, counted_ms; /* counted up to, and when; 0: not by this hub */
    int64_t put_ms;               /* when it was last stored */
    bool dirty, flying;
};

struct led_node {
    char key[NODE_KEY_MAX];
    unsigned part;
    int64_t first_ms, last_ms; /* range of all hours ever marked or counted; first 0: none */
    int64_t gap_ms, gap_to_ms; /* gap with hours still to mark; 0: none */
    struct hour_mark *v;       /* by at_ms */
    size_t n, cap;
};

struct hour_mark *led_node_find(struct led_node *n, int64_t at_ms); /* NULL if that hour has no mark */
struct hour_mark *led_node_get(struct led_node *n, int64_t at_ms);  /* adds a mark if missing */
/* Drops clean marks of the hours in between, in one pass: thousands may follow them. */
void led_node_drop(struct led_node *n, int64_t first_ms, int64_t last_ms);
/* Adds a mark for every hour in between, in one pass: after a jump of the clock these are years. */
void led_node_fill(struct led_node *n, int64_t first_ms, int64_t last_ms);
/* Marks unknown hours in [from_ms, to_ms). Returns the hour from which the caller marks immediately. Gaps of more than
 * two days are left to be marked gradually. */
int64_t led_node_leave_gap(struct led_node *n, int64_t from_ms, int64_t to_ms);
size_t led_node_gap(const struct led_node *n); /* number of hours left in the gap */
