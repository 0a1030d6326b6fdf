/*
 * routes_waits.c: the routes of `muster wait` and `muster free`. A client of the first joins the queue, sends
 * heartbeats and gets the grant; a client of the second gets the GPUs that are free now.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>

#include "base/json.h"
#include "base/plain.h"
#include "base/time_text.h"
#include "book/feature.h"
#include "book/queue.h"
#include "book/routes.h"

#define SPAN_MAX (7 * 86400000ll)

/* ---- out ---- */

static void put_devices(struct json *j, const struct api *a, const struct booking *h)
{
    json_arr(j, "devices");
    for (struct pick_device p = {.rest = str_of(h->devices)}; pick_next(a->live, &p);) {
        json_obj(j, NULL);
        json_str(j, "device", p.uuid);
        json_cstr(j, "node", p.d ? p.n->name : NULL);
        if (p.d)
            json_int(j, "index", p.d->fact.index);
        json_cstr(j, "model", p.d ? p.d->fact.name : NULL);
        json_end_obj(j);
    }
    json_end_arr(j);
}

static void wait_json(struct json *j, const struct api *a, const struct booking *h, int64_t now_ms)
{
    enum booking_state state = booking_state(h, now_ms);
    struct gpu_request w;

    gpu_request_parse(h, &w);
    json_obj(j, NULL);
    json_int(j, "id", h->id);
    json_cstr(j, "person", h->person);
    json_cstr(j, "state",
              state == BOOKING_RELEASED ? "left"
              : state == BOOKING_OVER   ? "over"
              : hold_waits(h)           ? "waiting"
                                        : "yours");
    if (hold_waits(h))
        json_uint(j, "ahead", queue_ahead(a->book, h->id));
    json_int(j, "count", w.count);
    if (w.model.len)
        json_str(j, "model", w.model);
    if (w.node.len)
        json_str(j, "node", w.node);
    if (w.mem)
        json_int(j, "mem", w.mem);
    json_bool(j, "same_host", w.one_node);
    json_bool(j, "tell", w.told);
    json_int(j, "free_for", w.free_ms);
    json_int(j, "need", w.need_ms);
    json_int(j, "hold", w.hold_ms);
    json_int(j, "since", h->created_ms);
    if (!hold_waits(h)) {
        json_int(j, "until", booking_end_ms(h));
        json_cstr(j, "where", h->places);
        put_devices(j, a, h);
    }
    json_cstr(j, "comment", h->comment);
    json_end_obj(j);
}

void reply_wait(struct reply *rp, const struct api *a, const struct booking *h, int64_t now_ms, int status)
{
    struct json j = reply_row(rp, status, "/api/v1/waits/", h->id);
    wait_json(&j, a, h, now_ms);
    buf_addc(&rp->body, '\n');
}

enum reply_mode get_waits(struct api *a, struct request *rq, struct reply *rp)
{
    size_t n;
    const struct booking *const *v = book_all(a->book, &n);

    struct json j = reply_object(rp, 16u << 20);
    json_int(&j, "at", rq->now_ms);
    json_arr(&j, "rows");
    for (size_t i = 0; i < n; i++) /* by start, which is the arrival of all who wait */
        if (v[i]->kind == BOOKING_WAIT)
            wait_json(&j, a, v[i], rq->now_ms);
    json_end_arr(&j);
    return reply_object_end(rp, &j);
}

/* ---- a request for GPUs, read ---- */

struct wait_request {
    struct gpu_request wish;
    struct str person, comment;
    int64_t timeout_ms; /* 0: not given */
    char number[32];    /* the last one read, as text */
};

static bool take_text(struct str v, const char *name, size_t max, struct str *ret, struct reply *rp)
{
    if (v.len > max || !plain_typed(v))
        return reply_refuse(rp, 400, "%s must be text of at most %zu bytes without " CONTROLS, name, max);
    *ret = v;
    return true;
}

static bool take_span(struct str v, const char *name, int64_t *ret, struct reply *rp)
{
    struct err err = {0};
    int64_t ms;

    if (str_int(v, &ms) || str_duration_ms(v, &ms) ? ms < 0 : duration_parse(v, name, &ms, &err) < 0)
        return reply_wrong(rp, err.msg[0] ? err.msg : "a length of time is not negative");
    if (ms > SPAN_MAX)
        return reply_refuse(rp, 400, "%s is a week at most", name);
    *ret = ms;
    return true;
}

/* Numbers as text, so that a body and a query are read alike. */
static bool take(struct wait_request *q, const char *name, struct str v, struct reply *rp)
{
    struct gpu_request *w = &q->wish;

    if (strcmp(name, "count") == 0)
        return (str_int(v, &w->count) && w->count > 0 && w->count <= BOOKING_DEVICES) ||
               reply_wrong(rp, "count must be a number from 1 to 256");
    if (strcmp(name, "mem") == 0)
        return str_bytes(v, &w->mem) || reply_wrong(rp, "mem must be an amount of memory, as 40G");
    if (strcmp(name, "same_host") == 0) {
        w->one_node = str_eq(v, "true") || str_eq(v, "1");
        return w->one_node || str_eq(v, "false") || str_eq(v, "0") ||
               reply_wrong(rp, "same_host must be true or false");
    }
    if (strcmp(name, "tell") == 0) {
        w->told = str_eq(v, "true") || str_eq(v, "1");
        return w->told || str_eq(v, "false") || str_eq(v, "0") || reply_wrong(rp, "tell must be true or false");
    }
    if (strcmp(name, "timeout") == 0)
        return take_span(v, name, &q->timeout_ms, rp);
    if (strcmp(name, "free_for") == 0)
        return take_span(v, name, &w->free_ms, rp);
    if (strcmp(name, "need") == 0)
        return take_span(v, name, &w->need_ms, rp);
    if (strcmp(name, "hold") == 0)
        return take_span(v, name, &w->hold_ms, rp) &&
               (w->hold_ms >= 10000 || reply_wrong(rp, "hold must be ten seconds at least"));
    if (strcmp(name, "model") == 0)
        return take_text(v, name, 100, &w->model, rp);
    if (strcmp(name, "node") == 0)
        return take_text(v, name, 100, &w->node, rp);
    if (strcmp(name, "person") == 0)
        return take_text(v, name, 200, &q->person, rp);
    if (strcmp(name, "comment") == 0)
        return take_text(v, name, BOOKING_COMMENT_MAX, &q->comment, rp);
    return reply_refuse(rp, 400,
                        "'%.40s' is not understood: count, mem, model, node, same_host, free_for, need, hold, tell, "
                        "timeout, person and comment can be given",
                        name);
}

static const struct wait_request nothing = {
    .wish = {.count = 1, .free_ms = QUEUE_FREE_MS, .need_ms = QUEUE_NEED_MS}}; /* hold_ms 0: not given */

static bool read_body(json_t *o, struct wait_request *q, struct reply *rp)
{
    const char *key;
    json_t *v;
    bool good = o != NULL;

    *q = nothing;
    json_object_foreach (o, key, v) {
        struct str text = str_n(json_string_value(v), json_string_length(v));
        if (json_is_null(v))
            continue;
        /* text is borrowed, so it must live as long as the body */
        if (!json_is_string(v) && str_listed("model,node,person,comment", str_of(key)))
            return reply_wrong(rp, "model, node, person and comment are text");
        if (json_is_integer(v)) {
            snprintf(q->number, sizeof(q->number), "%" JSON_INTEGER_FORMAT, json_integer_value(v));
            text = str_of(q->number);
        } else if (json_is_boolean(v)) {
            text = str_of(json_is_true(v) ? "true" : "false");
        } else if (!json_is_string(v)) {
            return reply_wrong(rp, "every member is a text, a whole number, true or false");
        }
        good = good && take(q, key, text, rp);
    }
    return good;
}

static bool read_query(const struct request *rq, struct wait_request *q, struct reply *rp)
{
    static const char *const names[] = {"count", "mem", "model", "node", "same_host", "free_for", "need"};

    *q = nothing;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct str v = request_query(rq, names[i]);
        if (v.len && !take(q, names[i], v, rp))
            return false;
    }
    return true;
}

/* ---- in ---- */

/* The maximum time of a wait. A wait with notification by message has a longer reservation, and a shorter maximum. */
static int64_t wait_ms(struct wait_request *q)
{
    if (!q->wish.hold_ms)
        q->wish.hold_ms = q->wish.told ? QUEUE_COME_MS : QUEUE_HOLD_MS;
    return q->timeout_ms ? q->timeout_ms : q->wish.told ? QUEUE_TOLD_MS : QUEUE_LONGEST_MS;
}

static enum reply_mode queue_up(struct api *a, struct request *rq, struct wait_request *q, struct reply *rp)
{
    char person[BOOKING_PERSON_MAX], by[BOOKING_PERSON_MAX], model[104], comment[BOOKING_COMMENT_MAX + 1];
    AUTO_BUF rest = BUF_INIT(1024);
    struct booker who = booker_of(rq);
    struct err err = {0};
    size_t n, waiting = 0, n_holds;
    const struct node_now *const *nodes = live_nodes(a->live, false, &n);
    const struct booking *const *holds = book_all(a->book, &n_holds);
    int r = book_for(book_auth_of(&a->hub->conf), &who, q->person, person, &err);

    if (!names_are_local(a, q->wish.node, rp))
        return REPLY_NOW;
    if (r < 0)
        return reply_refused(rp, r, &err);
    for (size_t i = 0; i < n_holds; i++)
        waiting += hold_waits(holds[i]);
    if (waiting >= QUEUE_MAX)
        return reply_problem(rp, 503, "%d wait already", QUEUE_MAX);
    if (q->wish.told && !waits_reach(a->hub, person))
        return reply_problem(rp, 409,
                             "nobody can tell %s: there is no channel `to: person` with an address of theirs, or they "
                             "want no messages (docs/alerts.md)",
                             person);
    int64_t longest_ms = wait_ms(q);
    struct pick_request p = gpu_request_pick(&q->wish, person, 0, rq->now_ms);
    if ((r = pick_possible(nodes, n, &p, &err)) < 0)
        return reply_refused(rp, r, &err);
    book_by(&who, person, by);
    gpu_request_format(&q->wish, &rest);
    snprintf(model, sizeof(model), "%.*s", STR_ARG(q->wish.model));
    snprintf(comment, sizeof(comment), "%.*s", STR_ARG(q->comment));
    struct booking h = {.kind = BOOKING_WAIT,
                        .count = (int32_t)q->wish.count,
                        .from_ms = rq->now_ms,
                        .until_ms = rq->now_ms + longest_ms,
                        .created_ms = rq->now_ms,
                        .changed_ms = rq->now_ms,
                        .person = person,
                        .by = by,
                        .devices = "",
                        .places = "",
                        .model = model,
                        .where = rest.p,
                        .comment = comment};
    return bookings_put(a->hub, rq, rp, &h, by);
}

enum reply_mode post_wait(struct api *a, struct request *rq, struct reply *rp)
{
    struct wait_request q;
    json_auto_t *o = read_object(rq, rp);
    return read_body(o, &q, rp) ? queue_up(a, rq, &q, rp) : REPLY_NOW;
}

/* The wait of the path, if the client may change it, to free(). Other than 1: as in booking_of_path. */
static int own_wait(struct api *a, struct request *rq, struct reply *rp, struct booking **ret)
{
    struct booker who = booker_of(rq);
    struct err err = {0};
    int r = booking_of_path(a, rq, rp, ret);
    const struct booking *h = *ret;

    if (r != 1)
        return r;
    r = h->kind == BOOKING_WAIT
            ? book_check_change(book_auth_of(&a->hub->conf), &who, request_query(rq, "person"), h, &err)
            : err_set(&err, -ENOENT, "%" PRId64 " is a booking; /api/v1/waits lists who waits", h->id);
    if (r < 0)
        reply_refused(rp, r, &err);
    return r == 0 ? 1 : 0;
}

/* F4. Results as in booking_of_path. */
static int read_back(struct api *a, struct request *rq, struct reply *rp, struct booking **h)
{
    struct booking *stored = NULL;
    struct err err = {0};
    int r = record_fetch_booking(a->hub, rq, (*h)->id, &stored, &err);

    if (r == 1) {
        bookings_take(a->hub, stored, rq->now_ms);
        free(*h);
        *h = stored;
    } else if (r != -EINPROGRESS) {
        reply_problem(rp, 503, "bookings cannot be read: %s", r < 0 ? err.msg : "this one is not in the store");
    }
    return r;
}

/* Still there. */
enum reply_mode post_wait_beat(struct api *a, struct request *rq, struct reply *rp)
{
    AUTO_FREE struct booking *h = NULL;
    int r = own_wait(a, rq, rp, &h);

    if (r == 1 && !hold_waits(h) && !hub_is_alone(a->hub))
        r = read_back(a, rq, rp, &h);

    if (r != 1)
        return reply_mode_of_fetch(r);
    waits_seen(a->hub, h, rq->now_ms);
    reply_wait(rp, a, h, rq->now_ms, 200);
    return REPLY_NOW;
}

enum reply_mode delete_wait(struct api *a, struct request *rq, struct reply *rp)
{
    AUTO_FREE struct booking *h = NULL;
    int r = own_wait(a, rq, rp, &h);

    if (r != 1)
        return reply_mode_of_fetch(r);
    enum booking_state state = booking_state(h, rq->now_ms);
    if (state == BOOKING_OVER || state == BOOKING_RELEASED) {
        reply_wait(rp, a, h, rq->now_ms, 200);
        return REPLY_NOW;
    }
    h->released_ms = rq->now_ms;
    h->changed_ms = rq->now_ms;
    h->changes++;
    return bookings_put(a->hub, rq, rp, h, h->person);
}

/* ---- what could be had now ---- */

enum reply_mode get_free(struct api *a, struct request *rq, struct reply *rp)
{
    struct wait_request q;
    struct err err = {0};
    size_t n;
    const struct node_now *const *nodes = live_nodes(a->live, false, &n);
    AUTO_BUF kept = BUF_INIT(4u << 20);
    AUTO_BUF got = BUF_INIT(BOOKING_DEVICES * (size_t)UUID_MAX);
    AUTO_BUF places = BUF_INIT(65536);

    if (!read_query(rq, &q, rp))
        return REPLY_NOW;
    struct pick_request p = gpu_request_pick(&q.wish, rq->who->token.person, 0, rq->now_ms);
    queue_reserved(a->book, nodes, n, rq->now_ms, &kept);
    p.kept = &kept;
    int r = pick_among(nodes, n, a->book, &p, &got, &err);
    if (r == -EBUSY && kept.len)
        return reply_problem(rp, 409, "%s (some that are free are kept for who waits: /api/v1/waits)", err.msg);
    if (r < 0)
        return reply_refused(rp, r, &err);
    pick_places(a->live, buf_str(&got), &places);
    int64_t until_ms = INT64_MAX;
    for (struct pick_device d = {.rest = buf_str(&got)}; pick_next(a->live, &d);)
        until_ms = MIN(until_ms, pick_until(a->book, &p, d.d));
    struct json j = reply_object(rp, 1u << 20);
    json_str(&j, "where", buf_str(&places));
    if (until_ms < INT64_MAX)
        json_int(&j, "free_until", until_ms);
    put_devices(&j, a, &(struct booking){.devices = got.p});
    return reply_object_end(rp, &j);
}
