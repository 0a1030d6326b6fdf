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
    if (p->n == PAUSES_MAX) {
        memmove(&p->v[0], &p->v[1], (PAUSES_MAX - 1) * sizeof(p->v[0]));
        p->n--;
    }
    p->v[p->n++] = (struct pause){p->at_ms, p->ms};
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
    p->n = 0; /* a rhythm with a hole in it is none */
}

static int by_ms(const void *a, const void *b)
{
    return ORDER(*(const int64_t *)a, *(const int64_t *)b);
}

bool pauses_tell(const struct pauses *p, enum advice_rule rule, struct advice *ret)
{
    int64_t gaps[PAUSES_MAX], sum_ms = 0;
    char span[24], every[24];
    if (p->n < PAUSES_LEAST)
        return false;
    for (size_t i = 0; i < p->n; i++)
        sum_ms += p->v[i].ms;
    size_t n = p->n - 1;
    for (size_t i = 0; i < n; i++)
        gaps[i] = p->v[i + 1].at_ms - p->v[i].at_ms;
    qsort(gaps, n, sizeof(gaps[0]), by_ms);
    int64_t middle = gaps[n / 2], slack = MAX(middle / 5, 2 * p->step_ms), all_ms = p->v[n].at_ms - p->v[0].at_ms;
    bool steady = gaps[0] >= middle - slack && gaps[n - 1] <= middle + slack;
    double share = (double)(sum_ms - p->v[n].ms) / (double)MAX(all_ms, 1);
    if (share < SHARE_LEAST || steady != (rule == ADVICE_pauses))
        return false;
    *ret = (struct advice){.rule = rule, .from_ms = p->v[0].at_ms, .ms = sum_ms, .now = p->ms > 0};
    AUTO_BUF b = BUF_INIT(200);
    buf_addf(&b, "%zu pauses of %s on average, ", p->n, clock_span(sum_ms / (int64_t)p->n, span));
    if (steady)
        buf_addf(&b, "every %s", clock_span(middle, every));
    else
        buf_addf(&b, "%s to %s apart", clock_span(gaps[0], span), clock_span(gaps[n - 1], every));
    buf_addf(&b, ": %.0f %% of the time", share * 100);
    mem_copy_str(ret->evidence, sizeof(ret->evidence), b.p);
    return true;
}
