/*
 * routes_put.c: the routes that make, change and release bookings. They check rights before the body is read, as far as
 * possible; the rest when the owner of the booking is known. The hub checks overlaps, one request at a time.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>

#include "base/plain.h"
#include "base/time_text.h"
#include "book/feature.h"
#include "book/pick.h"
#include "book/routes.h"

#define LONGEST_MS  (3660 * 86400000ll) /* of a booking, and how far ahead it may start */
#define SHORTEST_MS 60000

enum reply_mode reply_refused(struct reply *rp, int code, const struct err *err)
{
    int status = code == -EACCES ? 401 : code == -EPERM ? 403 : code == -ENOENT ? 404 : code == -EBUSY ? 409 : 400;
    if (status == 401)
        snprintf(rp->extra, sizeof(rp->extra), "WWW-Authenticate: Bearer realm=\"muster\"");
    return reply_problem(rp, status, "%s", err->msg);
}

bool bookings_allowed(struct api *a, struct request *rq, struct reply *rp)
{
    struct booker who = booker_of(rq);
    struct err err = {0};
    int r = book_check(book_auth_of(&a->hub->conf), &who, &err);
    if (r < 0) {
        reply_refused(rp, r, &err);
        return false;
    }
    return book_auth_of(&a->hub->conf) != BOOK_OPEN ||
           can_read(a, rq, rp); /* if names are typed: any client that may read */
}

int booking_of_path(struct api *a, struct request *rq, struct reply *rp, struct booking **ret)
{
    struct err err = {0};
    int64_t id;
    bool is_id = str_int(rq->tail, &id) && id > 0;
    const struct booking *x = is_id ? book_find(a->book, id) : NULL;
    int r = is_id && !x ? record_fetch_booking(a->hub, rq, id, ret, &err) : x != NULL;
    if (x)
        *ret = booking_copy(x);
    if (r == 0)
        reply_problem(rp, 404, "there is no booking '%.*s'; /api/v1/bookings lists them", (int)MIN(rq->tail.len, 40u),
                      rq->tail.p);
    else if (r < 0 && r != -EINPROGRESS)
        reply_problem(rp, 503, "bookings cannot be read: %s", err.msg);
    return r;
}

/* ---- a body read ---- */

struct draft {
    json_t *o;
    struct str person, gpus, model, node, comment; /* p NULL: not set */
    bool has_devices;
    struct buf devices;                                /* uuids, comma-separated */
    int64_t from_ms, until_ms, for_ms, more_ms, count; /* -1: not set */
};

#define AUTO_DRAFT __attribute__((cleanup(draft_fini))) struct draft

static void draft_fini(struct draft *d)
{
    json_decref(d->o);
    buf_fini(&d->devices);
}

static bool take_str(json_t *v, const char *name, size_t max, struct str *ret, struct reply *rp)
{
    struct str s = str_n(json_string_value(v), json_string_length(v));
    if (!json_is_string(v) || s.len > max || !plain_typed(s))
        return reply_refuse(rp, 400, "%s must be text of at most %zu bytes without " CONTROLS, name, max);
    *ret = s;
    return true;
}

static bool take_when(const struct api *a, json_t *v, const char *name, int64_t now_ms, int64_t *ret, struct reply *rp)
{
    struct err err = {0};
    struct str s = str_n(json_string_value(v), json_string_length(v));
    if (json_is_integer(v)) {
        *ret = MAX(0, MIN(json_integer_value(v), MOMENT_END_MS));
        return true;
    }
    if (!json_is_string(v))
        return reply_refuse(rp, 400, "%s must be a time: milliseconds since 1970, \"2026-11-20T14:00:00Z\", \"2d 4h\"",
                            name);
    return time_parse(s, name, now_ms, a->zone, ret, &err) == 0 || reply_wrong(rp, err.msg);
}

static bool take_span(json_t *v, const char *name, int64_t *ret, struct reply *rp)
{
    struct err err = {0};
    struct str s = str_n(json_string_value(v), json_string_length(v));
    if (json_is_integer(v) && json_integer_value(v) > 0 && json_integer_value(v) <= LONGEST_MS) {
        *ret = json_integer_value(v);
        return true;
    }
    if (!json_is_string(v))
        return reply_refuse(rp, 400, "%s must be a length of time: \"2d 4h\", or milliseconds", name);
    return duration_parse(s, name, ret, &err) == 0 || reply_wrong(rp, err.msg);
}

static bool pick_devices(struct api *a, struct str words, struct draft *d, struct reply *rp)
{
    struct err err = {0};
    int r = pick_named(a->live, words, &d->devices, &err);
    if (r < 0)
        reply_refused(rp, r, &err);
    d->has_devices = r == 0;
    return r == 0;
}

static bool take_devices(struct api *a, json_t *v, struct draft *d, struct reply *rp)
{
    size_t i;
    json_t *one;
    AUTO_BUF words = BUF_INIT(BOOKING_DEVICES * (size_t)UUID_MAX);
    if (!json_is_array(v) || json_array_size(v) > BOOKING_DEVICES || json_array_size(v) == 0)
        return reply_wrong(rp, "devices must be a list of 1 to 256 UUIDs or NODE:N");
    json_array_foreach (v, i, one) {
        struct str s = str_n(json_string_value(one), json_string_length(one));
        if (!names_are_local(a, s, rp))
            return false;
        if (!json_is_string(one) || !name_ok(s, UUID_MAX - 1) || memchr(s.p, ',', s.len) || memchr(s.p, ' ', s.len))
            return reply_wrong(rp, "devices must be NODE:N or UUIDs, as in /api/v1/state: \"GPU-3f9a...\"");
        buf_addf(&words, "%s%.*s", words.len ? "," : "", STR_ARG(s));
    }
    buf_reset(&d->devices);
    return pick_devices(a, buf_str(&words), d, rp);
}

static bool take(struct api *a, const struct request *rq, struct draft *d, const char *key, json_t *v, bool fresh,
                 struct reply *rp)
{
    if (json_is_null(v))
        return true;
    if (strcmp(key, "person") == 0)
        return take_str(v, key, 200, &d->person, rp);
    if (strcmp(key, "comment") == 0)
        return take_str(v, key, BOOKING_COMMENT_MAX, &d->comment, rp);
    if (strcmp(key, "from") == 0)
        return take_when(a, v, key, rq->now_ms, &d->from_ms, rp);
    if (strcmp(key, "until") == 0)
        return take_when(a, v, key, rq->now_ms, &d->until_ms, rp);
    if (strcmp(key, "for") == 0)
        return take_span(v, key, &d->for_ms, rp);
    if (!fresh && strcmp(key, "extend") == 0)
        return take_span(v, key, &d->more_ms, rp);
    if (strcmp(key, "devices") == 0)
        return take_devices(a, v, d, rp);
    if (strcmp(key, "gpus") == 0)
        return take_str(v, key, 4000, &d->gpus, rp);
    if (fresh && strcmp(key, "model") == 0)
        return take_str(v, key, NAME_MAX_LEN, &d->model, rp);
    if (fresh && strcmp(key, "node") == 0)
        return take_str(v, key, NAME_MAX_LEN, &d->node, rp) && names_are_local(a, d->node, rp);
    if (fresh && strcmp(key, "count") == 0) {
        d->count = json_integer_value(v);
        return (json_is_integer(v) && d->count > 0 && d->count <= BOOKING_DEVICES) ||
               reply_wrong(rp, "count must be a number from 1 to 256");
    }
    return reply_refuse(rp, 400, "'%.40s' is not understood: %s", key,
                        fresh ? "person, devices or gpus or count, model and node, from, until or for, and comment can "
                                "be given"
                              : "from, until, for, extend, comment, devices and gpus can be changed");
}

static bool draft_read(struct api *a, const struct request *rq, struct draft *d, bool fresh, struct reply *rp)
{
    const char *key;
    json_t *v;
    *d = (struct draft){.o = read_object(rq, rp),
                        .devices = BUF_INIT(BOOKING_DEVICES * (size_t)UUID_MAX),
                        .from_ms = -1,
                        .until_ms = -1,
                        .for_ms = -1,
                        .more_ms = -1,
                        .count = -1};
    bool good = d->o != NULL;
    json_object_foreach (d->o, key, v) {
        good = good && take(a, rq, d, key, v, fresh, rp);
        if (good && !fresh)
            trail_add(rq->trail, key);
    }
    if (!good)
        return false;
    int ways = d->has_devices + (d->gpus.p != NULL) + (d->count > 0 || d->model.len || d->node.len);
    if (ways > 1)
        return reply_wrong(rp, "name the GPUs in one way: devices, or gpus, or count with model and node");
    if (fresh && ways == 0)
        return reply_wrong(rp, "say which GPUs: {\"gpus\": \"dgx2:0,1\"}, {\"devices\": [UUID]}, or {\"count\": 2, "
                               "\"model\": \"H200\"}");
    if ((d->until_ms >= 0) + (d->for_ms >= 0) + (d->more_ms >= 0) > 1)
        return reply_wrong(rp, "say the end in one way: until, or for, or extend");
    return !d->gpus.p || pick_devices(a, d->gpus, d, rp);
}

/* ---- what it is to be ---- */

static bool span_ok(const struct booking *h, int64_t now_ms, struct reply *rp)
{
    if (h->until_ms <= now_ms)
        return reply_wrong(rp, "its end is in the past");
    if (h->until_ms - h->from_ms < SHORTEST_MS)
        return reply_wrong(rp,
                           h->until_ms <= h->from_ms ? "until is not after from" : "a booking lasts a minute at least");
    if (h->until_ms - h->from_ms > LONGEST_MS || h->from_ms - now_ms > LONGEST_MS)
        return reply_wrong(rp, "a booking begins and ends within ten years");
    return true;
}

/* The name typed, where that counts: in the body or the query. */
static struct str typed_name(const struct request *rq, const struct draft *d)
{
    if (d && d->person.len)
        return d->person;
    struct str s = request_query(rq, "person");
    return s.len ? s : request_query(rq, "me");
}

static enum reply_mode put(struct api *a, struct request *rq, struct reply *rp, struct booking *h, struct str typed)
{
    char name[BOOKING_PERSON_MAX], by[BOOKING_PERSON_MAX];
    AUTO_BUF places = BUF_INIT(BOOKING_PLACES_MAX);
    struct booker who = booker_of(rq);
    snprintf(name, sizeof(name), "%.*s", (int)MIN(typed.len, sizeof(name) - 1), typed.p ? typed.p : "");
    book_by(&who, name[0] ? name : h->person, by);
    pick_places(a->live, str_of(h->devices), &places);
    h->places = places.p ? places.p : "";
    h->changed_ms = rq->now_ms;
    if (!h->id) {
        h->by = by;
        h->created_ms = rq->now_ms;
    }
    return bookings_put(a->hub, rq, rp, h, by);
}

static enum reply_mode make(struct api *a, struct request *rq, struct draft *d, struct reply *rp)
{
    char person[BOOKING_PERSON_MAX], model[NAME_MAX_LEN + 1], node[NAME_MAX_LEN + 1];
    struct booker who = booker_of(rq);
    struct err err = {0};
    int r = book_for(book_auth_of(&a->hub->conf), &who, d->person, person, &err);
    if (r < 0)
        return reply_refused(rp, r, &err);
    snprintf(model, sizeof(model), "%.*s", STR_ARG(d->model));
    snprintf(node, sizeof(node), "%.*s", STR_ARG(d->node));
    struct booking h = {.kind = BOOKING_FIRM,
                        .from_ms = MAX(d->from_ms, rq->now_ms),
                        .person = person,
                        .model = model,
                        .where = node,
                        .comment = d->comment.p ? d->comment.p : ""};
    if (d->until_ms < 0 && d->for_ms < 0)
        return reply_problem(rp, 400, "the end is missing: {\"until\": \"2026-11-20 14:00\"} or {\"for\": \"2d 4h\"}");
    h.until_ms = d->until_ms >= 0 ? d->until_ms : h.from_ms + d->for_ms;
    if (!span_ok(&h, rq->now_ms, rp))
        return REPLY_NOW;
    if (!d->has_devices) {
        h.count = (int32_t)MAX(d->count, 1);
        struct pick_request w = {.count = h.count,
                                 .model = d->model,
                                 .node = d->node,
                                 .from_ms = h.from_ms,
                                 .until_ms = h.until_ms,
                                 .now_ms = rq->now_ms,
                                 .person = person};
        r = pick_any(a->live, a->book, &w, &d->devices, &err);
        if (r < 0)
            return reply_refused(rp, r, &err);
    }
    h.devices = d->devices.p;
    return put(a, rq, rp, &h, d->person);
}

enum reply_mode post_booking(struct api *a, struct request *rq, struct reply *rp)
{
    AUTO_DRAFT d = {0};
    return draft_read(a, rq, &d, true, rp) ? make(a, rq, &d, rp) : REPLY_NOW;
}

/* ---- changes ---- */

/* Still open, and the client may change it. False: rp has the response. */
static bool may_change(struct api *a, struct request *rq, const struct booking *h, struct str typed, struct reply *rp)
{
    struct booker who = booker_of(rq);
    struct err err = {0};
    enum booking_state state = booking_state(h, rq->now_ms);
    int r = book_check_change(book_auth_of(&a->hub->conf), &who, typed, h, &err);
    if (r < 0)
        reply_refused(rp, r, &err);
    else if (state == BOOKING_OVER || state == BOOKING_RELEASED)
        reply_problem(rp, 409, "booking %" PRId64 " is %s: make a new one", h->id,
                      state == BOOKING_OVER ? "over" : "released already");
    else
        return true;
    return false;
}

static bool apply(struct booking *h, const struct draft *d, int64_t now_ms, struct reply *rp)
{
    bool begun = h->from_ms <= now_ms;
    if (d->from_ms >= 0 && begun && d->from_ms != h->from_ms)
        return reply_wrong(rp, "it has begun: its start cannot be changed any more");
    int64_t length = h->until_ms - h->from_ms;
    if (d->from_ms >= 0 && !begun) {
        h->from_ms = MAX(d->from_ms, now_ms);
        h->until_ms = h->from_ms + length; /* moved, unless the request also sets its end */
    }
    if (d->until_ms >= 0)
        h->until_ms = d->until_ms;
    else if (d->for_ms >= 0)
        h->until_ms = h->from_ms + d->for_ms;
    else if (d->more_ms >= 0)
        h->until_ms += d->more_ms;
    if (d->comment.p)
        h->comment = d->comment.p;
    if (d->has_devices)
        h->devices = d->devices.p;
    h->changes++;
    return span_ok(h, now_ms, rp);
}

enum reply_mode patch_booking(struct api *a, struct request *rq, struct reply *rp)
{
    AUTO_FREE struct booking *h = NULL;
    AUTO_DRAFT d = {0};
    int r = booking_of_path(a, rq, rp, &h);
    if (r != 1)
        return reply_mode_of_fetch(r);
    struct booking to = *h;
    bool good = draft_read(a, rq, &d, false, rp) && may_change(a, rq, h, typed_name(rq, &d), rp) &&
                apply(&to, &d, rq->now_ms, rp);
    return good ? put(a, rq, rp, &to, typed_name(rq, &d)) : REPLY_NOW;
}

enum reply_mode delete_booking(struct api *a, struct request *rq, struct reply *rp)
{
    AUTO_FREE struct booking *h = NULL;
    int r = booking_of_path(a, rq, rp, &h);
    if (r != 1 || !may_change(a, rq, h, typed_name(rq, NULL), rp))
        return reply_mode_of_fetch(r);
    struct booking to = *h;
    to.released_ms = rq->now_ms;
    to.changes++;
    return put(a, rq, rp, &to, typed_name(rq, NULL));
}
