/*
 * overlap.c: finds overlapping runs in one pass over a host's runs by their beginnings, which keeps for each device
 * until when it is taken and by whom; groups are trees that are joined when a run meets several.
 */
#include "report/overlap.h"

#include "base/mem.h"
#include "base/order.h"

#define DEVICES 64

COMPARE(by_host_start, struct overlap_run,
        strcmp(x->host, y->host) ?: ORDER(x->from_ms, y->from_ms) ?: ORDER(x->until_ms, y->until_ms)
            ?: ORDER(x->of, y->of))

/* The least member of the tree that i is in. */
static size_t root(size_t *up, size_t i)
{
    while (up[i] != i)
        i = up[i] = up[up[i]];
    return i;
}

static void join(size_t *up, size_t a, size_t b)
{
    size_t x = root(up, a), y = root(up, b);

    if (x < y)
        up[y] = x;
    else
        up[x] = y;
}

size_t overlap_find(struct overlap_run *v, size_t n)
{
    AUTO_FREE size_t *up = mem_zero(n, sizeof(*up));
    int64_t until[DEVICES] = {0};
    size_t by[DEVICES] = {0}, groups = 0;

    SORT(v, n, by_host_start);
    for (size_t i = 0; i < n; i++) {
        uint64_t devices = v[i].devices ? v[i].devices : UINT64_MAX;
        bool other = i == 0 || strcmp(v[i].host, v[i - 1].host) != 0;
        int64_t end = MAX(v[i].until_ms, v[i].from_ms < INT64_MAX ? v[i].from_ms + 1 : v[i].from_ms);
        up[i] = i;
        v[i].late = false;
        v[i].group = 0;
        for (size_t d = 0; d < DEVICES; d++) {
            if (other)
                until[d] = INT64_MIN;
            if (!(devices >> d & 1) || !v[i].host[0])
                continue;
            if (v[i].from_ms < until[d]) {
                v[i].late = true;
                join(up, i, by[d]);
            }
            if (end > until[d]) {
                until[d] = end;
                by[d] = i;
            }
        }
    }
    for (size_t i = 0; i < n; i++) { /* roots are the first of their groups */
        size_t r = root(up, i);
        if (r == i)
            continue;
        if (v[r].group == 0)
            v[r].group = ++groups;
        v[i].group = v[r].group;
    }
    return groups;
}
