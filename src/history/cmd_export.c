/*
 * cmd_export.c: `muster export`: what a data folder holds, as text. Walks nodes, then spans of two hours, then series,
 * so that no more than one series of one span is in memory; OpenMetrics wants its families whole and is walked metric
 * by metric.
 */
#include <errno.h>
#include <fcntl.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/when.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/data_folder.h"
#include "cli/progress.h"
#include "format/export.h"
#include "hub/decode.h"
#include "store/samples.h"
#include "wire/wire.h"

#define SPAN_MS  (2 * 3600000ll) /* a raw bucket of the store's */
#define EPOCH_MS 946684800000ll  /* 2000: nothing was measured before */
enum { OUT_BYTES = 1 << 20, BINS = 1000 };

struct export_conf {
    char *data, *hub, *from, *to, *output;
    struct opt_list device, metric, kind;
    int64_t step;
    int format;
    bool quiet;
};

static const struct opt export_opts[] = {
    DATA_FOLDER_OPTS(export_conf),
    OPT(export_conf, format, 0, OPT_CHOICE, "jsonl", "FORMAT", "format of the output", .choices = export_words),
    OPT(export_conf, device, 0, OPT_LIST, NULL, "WHICH",
        "only these devices: a UUID, node:index, a node's name, or a pattern, e.g. 'dgx*:0'"),
    OPT(export_conf, metric, 'm', OPT_LIST, NULL, "NAME", "only these metrics; patterns too"),
    OPT(export_conf, from, 0, OPT_STR, NULL, "WHEN", "start: 2026-11-15T10:00:00Z, seconds since 1970, or -24h"),
    OPT(export_conf, to, 0, OPT_STR, NULL, "WHEN", "end", .default_text = "now"),
    OPT(export_conf, step, 's', OPT_DURATION, "0", "TIME", "time per value: the mean, of a counter the last", .min = 0,
        .max = 366ll * 86400000, .default_text = "every sample"),
    OPT(export_conf, kind, 'k', OPT_LIST, NULL, "KIND", "only samples, processes, events or jobs"),
    OPT(export_conf, output, 'o', OPT_PATH, NULL, "FILE",
        "file to write instead of standard output, whole or not at all"),
    OPT(export_conf, quiet, 'q', OPT_BOOL, NULL, NULL, "print no progress"),
    {0},
};
const struct opt_cmd export_help = {
    .name = "muster export",
    .summary = "export history as CSV, JSON lines or OpenMetrics",
    .about = "Prints every sample exactly as it was measured, with its node and device, and the processes, events and "
             "jobs of the period. The hub may run meanwhile. `muster import` reads all three formats. OpenMetrics has "
             "samples only; `promtool tsdb create-blocks-from openmetrics` reads it.",
    .examples = "muster export --from -24h --format csv -o day.csv  # for a spreadsheet\n"
                "muster export --device 'dgx1:*' --metric power --step 1m  # one node's watts, minute by minute\n"
                "muster export --format openmetrics -o all.om && promtool tsdb create-blocks-from openmetrics all.om",
    .opts = export_opts,
    .conf_size = sizeof(struct export_conf),
};

struct a_series {
    int device; /* -1: the node */
    char metric[64];
};

/* A node and its exported parts. */
struct a_node {
    struct store_node rec;
    struct node_fact fact; /* devices and custom metrics, completed from the store */
    char label[NAME_MAX_LEN + NODE_KEY_MAX + 2];
    bool self;      /* include its own metrics */
    bool *wanted;   /* by device */
    int64_t *spans; /* with data */
    size_t n_spans, cap_spans;
    struct a_series *series;
    size_t n_series, cap_series;
};

struct export
{
    const struct export_conf *conf;
    char *dir; /* DATA_FOLDER_MAX */
    struct store *store;
    FILE *to;
    struct buf out;
    struct export_writer w;
    struct a_node *nodes;
    size_t n, cap;
    int64_t from_ms, to_ms, first_ms;
    int64_t *at_ms, *v;
    size_t n_points, cap_points;
    int64_t done, total;
    uint64_t samples, records;
    struct progress progress;
    struct a_node *node;
    int failed; /* of a callback */
};

/* ---- out ---- */

static int drain(struct export *x, size_t from, struct err *err)
{
    if (x->out.err)
        return err_set(err, x->out.err, "a record is too large to export");
    if (x->out.len < from)
        return 0;
    if (x->out.len && fwrite(x->out.p, 1, x->out.len, x->to) != x->out.len)
        return err_set(err, -errno, "cannot write: %s", strerror(errno));
    buf_reset(&x->out);
    return 0;
}

static int put(struct export *x, struct export_record *r, struct err *err)
{
    r->node = r->node ? r->node : x->node->rec.key;
    r->name = x->node ? x->node->label : "";
    export_put(&x->w, &x->out, r);
    x->records++;
    return drain(x, OUT_BYTES, err);
}

/* ---- what there is ---- */

static bool listed(const struct opt_list *l, const char *s)
{
    return ANY(l->n, i, str_glob(str_of(l->v[i]), str_of(s)));
}

static bool wants_kind(const struct export_conf *conf, const char *kind)
{
    return conf->kind.n == 0 || listed(&conf->kind, kind);
}

static bool wants_device(const struct export *x, const struct a_node *n, const struct device_fact *d)
{
    char at[NAME_MAX_LEN + 16];
    const struct opt_list *l = &x->conf->device;

    if (l->n == 0 || listed(l, n->fact.name) || listed(l, n->rec.key) || (n->rec.name[0] && listed(l, n->rec.name)))
        return true;
    if (!d)
        return false;
    snprintf(at, sizeof(at), "%s:%d", n->fact.name, (int)d->index);
    return listed(l, at) || listed(l, d->uuid);
}

static int note_series(void *arg, const char *uuid, const char *metric)
{
    struct export *x = arg;
    struct a_node *n = x->node;
    int device = uuid[0] ? node_fact_device(&n->fact, uuid, true) : -1;

    if ((uuid[0] && device < 0) || (metric_by_name(str_of(metric)) < 0 && node_fact_custom(&n->fact, metric, true) < 0))
        return 0;
    VEC_ROOM(n->series, n->n_series, n->cap_series);
    n->series[n->n_series].device = device;
    mem_copy_str(n->series[n->n_series++].metric, sizeof(n->series->metric), metric);
    return 0;
}

static int metric_place(const char *name) /* metrics.def's order, then by name */
{
    int m = metric_by_name(str_of(name));

    return m >= 0 ? m : M_COUNT;
}

COMPARE(by_series, struct a_series,
        ORDER(x->device, y->device) ?: metric_place(x->metric) - metric_place(y->metric)
            ?: strcmp(x->metric, y->metric))

static int count_one(void *arg, UNUSED const char *uuid, UNUSED const char *metric)
{
    *(int *)arg = 1;
    return 1; /* enough */
}

/* Where there is anything, from coarse to fine. */
static int find_spans(struct export *x, int64_t from, int64_t to, int64_t size, struct err *err)
{
    struct a_node *n = x->node;
    int any = 0, r = store_series(x->store, n->rec.key, from, to, count_one, &any, err);

    if (r < 0 || !any)
        return r < 0 ? r : 0;
    if (size == SPAN_MS) {
        VEC_ADD(n->spans, n->n_spans, n->cap_spans, from);
        return 0;
    }
    r = 0;
    for (int64_t at = from, finer = size / 12; at < to && r >= 0; at += finer)
        r = find_spans(x, at, MIN(at + finer, to), finer, err);
    return r;
}

static int look_at(struct export *x, struct a_node *n, struct err *err)
{
    static const int64_t coarse = SPAN_MS * 12 * 12; /* 12 days */

    x->node = n;
    int r = store_series(x->store, n->rec.key, x->from_ms, x->to_ms, note_series, x, err);
    if (r < 0)
        return r;
    SORT(n->series, n->n_series, by_series);
    n->self = wants_device(x, n, NULL);
    n->wanted = mem_zero(n->fact.n_devices + 1, sizeof(*n->wanted));
    for (size_t i = 0; i < n->fact.n_devices; i++)
        n->wanted[i] = wants_device(x, n, &n->fact.devices[i]);
    int64_t from = MAX(x->from_ms, EPOCH_MS) / coarse * coarse, to = x->to_ms;
    if (x->conf->step) {
        VEC_ADD(n->spans, n->n_spans, n->cap_spans, x->from_ms);
    } else {
        for (int64_t at = from; at < to && r >= 0; at += coarse)
            r = find_spans(x, at, MIN(at + coarse, to), coarse, err);
    }
    x->total += (int64_t)(n->n_spans * n->n_series);
    return MIN(r, 0);
}

static bool any_wanted(const struct a_node *n)
{
    return n->self || ANY(n->fact.n_devices, i, n->wanted[i]);
}

/* ---- samples ---- */

static int note_point(void *arg, int64_t at, int64_t v)
{
    struct export *x = arg;

    if (x->n_points == x->cap_points) {
        x->cap_points = x->cap_points ? x->cap_points * 2 : 1024;
        x->at_ms = mem_grow(x->at_ms, x->cap_points, sizeof(*x->at_ms));
        x->v = mem_grow(x->v, x->cap_points, sizeof(*x->v));
    }
    x->at_ms[x->n_points] = at;
    x->v[x->n_points++] = v;
    return 0;
}

static int64_t value_of(const struct bin *b, bool counter)
{
    int64_t n = b->count, half = n / 2;

    return counter ? b->last : (b->sum >= 0 ? b->sum + half : b->sum - half) / n;
}

static int read_bins(struct export *x, const char *device, const char *metric, bool counter, int64_t from, int64_t to,
                     struct err *err)
{
    struct history h;
    struct bins_query ask = {.node = x->node->rec.key,
                             .devices = &device,
                             .metrics = &metric,
                             .n_devices = 1,
                             .n_metrics = 1,
                             .from_ms = from,
                             .to_ms = to,
                             .step_ms = x->conf->step,
                             .tier = -1};
    int r = store_history(x->store, &ask, &h, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < h.n; i++)
        if (h.v[i].count)
            note_point(x, h.from_ms + (int64_t)i * h.step_ms, value_of(&h.v[i], counter));
    history_fini(&h);
    return 0;
}

/* One series of one span: into a record, if there is anything. */
static int put_series(struct export *x, size_t s, int64_t from, int64_t to, struct err *err)
{
    struct a_node *n = x->node;
    int d = n->series[s].device, m = metric_by_name(str_of(n->series[s].metric)), r;
    const struct custom_fact *c =
        m < 0 ? &n->fact.custom[node_fact_custom(&n->fact, n->series[s].metric, false)] : NULL; /* it was noted */
    const char *uuid = d < 0 ? "" : n->fact.devices[d].uuid, *metric = n->series[s].metric;

    progress_at(&x->progress, x->done++);
    if ((d < 0 ? !n->self : !n->wanted[d]) || (x->conf->metric.n && !listed(&x->conf->metric, metric)))
        return 0;
    x->n_points = 0;
    if (x->conf->step)
        r = read_bins(x, uuid, metric, m >= 0 ? metrics[m].kind == KIND_COUNTER : c->kind == KIND_COUNTER, from, to,
                      err);
    else
        r = store_points(x->store, n->rec.key, uuid, metric, MAX(from, x->from_ms), MIN(to, x->to_ms), note_point, x,
                         err);
    if (r < 0 || x->n_points == 0)
        return r;
    x->samples += x->n_points;
    return put(x,
               &(struct export_record){.kind = REC_SAMPLES,
                                       .device = uuid,
                                       .dev = d < 0 ? NULL : &n->fact.devices[d],
                                       .custom = c,
                                       .metric = metric,
                                       .per = m >= 0 ? metrics[m].per : c->per,
                                       .n = x->n_points,
                                       .at_ms = x->at_ms,
                                       .v = x->v},
               err);
}

/* The spans of a node; with a step, stretches of bins. Ends when each does not return 0. */
static int each_span(struct export *x,
                     int (*each)(struct export *x, int64_t from, int64_t to, void *arg, struct err *err), void *arg,
                     struct err *err)
{
    struct a_node *n = x->node;
    int r = 0;

    if (x->conf->step && n->n_spans) {
        int64_t size = x->conf->step * BINS, first = MAX(x->from_ms, n->rec.first_ms ? n->rec.first_ms : EPOCH_MS);
        for (int64_t at = first / size * size; at < x->to_ms && r == 0; at += size)
            r = each(x, MAX(at, x->from_ms), MIN(at + size, x->to_ms), arg, err);
        return r;
    }
    for (size_t i = 0; i < n->n_spans && r == 0; i++)
        r = each(x, n->spans[i], n->spans[i] + SPAN_MS, arg, err);
    return r;
}

static int put_span(struct export *x, int64_t from, int64_t to, UNUSED void *arg, struct err *err)
{
    int r = 0;

    for (size_t s = 0; s < x->node->n_series && r == 0; s++)
        r = put_series(x, s, from, to, err);
    return r;
}

static int put_span_of(struct export *x, int64_t from, int64_t to, void *arg, struct err *err)
{
    return put_series(x, *(size_t *)arg, from, to, err);
}

/* ---- records ---- */

static int put_facts(struct export *x, enum export_kind kind, struct err *err)
{
    struct a_node *n = x->node;
    int r = 0;

    if (kind == REC_NODE)
        return put(x, &(struct export_record){.kind = REC_NODE, .fact = &n->fact}, err);
    for (size_t i = 0; kind == REC_DEVICE && i < n->fact.n_devices && r == 0; i++)
        if (n->wanted[i])
            r = put(x,
                    &(struct export_record){.kind = REC_DEVICE,
                                            .device = n->fact.devices[i].uuid,
                                            .dev = &n->fact.devices[i]},
                    err);
    for (size_t i = 0; kind == REC_METRIC && i < n->fact.n_custom && r == 0; i++)
        r = put(x, &(struct export_record){.kind = REC_METRIC, .custom = &n->fact.custom[i]}, err);
    return r;
}

static bool device_fits(const struct export *x, const char *uuid)
{
    struct a_node *n = x->node;
    int i = uuid && uuid[0] ? node_fact_device(&n->fact, uuid, false) : -1;

    return i < 0 ? n->self : n->wanted[i];
}

static void take_proc(void *arg, const struct proc_span *p)
{
    struct export *x = arg;

    if (x->failed || p->first_ms >= x->to_ms || !device_fits(x, p->device))
        return;
    x->failed = put(x, &(struct export_record){.kind = REC_PROCESS, .device = p->device, .proc = p}, NULL);
}

static void take_event(void *arg, UNUSED const char *node, const char *device, const struct node_event *e)
{
    struct export *x = arg;

    if (!x->failed && e->at_ms < x->to_ms && device_fits(x, device))
        x->failed = put(x, &(struct export_record){.kind = REC_EVENT, .device = device, .event = e}, NULL);
}

static void take_job(void *arg, const struct job_fact *j)
{
    struct export *x = arg;

    if (!x->failed)
        x->failed = put(x, &(struct export_record){.kind = REC_JOB, .node = j->node, .job = j}, NULL);
}

static int put_rest(struct export *x, struct err *err)
{
    const char *key = x->node->rec.key;
    int r = 0;

    if (wants_kind(x->conf, "processes"))
        r = store_each(x->store, EACH_PROC(take_proc, x, .node = key, .from_ms = x->from_ms), err);
    if (r >= 0 && wants_kind(x->conf, "events"))
        r = store_each(x->store, EACH_EVENT(take_event, x, .node = key, .from_ms = x->from_ms, .limit = INT32_MAX),
                       err);
    if (r >= 0 && x->failed)
        r = err_set(err, x->failed, "cannot write: %s", strerror(-x->failed));
    return MIN(r, 0);
}

/* ---- the whole ---- */

static int put_by_node(struct export *x, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < x->n && r == 0; i++) {
        x->node = &x->nodes[i];
        for (int kind = REC_NODE; kind <= REC_METRIC && r == 0; kind++)
            r = put_facts(x, (enum export_kind)kind, err);
        if (r == 0 && wants_kind(x->conf, "samples"))
            r = each_span(x, put_span, NULL, err);
        if (r == 0)
            r = put_rest(x, err);
    }
    x->node = NULL;
    if (r == 0 && wants_kind(x->conf, "jobs") && x->conf->device.n == 0) {
        struct job_query ask = {.from_ms = x->from_ms, .to_ms = x->to_ms, .limit = INT32_MAX};
        r = store_each(x->store, EACH_JOB(&ask, take_job, x), err);
        if (r == 0 && x->failed)
            r = err_set(err, x->failed, "cannot write: %s", strerror(-x->failed));
    }
    return r;
}

struct names {
    char (*v)[64];
    size_t n, cap;
};

/* All metrics there are, in order. */
static void list_metrics(struct export *x, struct names *ret)
{
    for (int m = 0; m < M_COUNT; m++) {
        VEC_ROOM(ret->v, ret->n, ret->cap);
        mem_copy_str(ret->v[ret->n++], sizeof(ret->v[0]), metrics[m].name);
    }
    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < x->nodes[i].fact.n_custom; k++) {
            const char *name = x->nodes[i].fact.custom[k].name;
            if (ANY(ret->n, e, strcmp(ret->v[e], name) == 0))
                continue;
            VEC_ROOM(ret->v, ret->n, ret->cap);
            mem_copy_str(ret->v[ret->n++], sizeof(ret->v[0]), name);
        }
}

static int put_by_metric(struct export *x, struct err *err)
{
    struct names names = {0};
    int r = 0;

    /* facts need the time of a sample */
    for (int kind = REC_NODE; kind <= REC_METRIC && r == 0 && x->first_ms < x->to_ms; kind++)
        for (size_t i = 0; i < x->n && r == 0; i++) {
            x->node = &x->nodes[i];
            r = put_facts(x, (enum export_kind)kind, err);
        }
    list_metrics(x, &names);
    for (size_t k = 0; k < names.n && r == 0; k++)
        for (size_t i = 0; i < x->n && r == 0; i++) {
            x->node = &x->nodes[i];
            for (size_t s = 0; s < x->node->n_series && r == 0; s++)
                if (strcmp(x->node->series[s].metric, names.v[k]) == 0)
                    r = each_span(x, put_span_of, &s, err);
        }
    free(names.v);
    return r;
}

static void add_node(void *arg, const struct store_node *rec)
{
    struct export *x = arg;

    VEC_ADD(x->nodes, x->n, x->cap, (struct a_node){.rec = *rec});
}

static int load_facts(struct export *x, struct a_node *n, struct err *err)
{
    AUTO_BUF bytes = BUF_INIT(WIRE_BODY_MAX);
    struct frame f;
    int r = n->rec.facts ? store_get_blob(x->store, n->rec.key, n->rec.facts, &bytes, err) : 0;

    if (r == 1 && wire_one(buf_str(&bytes), &f, NULL) == 0 && f.type == FRAME_FACTS)
        wire_facts(&f, &n->fact, NULL);
    if (!n->fact.name[0])
        mem_copy_str(n->fact.name, sizeof(n->fact.name), n->rec.own_name[0] ? n->rec.own_name : n->rec.key);
    return MIN(r, 0);
}

/* Two nodes of the same name include their key, too, as in /metrics. */
static void label_nodes(struct export *x)
{
    for (size_t i = 0; i < x->n; i++) {
        struct a_node *n = &x->nodes[i];
        bool twin = ANY(x->n, k, k != i && strcmp(x->nodes[k].fact.name, n->fact.name) == 0);
        snprintf(n->label, sizeof(n->label), twin ? "%s#%s" : "%s", n->fact.name, n->rec.key);
    }
}

static void a_node_fini(struct a_node *n)
{
    node_fact_fini(&n->fact);
    FREE_ALL(n->wanted, n->spans, n->series);
}

static int load(struct export *x, struct err *err)
{
    int r = store_each(x->store, EACH_NODE(add_node, x), err);
    size_t kept = 0;

    for (size_t i = 0; i < x->n && r >= 0; i++) {
        r = load_facts(x, &x->nodes[i], err);
        if (r >= 0)
            r = look_at(x, &x->nodes[i], err);
    }
    if (r < 0)
        return r;
    label_nodes(x); /* before nodes are skipped: a label must not depend on the selection */
    x->first_ms = x->to_ms;
    for (size_t i = 0; i < x->n; i++) {
        struct a_node n = x->nodes[i];
        if (!any_wanted(&n)) {
            a_node_fini(&n);
            continue;
        }
        if (n.n_spans)
            x->first_ms = MIN(x->first_ms, MAX(n.spans[0], x->from_ms));
        x->nodes[kept++] = n;
    }
    x->n = kept;
    return 0;
}

static int run(struct export *x, struct err *err)
{
    int r = load(x, err);

    x->w = (struct export_writer){.format = (enum export_format)x->conf->format, .at_ms = x->first_ms};
    if (r == 0) {
        progress_start(&x->progress, "export", "series", x->total, x->conf->quiet);
        export_start(&x->w, &x->out);
        r = x->w.format == EXPORT_OPENMETRICS ? put_by_metric(x, err) : put_by_node(x, err);
        export_end(&x->w, &x->out);
    }
    if (r == 0)
        r = drain(x, 0, err);
    if (r == 0 && fflush(x->to) != 0)
        r = err_set(err, -errno, "cannot write: %s", strerror(errno));
    progress_end(&x->progress);
    return r;
}

static void export_fini(struct export *x)
{
    for (size_t i = 0; i < x->n; i++)
        a_node_fini(&x->nodes[i]);
    FREE_ALL(x->nodes, x->at_ms, x->v);
    buf_fini(&x->out);
    store_close(x->store);
}

static int export_write(void *arg, FILE *to, struct err *err)
{
    struct export *x = arg;
    const struct export_conf *conf = x->conf;
    int64_t now = clock_wall_ms();
    int r = 0;

    x->to = to;
    x->from_ms = 1;
    x->to_ms = now + 86400000; /* clocks may be ahead */
    if (conf->from)
        r = when_parse(str_of(conf->from), "--from", now, &x->from_ms, err);
    if (r == 0 && conf->to)
        r = when_parse(str_of(conf->to), "--to", now, &x->to_ms, err);
    for (size_t i = 0; r == 0 && i < conf->kind.n; i++)
        if (strcmp(conf->kind.v[i], "samples") != 0 && strcmp(conf->kind.v[i], "processes") != 0 &&
            strcmp(conf->kind.v[i], "events") != 0 && strcmp(conf->kind.v[i], "jobs") != 0)
            r = err_set(err, -EINVAL, "--kind: '%s' is not one of samples, processes, events, jobs", conf->kind.v[i]);
    if (r == 0 && conf->step && conf->step < 100)
        r = err_set(err, -EINVAL, "--step: at least 100ms");
    if (r == 0)
        r = data_folder(conf->data, conf->hub, x->dir, err);
    if (r == 0)
        r = store_open_tools(&x->store, x->dir, &hub_decoder, err);
    if (r == 0)
        r = run(x, err);
    if (r == 0 && !conf->quiet && conf->output)
        fprintf(stderr, "muster export: %llu samples, %llu records in all, of %zu nodes\n",
                (unsigned long long)x->samples, (unsigned long long)x->records, x->n);
    if (r == 0) {
        struct store_stat st;
        store_stat(x->store, &st);
        if (st.damaged_columns)
            cli_fail(&export_help, 0, CLIENT_DAMAGED, (unsigned)MIN(st.damaged_columns, UINT32_MAX));
    }
    export_fini(x);
    return r;
}

int cmd_export(struct cmd_call *c)
{
    struct export_conf *conf = c->conf;
    char dir[DATA_FOLDER_MAX];

    if (c->argc)
        return err_set(&c->err, -EINVAL, "unexpected argument '%s'", c->argv[0]);
    struct export x = {.conf = conf, .dir = dir, .out = BUF_INIT(256u << 20)};
    int r = cli_stream(conf->output, export_write, &x, &c->err);
    return r == -EPIPE ? EXIT_OK : r;
}
