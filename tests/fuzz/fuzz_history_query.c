/* The words of a history request, against a small cluster: whatever they are, one error or a bounded query. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/when.h"
#include "history/history.h"

#define NOW 1794737172345ll

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok)
        abort();
}

/* Three nodes of four devices, one a MIG instance; the second declares a metric, the third is retired. */
static const struct view *cluster(void)
{
    static struct device_now devices[3][4];
    static struct node_now nodes[3];
    static const struct node_now *list[3];
    static struct custom_fact custom = {.name = "tokens", .per = 1000, .kind = KIND_COUNTER};
    static struct view v = {.nodes = list};

    for (int i = 0; v.n < 3; i++) {
        snprintf(nodes[i].key, sizeof(nodes[i].key), "vesta:%d", i);
        snprintf(nodes[i].name, sizeof(nodes[i].name), "dgx%d", i);
        nodes[i].devices = devices[i];
        nodes[i].n_devices = 4;
        for (int k = 0; k < 4; k++) {
            struct device_fact *f = &devices[i][k].fact;
            snprintf(f->uuid, sizeof(f->uuid), "GPU-dgx%d-%d", i, k);
            snprintf(f->name, sizeof(f->name), "NVIDIA %d", k);
            f->index = k;
            f->mig = k == 3 ? 1 : -1;
        }
        list[v.n++] = &nodes[i];
    }
    nodes[1].fact.n_custom = 1;
    nodes[1].fact.custom = &custom;
    nodes[2].retired = true;
    return &v;
}

struct count {
    size_t series, cells;
};

/* One sample in every seventh bin. */
static int thin_past(struct store *s, const struct bins_query *ask, struct history *ret, struct err *err)
{
    struct history h = {.from_ms = ask->from_ms, .step_ms = ask->step_ms, .tier = ask->tier};

    (void)s, (void)err;
    must(ask->step_ms >= 100 && ask->from_ms >= 0 && ask->from_ms < ask->to_ms);
    must(ask->from_ms % ask->step_ms == 0 && ask->to_ms % ask->step_ms == 0);
    h.n_series = ask->n_devices * ask->n_metrics;
    h.n = (size_t)((ask->to_ms - ask->from_ms) / ask->step_ms);
    must(h.n_series > 0 && h.n_series * h.n <= 2 * HISTORY_CELLS_MAX);
    h.v = mem_zero(h.n_series * h.n, sizeof(*h.v));
    for (size_t i = 0; i < h.n_series * h.n; i += 7)
        h.v[i] = (struct bin){1, (int64_t)i, (int64_t)i, (int64_t)i, (int64_t)i};
    *ret = h;
    return 0;
}

/* Two users who share a GPU, one who cannot be named, one long gone. */
static int some_procs(void *arg, const struct store_each *e, struct err *err)
{
    static const struct {
        const char *user, *device;
        int64_t first_ms, last_ms;
        bool ended;
    } all[] = {{"kim", "GPU-dgx1-0", NOW - 3600000, NOW - 1000, false},
               {"lee", "GPU-dgx1-0", NOW - 7200000, NOW - 1800000, true},
               {"", "GPU-dgx1-1", 5, NOW, true},
               {"kim", "GPU-dgx1-2", 0, 0, true},
               {"kim", "GPU-elsewhere", 0, NOW, true}};

    (void)arg, (void)err;
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct proc_span p = {.node = e->node,
                              .device = all[i].device,
                              .first_ms = all[i].first_ms,
                              .last_ms = all[i].last_ms,
                              .ended = all[i].ended};
        mem_copy_str(p.fact.user, sizeof(p.fact.user), all[i].user);
        if (p.last_ms >= e->from_ms)
            e->give.proc(e->arg, &p);
    }
    return 0;
}

static void on_start(void *arg, const struct series_frame *f)
{
    must(f->step_ms > 0 && f->from_ms < f->to_ms);
    *(struct count *)arg = (struct count){0};
}

static void on_each(void *arg, const struct series *s)
{
    struct count *c = arg;

    must(s->per > 0 && s->n > 0 && s->n <= HISTORY_POINTS_MAX + 2);
    c->series++;
    c->cells += s->n;
}

static void on_end(void *arg, const struct series_frame *f)
{
    struct count *c = arg;

    (void)f;
    must(c->series <= HISTORY_SERIES_MAX && c->cells <= HISTORY_CELLS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct history_words w;
    struct str rest = str_n(data, size), pair, name;
    struct history_query *q = NULL;
    struct err err = {0};
    struct count count;
    struct past_source past = {.history = thin_past, .each = some_procs};
    struct series_out sink = {&count, on_start, on_each, on_end};
    int r = 0;

    w = (struct history_words){0};
    while (r == 0 && str_cut(&rest, '&', &pair)) {
        str_cut(&pair, '=', &name);
        history_word(&w, name, pair, &r, &err);
    }
    if (r == 0)
        r = history_query_new(&w, cluster(), NOW, NULL, NULL, &q, &err);
    must(r == 0 ? q != NULL : err.msg[0] != 0);
    if (r == 0)
        must(history_query_run(q, &past, &sink, &err) == 0);
    history_query_free(q);
    return 0;
}
