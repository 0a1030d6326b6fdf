/*
 * routes.c: routes for the current state as JSON, text and Prometheus metrics. Responses are shared through the cache.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/order.h"
#include "base/rand.h"
#include "format/render.h"
#include "hub/handlers.h"
#include "hub/render_queue.h"
#include "hub/self.h"
#include "now/draw.h"
#include "now/streams.h"
#include "now/view.h"

#define RENDER_MAX (512u << 20)

struct select {
    struct view view;
    char node[NAME_MAX_LEN];
    struct filter *filter; /* NULL: none; applied when a response must be rendered */
    bool by_process;       /* the renderer checks each process instead */
    struct arena arena;    /* for the filtered view */
};

static void select_fini(struct select *s)
{
    filter_free(s->filter);
    arena_fini(&s->arena);
}
#define AUTO_SELECT __attribute__((cleanup(select_fini))) struct select

/* Selects the view this reader may see, of one node or all. Returns false and fills rp on error. */
enum { SEL_ALL = 1, SEL_SITES = 2 }; /* include retired nodes; include nodes of followed hubs */
static bool select_view(struct api *a, const struct request *rq, struct str node, int which, struct select *s,
                        struct reply *rp)
{
    struct view_query ask = {.all = which & SEL_ALL,
                             .sites = which & SEL_SITES,
                             .demo = a->demo,
                             .show_cmd = a->show_cmd || rq->who->role == ROLE_ADMIN,
                             .reader = rq->who->role == ROLE_MEMBER ? rq->who->token.person : ""};
    if (node.len >= sizeof(s->node))
        return reply_refuse(rp, 404, "no node has a name that long");
    memcpy(s->node, node.len ? node.p : "", node.len);
    s->node[node.len] = 0;
    if (node.len)
        ask.node = s->node;
    if (view_of(a->live, &ask, rq->now_ms, &s->view) < 0)
        return reply_refuse(rp, 404, "no node is called '%s'; /api/v1/nodes lists them", s->node);
    s->view.time_form = a->vesta_time_form;
    return request_filter(rq, rp, &s->filter);
}

typedef void render_fn(struct buf *out, const struct view *v, const void *arg);

/* Cache key of a response; what and detail distinguish the responses of one view. */
static void view_key(const struct select *s, const char *what, struct buf *key)
{
    buf_addf(key, "%s|%s|%d|%s|%s|%s", what, s->node[0] ? s->view.nodes[0]->key : "", s->view.show_cmd, s->view.reader,
             s->view.notice ? s->view.notice : "", s->filter ? filter_key(s->filter) : "");
}

/* Renders through the cache. */
static enum reply_mode reply_view(struct api *a, const struct request *rq, struct select *s, const char *what,
                                  render_fn *render, const void *arg, struct reply *rp)
{
    AUTO_BUF key = BUF_INIT(4096);
    uint64_t version = s->node[0] && s->view.n == 1 ? s->view.nodes[0]->version : s->view.version;
    view_key(s, what, &key);
    rp->blob = cache_get(a->cache, buf_str(&key), version, rq->now_ms);
    if (rp->blob)
        return REPLY_NOW;
    int64_t begin_us = clock_thread_us();
    AUTO_BUF out = cache_room(a->cache, buf_str(&key), RENDER_MAX);
    if (s->filter && !s->by_process)
        view_filter(&s->view, s->filter, &s->arena);
    render(&out, &s->view, arg);
    if (out.err)
        return reply_problem(rp, 500, "the response is larger than %u MiB; request one node", RENDER_MAX >> 20);
    rp->blob = blob_new(&out);
    cache_put(a->cache, buf_str(&key), version, rq->now_ms, clock_thread_us() - begin_us, rp->blob);
    return REPLY_NOW;
}

static void render_json(struct buf *out, const struct view *v, UNUSED const void *arg)
{
    render_state(out, v);
}

/* Very many nodes: rendered in several event loop iterations. */
static bool is_large(const struct select *s)
{
    return s->view.n >= DRAW_NODES;
}

/* Passes ownership of the filter to the drawing. */
static struct filter *pop_filter(struct select *s)
{
    struct filter *f = s->filter;
    s->filter = NULL;
    return f;
}

/* A cached response may be older than the current state: keep the ETag it was made with. With a newer ETag the client
 * would miss the changes in between. */
static void keep_etag(struct reply *rp)
{
    if (rp->blob && rp->blob->etag[0])
        memcpy(rp->etag, rp->blob->etag, sizeof(rp->etag));
    else if (rp->blob)
        memcpy(rp->blob->etag, rp->etag, sizeof(rp->blob->etag));
}

static enum reply_mode get_state(struct api *a, struct request *rq, struct reply *rp)
{
    AUTO_SELECT s = {0};
    bool all = request_flag(rq, "all");
    if (request_query(rq, "at").len)
        return a->get_state_at(a, rq, rp);
    a->watched_ms = rq->now_ms;
    if (!select_view(a, rq, request_query(rq, "node"), (all ? SEL_ALL : 0) | SEL_SITES, &s, rp))
        return REPLY_NOW;
    /* Weak: the same facts; ages advance, and the reader can compute that. */
    uint64_t version = s.node[0] ? s.view.nodes[0]->version : s.view.version;
    uint64_t who = fnv64(s.view.reader, strlen(s.view.reader));
    if (s.view.notice)
        who ^= fnv64(s.view.notice, strlen(s.view.notice));
    if (s.filter) /* and the same selection, which time may change */
        who ^= fnv64(filter_key(s.filter), strlen(filter_key(s.filter))) +
               (filter_is_timed(s.filter) ? (uint64_t)rq->now_ms / 1000 : 0);
    snprintf(rp->etag, sizeof(rp->etag), "W/\"%x-%llx-%x%x%llx\"", a->nonce, (unsigned long long)version,
             s.view.show_cmd, all, (unsigned long long)who);
    snprintf(rp->cache, sizeof(rp->cache), "private, no-cache");
    if (str_find(rq->header(rq, "If-None-Match"), rp->etag + 2) >= 0) {
        rp->status = 304;
        return REPLY_NOW;
    }
    if (is_large(&s))
        return render_queue_submit(a->hub, rq, rp, draw_state(&s.view, pop_filter(&s)));
    enum reply_mode how = reply_view(a, rq, &s, all ? "state+" : "state", render_json, NULL, rp);
    keep_etag(rp);
    return how;
}

static void render_counts(struct buf *out, const struct view *v, UNUSED const void *arg)
{
    struct tally t;
    view_tally(v, &t);
    render_summary(out, v, &t);
}

static enum reply_mode get_summary(struct api *a, struct request *rq, struct reply *rp)
{
    AUTO_SELECT s = {0};

    if (!select_view(a, rq, request_query(rq, "node"), SEL_SITES, &s, rp))
        return REPLY_NOW;
    if (is_large(&s))
        return render_queue_submit(a->hub, rq, rp, draw_summary(&s.view, pop_filter(&s)));
    return reply_view(a, rq, &s, "summary", render_counts, NULL, rp);
}

static enum reply_mode get_filter(struct api *a, struct request *rq, struct reply *rp)
{
    static const char *const keys[] = {[FILTER_TEXT] = "text", [FILTER_NUMBER] = "number", [FILTER_WORD] = "word"};
    struct json j = reply_object(rp, 1u << 16);

    (void)a;
    (void)rq;
    for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
        json_arr(&j, keys[k]);
        for (size_t i = 0; filter_name(i); i++)
            if (filter_kind(i) == (enum filter_kind)k)
                json_cstr(&j, NULL, filter_name(i));
        json_end_arr(&j);
    }
    return reply_object_end(rp, &j);
}

static enum reply_mode get_stream(struct api *a, struct request *rq, struct reply *rp)
{
    AUTO_SELECT s = {0};
    if (!select_view(a, rq, request_query(rq, "node"), request_flag(rq, "own") ? 0 : SEL_SITES, &s, rp))
        return REPLY_NOW;
    if (!request_flag(rq, "seldom"))
        a->watched_ms = rq->now_ms;
    return streams_open(a->hub->streams, rq, rp);
}

/* A following hub reports whether it has clients. A GET, since it only has the right to read. */
static enum reply_mode get_pace(struct api *a, struct request *rq, struct reply *rp)
{
    bool seldom = request_flag(rq, "seldom");
    if (!streams_pace(a->hub->streams, request_query(rq, "key"), seldom))
        return reply_problem(rp, 404, "no hub follows this one with that key");
    struct json j = reply_object(rp, 1024);
    json_bool(&j, "seldom", seldom);
    return reply_object_end(rp, &j);
}

/* ---- text ---- */

enum page { PAGE_SUMMARY, PAGE_DETAIL, PAGE_TABLE, PAGE_NAMES, PAGE_TREE };
struct page_query {
    enum page page;
    struct term term;
    size_t from, most; /* page of nodes: `most` nodes from index `from`; most 0: all */
};

static render_term_fn *const pages[] = {render_term_summary, render_term_detail, render_term_table, render_term_names,
                                        render_term_tree};

static void render_page(struct buf *out, const struct view *all, const void *arg)
{
    const struct page_query *ask = arg;
    struct view part = *all;
    if (ask->most) {
        size_t from = MIN(ask->from, all->n);
        part.nodes = all->nodes + from;
        part.n = MIN(all->n - from, ask->most);
    }
    pages[ask->page](out, &part, &ask->term);
}

/* vesta expects the error in a body, with status 200. */
static enum reply_mode reply_vesta_404(struct reply *rp, const char *message)
{
    reply_fini(rp);
    *rp = (struct reply){.body = BUF_INIT(1024)};
    buf_addf(&rp->body, "{\"status\":\"ERROR\",\"status_code\":404,\"message\":\"%s\"}\n", message);
    return REPLY_NOW;
}

/* Browsers request HTML. A client that does not, and has the name of a terminal tool, gets text. */
static bool wants_text(const struct request *rq)
{
    static const char *const plain[] = {"curl/", "Wget/", "wget/", "HTTPie/", "libfetch/", "xh/"};
    if (request_flag(rq, "term"))
        return true;
    struct str agent = rq->header(rq, "User-Agent");
    return ANY(ARRAY_LEN(plain), i, str_starts(agent, plain[i])) && str_find(rq->header(rq, "Accept"), "text/html") < 0;
}

static enum reply_mode reply_text(struct api *a, struct request *rq, struct reply *rp, struct str node, enum page page)
{
    AUTO_SELECT s = {0};
    char what[64];
    struct page_query ask = {.page = page};
    a->watched_ms = rq->now_ms;
    if (!select_view(a, rq, node, SEL_SITES, &s, rp))
        return REPLY_NOW;
    int64_t number = request_int(rq, "page", 0, -1, INT32_MAX);
    if (number < 0)
        return reply_vesta_404(rp, "invalid page number.");
    ask.most = number ? (size_t)a->vesta_page_hosts : 0;
    ask.from = number ? (size_t)(number - 1) * ask.most : 0;
    ask.term.width = (int)request_int(rq, "width", 80, 40, 500);
    ask.term.colour = request_flag(rq, "colour") || request_flag(rq, "color");
    ask.term.ascii = request_flag(rq, "ascii");
    ask.term.answer = page == PAGE_SUMMARY && !request_flag(rq, "term"); /* ?term=true is identical to vesta's output */
    rp->type = "text/plain; charset=utf-8";
    snprintf(rp->cache, sizeof(rp->cache), "no-cache");
    if (is_large(&s) && !ask.most)
        return render_queue_submit(a->hub, rq, rp, draw_text(&s.view, pop_filter(&s), pages[page], &ask.term));
    snprintf(what, sizeof(what), "page%d.%d.%d.%d.%d.%zu.%zu", ask.page, ask.term.width, ask.term.colour,
             ask.term.ascii, ask.term.answer, ask.from, ask.most);
    return reply_view(a, rq, &s, what, render_page, &ask, rp);
}

static bool root_allowed(struct api *a, struct request *rq, struct reply *rp)
{
    return !wants_text(rq) || can_read(a, rq, rp);
}

static enum reply_mode get_root(struct api *a, struct request *rq, struct reply *rp)
{
    if (!wants_text(rq))
        return get_page(a, rq, rp);
    struct str list = request_query(rq, "list");
    enum page page = str_eq(list, "names")        ? PAGE_NAMES
                     : str_eq(list, "processes")  ? PAGE_TREE
                     : request_flag(rq, "detail") ? PAGE_DETAIL
                                                  : PAGE_SUMMARY;
    return reply_text(a, rq, rp, request_query(rq, "node"), page);
}

static void render_table_page(struct buf *out, const struct view *v, const void *arg)
{
    const struct api *a = arg;
    render_vesta_table(out, v, a->vesta_table_title ?: "GPU Table", a->vesta_table_about);
}

/* The same, with an empty body for readers without the right. */
static bool reads_here(const struct api *a, const struct request *rq)
{
    struct reply why = {.body = BUF_INIT(4096)};
    bool reads = can_read(a, rq, &why);
    reply_fini(&why);
    return reads;
}

/* Browsers get the current table, or the page with the login if they may not read. */
static enum reply_mode get_gpu_table(struct api *a, struct request *rq, struct reply *rp)
{
    AUTO_SELECT s = {0};
    if (wants_text(rq))
        return reply_text(a, rq, rp, str_n("", 0), PAGE_TABLE);
    if (!reads_here(a, rq))
        return get_page(a, rq, rp);
    if (!select_view(a, rq, str_n("", 0), SEL_SITES, &s, rp))
        return REPLY_NOW;
    rp->type = "text/html; charset=utf-8";
    snprintf(rp->cache, sizeof(rp->cache), "no-cache");
    return reply_view(a, rq, &s, "table.html", render_table_page, a, rp);
}

/* A GPU's canonical address has its uuid: redirects NODE:N there and keeps the rest of the URL. The page does the same
 * after a login. */
static enum reply_mode get_gpu_page(struct api *a, struct request *rq, struct reply *rp)
{
    AUTO_BUF to = BUF_INIT(sizeof(rp->location));
    const struct node_now *n;
    const struct device_now *d = reads_here(a, rq) ? live_named_device(a->live, rq->tail, &n) : NULL;
    if (!d || str_eq(rq->tail, d->fact.uuid))
        return get_page(a, rq, rp);
    buf_adds(&to, "/gpu/");
    buf_addurl(&to, str_of(d->fact.uuid));
    for (size_t i = 0; i < rq->n_query; i++) {
        buf_addc(&to, i ? '&' : '?');
        buf_addurl(&to, rq->query[i].name);
        buf_addc(&to, '=');
        buf_addurl(&to, rq->query[i].value);
    }
    if (to.err)
        return get_page(a, rq, rp);
    rp->status = 302;
    mem_copy_str(rp->location, sizeof(rp->location), to.p);
    return REPLY_NOW;
}

/* ---- metrics ---- */

#define SHARDS_MAX 1000

struct prom_query {
    struct api *api;
    bool openmetrics, node; /* node: metrics of one node only */
    unsigned shard, shards; /* from 0; shards 0: all */
};

/* shard=1/4 selects nodes by a hash of their keys: a node keeps its shard when others come and go. */
static bool read_shard(const struct request *rq, struct prom_query *ret, struct reply *rp)
{
    struct str n = request_query(rq, "shard"), k;
    uint64_t shard, shards;

    if (!n.len)
        return true;
    if (!str_cut(&n, '/', &k) || !str_uint(k, &shard) || !str_uint(n, &shards) || shard < 1 || shard > shards ||
        shards > SHARDS_MAX)
        return reply_refuse(rp, 400, "shard must be K/N, from 1/N to N/N, with N up to %d", SHARDS_MAX);
    ret->shard = (unsigned)shard - 1;
    ret->shards = (unsigned)shards;
    return true;
}

static void take_shard(struct select *s, const struct prom_query *ask)
{
    const struct node_now **v;
    size_t n = 0;

    if (!ask->shards)
        return;
    v = arena_alloc(&s->arena, s->view.n + 1, sizeof(*v));
    for (size_t i = 0; i < s->view.n; i++)
        if (fnv64(s->view.nodes[i]->key, strlen(s->view.nodes[i]->key)) % ask->shards == ask->shard)
            v[n++] = s->view.nodes[i];
    s->view.nodes = v;
    s->view.n = n;
}

/* The hub's own series, and those of people: only in one shard. */
static bool has_own(const struct prom_query *ask)
{
    return !ask->node && ask->shard == 0;
}

static void render_metrics(struct buf *out, const struct view *v, const void *arg)
{
    const struct prom_query *ask = arg;
    if (has_own(ask)) /* first: OpenMetrics ends with # EOF, which render_prom writes */
        self_metrics(ask->api->hub, out, ask->openmetrics);
    render_prom(out, v, ask->openmetrics);
}

static enum reply_mode get_metrics(struct api *a, struct request *rq, struct reply *rp)
{
    AUTO_SELECT s = {0};
    struct prom_query ask = {.api = a,
                             .openmetrics = str_find(rq->header(rq, "Accept"), "application/openmetrics-text") >= 0};
    struct str node = request_query(rq, "node");
    char what[32];
    ask.node = node.len > 0;
    if (!read_shard(rq, &ask, rp) || !select_view(a, rq, node, 0, &s, rp))
        return REPLY_NOW;
    take_shard(&s, &ask);
    if (has_own(&ask))
        api_scrape(&a->scraping, rq->now_ms);
    rp->type = ask.openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                               : "text/plain; version=0.0.4; charset=utf-8";
    rp->series = true;
    if (is_large(&s))
        return render_queue_submit(a->hub, rq, rp,
                                   draw_metrics(&s.view, pop_filter(&s), ask.openmetrics, has_own(&ask)));
    snprintf(what, sizeof(what), "%s %u/%u", ask.openmetrics ? "openmetrics" : "prom", ask.shard, ask.shards);
    enum reply_mode how = reply_view(a, rq, &s, what, render_metrics, &ask, rp);
    if (rp->blob)
        rp->blob->series = true;
    return how;
}

/* ---- vesta's readers ---- */

static void render_hosts(struct buf *out, const struct view *v, const void *arg)
{
    if (v->n == 1 && arg)
        render_vesta_host(out, v, v->nodes[0]);
    else
        render_vesta_states(out, v);
}

/* Several entries per host, or an entry that is not in memory, are read on a worker thread. */
static enum reply_mode reply_states(struct api *a, struct request *rq, struct reply *rp, struct select *s)
{
    bool alone = rq->tail.len > 0, past = request_int(rq, "fetch_num", 1, 1, FETCH_MAX) > 1;
    for (size_t i = 0; i < s->view.n && !past; i++)
        past = vesta_needs_history(s->view.nodes[i], alone);
    if (!past)
        return reply_view(a, rq, s, alone ? "host" : "states", render_hosts, alone ? s : NULL, rp);
    if (s->filter)
        view_filter(&s->view, s->filter, &s->arena);
    return a->get_states_past(a, rq, rp, &s->view);
}

static enum reply_mode get_states(struct api *a, struct request *rq, struct reply *rp)
{
    AUTO_SELECT s = {0};
    return select_view(a, rq, str_n("", 0), 0, &s, rp) ? reply_states(a, rq, rp, &s) : REPLY_NOW;
}

static enum reply_mode get_states_host(struct api *a, struct request *rq, struct reply *rp)
{
    AUTO_SELECT s = {0};
    if (!select_view(a, rq, rq->tail, 0, &s, rp))
        return reply_vesta_404(rp, "host not found.");
    if (request_flag(rq, "term"))
        return reply_text(a, rq, rp, rq->tail, PAGE_DETAIL);
    return reply_states(a, rq, rp, &s);
}

/* ---- processes ---- */

static const struct column_spec process_columns[] = {
    {"node", "NODE", CELL_TEXT, .weight = 9},
    {"node_id", "ID", CELL_TEXT, .weight = 0},
    {"device", "DEVICE", CELL_TEXT, .weight = 1},
    {"index", "GPU", CELL_INT, .right = true, .weight = 9},
    {"pid", "PID", CELL_INT, .right = true, .weight = 8},
    {"user", "USER", CELL_TEXT, .weight = 9},
    {"program", "PROGRAM", CELL_TEXT, .weight = 8},
    {"command", "COMMAND", CELL_TEXT, .weight = 2},
    {"memory", "MEM", CELL_INT, .right = true, .weight = 7},
    {"sm", "SM", CELL_FIXED, .per = 10000, .right = true, .weight = 5},
    {"started", "STARTED", CELL_INT, .right = true, .weight = 3},
    {"runtime", "RUNTIME", CELL_TEXT, .weight = 1},
    {"container", "CONTAINER", CELL_TEXT, .weight = 1},
    {"pod", "POD", CELL_TEXT, .weight = 1},
    {"slurm_job", "JOB", CELL_INT, .right = true, .weight = 1},
    {"person", "PERSON", CELL_TEXT, .weight = 1},
};
enum { P_NODE, P_NODE_ID, P_DEVICE, P_INDEX, P_PID, P_USER, P_PROGRAM, P_COMMAND, P_MEM };
enum { P_SM = P_MEM + 1, P_STARTED, P_RUNTIME, P_CONTAINER, P_POD, P_JOB, P_PERSON };

static void process_row(struct rows *r, const struct view *v, const struct node_now *n, const struct device_now *d,
                        const struct proc_now *p)
{
    struct cell *c = rows_add(r);
    cell_text(&c[P_NODE], str_of(n->name));
    cell_text(&c[P_NODE_ID], str_of(n->key));
    cell_text(&c[P_DEVICE], str_of(d->fact.uuid));
    cell_int(&c[P_INDEX], d->fact.index);
    cell_int(&c[P_PID], p->fact->pid);
    cell_some_text(&c[P_USER], p->fact->user);
    cell_some_text(&c[P_PROGRAM], p->fact->name);
    if (view_shows_cmd(v, p))
        cell_some_text(&c[P_COMMAND], p->fact->cmd);
    if (p->mem >= 0)
        cell_int(&c[P_MEM], p->mem);
    if (p->sm >= 0)
        cell_int(&c[P_SM], p->sm);
    if (p->fact->start_ms > 0)
        cell_int(&c[P_STARTED], p->fact->start_ms);
    cell_some_text(&c[P_RUNTIME], p->fact->runtime);
    cell_some_text(&c[P_CONTAINER], p->fact->container);
    cell_some_text(&c[P_POD], p->fact->pod);
    if (p->fact->slurm_job > 0)
        cell_int(&c[P_JOB], p->fact->slurm_job);
    cell_some_text(&c[P_PERSON], proc_person(p));
}

struct process_query {
    bool csv;
    const struct filter *filter;
    struct str device; /* uuid; empty: all */
};

static void render_processes(struct buf *out, const struct view *v, const void *arg)
{
    const struct process_query *ask = arg;
    AUTO_ROWS r = ROWS_OF(process_columns);
    for (size_t i = 0; i < v->n; i++)
        for (size_t k = 0; k < v->nodes[i]->n_devices; k++) {
            const struct device_now *d = &v->nodes[i]->devices[k];
            bool asked = !ask->device.len || str_eq(ask->device, d->fact.uuid);
            for (size_t p = 0; asked && p < d->n_procs; p++)
                if (!ask->filter || filter_match_proc(ask->filter, v->nodes[i], d, &d->procs[p], v->at_ms))
                    process_row(&r, v, v->nodes[i], d, &d->procs[p]);
        }
    if (ask->csv)
        render_rows_csv(out, &r);
    else
        render_rows_json(out, &r);
}

static enum reply_mode get_processes(struct api *a, struct request *rq, struct reply *rp)
{
    AUTO_SELECT s = {0};
    AUTO_BUF what = BUF_INIT(256);
    struct str format = request_query(rq, "format"), device;
    if (request_query(rq, "from").len)
        return a->get_spans(a, rq, rp);
    bool csv = str_eq(format, "csv") || (!format.len && str_find(rq->header(rq, "Accept"), "text/csv") >= 0);
    if (!device_named(a, request_query(rq, "device"), rp, &device) ||
        !select_view(a, rq, request_query(rq, "node"), SEL_SITES, &s, rp))
        return REPLY_NOW;
    if (csv)
        rp->type = "text/csv; charset=utf-8";
    s.by_process = true;
    struct process_query ask = {csv, s.filter, device};
    buf_addf(&what, "procs%s %.*s", csv ? ".csv" : "", (int)MIN(device.len, (size_t)UUID_MAX), device.p);
    return reply_view(a, rq, &s, what.p, render_processes, &ask, rp);
}

/* clang-format off */
const struct route now_routes[] = {
    {GET, "/", ROLE_NONE, .any = true, .sites = true, .gate = root_allowed, .summary = "The page; plain text for curl and wget, or with term",
     .params = "term: plain text; detail: boxes instead of a table; list: names (of nodes) or processes (on them) instead, as the Slack bot lists them; node: one of them; page: number of the page, from 1 on (vesta_page_hosts), 0 for all; width: columns (default: 80); colour: with colours; ascii: without UTF-8 marks; filter: which GPUs (docs/filter.md)", .handle = get_root},
    {GET, "/index.php", ROLE_NONE, .any = true, .sites = true, .gate = root_allowed, .summary = "The same, under the name that GPU Monitor's page had",
     .params = "content: ignored; the old page sent it", .handle = get_root},
    {GET, "/gpu_table", ROLE_NONE, .any = true, .sites = true, .gate = root_allowed, .summary = "Which GPUs there are, as a table: a page for browsers, else text",
     .params = "term: plain text; width: columns; colour: with colours; filter: which GPUs", .handle = get_gpu_table},
    {GET, "/gpu/{device*}", ROLE_NONE, .any = true, .sites = true, .summary = "The page: one GPU, by UUID; NODE:N leads there", .handle = get_gpu_page},
    {GET, "/api/v1/state", ROLE_NONE, .sites = true, .summary = "Everything now, as JSON, or as it was",
     .params = "at: an earlier time (docs/history.md); node: id or name of one node; all: retired nodes too; filter: which GPUs (docs/filter.md); me: name that 'mine' stands for without a token", .handle = get_state},
    {GET, "/api/v1/summary", ROLE_NONE, .sites = true, .summary = "Number of GPUs in each state now, also as one line of text",
     .params = "node: id or name of one node; filter: which GPUs (docs/filter.md); me: name that 'mine' stands for without a token", .handle = get_summary},
    {GET, "/api/v1/filter", ROLE_NONE, .open = true, .summary = "The names a filter knows besides metrics: those compared with a text, with a number, and words (docs/filter.md)", .handle = get_filter},
    {GET, "/api/v1/stream", ROLE_NONE, .sites = true, .summary = "The same as server-sent events: a snapshot, then nodes that changed and nodes that are gone",
     .params = "node: id or name of one node; own: without nodes of followed hubs, each as a separate event between `begin` and `whole` (docs/follow.md); list: all, in the same form; key, seldom: for a following hub (/api/v1/pace); filter: which GPUs (docs/filter.md); me: name that 'mine' stands for without a token", .handle = get_stream}, /* words: ok */
    {GET, "/api/v1/pace", ROLE_NONE, .summary = "Report whether a following hub has connected clients (docs/follow.md)",
     .params = "key: the key its stream was opened with; seldom: no client is connected: values every 15 s, other changes within a second", .handle = get_pace}, /* words: ok */
    {GET, "/api/v1/processes", ROLE_NONE, .sites = true, .summary = "Processes on the devices now; with from, those that were there since",
     .params = "from: time, for ended processes; to: time (default: now); device: UUID or NODE:N of one GPU; user: login, with from; person: all logins of a person (docs/people.md), with from; by: process, or user to join the processes of a person; gap: maximum seconds between two joined stretches of a person (default: 60); limit: maximum number (default: 2000, at most 20000); node: id or name of one node; format: csv or json; filter: which, also by user, program, slurm of each process (docs/filter.md); me: name that 'mine' stands for without a token", .handle = get_processes},
    {GET, "/metrics", ROLE_NONE, .summary = "Prometheus text, or OpenMetrics if Accept requests it",
     .params = "filter: which GPUs (docs/filter.md); node: key or name of one; shard: K/N, one of N parts of the nodes (docs/prometheus.md)", .handle = get_metrics},
    {GET, "/states/", ROLE_NONE, .summary = "vesta: every host", .params = "fetch_num: number of newest samples, oldest first, at most 500; filter: which GPUs (docs/filter.md)", .handle = get_states},
    {GET, "/states/{host}/", ROLE_NONE, .summary = "vesta: one host",
     .params = "fetch_num: number of newest samples, oldest first, at most 500; term: plain text", .handle = get_states_host},
    {0},
};
/* clang-format on */
