/* share.c: reads from history how busy the devices were in each share. */
#include "report/share.h"

#include <errno.h>

#include "base/order.h"

COMPARE(by_place, struct share, ORDER(x->host, y->host) ?: ORDER(x->from_ms, y->from_ms) ?: ORDER(x->item, y->item))

static void add_bin(struct share_mean *to, const struct bin *b, int64_t ms)
{
    if (!b->count)
        return;
    to->sum += b->sum / b->count * ms;
    to->ms += ms;
}

static void tally(struct share *s, const struct history *h, size_t n_devices)
{
    int64_t a = MAX(s->from_ms, h->from_ms), b = MIN(s->end_ms, h->from_ms + (int64_t)h->n * h->step_ms);

    while (a < b) {
        size_t at = (size_t)((a - h->from_ms) / h->step_ms);
        int64_t next = MIN(b, h->from_ms + ((int64_t)at + 1) * h->step_ms);
        for (size_t d = 0; d < MIN(n_devices, (size_t)SHARE_DEVICES); d++) {
            const struct bin *bins = &h->v[d * RUNS_METRICS * h->n + at];
            if (!(s->mask >> d & 1))
                continue;
            add_bin(&s->util, &bins[RUNS_UTIL * h->n], next - a);
            for (size_t w = 0; w < WORK_KINDS; w++)
                add_bin(&s->work[w], &bins[(RUNS_WORK + w) * h->n], next - a);
        }
        a = next;
    }
}

static int tally_host(const struct runs_query *ask, const struct runs_host *host, struct share *v, size_t n,
                      struct err *err)
{
    const struct zone *z = ask->zone;
    int r = 0;

    for (int32_t day = ask->from; day <= ask->to && r >= 0; day += RUNS_CHUNK_DAYS) {
        int64_t from_ms = zone_date_ms(z, day), to_ms = zone_date_ms(z, MIN(day + RUNS_CHUNK_DAYS, ask->to + 1));
        struct history got = {0};
        if (!ANY(n, i, v[i].from_ms < to_ms && v[i].end_ms > from_ms))
            continue;
        r = runs_history(ask, host->key, host->devices, host->n_devices, from_ms, to_ms, &got, err);
        for (size_t i = 0; i < n && r >= 0; i++)
            tally(&v[i], &got, host->n_devices);
        history_fini(&got);
    }
    return MIN(r, 0);
}

int shares_measure(const struct runs_query *ask, const struct runs *seen, struct share *v, size_t n, struct err *err)
{
    int r = 0;

    SORT(v, n, by_place);
    for (size_t i = 0, end; i < n && r == 0; i = end) {
        end = i + FIRST(n - i, e, v[i + e].host != v[i].host);
        if (past_stopped(ask->past))
            return err_set(err, -ECANCELED, "it took too long");
        r = tally_host(ask, &seen->hosts[v[i].host], v + i, end - i, err);
    }
    return r;
}
