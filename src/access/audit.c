/* audit.c: makes the entries of the audit log. */
#include "access/audit.h"

#include <jansson.h>
#include <pwd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/rand.h"
#include "hub/hub.h"
#include "model/note.h"
#include "store/records.h"

#define OBJECT_SIZE 200
#define WHO_SIZE    64
#define ENTRY_MAX   4096
#define SECRET_HEAD "mst_" /* of every token */

/* Entries with a rate in common: a burst, then one in AUDIT_EVERY. */
enum audit_rate { REFUSED, REFUSED_USERS, ANONYMOUS, AUDIT_RATES };

/* The same for the writes of one token, or of one person without a token. */
struct audit_share {
    char who[WHO_SIZE];
    int64_t paid_ms;
};

struct audit {
    uint32_t number, start;       /* of the next entry; of this start of the hub: both in an id */
    int64_t paid_ms[AUDIT_RATES]; /* monotonic: the time up to which each rate is used */
    struct audit_share *shares;   /* of users that wrote recently */
    size_t n_shares, cap_shares;
    uint64_t skipped; /* requests without an entry since the last entry */
};

struct entry {
    struct trail trail; /* first */
    struct hub *h;
    int64_t at_ms;
    bool none; /* nothing was written */
    enum method method;
    const struct route *route;
    enum role role;
    char token[20], person[64], address[64], object[OBJECT_SIZE];
};

struct audit *audit_new(void)
{
    return NEW(struct audit, .start = (uint32_t)rand_u64());
}

void audit_free(struct audit *a)
{
    if (a)
        free(a->shares);
    free(a);
}

static bool is_user(enum role role)
{
    return role == ROLE_MEMBER || role == ROLE_ADMIN || role == ROLE_READER;
}

static bool is_machine(enum role role)
{
    return role != ROLE_NONE && !is_user(role);
}

/* As much of it as there is room for, in whole characters. */
static void set_object(struct entry *e, struct str s)
{
    if (str_find(s, SECRET_HEAD) >= 0)
        s = STR("***");
    size_t n = MIN(s.len, sizeof(e->object) - 1);
    while (n < s.len && n > 0 && (s.p[n] & 0xc0) == 0x80)
        n--;
    memcpy(e->object, s.p, n);
    e->object[n] = 0;
}

/* A record that was made: its id is in the reply. */
static void set_object_made(struct entry *e, const struct reply *rp)
{
    struct str body = buf_str(rp->blob ? &rp->blob->plain : &rp->body);
    json_auto_t *o = body.len ? json_loadb(body.p, body.len, 0, NULL) : NULL;
    json_t *id = json_object_get(o, "id");
    char number[24];

    snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(id));
    if (json_is_string(id))
        set_object(e, str_n(json_string_value(id), json_string_length(id)));
    else if (json_is_integer(id))
        set_object(e, str_of(number));
}

/* A3. Whether there is room for one more entry, which uses it. */
static bool use_room(int64_t *paid_ms, int64_t now_ms, int64_t burst)
{
    *paid_ms = MAX(*paid_ms, now_ms);
    if (*paid_ms - now_ms > (burst - 1) * AUDIT_EVERY)
        return false;
    *paid_ms += AUDIT_EVERY;
    return true;
}

/* The share of a user: its own, else one that is unused by now, else a new one. */
static struct audit_share *find_share(struct audit *a, const char *who, int64_t now_ms)
{
    size_t i = FIRST(a->n_shares, k, strcmp(a->shares[k].who, who) == 0);

    if (i == a->n_shares)
        i = FIRST(a->n_shares, k, a->shares[k].paid_ms <= now_ms);
    if (i == a->n_shares)
        VEC_ADD(a->shares, a->n_shares, a->cap_shares, (struct audit_share){0});
    mem_copy_str(a->shares[i].who, WHO_SIZE, who);
    return &a->shares[i];
}

static bool has_room(struct audit *a, const struct entry *e, bool refused)
{
    int64_t now_ms = clock_mono_ms();

    if (refused)
        return use_room(&a->paid_ms[is_user(e->role) ? REFUSED_USERS : REFUSED], now_ms, AUDIT_BURST);
    if (!is_user(e->role))
        return use_room(&a->paid_ms[ANONYMOUS], now_ms, AUDIT_BURST);
    return use_room(&find_share(a, e->token[0] ? e->token : e->person, now_ms)->paid_ms, now_ms, AUDIT_USER_BURST);
}

static void kept(void *arg, int result)
{
    if (result < 0 && log_ratelimit(arg, "audit", clock_wall_ms()))
        log_warn("audit", "entries of the audit log cannot be stored: %s; this log has them", store_error_text(result));
}

/* An entry as it is stored; "" is not known. */
struct audit_text {
    int64_t at_ms;
    const char *person, *role, *token, *address, *method, *route, *object, *detail;
    int status;
    uint64_t skipped;
};

static const char *or_null(const char *text)
{
    return text[0] ? text : NULL;
}

static void begin_text(struct json *j, const struct audit_text *t)
{
    json_obj(j, NULL);
    json_int(j, "at", t->at_ms);
    json_cstr(j, "person", or_null(t->person));
    json_cstr(j, "role", t->role);
    json_cstr(j, "token", or_null(t->token));
    json_cstr(j, "address", t->address);
    json_cstr(j, "method", t->method);
    json_cstr(j, "route", t->route);
    json_cstr(j, "object", or_null(t->object));
    json_some(j, "detail", t->detail);
    json_int(j, "status", t->status);
    if (t->skipped)
        json_uint(j, "skipped", t->skipped);
}

static void store_entry(const struct entry *e, int status)
{
    struct audit *a = e->h->audit;
    AUTO_BUF b = BUF_INIT(ENTRY_MAX);
    struct json j = json_on(&b);
    /* by time, and no other entry's, of this hub or another one */
    struct note n = {.kind = NOTE_AUDIT, .id = note_id_at(e->at_ms) | (a->number++ & 0x3ff) << 10 | (a->start & 0x3ff)};

    begin_text(&j, &(struct audit_text){.at_ms = e->at_ms,
                                        .person = e->person,
                                        .role = role_words[e->role],
                                        .token = e->token,
                                        .address = e->address,
                                        .method = method_words[__builtin_ctz((unsigned)e->method)],
                                        .route = e->route->path,
                                        .object = e->object,
                                        .detail = e->trail.detail,
                                        .status = status,
                                        .skipped = a->skipped});
    json_end_obj(&j);
    a->skipped = 0;
    n.bytes = buf_str(&b);
    store_put(e->h->store, STORE_NOTE, &n, 1, kept, e->h);
}

int audit_command(struct store *s, const char *command, int status, const char *object, const char *detail,
                  struct err *err)
{
    AUTO_BUF b = BUF_INIT(ENTRY_MAX);
    struct json j = json_on(&b);
    const struct passwd *user = getpwuid(getuid());
    int64_t at_ms = clock_wall_ms();
    struct note n = {.kind = NOTE_AUDIT, .id = note_id_at(at_ms) | (int64_t)(rand_u64() & 0xfffff)};

    begin_text(&j, &(struct audit_text){.at_ms = at_ms,
                                        .person = user ? user->pw_name : "",
                                        .role = "local",
                                        .token = "",
                                        .address = "local",
                                        .method = "muster",
                                        .route = command,
                                        .object = object,
                                        .detail = detail,
                                        .status = status});
    json_uint(&j, "uid", getuid());
    json_end_obj(&j);
    n.bytes = buf_str(&b);
    return store_put_now(s, STORE_NOTE, &n, err);
}

static void log_entry(const struct entry *e, int status)
{
    const char *detail = e->trail.detail;

    log_info("audit", "%s (%s%s%s) from %s: %s %s%s%s%s%s%s: %d", e->person[0] ? e->person : "nobody",
             role_words[e->role], e->token[0] ? ", token " : "", e->token, e->address,
             method_words[__builtin_ctz((unsigned)e->method)], e->route->path, e->object[0] ? " " : "", e->object,
             detail[0] ? " (" : "", detail, detail[0] ? ")" : "", status);
}

static void end_entry(struct trail *t, const struct reply *rp)
{
    struct entry *e = (struct entry *)t;
    struct audit *a = e->h->audit;
    int status = rp->outcome ? rp->outcome : rp->status ? rp->status : 200;

    bool refused = status >= 400, counts = refused || !(is_machine(e->role) || e->none);

    if (!refused && !e->object[0])
        set_object_made(e, rp);
    bool stored = counts && has_room(a, e, refused);
    if (stored)
        store_entry(e, status);
    a->skipped += counts && !stored;
    if (stored || (counts && !refused && is_user(e->role)))
        log_entry(e, status);
    free(e);
}

static void set_asker(struct entry *e, enum role role, const struct token *t)
{
    e->role = role;
    mem_copy_str(e->token, sizeof(e->token), t->id);
    mem_copy_str(e->person, sizeof(e->person), t->person);
}

struct trail *audit_begin(struct api *a, const struct request *rq)
{
    struct entry *e = NEW(struct entry, .trail.end = end_entry, .h = a->hub, .at_ms = rq->now_ms, .method = rq->method,
                          .route = rq->route);

    set_asker(e, rq->who->role, &rq->who->token);
    mem_copy_str(e->address, sizeof(e->address), rq->peer);
    if (strchr(rq->route->path, '{'))
        set_object(e, rq->tail);
    return &e->trail;
}

void audit_by(const struct request *rq, const struct token *t)
{
    if (rq->trail)
        set_asker((struct entry *)rq->trail, t->role, t);
}

void audit_none(const struct request *rq)
{
    if (rq->trail)
        ((struct entry *)rq->trail)->none = true;
}
