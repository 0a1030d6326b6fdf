/* intake.c: parses the events of a stream: a list of nodes, changed nodes, removed nodes, the clock. */
#include "stream/intake.h"

#include <errno.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "format/render.h"
#include "stream/hub_request.h"

/* ---- nodes by key ---- */

static void free_node(struct node_now *n)
{
    if (n)
        node_now_fini(n);
    free(n);
}

void stream_nodes_put(struct stream_nodes *s, const char *key, struct node_now *node)
{
    struct stream_node *e = lookup_named(&s->by_key, key, offsetof(struct stream_node, key));

    if (!e) {
        e = NEW(struct stream_node, .node = NULL);
        mem_copy_str(e->key, sizeof(e->key), key);
        VEC_ADD(s->v, s->n, s->cap, e);
        lookup_add(&s->by_key, lookup_hash(e->key), e);
    }
    free_node(e->node);
    e->node = node;
}

void stream_nodes_tidy(struct stream_nodes *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        struct stream_node *e = s->v[i];
        if (e->node) {
            s->v[n++] = e;
            continue;
        }
        lookup_drop(&s->by_key, lookup_hash(e->key), e);
        free(e);
    }
    s->n = n;
}

void stream_nodes_fini(struct stream_nodes *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free_node(s->v[i]->node);
        free(s->v[i]);
    }
    lookup_fini(&s->by_key);
    free(s->v);
    *s = (struct stream_nodes){0};
}

/* ---- identity ---- */

void stream_hub_add(struct stream_hub *h, const char *id, int hops)
{
    size_t i = FIRST(h->n, k, strcmp(h->follows[k].id, id) == 0);

    if (hops > STREAM_HOPS || !id[0] || strlen(id) >= STREAM_ID_MAX || i == STREAM_FOLLOWS)
        return;
    if (i == h->n) {
        h->follows[h->n++].hops = hops;
        mem_copy_str(h->follows[i].id, STREAM_ID_MAX, id);
    }
    h->follows[i].hops = MIN(h->follows[i].hops, hops);
}

bool stream_hub_has(const struct stream_hub *h, const char *id)
{
    return ANY(h->n, i, strcmp(h->follows[i].id, id) == 0);
}

/* An id has only letters, digits and -_. and needs no escaping. */
static bool is_id(const char *s)
{
    return s && s[0] && strlen(s) < STREAM_ID_MAX && str_letters(str_of(s), "-_.");
}

int stream_hub_parse(struct str json, struct stream_hub *ret)
{
    json_auto_t *o = hub_request_json(json);
    const char *id = json_string_value(json_object_get(o, "id")), *key;
    json_t *v;

    if (!is_id(id))
        return -EBADMSG;
    *ret = (struct stream_hub){0};
    mem_copy_str(ret->id, sizeof(ret->id), id);
    json_object_foreach (json_object_get(o, "follows"), key, v) {
        int64_t hops = json_integer_value(v);
        if (is_id(key) && hops >= 1 && hops <= STREAM_HOPS)
            stream_hub_add(ret, key, (int)hops);
    }
    return 0;
}

void stream_hub_render(const struct stream_hub *h, struct buf *out)
{
    struct json j = json_on(out);

    json_obj(&j, NULL);
    json_cstr(&j, "id", h->id);
    json_obj(&j, "follows");
    for (size_t i = 0; i < h->n; i++)
        json_int(&j, h->follows[i].id, h->follows[i].hops);
    json_end_obj(&j);
    json_end_obj(&j);
}

/* ---- updates ---- */

void stream_changes_merge(struct stream_changes *to, struct stream_changes *from)
{
    struct stream_nodes old = to->nodes;
    bool begun = from->begun || to->begun, whole = from->whole || (to->whole && !from->begun);

    if (from->begun)
        stream_nodes_fini(&old);
    for (size_t i = 0; i < from->nodes.n; i++) {
        stream_nodes_put(&old, from->nodes.v[i]->key, from->nodes.v[i]->node);
        from->nodes.v[i]->node = NULL;
    }
    stream_nodes_fini(&from->nodes);
    *to = *from;
    to->nodes = old;
    to->begun = begun;
    to->whole = whole;
    from->begun = from->whole = false;
}

/* A list that starts before the previous one was complete repeats that one: the nodes received so far stay. */
static void begin_list(struct intake *in)
{
    if (!in->listing) {
        stream_nodes_fini(&in->news.nodes);
        in->news.begun = in->listing = true;
        in->news.whole = false;
    }
    in->listed = 0;
}

static void end_list(struct intake *in)
{
    in->news.whole |= in->listing;
    in->listing = false;
}

static void put_node(struct intake *in, struct node_now *n)
{
    struct node_now *one = mem_alloc(sizeof(*one));

    *one = *n;
    stream_nodes_put(&in->news.nodes, one->key, one);
}

/* The whole state in one event. */
static int take_snapshot(struct intake *in, struct str json, int64_t mono_ms)
{
    struct read_state s;

    if (in->own)
        return err_set(&in->err, -EPROTO, "its muster is too old to be followed: it does not know own=1");
    struct err why = {0};
    int r = state_parse(json, &s, &why);
    if (r < 0)
        return r;
    begin_list(in);
    in->news.demo = s.demo;
    in->news.clock_ms = s.at_ms - mono_ms;
    memcpy(in->news.notice, s.notice, NOTICE_MAX);
    memcpy(in->news.currency, s.currency, sizeof(s.currency));
    for (size_t i = 0; i < s.n; i++)
        put_node(in, &s.nodes[i]);
    free(s.nodes);
    end_list(in);
    return 0;
}

static int take_node(struct intake *in, struct str json, int64_t mono_ms)
{
    struct node_now n;
    struct err why = {0};
    int r = node_parse(json, in->news.clock_ms + mono_ms, in->own, &n, &why);

    if (r < 0)
        return in->own ? err_set(&in->err, r, "it sends a node that cannot be read: %s", why.msg) : r;
    if (in->max_nodes && in->listing && ++in->listed > in->max_nodes) {
        node_now_fini(&n);
        return err_set(&in->err, -E2BIG, "it has more than %zu nodes", in->max_nodes);
    }
    put_node(in, &n);
    return 0;
}

/* Copies a text member; "" if missing. */
static void take_text(const json_t *o, const char *key, char *to, size_t size)
{
    const char *text = json_string_value(json_object_get(o, key));

    mem_copy_str(to, size, text && str_utf8_ok(str_of(text)) ? text : "");
}

/* A member of a small object: clock, gone, notice, begin. */
static int take_small(struct intake *in, struct str name, struct str data, int64_t mono_ms)
{
    json_auto_t *o = hub_request_json(data);
    const char *id = json_string_value(json_object_get(o, "id"));
    const char *notice = json_string_value(json_object_get(o, "notice"));
    json_t *now = json_object_get(o, str_eq(name, "begin") ? "at" : "now");

    if (!json_is_object(o))
        return -EBADMSG;
    if (json_is_integer(now) && json_integer_value(now) > 0 && json_integer_value(now) < (int64_t)1 << 52)
        in->news.clock_ms = json_integer_value(now) - mono_ms;
    if (str_eq(name, "begin")) {
        begin_list(in);
        in->news.demo = json_is_true(json_object_get(o, "demo"));
        take_text(o, "notice", in->news.notice, sizeof(in->news.notice));
        take_text(o, "currency", in->news.currency, sizeof(in->news.currency));
    } else if (str_eq(name, "whole")) {
        end_list(in);
    } else if (str_eq(name, "gone") && id && strlen(id) < NODE_KEY_MAX) {
        stream_nodes_put(&in->news.nodes, id, NULL);
    } else if (str_eq(name, "notice") && notice && str_utf8_ok(str_of(notice))) {
        mem_copy_str(in->news.notice, sizeof(in->news.notice), notice);
    }
    return 0;
}

static int take_hub(struct intake *in, struct str data)
{
    int r = stream_hub_parse(data, &in->news.hub);

    return r == 0 && in->meet ? in->meet(in->arg, &in->news.hub, &in->err) : r;
}

struct taking {
    struct intake *in;
    int64_t mono_ms;
};

static int take_event(void *arg, struct str name, struct str data)
{
    struct taking *t = arg;

    if (str_eq(name, "snapshot"))
        return take_snapshot(t->in, data, t->mono_ms);
    if (str_eq(name, "node"))
        return take_node(t->in, data, t->mono_ms);
    if (str_eq(name, "hub"))
        return take_hub(t->in, data);
    return take_small(t->in, name, data, t->mono_ms);
}

void intake_reset(struct intake *in, size_t event_max)
{
    sse_fini(&in->sse);
    in->sse = (struct sse){.text = BUF_INIT(event_max)};
    in->listing = false;
    in->err = (struct err){0};
}

void intake_fini(struct intake *in)
{
    sse_fini(&in->sse);
    stream_nodes_fini(&in->news.nodes);
}

int intake_take(struct intake *in, struct str piece, int64_t mono_ms, struct err *err)
{
    struct taking t = {in, mono_ms};
    int r = sse_take(&in->sse, piece, take_event, &t);

    if (r == -EMSGSIZE && !in->err.msg[0])
        err_set(&in->err, r, "it sends more at once than %zu bytes", in->sse.text.max);
    if (r < 0)
        *err = in->err;
    return r;
}
