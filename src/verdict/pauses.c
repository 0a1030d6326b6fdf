/* pauses.c: keeps the newest pauses and finds out whether they come in a rhythm. */
#include "verdict/pauses.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"

#define PAUSE_LEAST_MS 3000 /* shorter ones are seen as less activity, not as pauses */
#define SHARE_LEAST    0.03 /* of the time: less is not worth a word */

static void keep_pause(struct pauses *p)
{
    if (p->ms < PAUSE_LEAST_MS)
        return;
    if (p->n == PAUSES_MAX)
        memmove(&p->v[0], &p->v[1], --p->n * sizeof(p->v[0]));
    VEC_ADD(p->v, p->n, p->cap, ((struct pause){p->at_ms, p->ms}));
    p->longest_ms = MAX(p->longest_ms, p->ms);
}

void pauses_add(struct pauses *p, bool pause, int64_t at_ms, int64_t ms)
{
    p->step_ms = MAX(p->step_ms, ms);
    if (!pause) {
        keep_pause(p);
        p->ms = 0;
        p->worked_ms = at_ms;
        return;
    }
    if (!p->worked_ms)
        return; /* before its first work */
    if (!p->ms)
        p->at_ms = at_ms - ms;
    p->ms += ms;
}

void pauses_break(struct pauses *p)
{
    p->ms = p->worked_ms = 0;
    p->n = 0; /* a gap breaks the rhythm */
}

static int by_ms(const void *a, const void *b)
{
    return ORDER(*(const int64_t *)a, *(const int64_t *)b);
}

/* Copies all pauses that count to v, including the current one. */
static size_t list_pauses(const struct pauses *p, struct pause v[PAUSES_MAX + 1])
{
    size_t n = p->n;
    if (n)
        memcpy(v, p->v, n * sizeof(*v));
    if (n && p->ms >= PAUSE_LEAST_MS && p->ms <= 2 * p->longest_ms)
        v[n++] = (struct pause){p->at_ms, p->ms};
    return n;
}

bool pauses_advice(const struct pauses *p, enum advice_rule rule, struct advice *ret)
{
    struct pause v[PAUSES_MAX + 1];
    int64_t gaps[PAUSES_MAX], sum_ms = 0;
    char span[24], every[24];
    size_t count = list_pauses(p, v), n = count - 1; /* n: how many gaps, and the last one */
    if (count < PAUSES_LEAST)
        return false;
    for (size_t i = 0; i < count; i++)
        sum_ms += v[i].ms;
    for (size_t i = 0; i < n; i++)
        gaps[i] = v[i + 1].at_ms - v[i].at_ms;
    qsort(gaps, n, sizeof(gaps[0]), by_ms);
    int64_t middle = gaps[n / 2], slack = MAX(middle / 5, 2 * p->step_ms), all_ms = v[n].at_ms - v[0].at_ms;
    bool steady = gaps[0] >= middle - slack && gaps[n - 1] <= middle + slack;
    double share = (double)(sum_ms - v[n].ms) / (double)MAX(all_ms, 1);
    if (all_ms < ADVICE_MS || share < SHARE_LEAST || steady != (rule == ADVICE_pauses))
        return false;
    int64_t to_ms = MAX(p->worked_ms, p->at_ms + p->ms);
    *ret = (struct advice){.rule = rule,
                           .from_ms = v[0].at_ms,
                           .ms = all_ms,
                           .now = to_ms - v[n].at_ms <= 2 * gaps[n - 1],
                           .to_ms = to_ms,
                           .lost = MIN(share, 1)};
    AUTO_BUF b = BUF_INIT(200);
    buf_addf(&b, "%zu pauses of %s on average, ", count, clock_span(sum_ms / (int64_t)count, span));
    if (steady)
        buf_addf(&b, "every %s", clock_span(middle, every));
    else
        buf_addf(&b, "%s to %s apart", clock_span(gaps[0], span), clock_span(gaps[n - 1], every));
    buf_addf(&b, ": %.0f %% of %s", share * 100, clock_span(all_ms, span)); /* of which time, wherever it is shown */
    mem_copy_str(ret->evidence, sizeof(ret->evidence), b.p);
    return true;
}

void pauses_fini(struct pauses *p)
{
    free(p->v);
    *p = (struct pauses){0};
}
