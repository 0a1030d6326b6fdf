/* routes_people.c: the routes about people: the current and past users of devices. */
#include "history/on_devices.h"

#include <errno.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/lookup.h"
#include "base/order.h"
#include "base/rand.h"
#include "base/when.h"
#include "book/book.h"
#include "format/render.h"
#include "hub/handlers.h"
#include "hub/hub.h"
#include "nodes/peers.h"
#include "now/view.h"
#include "people/people.h"
#include "usage/sums.h"
#include "usage/usage_trend.h"

#define PEOPLE_MAX (64u << 20)
#define SPANS      2000 /* default of limit */
#define SPANS_MAX  20000
#define GAP_MS     60000

static void holding_json(struct json *j, const struct device_user *h)
{
    json_obj(j, NULL);
    json_cstr(j, "node", h->node->name);
    json_cstr(j, "node_id", h->node->key);
    json_cstr(j, "device", h->device->fact.uuid);
    json_int(j, "index", h->device->fact.index);
    json_cstr(j, "model", h->device->fact.name);
    json_cstr(j, "state", dev_states[h->device->state].word);
    if (h->mem >= 0)
        json_int(j, "memory", h->mem);
    if (h->since_ms)
        json_int(j, "since", h->since_ms);
    if (h->device->state == DEV_HELD && h->device->idle_since_ms)
        json_int(j, "idle_since", device_idle_ms(h->device));
    json_cstr(j, "program", h->program[0] ? h->program : NULL);
    json_uint(j, "processes", h->n_procs);
    json_end_obj(j);
}

/* Devices that are theirs now by a booking. */
static size_t booked_by(struct api *a, const char *person, int64_t now_ms)
{
    size_t n, devices = 0;
    const struct booking *const *v = a->book ? book_all(a->book, &n) : NULL;
    for (size_t i = 0; v && i < n; i++) {
        struct str rest = str_of(v[i]->devices), one;
        if (v[i]->kind != BOOKING_FIRM || booking_state(v[i], now_ms) != BOOKING_ACTIVE ||
            strcmp(v[i]->person, person) != 0)
            continue;
        while (str_cut(&rest, ',', &one))
            devices += one.len > 0;
    }
    return devices;
}

/* Their bookings, the GPUs they use, and their averages: t, NULL if unknown. */
static void lately_json(struct json *j, struct api *a, const struct trend *t, const char *person, double used,
                        int64_t now_ms)
{
    json_uint(j, "booked", booked_by(a, person, now_ms));
    json_fixed(j, "used", (int64_t)(used * 1000 + 0.5), 1000);
    if (!t)
        return;
    const struct trend_person *p = trend_find(t, person);
    json_obj(j, "ema");
    for (size_t i = 0; i < TRENDS; i++)
        json_fixed(j, trend_words[i], p ? (int64_t)(trend_mean(t, p, i) * 1000 + 0.5) : 0, 1000);
    json_end_obj(j);
    if (t->from_ms > t->to_ms - TREND_HOURS * HOUR_MS)
        json_int(j, "records_from", t->from_ms);
}

/* Users who hold no GPU now but used GPUs recently. */
static void recent_json(struct json *j, struct api *a, const struct trend *t, const struct on_devices *now,
                        int64_t now_ms)
{
    for (size_t i = 0; t && i < t->n; i++) {
        if (ANY(now->n, k, strcmp(now->v[k].name, t->v[i].name) == 0))
            continue;
        json_obj(j, NULL);
        json_cstr(j, "person", t->v[i].name);
        json_uint(j, "gpus", 0);
        json_uint(j, "idle", 0);
        json_int(j, "memory", 0);
        lately_json(j, a, t, t->v[i].name, 0, now_ms);
        json_arr(j, "devices");
        json_end_arr(j);
        json_end_obj(j);
    }
}

/* A hash of all bookings, on which the reply depends too. */
static uint64_t booked_version(const struct api *a, int64_t now_ms)
{
    uint64_t sum = 0;
    size_t n;
    const struct booking *const *v = a->book ? book_all(a->book, &n) : NULL;
    for (size_t i = 0; v && i < n; i++) {
        int64_t parts[] = {v[i]->id, v[i]->kind, booking_state(v[i], now_ms)};
        sum = sum * 31 + fnv64(parts, sizeof(parts)) + fnv64(v[i]->devices, strlen(v[i]->devices)) +
              fnv64(v[i]->person, strlen(v[i]->person));
    }
    return sum;
}

enum reply_mode get_people(struct api *a, struct request *rq, struct reply *rp)
{
    struct view v;
    struct view_query ask = {.demo = a->demo};
    AUTO_FILTER *filter = NULL;
    AUTO_ARENA arena = {0};
    struct on_devices people;
    if (!request_filter(rq, rp, &filter))
        return REPLY_NOW;
    view_of(a->live, &ask, rq->now_ms, &v);
    const struct trend *t = usage_trend_now(a->hub->usage_trend);
    uint64_t version = v.version;
    AUTO_BUF key = BUF_INIT(4096);
    buf_addf(&key, "people|%d|%llx|%llu|%s", request_flag(rq, "recent"),
             (unsigned long long)booked_version(a, rq->now_ms),
             (unsigned long long)usage_trend_version(a->hub->usage_trend), filter ? filter_key(filter) : "");
    if (reply_cached(a, rq, buf_str(&key), version, rp))
        return REPLY_NOW;
    int64_t begin_us = clock_thread_us();
    if (filter)
        view_filter(&v, filter, &arena);
    on_devices_of(&v, &people);
    rp->body = BUF_INIT(PEOPLE_MAX);
    struct json j = json_on(&rp->body);
    json_arr(&j, NULL);
    for (size_t i = 0; i < people.n; i++) {
        const struct person_now *p = &people.v[i];
        json_obj(&j, NULL);
        json_cstr(&j, "person", p->name[0] ? p->name : NULL);
        if (p->n_logins && !(p->n_logins == 1 && strcmp(p->logins[0], p->name) == 0)) {
            json_arr(&j, "logins");
            for (size_t k = 0; k < p->n_logins; k++)
                json_cstr(&j, NULL, p->logins[k]);
            json_end_arr(&j);
        }
        json_uint(&j, "gpus", p->n);
        json_uint(&j, "idle", p->idle);
        json_int(&j, "memory", p->mem);
        if (p->since_ms)
            json_int(&j, "since", p->since_ms);
        if (p->name[0])
            lately_json(&j, a, t, p->name, p->used, rq->now_ms);
        json_arr(&j, "devices");
        for (size_t k = 0; k < p->n; k++)
            holding_json(&j, &p->v[k]);
        json_end_arr(&j);
        json_end_obj(&j);
    }
    if (request_flag(rq, "recent"))
        recent_json(&j, a, t, &people, rq->now_ms);
    json_end_arr(&j);
    buf_addc(&rp->body, '\n');
    on_devices_fini(&people);
    if (rp->body.err)
        return reply_problem(rp, 500, "the response is larger than %u MiB: use a filter", PEOPLE_MAX >> 20);
    reply_keep(a, rq, buf_str(&key), version, begin_us, rp);
    return REPLY_NOW;
}

/* ---- who was ---- */

struct spans_job {
    struct async_query ask; /* first */
    struct span_query what;
    bool csv;
    struct arena mem;
    size_t n;
    const struct sums_node *nodes; /* what they are called */
    struct lookup by_key;          /* the same, by index */
    struct people *people;
    const char *person; /* NULL: all */
    struct span_node {
        int64_t watched_ms; /* when it was first seen */
        struct span_device {
            int64_t at_ms; /* its newest sample; 0: none */
            bool in_sight;
        } * devices; /* by device index of the node */
    } * seen;
};

static const struct column_spec span_columns[] = {
    {"node", "NODE", CELL_TEXT, .weight = 1},       {"node_id", "ID", CELL_TEXT, .weight = 1},
    {"device", "DEVICE", CELL_TEXT, .weight = 1},   {"index", "GPU", CELL_INT, .right = true},
    {"user", "USER", CELL_TEXT, .weight = 1},       {"program", "PROGRAM", CELL_TEXT, .weight = 1},
    {"pid", "PID", CELL_INT, .right = true},        {"first", "FIRST", CELL_INT, .right = true},
    {"last", "LAST", CELL_INT, .right = true},      {"ended", "ENDED", CELL_BOOL, .weight = 1},
    {"memory_max", "MEM", CELL_INT, .right = true}, {"processes", "PROCESSES", CELL_INT, .right = true},
    {"there", "THERE", CELL_BOOL, .weight = 1},     {"person", "USER", CELL_TEXT, .weight = 1},
};
enum {
    S_NODE,
    S_ID,
    S_DEVICE,
    S_INDEX,
    S_USER,
    S_PROGRAM,
    S_PID,
    S_FIRST,
    S_LAST,
    S_ENDED,
    S_MEM,
    S_PROCS,
    S_THERE,
    S_PERSON
};

static const struct sums_node *node_of(const struct spans_job *job, const char *key)
{
    uint64_t hash = lookup_hash(key);
    size_t at = 0, i;

    while ((i = lookup_next_place(&job->by_key, hash, &at)) != SIZE_MAX)
        if (strcmp(job->nodes[i].key, key) == 0)
            return &job->nodes[i];
    return NULL;
}

/* "": unowned. */
static const char *person_of(const struct spans_job *job, const char *node, const char *login, int64_t uid)
{
    const struct sums_node *n = node_of(job, node);

    return strcmp(login, PROC_GONE) == 0 ? "" : people_person(job->people, n ? n->name : node, login, uid);
}

static bool is_of_person(void *arg, const struct proc_span *p)
{
    const struct spans_job *job = arg;

    return strcmp(person_of(job, p->node, p->fact.user, p->fact.uid), job->person) == 0;
}

static void span_row(const struct spans_job *job, const struct span *s, struct rows *r)
{
    struct cell *c = rows_add(r);
    const struct sums_node *n = node_of(job, s->node);
    const struct span_node *seen = n ? &job->seen[n - job->nodes] : NULL;
    int64_t last_ms = s->last_ms;
    bool there = false;
    if (n)
        cell_some_text(&c[S_NODE], n->name);
    cell_some_text(&c[S_ID], s->node);
    cell_some_text(&c[S_DEVICE], s->device);
    for (size_t i = 0; n && i < n->n; i++)
        if (strcmp(n->devices[i].uuid, s->device) == 0) {
            cell_int(&c[S_INDEX], n->devices[i].index);
            there = !s->ended && seen->devices[i].in_sight;
            if (!s->ended) /* last_ms is stored only occasionally */
                last_ms = MAX(last_ms, seen->devices[i].at_ms);
        }
    cell_some_text(&c[S_USER], s->user);
    cell_some_text(&c[S_PROGRAM], s->program);
    if (s->pid)
        cell_int(&c[S_PID], s->pid);
    cell_int(&c[S_FIRST], seen ? held_since_ms(seen->watched_ms, s->start_ms, s->first_ms) : s->first_ms);
    cell_int(&c[S_LAST], last_ms);
    cell_int(&c[S_ENDED], s->ended);
    if (s->mem >= 0)
        cell_int(&c[S_MEM], s->mem);
    cell_int(&c[S_PROCS], s->procs);
    cell_int(&c[S_THERE], there);
    cell_some_text(&c[S_PERSON], person_of(job, s->node, s->user, s->uid));
}

static void spans_run(struct async_query *k, const struct past_source *past, struct reply *rp)
{
    struct spans_job *job = (struct spans_job *)k;
    struct spans spans;
    AUTO_ROWS rows = ROWS_OF(span_columns);
    struct err err = {0};
    for (size_t i = 0; i < job->n; i++)
        lookup_add_place(&job->by_key, lookup_hash(job->nodes[i].key), i);
    int r = spans_of(&job->what, past, &spans, &err);
    if (r < 0) {
        spans_fini(&spans);
        reply_failed(rp, r, &err);
        return;
    }
    for (size_t i = 0; i < spans.n; i++)
        span_row(job, &spans.v[i], &rows);
    rp->body = BUF_INIT(PEOPLE_MAX);
    if (job->csv) {
        rp->type = "text/csv; charset=utf-8";
        render_rows_csv(&rp->body, &rows);
    } else {
        buf_addf(&rp->body, "{\"from\":%lld,\"to\":%lld,\"more\":%s,\"spans\":", (long long)job->what.from_ms,
                 (long long)job->what.to_ms, spans.more ? "true" : "false");
        render_rows_json(&rp->body, &rows);
        buf_adds(&rp->body, "}\n");
    }
    spans_fini(&spans);
}

static void spans_end(struct async_query *k)
{
    struct spans_job *job = (struct spans_job *)k;
    lookup_fini(&job->by_key);
    people_unref(job->people);
    arena_fini(&job->mem);
    free(job);
}

/* When each node was first seen, and the newest samples of its devices. */
static struct span_node *span_nodes(struct api *a, struct arena *mem, const struct view *v)
{
    struct span_node *all = arena_alloc(mem, v->n + 1, sizeof(*all));
    for (size_t i = 0; i < v->n; i++) {
        const struct node_now *n = v->nodes[i];
        const struct peer *peer = peers_find(a->hub->peers, n->key);
        all[i] = (struct span_node){peer ? peer_watched_ms(peer) : 0,
                                    arena_alloc(mem, n->n_devices + 1, sizeof(*all->devices))};
        for (size_t d = 0; d < n->n_devices; d++)
            all[i].devices[d] = (struct span_device){n->devices[d].at_ms, n->devices[d].state <= DEV_IN_SIGHT};
    }
    return all;
}

enum reply_mode get_spans(struct api *a, struct request *rq, struct reply *rp)
{
    struct str node = request_query(rq, "node"), device = request_query(rq, "device"), user = request_query(rq, "user"),
               person = request_query(rq, "person"), by = request_query(rq, "by"), to = request_query(rq, "to"),
               format = request_query(rq, "format");
    AUTO_FREE char *name = node.len ? mem_strn(node.p, node.len) : NULL;
    struct view_query ask = {.node = name, .all = true, .demo = a->demo};
    struct view v;
    struct err err = {0};
    struct span_query what = {.to_ms = rq->now_ms + 1,
                              .by_user = str_eq(by, "user"),
                              .gap_ms = request_int(rq, "gap", GAP_MS / 1000, 0, 86400ll * 366) * 1000,
                              .limit = (size_t)request_int(rq, "limit", SPANS, 1, SPANS_MAX)};
    if (!names_are_local(a, node, rp) || !names_are_local(a, device, rp))
        return REPLY_NOW;
    if (by.len && !what.by_user && !str_eq(by, "process"))
        return reply_problem(rp, 400, "by '%.*s' is not known: there are process and user", (int)MIN(by.len, 40u),
                             by.p);
    if (when_parse(request_query(rq, "from"), "from", rq->now_ms, &what.from_ms, &err) < 0 ||
        (to.len && when_parse(to, "to", rq->now_ms, &what.to_ms, &err) < 0))
        return reply_problem(rp, 400, "%s", err.msg);
    if (what.from_ms >= what.to_ms)
        return reply_problem(rp, 400, "from is not before to");
    if (view_of(a->live, &ask, rq->now_ms, &v) < 0)
        return reply_problem(rp, 404, "no node is called '%.128s'; /api/v1/nodes lists them", name);
    if (!device_named(a, device, rp, &device))
        return REPLY_NOW;
    struct spans_job *job = NEW(struct spans_job, .ask = {.run = spans_run, .end = spans_end}, .what = what,
                                .csv = str_eq(format, "csv"), .n = v.n, .people = people_ref(a->people));
    job->nodes = sums_nodes(&job->mem, v.nodes, v.n);
    job->seen = span_nodes(a, &job->mem, &v);
    job->what.device = device.len ? arena_strn(&job->mem, device.p, device.len) : NULL;
    job->what.user = user.len ? arena_strn(&job->mem, user.p, user.len) : NULL;
    job->what.node = name ? job->nodes[0].key : NULL;
    if (person.len) {
        job->person = arena_strn(&job->mem, person.p, person.len);
        job->what.keep = is_of_person;
        job->what.arg = job;
    }
    return query_async(a->hub, rq, rp, &job->ask);
}
