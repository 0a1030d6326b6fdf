/*
 * routes.c: the routes that read bookings: one booking, or the bookings of a period, as JSON and CSV. Open bookings are
 * in memory; a worker thread reads the others.
 */

#include "book/routes.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/time_text.h"
#include "book/ics.h"
#include "book/pick.h"
#include "book/queue.h"
#include "book/use.h"
#include "format/render.h"
#include "hub/handlers.h"
#include "hub/hub.h"
#include "hub/past.h"

#define ROWS_BYTES  (64u << 20)
#define ICS_BACK_MS (30 * 86400000ll)

/* ---- who ---- */

struct booker booker_of(const struct request *rq)
{
    return (struct booker){.role = rq->who->role,
                           .token = rq->who->token.id[0] != 0,
                           .person = rq->who->token.person,
                           .id = rq->who->token.id};
}

/* The client's person: of its token or the proxy; if names are typed, the typed one. */
static void me_of(const struct api *a, const struct request *rq, char ret[BOOKING_PERSON_MAX])
{
    struct str typed = str_trim(request_query(rq, "me"));
    ret[0] = 0;
    if (rq->who->token.person[0])
        mem_copy_str(ret, BOOKING_PERSON_MAX, rq->who->token.person);
    else if (book_auth_of(&a->hub->conf) == BOOK_OPEN && booking_person_ok(typed))
        snprintf(ret, BOOKING_PERSON_MAX, "%.*s", STR_ARG(typed));
}

/* ---- one booking as text ---- */

static void put_use(struct json *j, enum booking_use use, const char *const *others, size_t n)
{
    json_cstr(j, "use", use_words[use]);
    json_arr(j, "others");
    for (size_t i = 0; i < n; i++)
        json_cstr(j, NULL, others[i]);
    json_end_arr(j);
}

static void put_places(struct json *j, const struct api *a, const struct booking *h, bool active)
{
    const char *others[USE_NAMES];
    size_t n = 0;
    const struct node_now *first = NULL;
    bool same = true;
    json_arr(j, "places");
    for (struct pick_device p = {.rest = str_of(h->devices)}; pick_next(a->live, &p);) {
        const struct device_now *d = p.d;
        json_obj(j, NULL);
        json_str(j, "device", p.uuid);
        json_cstr(j, "node", d ? p.n->name : NULL);
        json_cstr(j, "node_id", d ? p.n->key : NULL);
        if (d)
            json_int(j, "index", d->fact.index);
        else
            json_none(j, "index");
        if (d && d->fact.mig >= 0)
            json_int(j, "mig", d->fact.mig);
        json_cstr(j, "model", d ? d->fact.name : NULL);
        enum booking_use use = active ? booking_use_at(a->live, a->people, h, &p, others, &n) : USE_UNKNOWN;
        put_use(j, use, others, n);
        json_end_obj(j);
        same &= d && (!first || first == p.n);
        first = d && !first ? p.n : first;
    }
    json_end_arr(j);
    json_cstr(j, "node", same && first ? first->name : NULL);
    json_cstr(j, "node_id", same && first ? first->key : NULL);
}

static void put_devices(struct json *j, const struct api *a, const struct booking *h)
{
    static const char *const keys[] = {"devices", "gpus", "models"};
    for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
        json_arr(j, keys[k]);
        for (struct pick_device p = {.rest = str_of(h->devices)}; pick_next(a->live, &p);)
            if (k == 0)
                json_str(j, NULL, p.uuid);
            else if (!p.d)
                json_none(j, NULL);
            else if (k == 1)
                json_int(j, NULL, p.d->fact.index);
            else
                json_cstr(j, NULL, p.d->fact.name);
        json_end_arr(j);
    }
}

/* One row of the contract (docs/bookings.md); me: the person whose bookings are "mine". */
static void booking_json(struct json *j, const struct api *a, const struct booking *h, const char *me, int64_t now_ms)
{
    const char *others[USE_NAMES];
    size_t n = 0;
    enum booking_state state = booking_state(h, now_ms);
    enum booking_use use = state == BOOKING_ACTIVE ? booking_use(a->live, a->people, h, others, &n) : USE_UNKNOWN;
    json_obj(j, NULL);
    json_int(j, "id", h->id);
    json_cstr(j, "kind", booking_kind_words[h->kind >= 0 && h->kind < BOOKING_KINDS ? h->kind : BOOKING_FIRM]);
    json_cstr(j, "person", h->person);
    json_cstr(j, "where", h->places);
    put_places(j, a, h, state == BOOKING_ACTIVE);
    put_devices(j, a, h);
    json_int(j, "from", h->from_ms);
    json_int(j, "until", h->until_ms);
    if (h->released_ms)
        json_int(j, "released", h->released_ms);
    json_cstr(j, "comment", h->comment);
    json_cstr(j, "by", h->by);
    json_int(j, "created", h->created_ms);
    json_int(j, "changed", h->changed_ms);
    json_int(j, "changes", h->changes);
    json_cstr(j, "state", booking_words[state]);
    put_use(j, use, others, n);
    json_bool(j, "mine", me[0] && strcmp(me, h->person) == 0);
    json_end_obj(j);
}

struct json reply_row(struct reply *rp, int status, const char *path, int64_t id)
{
    rp->body = BUF_INIT(1u << 20);
    rp->status = status;
    if (status == 201)
        snprintf(rp->location, sizeof(rp->location), "%s%lld", path, (long long)id);
    return json_on(&rp->body);
}

void reply_booking(struct reply *rp, const struct api *a, const struct booking *h, const char *me, int64_t now_ms,
                   int status)
{
    struct json j = reply_row(rp, status, "/api/v1/bookings/", h->id);
    booking_json(&j, a, h, me, now_ms);
    buf_addc(&rp->body, '\n');
}

/* "dgx2:0 is booked by lee until Tue 17 Nov 14:00" */
static void conflict_words(const struct api *a, const struct booking *h, const struct booking *with, size_t more,
                           int64_t now_ms, struct buf *out)
{
    char from[MOMENT_TEXT], until[MOMENT_TEXT];
    AUTO_BUF both = BUF_INIT(BOOKING_DEVICES * (size_t)UUID_MAX);
    struct str rest = str_of(h->devices), one;
    while (str_cut(&rest, ',', &one))
        if (one.len && booking_has_device(with, one))
            buf_addf(&both, "%s%.*s", both.len ? "," : "", STR_ARG(one));
    pick_places(a->live, buf_str(&both), out);
    buf_addf(out, " %s booked by %s ", memchr(both.p ? both.p : "", ',', both.len) ? "are" : "is", with->person);
    if (with->from_ms - MAX(h->from_ms, now_ms) >= 60000)
        buf_addf(out, "from %s ", time_text_zoned(with->from_ms, a->zone, from));
    buf_addf(out, "until %s", time_text_zoned(with->until_ms, a->zone, until));
    if (more)
        buf_addf(out, ", and %zu more %s in the way", more, more == 1 ? "is" : "are");
}

enum reply_mode reply_conflict(struct reply *rp, const struct api *a, const struct booking *h, const char *me,
                               int64_t now_ms)
{
    enum { SHOWN = 20 };
    const struct booking *with[SHOWN];
    AUTO_BUF words = BUF_INIT(4096);
    size_t n = book_conflicts(a->book, h, with, SHOWN);
    if (!n)
        return reply_problem(rp, 409, "another user just booked these GPUs: try again");
    conflict_words(a, h, with[0], n - 1, now_ms, &words);
    buf_fini(&rp->body);
    rp->status = 409;
    rp->type = "application/problem+json";
    struct json j = reply_object(rp, 1u << 20);
    json_cstr(&j, "type", "about:blank");
    json_cstr(&j, "title", status_words(409));
    json_int(&j, "status", 409);
    json_str(&j, "detail", buf_str(&words));
    json_str(&j, "error", buf_str(&words));
    json_arr(&j, "conflicts");
    for (size_t i = 0; i < MIN(n, (size_t)SHOWN); i++)
        booking_json(&j, a, with[i], me, now_ms);
    json_end_arr(&j);
    return reply_object_end(rp, &j);
}

/* ---- those of a time ---- */

enum shape { SHAPE_JSON, SHAPE_CSV, SHAPE_ICS };

struct listing {
    struct async_query ask; /* first */
    int64_t from_ms, to_ms; /* to 0: without end */
    bool all;               /* cancelled ones too */
    enum shape shape;
    int64_t now_ms;
    char me[BOOKING_PERSON_MAX], *person, *device, *node;
    struct booking **v; /* copies, when they come from the store */
    size_t n, cap;
};

static bool listed(const struct listing *l, struct api *a, const struct booking *h)
{
    bool then = l->all ? h->until_ms > l->from_ms && (!l->to_ms || h->from_ms < l->to_ms)
                       : booking_overlaps(h, l->from_ms, l->to_ms ? l->to_ms : INT64_MAX);
    if (!then || hold_waits(h) || (l->person[0] && strcmp(l->person, h->person) != 0) ||
        (l->device[0] && !booking_has_device(h, str_of(l->device))))
        return false;
    bool there = !l->node[0];
    for (struct pick_device p = {.rest = str_of(h->devices)}; !there && pick_next(a->live, &p);)
        there = p.d && (strcmp(p.n->name, l->node) == 0 || strcmp(p.n->key, l->node) == 0);
    return there;
}

static const struct column_spec columns[] = {{.name = "id"},       {.name = "person"},  {.name = "gpus"},
                                             {.name = "state"},    {.name = "from"},    {.name = "until"},
                                             {.name = "released"}, {.name = "comment"}, {.name = "by"},
                                             {.name = "use"},      {.name = "devices"}};

static void csv_row(struct rows *r, const struct api *a, const struct booking *h, int64_t now_ms)
{
    char id[24], from[32], until[32], released[32] = "";
    const char *others[USE_NAMES];
    size_t n;
    enum booking_state state = booking_state(h, now_ms);
    const char *use = state == BOOKING_ACTIVE ? use_words[booking_use(a->live, a->people, h, others, &n)] : NULL;
    snprintf(id, sizeof(id), "%lld", (long long)h->id);
    clock_iso(h->from_ms, from);
    clock_iso(h->until_ms, until);
    if (h->released_ms)
        clock_iso(h->released_ms, released);
    const char *const texts[] = {id,    h->person, h->places, booking_words[state], from, until, released, h->comment,
                                 h->by, use,       h->devices};
    struct cell *c = rows_add(r);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (texts[i] && texts[i][0])
            cell_text(&c[i], str_of(texts[i]));
}

static void list_json(const struct listing *l, struct api *a, const struct booking *const *v, size_t n,
                      struct reply *rp)
{
    struct json j = reply_object(rp, ROWS_BYTES);
    json_cstr(&j, "auth", book_auth_words[book_auth_of(&a->hub->conf)]);
    json_cstr(&j, "me", l->me[0] ? l->me : NULL);
    json_int(&j, "at", l->now_ms);
    json_arr(&j, "rows");
    for (size_t i = 0; i < n && !rp->body.err; i++)
        if (listed(l, a, v[i]))
            booking_json(&j, a, v[i], l->me, l->now_ms);
    json_end_arr(&j);
    reply_object_end(rp, &j);
}

static void list_csv(const struct listing *l, struct api *a, const struct booking *const *v, size_t n, struct reply *rp)
{
    AUTO_ROWS rows = ROWS_OF(columns);
    for (size_t i = 0; i < n; i++)
        if (listed(l, a, v[i]))
            csv_row(&rows, a, v[i], l->now_ms);
    rp->type = "text/csv; charset=utf-8";
    render_rows_csv(&rp->body, &rows);
}

static void list_ics(const struct listing *l, struct api *a, const struct booking *const *v, size_t n, struct reply *rp)
{
    char name[200];
    snprintf(name, sizeof(name), "%s bookings", a->name);
    rp->type = "text/calendar; charset=utf-8";
    render_ics_start(&rp->body, name);
    for (size_t i = 0; i < n && !rp->body.err; i++)
        if (listed(l, a, v[i]))
            render_ics_booking(&rp->body, v[i]);
    render_ics_end(&rp->body);
}

static void list_give(const struct listing *l, struct api *a, const struct booking *const *v, size_t n,
                      struct reply *rp)
{
    rp->body = BUF_INIT(ROWS_BYTES);
    snprintf(rp->cache, sizeof(rp->cache), "no-store");
    if (l->shape == SHAPE_CSV)
        list_csv(l, a, v, n, rp);
    else if (l->shape == SHAPE_ICS)
        list_ics(l, a, v, n, rp);
    else
        list_json(l, a, v, n, rp);
    if (rp->body.err)
        reply_problem(rp, 413, "the response is larger than %u MiB: request less", ROWS_BYTES >> 20);
}

static void list_take(void *arg, const struct booking *h)
{
    struct listing *l = arg;
    VEC_ADD(l->v, l->n, l->cap, booking_copy(h));
}

static void list_run(struct async_query *k, const struct past_source *past, struct reply *rp)
{
    struct listing *l = (struct listing *)k;
    struct err err = {0};
    int r = past_each(past, EACH_BOOKING(list_take, l, .from_ms = l->from_ms, .to_ms = l->to_ms), &err);
    if (r < 0)
        reply_failed(rp, r, &err);
}

static void list_settle(struct async_query *k, struct api *a, struct reply *rp)
{
    struct listing *l = (struct listing *)k;
    list_give(l, a, (const struct booking *const *)l->v, l->n, rp);
}

static void list_end(struct async_query *k)
{
    struct listing *l = (struct listing *)k;
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i]);
    FREE_ALL(l->v, l->person, l->device, l->node, l);
}

/* False: rp has the response. */
static bool list_span(const struct api *a, const struct request *rq, struct listing *l, struct reply *rp)
{
    struct str from = request_query(rq, "from"), to = request_query(rq, "to");
    struct err err = {0};
    l->all = request_flag(rq, "all");
    l->from_ms = l->all ? 0 : rq->now_ms;
    if ((from.len && time_parse(from, "from", rq->now_ms, a->zone, &l->from_ms, &err) < 0) ||
        (to.len && time_parse(to, "to", rq->now_ms, a->zone, &l->to_ms, &err) < 0))
        reply_problem(rp, 400, "%s", err.msg);
    else if (l->to_ms && l->from_ms >= l->to_ms)
        reply_problem(rp, 400, "from is not before to");
    else
        return true;
    return false;
}

static enum reply_mode list_start(struct api *a, struct request *rq, const struct listing *span, struct reply *rp)
{
    struct str person = request_query(rq, "person"), device = request_query(rq, "device"),
               node = request_query(rq, "node");
    if (!device_named(a, device, rp, &device))
        return REPLY_NOW;
    struct listing *l = mem_alloc(sizeof(*l));
    *l = *span;
    l->ask = (struct async_query){.run = list_run, .end = list_end};
    l->person = mem_strn(person.p, person.len);
    l->device = mem_strn(device.p, device.len);
    l->node = mem_strn(node.p, node.len);
    me_of(a, rq, l->me);
    if (l->from_ms < rq->now_ms)
        return query_async_then(a->hub, rq, rp, &l->ask, list_settle);
    size_t n;
    const struct booking *const *v = book_all(a->book, &n);
    list_give(l, a, v, n, rp);
    list_end(&l->ask);
    return REPLY_NOW;
}

/* Includes bookings of the last month and cancelled ones: a calendar removes an event only when it is marked as
 * cancelled. */
static enum reply_mode get_bookings_ics(struct api *a, struct request *rq, struct reply *rp)
{
    struct listing l = {.shape = SHAPE_ICS, .now_ms = rq->now_ms, .from_ms = rq->now_ms - ICS_BACK_MS, .all = true};
    return list_start(a, rq, &l, rp);
}

static enum reply_mode get_bookings(struct api *a, struct request *rq, struct reply *rp)
{
    struct str format = request_query(rq, "format");
    bool csv = str_eq(format, "csv") || (!format.len && str_find(rq->header(rq, "Accept"), "text/csv") >= 0);
    struct listing span = {.shape = csv ? SHAPE_CSV : SHAPE_JSON, .now_ms = rq->now_ms};
    if (format.len && !csv && !str_eq(format, "json"))
        return reply_problem(rp, 400, "format '%.*s' is not known: there are json and csv", (int)MIN(format.len, 40u),
                             format.p);
    if (!list_span(a, rq, &span, rp))
        return REPLY_NOW;
    return list_start(a, rq, &span, rp);
}

static enum reply_mode get_booking(struct api *a, struct request *rq, struct reply *rp)
{
    AUTO_FREE struct booking *h = NULL;
    char me[BOOKING_PERSON_MAX];
    me_of(a, rq, me);
    int r = booking_of_path(a, rq, rp, &h);
    if (r == 1)
        reply_booking(rp, a, h, me, rq->now_ms, 200);
    return reply_mode_of_fetch(r);
}

/* clang-format off */
const struct route book_routes[] = {
    {GET, "/api/v1/bookings", ROLE_NONE, .summary = "Who has booked which GPUs, by start: those that are not over, or those of a time (docs/bookings.md)",
     .params = "from: time (default: now); to: time; person: name; device: UUID or NODE:N; node: id or name; all: include ended and cancelled bookings; me: name that 'mine' stands for where names are typed; format: json or csv", .handle = get_bookings},
    {METHOD_POST, "/api/v1/bookings", ROLE_NONE, .any = true, .write = true, .max_body = MAX_BOOKING_BODY, .gate = bookings_allowed,
     .summary = "Book: {\"gpus\": \"dgx2:0,1\" or \"devices\": [UUID] or \"count\", \"model\", \"node\", \"from\", \"until\" or \"for\": \"2d 4h\", \"comment\", \"person\"}; 409 lists the conflicts", .handle = post_booking},
    {GET, "/api/v1/bookings.ics", ROLE_NONE, .summary = "The same as a calendar to subscribe to (RFC 5545)",
     .params = "person: name; device: UUID or NODE:N; node: id or name", .handle = get_bookings_ics},
    {GET, "/api/v1/bookings/{id}", ROLE_NONE, .summary = "One booking", .params = "me: name that 'mine' stands for where names are typed", .handle = get_booking},
    {METHOD_PATCH, "/api/v1/bookings/{id}", ROLE_NONE, .any = true, .write = true, .max_body = MAX_BOOKING_BODY, .gate = bookings_allowed,
     .summary = "Change a booking: {\"from\", \"until\" or \"for\" or \"extend\", \"comment\", \"devices\" or \"gpus\"}, each optional", .params = "person: the user's name, where names are typed", .handle = patch_booking},
    {METHOD_DELETE, "/api/v1/bookings/{id}", ROLE_NONE, .any = true, .write = true, .max_body = MAX_SMALL_BODY, .gate = bookings_allowed,
     .summary = "Release a booking: one that is planned is cancelled, one that is active ends now", .params = "person: the user's name, where names are typed", .handle = delete_booking},
    {GET, "/api/v1/waits", ROLE_NONE, .summary = "Who waits for GPUs, in order of arrival, and who was just given some (docs/wait.md)", .handle = get_waits},
    {METHOD_POST, "/api/v1/waits", ROLE_NONE, .any = true, .write = true, .max_body = MAX_SMALL_BODY, .gate = bookings_allowed,
     .summary = "Queue for GPUs: {\"count\", \"mem\": \"40G\", \"model\", \"node\", \"same_host\", \"free_for\": \"2m\", \"need\", \"hold\", \"tell\", \"person\", \"comment\"}, each optional", .handle = post_wait},
    {METHOD_POST, "/api/v1/waits/{id}", ROLE_NONE, .any = true, .write = true, .no_audit = true, .max_body = MAX_SMALL_BODY, .gate = bookings_allowed,
     .summary = "Keep the place in the queue: at least every 15 s, or it is lost; returns whether the turn has come", .params = "person: the user's name, where names are typed", .handle = post_wait_beat},
    {METHOD_DELETE, "/api/v1/waits/{id}", ROLE_NONE, .any = true, .write = true, .max_body = MAX_SMALL_BODY, .gate = bookings_allowed,
     .summary = "Leave the queue, or release the GPUs it assigned", .params = "person: the user's name, where names are typed", .handle = delete_wait},
    {GET, "/api/v1/free", ROLE_NONE, .summary = "GPUs that are free now, not booked and not reserved by the queue; 409 if there are too few",
     .params = "count: number of GPUs (default: 1); mem: minimum free memory, e.g. 40G; model: pattern; node: pattern; same_host: true for all on one node; free_for: minimum time that a GPU has been free (default: 15s); need: time from now without a booking (default: 1h)", .handle = get_free},
    {0},
};
/* clang-format on */
