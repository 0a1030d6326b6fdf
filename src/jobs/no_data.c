/* no_data.c: compares the newest data of a run's GPUs with the time now, and finds the reason in the live state. */
#include "jobs/no_data.h"

#include "base/buf.h"
#include "base/order.h"
#include "base/time_text.h"
#include "hub/handlers.h"
#include "now/live.h"

/* "up": data may come. */
static const char *node_word(const struct node_now *n)
{
    if (!n)
        return "gone";
    if (n->retired)
        return "retired";
    return n->state == NODE_DOWN || n->state == NODE_HUNG ? node_words[n->state] : node_words[NODE_UP];
}

int64_t job_ended_ms(const struct job_fact *j, int64_t now_ms)
{
    return j->end_ms <= now_ms ? j->end_ms : 0;
}

const char *job_state(const struct api *a, const struct job_fact *j, int64_t now_ms)
{
    if (job_ended_ms(j, now_ms))
        return "ended";
    const char *node = j->node[0] ? node_word(live_find(a->live, j->node)) : node_words[NODE_UP];
    return strcmp(node, node_words[NODE_UP]) == 0 ? "running" : "unfinished";
}

/* A hub that started after the GPU's last sample has none: the data ended when its node stopped reporting. */
static int64_t data_to_ms(const struct node_now *n, const struct device_now *d)
{
    return d->at_ms ? d->at_ms : n->state == NODE_HUNG ? n->collect_since_ms : n->at_ms;
}

int64_t job_data_to_ms(const struct api *a, const struct job_fact *j)
{
    struct str rest = str_of(j->devices), one;
    int64_t newest_ms = 0;
    while (str_cut(&rest, ',', &one)) {
        const struct node_now *on;
        const struct device_now *d = one.len ? live_find_device(a->live, one, &on) : NULL;
        newest_ms = d ? MAX(newest_ms, data_to_ms(on, d)) : newest_ms;
    }
    return newest_ms >= j->start_ms ? newest_ms : 0;
}

bool no_data_of(const struct api *a, const struct job_fact *j, const struct run_verdict *v, struct no_data *ret)
{
    *ret = (struct no_data){0};
    if (!run_verdict_silent(v, j))
        return false;
    for (size_t i = 0; i < v->n; i++) {
        if (!verdict_gpu_silent(v, &v->gpus[i]))
            continue;
        const struct node_now *n = live_find(a->live, v->gpus[i].node);
        if (!ret->n++) {
            ret->node = n ? n->name : v->gpus[i].node;
            ret->state = node_word(n);
        }
        ret->since_ms = MAX(ret->since_ms, v->gpus[i].means.data_to_ms);
    }
    ret->all = ret->n == v->n;
    return ret->n > 0;
}

void no_data_text(const struct no_data *s, size_t of, const struct zone *zone, struct buf *out)
{
    char since[MOMENT_TEXT];
    buf_adds(out, "no data ");
    if (!s->all)
        buf_addf(out, "of %zu of %zu GPUs ", s->n, of);
    buf_addf(out, "since %s: ", time_text_zoned(s->since_ms, zone, since));
    if (strcmp(s->state, node_words[NODE_HUNG]) == 0)
        buf_addf(out, "the driver of %s is not responding", s->node);
    else if (strcmp(s->state, node_words[NODE_UP]) == 0)
        buf_addf(out, "%s sends none", s->node);
    else
        buf_addf(out, "%s is %s", s->node, state_shown(s->state));
}
