/*
 * cmd_import.c: `muster import`: stores exports as history. It gathers samples by node until they fill a few batches,
 * drops samples that are stored already, and stores the rest. Repeating an import after a bad line or a kill stores
 * nothing twice.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/rand.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "cli/progress.h"
#include "format/export.h"
#include "history/cmd_import.h"
#include "history/cmd_import_sink.h"
#include "model/gather.h"
#include "store/samples.h"
#include "wire/wire.h"

#define SPAN_MS (2 * 3600000ll)
enum { POINTS_MOST = 2 << 20, POINTS_MANY = 100000, CELLS_MOST = WIRE_CELLS_MAX / 2, READ_BYTES = 1 << 18 };

struct import_conf {
    struct client_conf client;
    char *data;
    bool dry_run, quiet;
};

static const struct opt import_opts[] = {
    OPT(import_conf, data, 'd', OPT_PATH, NULL, "DIR", "data folder to import into; no hub may have it open"),
    CLIENT_OPTS(import_conf, client),
    OPT(import_conf, dry_run, 0, OPT_BOOL, NULL, NULL, "read everything, change nothing"),
    OPT(import_conf, quiet, 'q', OPT_BOOL, NULL, NULL, "print no progress"),
    {0},
};
const struct opt_cmd import_help = {
    .name = "muster import",
    .summary = "import exported history",
    .args = "FILE...",
    .about =
        "Reads the output of `muster export` in any of its formats; - is standard input. Samples that exist already "
        "are skipped, so that a file can be imported again. A line that cannot be read stops the import with the file, "
        "line and column; earlier lines stay imported.\n\nInto a running hub (--hub, with an enroll token) it sends "
        "samples and events, as an agent does. Processes and jobs can only be imported into a data folder.",
    .examples = "muster import day.jsonl --data DIR\n"
                "muster import --dry-run *.csv  # check the files\n"
                "muster import day.jsonl --hub http://hub:8765 --token-file enroll.token",
    .opts = import_opts,
    .conf_size = sizeof(struct import_conf),
    .no = (const int[]){EBADMSG, 0},
};

struct point {
    int64_t at_ms, v;
    uint16_t slot, metric;
    bool out; /* there already, or put into a batch */
};

struct a_node {
    char key[NODE_KEY_MAX], address[64];
    struct node_fact fact;
    bool changed; /* facts, since they were last sent */
    struct import_sink_node *in;
};

struct import {
    struct import_sink *in; /* NULL: dry run */
    struct export_reader *reader;
    struct a_node **nodes;
    size_t n_nodes, cap_nodes;
    struct a_node *node; /* the node of these points */
    struct point *points;
    size_t n, cap;
    int64_t span; /* of the newest point */
    struct node_event *events;
    size_t n_events, cap_events;
    struct import_done done;
    const char *file;
    uint64_t line;
    int64_t bytes;
    int failed;
    struct progress progress;
};

/* ---- nodes ---- */

static struct a_node *node_of(struct import *x, const char *key)
{
    if (x->node && strcmp(x->node->key, key) == 0)
        return x->node;
    for (size_t i = 0; i < x->n_nodes; i++)
        if (strcmp(x->nodes[i]->key, key) == 0)
            return x->nodes[i];
    VEC_ROOM(x->nodes, x->n_nodes, x->cap_nodes);
    struct a_node *n = x->nodes[x->n_nodes++] = mem_zero(1, sizeof(*n));
    mem_copy_str(n->key, sizeof(n->key), key);
    mem_copy_str(n->fact.name, sizeof(n->fact.name), key);
    n->changed = true;
    return n;
}

static int slot_of(struct a_node *n, const char *uuid, struct err *err)
{
    size_t had = n->fact.n_devices;
    int at = uuid[0] ? node_fact_device(&n->fact, uuid, true) : -1;

    if (uuid[0] && at < 0)
        return err_set(err, -EINVAL, "a node has at most %d devices", DEVICES_MAX);
    n->changed |= n->fact.n_devices != had;
    return at + 1;
}

static int64_t per_of(void *arg, const char *node, const char *metric)
{
    struct node_fact *f = &node_of(arg, node)->fact;
    int at = node_fact_custom(f, metric, false);

    return at < 0 ? 0 : f->custom[at].per;
}

static const char *metric_name(const struct a_node *n, uint16_t metric)
{
    int m = metric_by_no(metric);

    return m >= 0 ? metrics[m].name : n->fact.custom[metric - METRIC_CUSTOM].name;
}

static int tell_node(struct import *x, struct a_node *n, struct err *err)
{
    int r = 0;

    if (!n->in)
        r = import_sink_node(x->in, n->key, n->fact.name, &n->in, err);
    if (r == 0 && n->address[0])
        import_sink_address(n->in, n->address);
    if (r == 0 && n->changed)
        r = import_sink_facts(x->in, n->in, &n->fact, err);
    n->changed = r < 0;
    return r;
}

/* ---- stored samples ---- */

COMPARE(by_series, struct point,
        ORDER(x->slot, y->slot) ?: ORDER(x->metric, y->metric) ?: ORDER(x->at_ms, y->at_ms) ?: ORDER(x->v, y->v))

struct stored {
    struct import *x;
    size_t at, end;
};

static int strike_out(void *arg, int64_t at_ms, int64_t v)
{
    struct stored *s = arg;
    struct point *p = s->x->points;

    while (s->at < s->end && p[s->at].at_ms < at_ms)
        s->at++;
    for (size_t i = s->at; i < s->end && p[i].at_ms == at_ms; i++)
        if (p[i].v == v && !p[i].out) {
            p[i].out = true;
            s->x->done.there++;
        }
    return 0;
}

static int note_any(void *arg, UNUSED const char *device, UNUSED const char *metric)
{
    *(bool *)arg = true;
    return 1;
}

/* Points are by series here. The same one twice counts once, wherever the other is. */
static int leave_out(struct import *x, struct err *err)
{
    struct store *s = import_sink_store(x->in);
    int64_t least = INT64_MAX, most = 0;
    bool any = false;

    for (size_t i = 0; i < x->n; i++) {
        const struct point *p = &x->points[i], *q = i ? p - 1 : p;
        least = MIN(least, p->at_ms);
        most = MAX(most, p->at_ms);
        if (i && p->slot == q->slot && p->metric == q->metric && p->at_ms == q->at_ms && p->v == q->v) {
            x->points[i].out = true;
            x->done.there++;
        }
    }
    if (!s)
        return 0;
    int r = import_sink_sync(x->in, err); /* what went before is to be seen */
    if (r == 0)
        r = store_series(s, x->node->key, least - least % MINUTE_MS, most + 1, note_any, &any, err); /* by the minute */
    for (size_t i = 0, end; i < x->n && r >= 0 && any; i = end) {
        const struct point *p = &x->points[i];
        for (end = i; end < x->n && x->points[end].slot == p->slot && x->points[end].metric == p->metric; end++)
            ;
        struct stored st = {x, i, end};
        r = store_points(s, x->node->key, p->slot ? x->node->fact.devices[p->slot - 1].uuid : "",
                         metric_name(x->node, p->metric), p->at_ms, x->points[end - 1].at_ms + 1, strike_out, &st, err);
    }
    return MIN(r, 0);
}

/* ---- batches ---- */

COMPARE(by_time, struct point, ORDER(x->at_ms, y->at_ms) ?: by_series(x, y))

/* A hash of the content: the same content is the same batch. */
static uint64_t name_of(const struct a_node *n, const struct batch *b)
{
    AUTO_BUF all = BUF_INIT((size_t)1 << 30);

    buf_adds(&all, n->key);
    buf_add(&all, b->at_ms, b->n_ticks * sizeof(*b->at_ms));
    for (size_t i = 0; i < b->n_columns; i++) {
        const struct column *c = &b->columns[i];
        buf_adds(&all, metric_name(n, c->metric));
        buf_adds(&all, c->slot ? n->fact.devices[c->slot - 1].uuid : "");
        for (size_t t = 0; t < b->n_ticks; t++)
            if (column_has(c, t)) {
                buf_u32(&all, (uint32_t)t);
                buf_u64(&all, (uint64_t)c->v[t]);
            }
    }
    for (size_t i = 0; i < b->n_events; i++) {
        buf_u64(&all, (uint64_t)b->events[i].at_ms);
        buf_u64(&all, (uint64_t)b->events[i].kind << 32 | b->events[i].slot);
        buf_u64(&all, (uint64_t)b->events[i].code);
    }
    uint64_t id = fnv64(all.p, all.len);
    return id ? id : 1;
}

static int put_batch(struct import *x, struct gather *g, struct err *err)
{
    struct batch b;

    gather_batch(g, &b);
    if (!b.n_ticks)
        return 0;
    b.key.run = name_of(x->node, &b);
    b.key.number = 1;
    int r = import_sink_batch(x->in, x->node->in, &b, err);
    gather_reset(g);
    return r;
}

/* Stores one value per series and time; a second value waits for the next round. */
static int put_round(struct import *x, struct gather *g, size_t columns, bool *ret_more, struct err *err)
{
    size_t most = MAX(1u, MIN((size_t)TICKS_MAX, CELLS_MOST / MAX(columns, 1u)));
    const struct point *last = NULL;
    int64_t at = -1;
    int r = 0;

    *ret_more = false;
    for (size_t i = 0; i < x->n && r == 0; i++) {
        struct point *p = &x->points[i];
        if (p->out)
            continue;
        if (last && last->at_ms == p->at_ms && last->slot == p->slot && last->metric == p->metric) {
            *ret_more = true;
            continue;
        }
        if (p->at_ms != at) {
            if (gather_ticks(g) >= most || (gather_ticks(g) && p->at_ms / SPAN_MS != at / SPAN_MS))
                r = put_batch(x, g, err);
            gather_tick(g, p->at_ms);
            at = p->at_ms;
        }
        gather_value(g, p->slot, p->metric, p->v);
        p->out = true;
        last = p;
    }
    return r == 0 ? put_batch(x, g, err) : r;
}

static size_t count_columns(const struct import *x)
{
    size_t n = 0;

    for (size_t i = 0; i < x->n; i++)
        n += i == 0 || x->points[i].slot != x->points[i - 1].slot || x->points[i].metric != x->points[i - 1].metric;
    return n;
}

/* By time here. */
static void count_moments(struct import *x)
{
    int64_t any = -1, fresh = -1;

    for (size_t i = 0; i < x->n; i++) {
        const struct point *p = &x->points[i];
        x->done.moments += p->at_ms != any;
        any = p->at_ms;
        x->done.new_ones += !p->out && p->at_ms != fresh;
        fresh = p->out ? fresh : p->at_ms;
    }
}

/* To a hub events go with a batch; they have no other way. */
static int put_events(struct import *x, struct gather *g, struct err *err)
{
    if (!x->n_events || x->in == NULL)
        return 0;
    gather_tick(g, x->events[0].at_ms > 0 ? x->events[0].at_ms : 1);
    for (size_t i = 0; i < x->n_events; i++)
        gather_event(g, &x->events[i]);
    x->n_events = 0;
    return put_batch(x, g, err);
}

static int flush(struct import *x, struct err *err)
{
    if ((!x->n && !x->n_events) || !x->in) {
        x->n = x->n_events = 0;
        return 0;
    }
    qsort(x->points, x->n, sizeof(*x->points), by_series);
    size_t columns = count_columns(x);
    struct gather *g = gather_new();
    int r = tell_node(x, x->node, err);
    if (r == 0)
        r = leave_out(x, err);
    qsort(x->points, x->n, sizeof(*x->points), by_time);
    count_moments(x);
    for (bool more = true; more && r == 0;)
        r = put_round(x, g, columns, &more, err);
    if (r == 0)
        r = put_events(x, g, err);
    gather_free(g);
    x->n = 0;
    return r;
}

/* ---- records ---- */

static int take_facts(struct import *x, struct a_node *n, const struct export_record *r, struct err *err)
{
    if (x->node == n && flush(x, err) < 0) /* what waits was measured under the old ones */
        return -EIO;
    n->changed = true;
    if (r->kind == REC_NODE) {
        struct node_fact was = n->fact;
        n->fact = *r->fact;
        n->fact.devices = was.devices;
        n->fact.n_devices = was.n_devices;
        n->fact.custom = was.custom;
        n->fact.n_custom = was.n_custom;
        if (!n->fact.name[0])
            mem_copy_str(n->fact.name, sizeof(n->fact.name), n->key);
        if (r->address)
            mem_copy_str(n->address, sizeof(n->address), r->address);
    } else if (r->kind == REC_DEVICE) {
        int slot = slot_of(n, r->device, err);
        if (slot < 0)
            return slot;
        n->fact.devices[slot - 1] = *r->dev;
    } else {
        int at = node_fact_custom(&n->fact, r->custom->name, true);
        if (at < 0)
            return err_set(err, -EINVAL, "a node has at most %d metrics of its own", CUSTOM_MAX);
        n->fact.custom[at] = *r->custom;
    }
    return 0;
}

static int take_samples(struct import *x, struct a_node *n, const struct export_record *r, struct err *err)
{
    int m = metric_by_name(str_of(r->metric)), slot = slot_of(n, r->device, err), code = 0;
    int at = m < 0 ? node_fact_custom(&n->fact, r->metric, false) : 0;

    if (slot < 0)
        return slot;
    if (at < 0)
        return err_set(err, -EINVAL, "metric '%s' is not declared", r->metric);
    uint16_t no = m >= 0 ? metrics[m].no : (uint16_t)(METRIC_CUSTOM + at);
    int64_t span = r->n ? r->at_ms[0] / SPAN_MS : x->span;
    if (x->node != n || x->n + r->n > POINTS_MOST || (span != x->span && x->n > POINTS_MANY))
        code = flush(x, err);
    x->node = n;
    x->span = span;
    for (size_t i = 0; i < r->n && code == 0; i++) {
        if (x->n == POINTS_MOST)
            code = flush(x, err);
        VEC_ADD(x->points, x->n, x->cap, (struct point){r->at_ms[i], r->v[i], (uint16_t)slot, no, false});
    }
    x->done.samples += r->n;
    return code;
}

static void on_job(void *arg, int result)
{
    if (result < 0)
        ((struct import *)arg)->failed = result;
}

static int take_event(struct import *x, struct a_node *n, const struct export_record *r, struct err *err)
{
    int code = 0;

    x->done.events++;
    if (!x->in)
        return 0;
    if (!import_sink_is_hub(x->in)) {
        store_put(import_sink_store(x->in), STORE_EVENT, &(struct store_event){r->node, r->device, *r->event}, 1, NULL,
                  NULL);
        return 0;
    }
    if (x->node != n || x->n_events >= WIRE_EVENTS_MAX / 2)
        code = flush(x, err);
    x->node = n;
    int slot = slot_of(n, r->device, err);
    if (slot < 0 || code < 0)
        return code < 0 ? code : slot;
    VEC_ROOM(x->events, x->n_events, x->cap_events);
    x->events[x->n_events] = *r->event;
    x->events[x->n_events++].slot = (uint16_t)slot;
    return 0;
}

static int take(struct import *x, const struct export_record *r, struct err *err)
{
    struct store *s = x->in ? import_sink_store(x->in) : NULL;
    struct a_node *n = r->kind == REC_JOB ? NULL : node_of(x, r->node);

    switch (r->kind) {
    case REC_SAMPLES:
        return take_samples(x, n, r, err);
    case REC_PROCESS:
        x->done.processes++;
        x->done.left_out += x->in && !s;
        if (s)
            store_put(s, STORE_PROC, r->proc, 1, NULL, NULL);
        if (s)
            import_sink_mark(x->in, r->node, r->proc->first_ms, r->proc->last_ms);
        /* they wait in memory for the disk, a bounded number of them */
        return s && x->done.processes % 1000 == 0 ? store_flush(s, err) : 0;
    case REC_EVENT:
        return take_event(x, n, r, err);
    case REC_JOB:
        x->done.jobs++;
        x->done.left_out += x->in && !s;
        if (s)
            store_put(s, STORE_JOB, r->job, 1, on_job, x);
        return s && x->done.jobs % 1000 == 0 ? store_flush(s, err) : 0;
    default:
        return take_facts(x, n, r, err);
    }
}

/* ---- files ---- */

static int take_line(struct import *x, struct str line, struct err *err)
{
    struct export_record rec;
    struct err why = {0};
    size_t column = 1;

    x->line++;
    int r = export_line(x->reader, line, &rec, &column, &why);
    if (r == 1) {
        r = take(x, &rec, &why);
        if (r < 0 && r != -EINVAL)
            return err_set(err, r, "%s", why.msg);
    }
    if (r < 0)
        return err_set(err, -EBADMSG, "%s:%" PRIu64 ":%zu: %s", x->file, x->line, column, why.msg);
    return 0;
}

static int take_stream(struct import *x, FILE *in, struct err *err)
{
    AUTO_BUF b = BUF_INIT(EXPORT_LINE_MAX + (size_t)READ_BYTES);
    size_t from = 0; /* of the line being read */
    int r = 0;

    while (r == 0) {
        char *p = buf_room(&b, READ_BYTES);
        if (!p)
            return err_set(err, -EBADMSG, "%s:%" PRIu64 ":1: a line of more than %u bytes", x->file, x->line + 1,
                           EXPORT_LINE_MAX);
        size_t got = fread(p, 1, READ_BYTES, in), scan = b.len;
        if (got == 0)
            break;
        buf_appended(&b, got);
        x->bytes += (int64_t)got;
        progress_at(&x->progress, x->bytes);
        for (char *nl; r == 0 && (nl = memchr(b.p + scan, '\n', b.len - scan));) {
            size_t end = (size_t)(nl - b.p);
            r = take_line(x, str_n(b.p + from, end - from), err);
            from = scan = end + 1;
        }
        memmove(b.p, b.p + from, b.len - from);
        buf_cut(&b, b.len - from);
        from = 0;
    }
    if (r == 0 && ferror(in))
        r = err_set(err, -EIO, "cannot read '%s': %s", x->file, strerror(errno));
    if (r == 0 && b.len)
        r = take_line(x, buf_str(&b), err);
    if (r == 0 && !export_complete(x->reader))
        r = err_set(err, -EBADMSG, "%s:%" PRIu64 ":1: it ends too early%s", x->file, x->line + 1,
                    x->line ? ": # EOF is missing" : ", it is empty");
    return r;
}

static int take_file(struct import *x, const char *path, FILE *given, struct err *err)
{
    bool in = given || strcmp(path, "-") == 0;
    AUTO_FILE FILE *f = in ? NULL : fopen(path, "re");

    if (!in && !f)
        return err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
    x->file = path;
    x->line = 0;
    export_reader_free(x->reader);
    x->reader = export_reader_new(per_of, x);
    int r = take_stream(x, given ? given : in ? stdin : f, err);
    return r == 0 ? flush(x, err) : r;
}

static void import_fini(struct import *x)
{
    import_sink_close(x->in);
    export_reader_free(x->reader);
    for (size_t i = 0; i < x->n_nodes; i++) {
        node_fact_fini(&x->nodes[i]->fact);
        free(x->nodes[i]);
    }
    FREE_ALL(x->nodes, x->points, x->events);
}

int import_run(const struct import_params *ask, char *const *files, size_t n, FILE *in, struct import_done *ret,
               struct err *err)
{
    struct import x = {0};
    int64_t total = 0;
    int r = 0;

    for (size_t i = 0; i < n && !in; i++)
        if (file_size(files[i]) > 0)
            total += file_size(files[i]);
    if (!ask->dry_run)
        r = import_sink_open(&x.in, ask->data, ask->client, err);
    progress_start(&x.progress, ask->dry_run ? "reading" : "import", "bytes", total, ask->quiet);
    for (size_t i = 0; i < n && r == 0; i++)
        r = take_file(&x, files[i], in, err);
    for (size_t i = 0; x.in && i < x.n_nodes && r == 0; i++)
        r = tell_node(&x, x.nodes[i], err); /* those without a sample, too */
    if (x.in && r == 0)
        r = import_sink_finish(x.in, err);
    if (r == 0 && x.failed)
        r = err_set(err, x.failed, "cannot store a job: %s", strerror(-x.failed));
    progress_end(&x.progress);
    x.done.nodes = x.n_nodes;
    *ret = x.done;
    import_fini(&x);
    return r;
}

void import_print(const struct import_done *done, bool dry_run, FILE *to)
{
    fprintf(to,
            "%" PRIu64 " samples (%" PRIu64 " were there already), %" PRIu64 " processes, %" PRIu64 " events, %" PRIu64
            " jobs of %zu nodes%s%s\n",
            done->samples, done->there, done->processes, done->events, done->jobs, done->nodes,
            done->left_out ? "; processes and jobs were left out: they go into a data folder only" : "",
            dry_run ? "; nothing was changed" : "");
}

int cmd_import(struct cmd_call *c)
{
    struct import_conf *conf = c->conf;
    struct import_done done = {0};
    bool hub = client_named(&conf->client);
    struct import_params ask = {conf->data, &conf->client, conf->dry_run, conf->quiet};

    if (!c->argc)
        return err_set(&c->err, -EINVAL, "expected FILE, made by `muster export`; - is standard input");
    if (!conf->dry_run && !hub && !conf->data)
        return err_set(&c->err, -EINVAL, "no destination: use --data DIR, or --hub URL with --token-file FILE");
    int r = import_run(&ask, c->argv, (size_t)c->argc, NULL, &done, &c->err);
    if (r >= 0 && !conf->quiet) {
        fprintf(stderr, "%s: ", import_help.name);
        import_print(&done, conf->dry_run, stderr);
    }
    return r;
}
