/* led_node.c: the hours of one node in the ledger, in the order of time. */
#include "usage/led_node.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"

#define GAP_MS (48 * HOUR_MS)

static size_t mark_place(const struct led_node *n, int64_t at_ms)
{
    return COUNT_BEFORE(n->n, i, n->v[i].at_ms < at_ms);
}

struct hour_mark *led_node_find(struct led_node *n, int64_t at_ms)
{
    size_t i = mark_place(n, at_ms);

    return i < n->n && n->v[i].at_ms == at_ms ? &n->v[i] : NULL;
}

void led_node_drop(struct led_node *n, int64_t first_ms, int64_t last_ms)
{
    size_t from = mark_place(n, first_ms), to = mark_place(n, last_ms + 1), kept = from;

    for (size_t i = from; i < to; i++)
        if (n->v[i].dirty)
            n->v[kept++] = n->v[i];
    memmove(&n->v[kept], &n->v[to], (n->n - to) * sizeof(*n->v));
    n->n -= to - kept;
}

struct hour_mark *led_node_get(struct led_node *n, int64_t at_ms)
{
    size_t i = mark_place(n, at_ms);

    if (i == n->n || n->v[i].at_ms != at_ms)
        VEC_INSERT(n->v, n->n, n->cap, i, (struct hour_mark){.at_ms = at_ms});
    return &n->v[i];
}

COMPARE(by_hour, struct hour_mark, ORDER(x->at_ms, y->at_ms))

void led_node_fill(struct led_node *n, int64_t first_ms, int64_t last_ms)
{
    size_t i = mark_place(n, first_ms), was = n->n;

    for (int64_t at_ms = first_ms; at_ms <= last_ms; at_ms += HOUR_MS) {
        while (i < was && n->v[i].at_ms < at_ms)
            i++;
        if (i == was || n->v[i].at_ms != at_ms)
            VEC_ADD(n->v, n->n, n->cap, (struct hour_mark){.at_ms = at_ms});
    }
    SORT(n->v, n->n, by_hour);
}

int64_t led_node_leave_gap(struct led_node *n, int64_t from_ms, int64_t to_ms)
{
    if (to_ms - from_ms <= GAP_MS)
        return from_ms;
    n->gap_ms = n->gap_ms ? MIN(n->gap_ms, from_ms) : from_ms;
    n->gap_to_ms = MAX(n->gap_to_ms, to_ms - HOUR_MS);
    return to_ms;
}

size_t led_node_gap(const struct led_node *n)
{
    return n->gap_ms && n->gap_to_ms >= n->gap_ms ? (size_t)((n->gap_to_ms - n->gap_ms) / HOUR_MS) + 1 : 0;
}
