/* led_node.h: which hours of a node are to be counted. Private to the ledger. */
#pragma once

#include "model/fact.h"
#include "model/usage.h"

struct hour_mark {
    int64_t at_ms, seq;
    int64_t since_ms, touched_ms; /* dirty since, and last */
    int64_t until_ms, counted_ms; /* counted up to, and when; 0: not by us */
    int64_t put_ms;               /* when it was last put */
    bool dirty, flying;
};

struct led_node {
    char key[NODE_KEY_MAX];
    unsigned part;
    int64_t first_ms, last_ms; /* hours that were ever marked or counted; first 0: none */
    int64_t gap_ms, gap_to_ms; /* of these some are still to be marked; 0: none */
    struct hour_mark *v;       /* by at_ms */
    size_t n, cap;
};

struct hour_mark *led_node_find(struct led_node *n, int64_t at_ms); /* NULL: that hour has none */
struct hour_mark *led_node_get(struct led_node *n, int64_t at_ms);  /* made where there is none */
/* Those of the hours in between that are not dirty any more go, all at once: there may be thousands behind them. */
void led_node_drop(struct led_node *n, int64_t first_ms, int64_t last_ms);
/* Every hour in between has a mark from here on, put in at once: after a jump of the clock these are years. */
void led_node_fill(struct led_node *n, int64_t first_ms, int64_t last_ms);
/* Hours from one to before the other, of which nothing is known: from where on they are marked at once. Those of more
 * than two days are left to be marked bit by bit. */
int64_t led_node_leave_gap(struct led_node *n, int64_t from_ms, int64_t to_ms);
size_t led_node_gap(const struct led_node *n); /* how many are left */
