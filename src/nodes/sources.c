/* sources.c: keeps relays' reports about their sources of names, and serves the two routes about them. */
#include "nodes/sources.h"

#include <errno.h>
#include <jansson.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "hub/handlers.h"
#include "model/labels.h"
#include "nodes/feature.h"

#define RELAYS_MAX  64
#define SOURCES_MAX 160 /* per relay */

struct source_message {
    char source[200], way[16], error[200];
    int64_t nodes, since_ms; /* since: of the error; 0: none */
};

struct relay {
    char who[64];
    int64_t at_ms;
    size_t n;
    struct source_message *v;
};

struct source_status {
    size_t n;
    struct relay v[RELAYS_MAX];
};

struct source_status *source_status_new(void)
{
    return mem_zero(1, sizeof(struct source_status));
}

void source_status_free(struct source_status *s)
{
    for (size_t i = 0; s && i < s->n; i++)
        free(s->v[i].v);
    free(s);
}

static bool fresh(const struct relay *r, int64_t now_ms)
{
    return now_ms - r->at_ms < SOURCES_KEEP_MS;
}

static bool take_text(const json_t *o, const char *key, char *to, size_t size)
{
    const char *s = json_string_value(json_object_get(o, key));
    if (!s || !str_utf8_ok(str_of(s)))
        return false;
    mem_copy_str(to, size, s);
    return true;
}

static bool take_one(const json_t *o, struct source_message *ret)
{
    json_int_t nodes = json_integer_value(json_object_get(o, "nodes"));
    json_int_t since = json_integer_value(json_object_get(o, "since"));
    if (!json_is_object(o) || !take_text(o, "source", ret->source, sizeof(ret->source)) || nodes < 0 || since < 0)
        return false;
    take_text(o, "way", ret->way, sizeof(ret->way));
    take_text(o, "error", ret->error, sizeof(ret->error));
    ret->nodes = nodes;
    ret->since_ms = since;
    return true;
}

/* The relay's entry; an expired one is replaced. */
static struct relay *place(struct source_status *s, const char *who, int64_t now_ms)
{
    struct relay *r = NULL;
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->v[i].who, who) == 0)
            return &s->v[i];
    for (size_t i = 0; i < s->n && !r; i++)
        if (!fresh(&s->v[i], now_ms))
            r = &s->v[i];
    if (!r && s->n < RELAYS_MAX)
        r = &s->v[s->n++];
    if (r)
        mem_copy_str(r->who, sizeof(r->who), who);
    return r;
}

/* Reads the JSON of POST /api/v1/sources from relay who: replaces its earlier report. Returns 0, or -EINVAL with a
 * message in err. */
static int source_status_set(struct source_status *s, const char *who, struct str json, int64_t now_ms, struct err *err)
{
    json_error_t e;
    json_auto_t *all = json_loadb(json.p ? json.p : "", json.len, JSON_REJECT_DUPLICATES, &e);
    struct source_message *v = NULL;
    size_t n = json_array_size(all);
    int r = 0;
    if (!json_is_array(all) || n > SOURCES_MAX)
        r = err_set(err, -EINVAL, "the body must be an array of at most %d sources", SOURCES_MAX);
    if (r == 0)
        v = mem_zero(n + 1, sizeof(*v));
    for (size_t i = 0; i < n && r == 0; i++)
        if (!take_one(json_array_get(all, i), &v[i]))
            r = err_set(err, -EINVAL, "each source is {\"source\": text, \"way\", \"nodes\", \"error\", \"since\"}");
    struct relay *to = r == 0 ? place(s, who, now_ms) : NULL;
    if (r == 0 && !to)
        r = err_set(err, -EINVAL, "there are more than %d relays", RELAYS_MAX);
    if (to) {
        free(to->v);
        to->v = v;
        to->n = n;
        to->at_ms = now_ms;
        v = NULL;
    }
    free(v);
    return r;
}

void source_status_notice(const struct source_status *s, int64_t now_ms, char out[NOTICE_MAX])
{
    const struct source_message *first = NULL;
    size_t failing = 0;
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; fresh(&s->v[i], now_ms) && k < s->v[i].n; k++)
            if (s->v[i].v[k].error[0]) {
                first = first ? first : &s->v[i].v[k];
                failing++;
            }
    out[0] = 0;
    if (!first)
        return;
    AUTO_BUF b = BUF_INIT(1024);
    if (failing > 1)
        buf_addf(&b, "%zu sources of nodes fail, their nodes stay as they are: ", failing);
    else if (first->nodes == 1)
        buf_adds(&b, "a source of nodes fails, its one node stays as it is: ");
    else
        buf_addf(&b, "a source of nodes fails, its %lld nodes stay as they are: ", (long long)first->nodes);
    buf_addf(&b, "%.60s: %s", first->source, first->error);
    mem_copy_str(out, NOTICE_MAX, b.p);
}

static void sources_said_json(const struct source_status *s, int64_t now_ms, struct buf *out)
{
    struct json j = json_on(out);
    json_arr(&j, NULL);
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; fresh(&s->v[i], now_ms) && k < s->v[i].n; k++) {
            const struct source_message *one = &s->v[i].v[k];
            json_obj(&j, NULL);
            json_cstr(&j, "source", one->source);
            json_cstr(&j, "way", one->way);
            json_int(&j, "nodes", one->nodes);
            json_bool(&j, "failing", one->error[0] != 0);
            if (one->error[0]) {
                json_cstr(&j, "error", one->error);
                json_int(&j, "since", one->since_ms);
            }
            json_int(&j, "told", s->v[i].at_ms);
            json_end_obj(&j);
        }
    json_end_arr(&j);
    buf_addc(out, '\n');
}

/* ---- routes ---- */

enum reply_mode get_sources(struct api *a, UNUSED struct request *rq, struct reply *rp)
{
    rp->body = BUF_INIT(16u << 20);
    sources_said_json(a->sources, clock_wall_ms(), &rp->body);
    return REPLY_NOW;
}

static char *labels_read(json_t *o)
{
    char *labels = NULL;
    const char *name;
    json_t *v;
    json_object_foreach (o, name, v)
        labels_add(&labels, str_of(name), str_n(json_string_value(v), json_string_length(v)));
    return labels;
}

/* Reads {"labels": {"ssh:gpu01": {"rack": "a1"}}} for known nodes. Returns 0, or -EINVAL with a message in err and
 * without any change. */
static int take_labels(struct api *a, struct str json, struct err *err)
{
    json_error_t e;
    json_auto_t *all = json_loadb(json.p ? json.p : "", json.len, JSON_REJECT_DUPLICATES, &e);
    json_t *nodes = json_object_get(all, "labels"), *v;
    const char *key;
    int r = json_is_object(nodes) ? 0 : err_set(err, -EINVAL, "'labels' must be an object with an object per node");
    json_object_foreach (nodes, key, v)
        if (r == 0 && (!json_is_object(v) || !node_origin_ok(str_of(key))))
            r = err_set(err, -EINVAL, "labels of '%.80s': a node is ssh:NAME or file:NAME, its labels an object", key);
    json_object_foreach (nodes, key, v) {
        AUTO_FREE char *labels = r == 0 ? labels_read(v) : NULL;
        if (r == 0)
            registry_labels(a->hub, key, labels);
    }
    return r;
}

enum reply_mode post_sources(struct api *a, struct request *rq, struct reply *rp)
{
    struct err err = {0};
    struct str body = str_trim(rq->body);
    int r = body.len && body.p[0] == '{'
                ? take_labels(a, body, &err)
                : source_status_set(a->sources, rq->who->token.id, body, clock_wall_ms(), &err);
    if (r < 0)
        return reply_problem(rp, 400, "%s", err.msg);
    rp->body = BUF_INIT(64);
    buf_addf(&rp->body, "{\"run\":\"%08x\"}\n", a->nonce);
    return REPLY_NOW;
}
