/* routes.c: routes for nodes, their administration, and events. */
#include <errno.h>
#include <jansson.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/order.h"
#include "base/plain.h"
#include "base/when.h"
#include "hub/handlers.h"
#include "hub/past.h"
#include "model/names.h"
#include "nodes/feature.h"
#include "nodes/share.h"
#include "now/view.h"

#define EVENTS_LOOK 2000 /* maximum events read when a filter is set */

static void node_json(struct json *j, const struct node_now *n, int64_t now_ms)
{
    json_obj(j, NULL);
    json_cstr(j, "id", n->key);
    json_cstr(j, "name", n->name);
    json_cstr(j, "own_name", n->fact.name[0] ? n->fact.name : NULL);
    json_cstr(j, "state", node_words[n->state]);
    json_cstr(j, "reason", n->reason[0] ? n->reason : NULL);
    json_cstr(j, "address", n->address[0] ? n->address : NULL);
    json_bool(j, "retired", n->retired);
    json_bool(j, "maintenance", n->maintenance);
    json_bool(j, "never_sampled", n->never_sampled);
    json_bool(j, "name_taken", name_is_nth(n->fact.name, n->name));
    size_t twice = 0;
    for (size_t i = 0; i < n->n_devices; i++)
        twice += !n->devices[i].fact.parent[0] && strchr(n->devices[i].fact.uuid, '~');
    json_int(j, "gpus_twice", (int64_t)twice);
    json_cstr(j, "belonged_to", n->was_id[0] ? n->was : NULL);
    if (n->at_ms > 0) {
        json_int(j, "last_news", n->at_ms);
        json_int(j, "age_ms", MAX(now_ms - n->at_ms, 0));
    } else {
        json_none(j, "last_news");
        json_none(j, "age_ms");
    }
    json_int(j, "clock_off_ms", n->clock_off_ms);
    json_int(j, "backlog", n->backlog);
    json_cstr(j, "collect", collect_words[n->collect]);
    json_int(j, "devices", (int64_t)n->n_devices);
    static const struct {
        const char *key;
        size_t at;
    } texts[] = {{"os", offsetof(struct node_fact, os)},         {"kernel", offsetof(struct node_fact, kernel)},
                 {"arch", offsetof(struct node_fact, arch)},     {"cpu", offsetof(struct node_fact, cpu)},
                 {"driver", offsetof(struct node_fact, driver)}, {"cuda", offsetof(struct node_fact, cuda)},
                 {"agent", offsetof(struct node_fact, agent)},   {"collector", offsetof(struct node_fact, collector)}};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        const char *v = (const char *)&n->fact + texts[i].at;
        json_cstr(j, texts[i].key, v[0] ? v : NULL);
    }
    if (n->fact.cpus > 0)
        json_int(j, "cpus", n->fact.cpus);
    json_end_obj(j);
}

static enum reply_mode get_nodes(struct api *a, struct request *rq, struct reply *rp)
{
    struct view v;
    AUTO_FILTER *filter = NULL;
    if (!request_filter(rq, rp, &filter))
        return REPLY_NOW;
    view_of(a->live, &(struct view_query){.all = true, .demo = a->demo}, rq->now_ms, &v);
    AUTO_BUF key = BUF_INIT(4096);
    buf_addf(&key, "nodes|%s", filter ? filter_key(filter) : "");
    if (reply_cached(a, rq, buf_str(&key), v.version, rp))
        return REPLY_NOW;
    int64_t begin_us = clock_thread_us();
    rp->body = BUF_INIT(256u << 20);
    struct json j = json_on(&rp->body);
    json_arr(&j, NULL);
    for (size_t i = 0; i < v.n; i++)
        if (!filter || filter_match_node(filter, v.nodes[i], rq->now_ms))
            node_json(&j, v.nodes[i], rq->now_ms);
    json_end_arr(&j);
    reply_keep(a, rq, buf_str(&key), v.version, begin_us, rp);
    return REPLY_NOW;
}

/* ---- administration ---- */

static bool take_name(struct str s, char node[NAME_MAX_LEN])
{
    snprintf(node, NAME_MAX_LEN, "%.*s", STR_ARG(s));
    return s.len < NAME_MAX_LEN;
}

static enum reply_mode node_done(const struct request *rq, struct reply *rp, int r, const struct err *err)
{
    if (r == -ENOENT)
        return reply_problem(rp, 404, "no node is called '%.*s'; /api/v1/nodes lists them", STR_ARG(rq->tail));
    if (r < 0)
        return reply_problem(rp, r == -EEXIST || r == -EBUSY ? 409 : r == -EINVAL ? 400 : 500, "%s", err->msg);
    rp->body = BUF_INIT(64);
    buf_adds(&rp->body, "{\"done\":true}\n");
    return REPLY_NOW;
}

static enum reply_mode patch_node(struct api *a, struct request *rq, struct reply *rp)
{
    json_auto_t *o = read_object(rq, rp);
    json_t *v;
    const char *key, *name = NULL;
    int retired = -1, maintenance = -1;
    struct err err = {0};
    char node[NAME_MAX_LEN];
    if (!o)
        return REPLY_NOW;
    json_object_foreach (o, key, v) {
        if (strcmp(key, "name") == 0 && (json_is_null(v) || (json_is_string(v) && json_string_length(v) == 0)))
            name = ""; /* reset to its own name */
        else if (strcmp(key, "name") == 0 && json_is_string(v) &&
                 name_ok(str_n(json_string_value(v), json_string_length(v)), NAME_MAX_LEN - 1) &&
                 plain_typed(str_of(json_string_value(v))))
            name = json_string_value(v);
        else if (strcmp(key, "retired") == 0 && json_is_boolean(v))
            retired = json_is_true(v);
        else if (strcmp(key, "maintenance") == 0 && json_is_boolean(v))
            maintenance = json_is_true(v);
        else {
            reply_problem(rp, 400,
                          "'%.40s' is not understood: name (text of at most %d bytes without quotes, slashes, " CONTROLS
                          "), retired and maintenance (true or false) can be set",
                          key, NAME_MAX_LEN - 1);
            return REPLY_NOW;
        }
        trail_add(rq->trail, key);
    }
    int r = take_name(rq->tail, node) ? registry_admin(a->hub, node, name, retired, maintenance, &err) : -ENOENT;
    return node_done(rq, rp, r, &err);
}

static enum reply_mode post_node_join(struct api *a, struct request *rq, struct reply *rp)
{
    char node[NAME_MAX_LEN];
    struct err err = {0};
    json_auto_t *o = read_object(rq, rp);
    const char *old = json_string_value(json_object_get(o, "old"));
    if (!o)
        return REPLY_NOW;
    int r = !old || json_object_size(o) != 1 ? err_set(&err, -EINVAL, "the node to replace is missing: {\"old\": NODE}")
            : take_name(rq->tail, node)      ? registry_join(a->hub, node, old, &err)
                                             : -ENOENT;
    return r == -ENOENT && err.msg[0] ? reply_problem(rp, 404, "%s", err.msg) : node_done(rq, rp, r, &err);
}

static enum reply_mode delete_node(struct api *a, struct request *rq, struct reply *rp)
{
    char node[NAME_MAX_LEN];
    struct err err = {0};
    return node_done(rq, rp, take_name(rq->tail, node) ? registry_delete(a->hub, node, &err) : -ENOENT, &err);
}

/* ---- events ---- */

struct events_list {
    struct async_query ask;  /* first */
    char node[NODE_KEY_MAX]; /* "": all */
    int64_t from_ms, to_ms, now_ms;
    size_t limit;
    struct filter *filter; /* NULL: all */
    uint32_t kinds;        /* bits; 0: all */
    char find[100];        /* text to search for; "": any */
    struct listed_event *v;
    size_t n, cap;
};

struct listed_event {
    char node[NODE_KEY_MAX], device[UUID_MAX];
    struct node_event event;
};

static void take_event(void *arg, const char *node, const char *device, const struct node_event *e)
{
    struct events_list *l = arg;
    VEC_ROOM(l->v, l->n, l->cap);
    struct listed_event *x = &l->v[l->n++];
    x->event = *e;
    mem_copy_str(x->node, sizeof(x->node), node);
    mem_copy_str(x->device, sizeof(x->device), device ? device : "");
}

static void events_run(struct async_query *k, const struct past_source *past, struct reply *rp)
{
    struct events_list *l = (struct events_list *)k;
    size_t look = l->filter || l->kinds || l->find[0] ? EVENTS_LOOK : l->limit;
    struct err err = {0};
    if (past_each(past,
                  EACH_EVENT(take_event, l, .node = l->node, .from_ms = l->from_ms, .to_ms = l->to_ms, .limit = look),
                  &err) < 0)
        reply_problem(rp, 503, "events cannot be read: %s", err.msg);
}

static const char *event_word(const struct node_event *e)
{
    return e->kind < EVENT_KINDS ? event_words[e->kind] : "?";
}

/* Whether its kind was requested, and its text on screens contains the searched text. */
static bool event_says(const struct events_list *l, const struct listed_event *x, const struct node_now *n)
{
    const struct node_event *e = &x->event;
    AUTO_BUF said = BUF_INIT(2048);
    if (l->kinds && !(e->kind < EVENT_KINDS && l->kinds >> e->kind & 1))
        return false;
    if (!l->find[0])
        return true;
    buf_addf(&said, "%s ", n ? n->name : x->node);
    event_about(e, &said);
    buf_addf(&said, " %s", event_word(e));
    return strcasestr(said.p, l->find) != NULL;
}

/* Events of a GPU that matches now; of a node, if one of its GPUs matches. */
static bool event_fits(const struct events_list *l, const struct node_now *n, const char *device)
{
    if (!l->filter || !n)
        return !l->filter;
    for (size_t i = 0; device[0] && i < n->n_devices; i++)
        if (strcmp(n->devices[i].fact.uuid, device) == 0)
            return filter_match(l->filter, n, &n->devices[i], l->now_ms);
    return device[0] ? filter_match(l->filter, n, NULL, l->now_ms) : filter_match_node(l->filter, n, l->now_ms);
}

static void event_json(struct json *j, const struct listed_event *x, const struct node_now *n)
{
    const struct node_event *e = &x->event;
    json_obj(j, NULL);
    json_int(j, "at", e->at_ms);
    json_cstr(j, "node", n ? n->name : x->node);
    json_cstr(j, "node_id", x->node);
    json_cstr(j, "device", x->device[0] ? x->device : NULL);
    for (size_t i = 0; n && x->device[0] && i < n->n_devices; i++)
        if (strcmp(n->devices[i].fact.uuid, x->device) == 0)
            json_int(j, "index", n->devices[i].fact.index);
    json_cstr(j, "kind", event_word(e));
    json_int(j, "code", e->code);
    if (event_meaning(e))
        json_cstr(j, "meaning", event_meaning(e));
    AUTO_BUF about = BUF_INIT(512);
    event_about(e, &about);
    json_str(j, "about", buf_str(&about));
    json_cstr(j, "text", e->text);
    json_end_obj(j);
}

static void events_settle(struct async_query *k, struct api *a, struct reply *rp)
{
    struct events_list *l = (struct events_list *)k;
    rp->body = BUF_INIT(64u << 20);
    struct json j = json_on(&rp->body);
    json_arr(&j, NULL);
    for (size_t i = 0, left = l->limit; i < l->n && left > 0; i++) {
        const struct node_now *n = live_find(a->live, l->v[i].node);
        if (event_fits(l, n, l->v[i].device) && event_says(l, &l->v[i], n)) {
            event_json(&j, &l->v[i], n);
            left--;
        }
    }
    json_end_arr(&j);
}

static void events_end(struct async_query *k)
{
    struct events_list *l = (struct events_list *)k;
    filter_free(l->filter);
    FREE_ALL(l->v, l);
}

static enum reply_mode get_events(struct api *a, struct request *rq, struct reply *rp)
{
    struct str node = request_query(rq, "node"), from = request_query(rq, "from"), to = request_query(rq, "to"),
               kinds = request_query(rq, "kind"), find = request_query(rq, "find"), one;
    struct err err = {0};
    struct events_list ask = {.ask = {.run = events_run, .end = events_end},
                              .now_ms = rq->now_ms,
                              .limit = (size_t)request_int(rq, "limit", 100, 1, 1000)};
    struct view v;
    char name[NAME_MAX_LEN];
    AUTO_FILTER *filter = NULL;
    if (!request_filter(rq, rp, &filter))
        return REPLY_NOW;
    if ((from.len && when_parse(from, "from", rq->now_ms, &ask.from_ms, &err) < 0) ||
        (to.len && when_parse(to, "to", rq->now_ms, &ask.to_ms, &err) < 0))
        return reply_problem(rp, 400, "%s", err.msg);
    while (kinds.len && str_cut(&kinds, ',', &one)) {
        int kind = WHICH(EVENT_KINDS, i, i && str_eq(one, event_words[i]));
        if (kind < 0)
            return reply_problem(rp, 400, "kind '%.*s' is not known: xid, hung, down, back, booked and so on are",
                                 (int)MIN(one.len, 40u), one.p);
        ask.kinds |= 1u << kind;
    }
    if (find.len >= sizeof(ask.find))
        return reply_problem(rp, 400, "find is longer than %zu bytes", sizeof(ask.find) - 1);
    snprintf(ask.find, sizeof(ask.find), "%.*s", STR_ARG(find));
    if (node.len) {
        if (!take_name(node, name))
            return reply_problem(rp, 404, "no node has a name that long");
        struct view_query which = {.node = name, .all = true};
        if (view_of(a->live, &which, rq->now_ms, &v) < 0)
            return reply_problem(rp, 404, "no node is called '%s'; /api/v1/nodes lists them", name);
        mem_copy_str(ask.node, sizeof(ask.node), v.nodes[0]->key);
    }
    struct events_list *l = mem_alloc(sizeof(*l));
    *l = ask;
    l->filter = filter;
    filter = NULL;
    return query_async_then(a->hub, rq, rp, &l->ask, events_settle);
}

/* clang-format off */
const struct route nodes_routes[] = {
    {GET, "/api/v1/nodes", ROLE_NONE, .summary = "Every node with its facts, retired ones included",
     .params = "filter: those with a GPU that matches (docs/filter.md); me: name that 'mine' stands for without a token", .handle = get_nodes},
    {METHOD_PATCH, "/api/v1/nodes/{id*}", ROLE_ADMIN, .write = true, .max_body = MAX_SMALL_BODY,
     .summary = "Rename a node, retire it, set it under maintenance: {\"name\",\"retired\",\"maintenance\"}, each optional", .handle = patch_node},
    {METHOD_DELETE, "/api/v1/nodes/{node*}", ROLE_ADMIN, .write = true, .max_body = MAX_SMALL_BODY,
     .summary = "Delete a node that never sent a sample, and its token; 409: it has", .handle = delete_node},
    {METHOD_POST, "/api/v1/nodes/{node*}/join", ROLE_ADMIN, .write = true, .max_body = MAX_SMALL_BODY,
     .summary = "Replace a node that no longer reports, including history, usage and bookings: {\"old\": NODE}; 409: that node reports, or their samples overlap", .handle = post_node_join},
    {GET, "/api/v1/events", ROLE_NONE, .summary = "What happened, newest first",
     .params = "node: id or name of one node; from, to: times, also as -30d; kind: only these, e.g. down,hung,xid; find: only events whose line contains this; limit: maximum number (default: 100, at most 1000); filter: events of GPUs that match now, or of nodes that have such a GPU (docs/filter.md); me: name that 'mine' stands for without a token", .handle = get_events},
    {METHOD_POST, "/api/v1/batches", ROLE_AGENT, .write = true, .no_audit = true, .max_body = 16u << 20,
     .summary = "Agents' batches (docs/internals/wire.md); answers exactly the keys now stored",
     .params = "origin: from a relay: ssh:NAME or file:NAME, the node that has no agent", .handle = post_batches},
    {METHOD_POST, "/api/v1/shared", ROLE_HUB, .write = true, .no_audit = true, .max_body = SHARE_MAX,
     .summary = "Batches that another hub of the same store took and keeps (docs/scale.md): they are shown here, too", .handle = post_shared},
    {GET, "/api/v1/sources", ROLE_NONE, .summary = "Where relays have names of nodes from, how many, and which sources fail and why (docs/discovery.md)", .handle = get_sources},
    {METHOD_POST, "/api/v1/sources", ROLE_RELAY, .write = true, .no_audit = true, .max_body = 256u << 10,
     .summary = "A relay's sources: [{\"source\", \"way\", \"nodes\", \"error\", \"since\"}], kept for two minutes; or labels of its nodes: {\"labels\": {NODE: {NAME: VALUE}}}", .handle = post_sources},
    {GET, "/install", ROLE_NONE, .open = true, .summary = "A shell script that adds a node: curl -fsS URL/install | sh (prompts for a token), or | sh -s -- --token-file FILE", .handle = get_install},
    {GET, "/api/v1/install", ROLE_NONE, .summary = "The command that adds a node, with TOKEN in place of a token, and the URL in it; `why` (loopback, container) and `detail` if other machines cannot reach the hub", .handle = get_install_command},
    {GET, "/install/{file}", ROLE_NONE, .open = true, .summary = "The agent binary, muster-agent-<arch>, and its unit, muster-agent.service", .handle = get_install_file},
    {GET, "/sd/prometheus", ROLE_NONE, .summary = "Our nodes for a Prometheus (http_sd)",
     .params = "port: port of the exporter to scrape there (default: 9100); filter: nodes with a GPU that matches (docs/filter.md)", .handle = get_sd},
    {0},
};
/* clang-format on */
