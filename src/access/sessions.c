/*
 * sessions.c: sessions in a list, found by their hash. In the store a session is a note of one line, "HASH TOKEN
 * CREATED UNTIL USED PERSON".
 */
#include "access/sessions.h"

#include <errno.h>
#include <inttypes.h>

#include "access/audit.h"
#include "base/log.h"
#include "base/lookup.h"
#include "base/mem.h"
#include "base/order.h"
#include "http/address.h"
#include "hub/handlers.h"
#include "hub/hub.h"
#include "model/note.h"
#include "store/records.h"

#define USED_MS 3600000
#define LINE    400

struct session {
    uint8_t hash[32];
    char token[20], person[64];
    int64_t created_ms, until_ms, used_ms;
};

struct sessions {
    struct store *store;
    struct tokens *tokens;
    struct session **v;
    size_t n, cap;
    struct lookup by_hash;
};

struct sessions *sessions_new(struct store *store, struct tokens *tokens)
{
    return NEW(struct sessions, .store = store, .tokens = tokens);
}

void sessions_free(struct sessions *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++)
        free(s->v[i]);
    free(s->v);
    lookup_fini(&s->by_hash);
    free(s);
}

size_t sessions_count(const struct sessions *s)
{
    return s->n;
}

/* What is compared is a hash: how far it agrees tells nothing of the secret. */
static struct session *find_session(const struct sessions *s, const uint8_t hash[32])
{
    size_t at = 0;
    struct session *x;
    do
        x = lookup_next(&s->by_hash, (uint64_t)secret_id(hash), &at);
    while (x && memcmp(x->hash, hash, 32) != 0);
    return x;
}

static void add_session(struct sessions *s, const struct session *x)
{
    struct session *own = mem_alloc(sizeof(*own));
    *own = *x;
    VEC_ADD(s->v, s->n, s->cap, own);
    lookup_add(&s->by_hash, (uint64_t)secret_id(x->hash), own);
}

static void remove_session(struct sessions *s, size_t i)
{
    lookup_drop(&s->by_hash, (uint64_t)secret_id(s->v[i]->hash), s->v[i]);
    free(s->v[i]);
    s->v[i] = s->v[--s->n];
}

/* ---- in the store ---- */

static void kept(UNUSED void *arg, int result)
{
    if (result < 0)
        log_warn("hub", "a browser's session could not be stored: %s", store_error_text(result));
}

static void store_session_note(struct sessions *s, const struct session *x)
{
    AUTO_BUF line = BUF_INIT(LINE);
    buf_addx(&line, x->hash, sizeof(x->hash));
    buf_addf(&line, " %s %" PRId64 " %" PRId64 " %" PRId64 " %s", x->token, x->created_ms, x->until_ms, x->used_ms,
             x->person);
    struct note note = {.kind = NOTE_SESSION, .id = secret_id(x->hash), .bytes = buf_str(&line)};
    store_put(s->store, STORE_NOTE, &note, 1, kept, NULL);
}

static void drop_note(struct sessions *s, int64_t id)
{
    store_put(s->store, STORE_NOTE, &(struct note){.kind = NOTE_SESSION, .id = id, .over_ms = NOTE_GONE}, 1, kept,
              NULL);
}

static bool read_hash(struct str hex, uint8_t ret[32])
{
    uint64_t byte;
    bool good = hex.len == 64;
    for (size_t i = 0; i < 32 && good; i++) {
        good = str_hex(str_n(hex.p + 2 * i, 2), &byte);
        ret[i] = good ? (uint8_t)byte : 0;
    }
    return good;
}

static bool read_text(struct str s, char *ret, size_t size)
{
    if (s.len >= size)
        return false;
    memcpy(ret, s.p, s.len);
    ret[s.len] = 0;
    return true;
}

static bool read_session(struct str line, struct session *ret)
{
    struct str hash, token, created, until, used;
    return str_word(&line, &hash) && str_word(&line, &token) && str_word(&line, &created) && str_word(&line, &until) &&
           str_word(&line, &used) && read_hash(hash, ret->hash) && read_text(token, ret->token, sizeof(ret->token)) &&
           read_text(str_trim(line), ret->person, sizeof(ret->person)) && str_int(created, &ret->created_ms) &&
           str_int(until, &ret->until_ms) && str_int(used, &ret->used_ms);
}

struct loading {
    struct sessions *s;
    int64_t now_ms;
    int64_t *over; /* notes that are nobody's any more */
    size_t n, cap;
};

static void load_note(void *arg, const struct note *n)
{
    struct loading *l = arg;
    struct session x = {0};
    if (l->s->n < SESSIONS_MAX && read_session(n->bytes, &x) && secret_id(x.hash) == n->id && x.until_ms > l->now_ms &&
        !find_session(l->s, x.hash))
        add_session(l->s, &x);
    else
        VEC_ADD(l->over, l->n, l->cap, n->id);
}

static void drop_session(struct sessions *s, size_t i)
{
    drop_note(s, secret_id(s->v[i]->hash));
    remove_session(s, i);
}

void sessions_take(struct sessions *s, const struct note *n, bool gone, int64_t now_ms)
{
    struct session x = {0}, *there;
    size_t i = FIRST(s->n, k, secret_id(s->v[k]->hash) == n->id);

    if (gone && i < s->n) /* dropped again: this hub may have stored its use after the other hub ended it */
        drop_session(s, i);
    if (gone || !read_session(n->bytes, &x) || secret_id(x.hash) != n->id || x.until_ms <= now_ms)
        return;
    there = find_session(s, x.hash);
    if (there)
        there->used_ms = MAX(there->used_ms, x.used_ms);
    else if (s->n < SESSIONS_MAX)
        add_session(s, &x);
}

int sessions_load(struct sessions *s, int64_t now_ms, struct err *err)
{
    struct loading l = {.s = s, .now_ms = now_ms};
    int r = store_each(s->store, EACH_NOTE(NOTE_SESSION, load_note, &l), err);
    for (size_t i = s->n; i-- > 0;) {
        struct token t;
        if (!tokens_find(s->tokens, s->v[i]->token, &t) || t.revoked)
            drop_session(s, i);
    }
    for (size_t i = 0; i < l.n; i++)
        drop_note(s, l.over[i]);
    free(l.over);
    return MIN(r, 0);
}

/* ---- from log in to log out ---- */

/* Those whose time is over, and those of a token that is no more (NULL: none). */
static void drop_over(struct sessions *s, const char *token, int64_t now_ms)
{
    for (size_t i = s->n; i-- > 0;)
        if (s->v[i]->until_ms <= now_ms || (token && strcmp(s->v[i]->token, token) == 0))
            drop_session(s, i);
}

/* S2: before one more of this token. */
static void make_room(struct sessions *s, const char *token, int64_t now_ms)
{
    size_t oldest = 0, oldest_own = 0, own = 0;
    drop_over(s, NULL, now_ms);
    for (size_t i = 0; i < s->n; i++) {
        bool mine = strcmp(s->v[i]->token, token) == 0;
        if (s->v[i]->used_ms < s->v[oldest]->used_ms)
            oldest = i;
        if (mine && (!own++ || s->v[i]->used_ms < s->v[oldest_own]->used_ms))
            oldest_own = i;
    }
    if (own >= SESSIONS_PER_TOKEN)
        drop_session(s, oldest_own);
    else if (s->n >= SESSIONS_MAX)
        drop_session(s, oldest);
}

void sessions_begin(struct sessions *s, const struct token *t, int64_t now_ms, int64_t until_ms,
                    char cookie[SECRET_MAX])
{
    struct session x = {.created_ms = now_ms, .until_ms = until_ms, .used_ms = now_ms};
    make_room(s, t->id, now_ms);
    secret_new(cookie, x.hash);
    mem_copy_str(x.token, sizeof(x.token), t->id);
    mem_copy_str(x.person, sizeof(x.person), t->person);
    add_session(s, &x);
    store_session_note(s, &x);
}

bool sessions_find(struct sessions *s, struct str cookie, int64_t now_ms, struct token *ret)
{
    uint8_t hash[32];
    struct token t;
    struct session *x = secret_hash(cookie, hash) ? find_session(s, hash) : NULL;
    bool known = x && tokens_find(s->tokens, x->token, &t);
    if (!x || (!known && x->until_ms > now_ms)) /* one that another hub made may be of a token that is read next */
        return false;
    if (x->until_ms <= now_ms || t.revoked) {
        char id[20];
        mem_copy_str(id, sizeof(id), x->token);
        drop_over(s, x->until_ms > now_ms ? id : NULL, now_ms);
        return false;
    }
    if (now_ms - x->used_ms >= USED_MS) {
        x->used_ms = now_ms;
        store_session_note(s, x);
    }
    *ret = t;
    return true;
}

bool session_is_of(const char *person, const char *token, const struct token *own)
{
    return own->person[0] ? strcmp(person, own->person) == 0 : own->id[0] && strcmp(token, own->id) == 0;
}

bool sessions_view(const struct sessions *s, size_t i, int64_t now_ms, struct session_view *ret)
{
    const struct session *x = s->v[i];

    *ret = (struct session_view){.id = secret_id(x->hash),
                                 .person = x->person,
                                 .created_ms = x->created_ms,
                                 .until_ms = x->until_ms,
                                 .used_ms = x->used_ms};
    return x->until_ms > now_ms && tokens_find(s->tokens, x->token, &ret->token) && !ret->token.revoked;
}

int64_t sessions_id(struct str cookie)
{
    uint8_t hash[32];

    return secret_hash(cookie, hash) ? secret_id(hash) : 0;
}

bool sessions_end_one(struct sessions *s, int64_t id, void (*done)(void *arg, int result), void *arg)
{
    size_t i = FIRST(s->n, k, secret_id(s->v[k]->hash) == id);

    if (i == s->n)
        return false;
    remove_session(s, i);
    store_put(s->store, STORE_NOTE, &(struct note){.kind = NOTE_SESSION, .id = id, .over_ms = NOTE_GONE}, 1, done, arg);
    return true;
}

size_t sessions_end(struct sessions *s, struct str header, const struct token *own, bool all,
                    void (*done)(void *arg, int result), void *arg)
{
    struct note *gone = NULL;
    size_t n = 0, cap = 0;
    uint8_t hash[2][32];
    bool given[] = {secret_hash(cookie_value(header, SESSION_COOKIE_TLS), hash[0]),
                    secret_hash(cookie_value(header, SESSION_COOKIE), hash[1])};
    for (size_t i = s->n; i-- > 0;) {
        const struct session *x = s->v[i];
        if (!(all && session_is_of(x->person, x->token, own)) &&
            !ANY(ARRAY_LEN(given), k, given[k] && memcmp(x->hash, hash[k], 32) == 0))
            continue;
        VEC_ADD(gone, n, cap, (struct note){.kind = NOTE_SESSION, .id = secret_id(x->hash), .over_ms = NOTE_GONE});
        remove_session(s, i);
    }
    if (n)
        store_put(s->store, STORE_NOTE, gone, n, done, arg);
    free(gone);
    return n;
}

/* ---- the feature: tokens, and browsers that are logged in ---- */

static void *open_access(struct hub *h)
{
    h->tokens = tokens_new(h->store);
    if (h->others.arg)
        tokens_share(h->tokens);
    h->sessions = sessions_new(h->store, h->tokens);
    h->audit = audit_new();
    h->api.request_user_check = request_user_check;
    h->api.audit = audit_begin;
    return h;
}

static int check_blocks(const char *name, const struct opt_list *l, struct err *err)
{
    for (size_t i = 0; i < l->n; i++)
        if (!address_block_ok(l->v[i]))
            return err_set(err, -EINVAL, "%s '%s' is not an address or a block as 10.0.0.0/8", name, l->v[i]);
    return 0;
}

static int check_settings(UNUSED void *self, const struct hub_conf *conf, UNUSED void **next, struct err *err)
{
    const struct access_settings *c = feature_settings(conf, &access_feature);
    if (c->proxy_header && !c->proxy_from.n)
        return err_set(err, -EINVAL, "proxy.header needs proxy.from: the addresses it is believed from");
    int r = check_blocks("proxy.from", &c->proxy_from, err);
    return r < 0 ? r : check_blocks("read_from", &c->read_from, err);
}

static void take_settings(void *self, UNUSED void *next)
{
    struct hub *h = self;
    const struct access_settings *c = feature_settings(&h->conf, &access_feature);
    struct api *a = &h->api;
    a->proxy_header = c->proxy_header;
    a->proxies = (const char *const *)c->proxy_from.v;
    a->n_proxies = c->proxy_from.n;
    a->read_from = (const char *const *)c->read_from.v;
    a->n_read_from = c->read_from.n;
    a->admins = (const char *const *)c->proxy_admins.v;
    a->n_admins = c->proxy_admins.n;
}

static int load_access(void *self, struct err *err)
{
    struct hub *h = self;
    int r = tokens_load(h->tokens, err);
    return r < 0 ? r : sessions_load(h->sessions, h->started_ms, err);
}

static void hear_news(void *self, const struct hub_event *w)
{
    const struct note *n = w->kind == HUB_EVENT_RECORD && w->record->kind == STORE_NOTE ? w->record->record : NULL;
    if (n && n->kind == NOTE_SESSION)
        sessions_take(((struct hub *)self)->sessions, n, w->record->gone, w->now_ms);
}

static void tick(void *self, UNUSED int64_t now_ms)
{
    tokens_tick(self);
}

static void close_access(void *self)
{
    struct hub *h = self;
    audit_free(h->audit);
    sessions_free(h->sessions);
    tokens_free(h->tokens);
}

const struct feature access_feature = {.name = "access",
                                       FEATURE_SETTINGS(access),
                                       .routes = access_routes,
                                       .open = open_access,
                                       .prepare = check_settings,
                                       .take = take_settings,
                                       .load = load_access,
                                       .hear = hear_news,
                                       .tick = tick,
                                       .close = close_access};
