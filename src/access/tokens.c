/* tokens.c: all tokens in memory, by id and by node; what is changed beside the hub is read by a thread. */
#include "access/tokens.h"

#include <errno.h>

#include "base/clock.h"
#include "base/lookup.h"
#include "hub/hub.h"
#include "hub/record_fetch.h"

#define SETTLED_MS 12000 /* what was put before is in the store, or no server is there */

struct slot {
    struct store_token token;
    bool gone;      /* its node was deleted: the store may have it for a moment still */
    bool lost;      /* the store does not have it */
    int64_t put_ms; /* by this hub, monotonic; 0: never */
    uint64_t read;  /* the last time it was read with all others */
    int64_t spent, away,
        paced_ms; /* enroll: nodes added and turned away lately, less ENROLL_RATE a second up to then */
};

struct tokens {
    struct store *store;
    char version[24];            /* of the store's when all were read */
    bool reading;                /* them again */
    bool shared;                 /* with other hubs */
    struct store_file_stat look; /* when that was */
    uint64_t reads;              /* of all of them */
    struct lookup by_id, by_node;
};

struct tokens *tokens_new(struct store *store)
{
    return NEW(struct tokens, .store = store);
}

void tokens_share(struct tokens *t)
{
    t->shared = true;
}

void tokens_free(struct tokens *t)
{
    size_t at = 0;
    if (!t)
        return;
    for (struct slot *s; (s = lookup_each(&t->by_id, &at));)
        free(s);
    lookup_fini(&t->by_id);
    lookup_fini(&t->by_node);
    free(t);
}

static struct slot *find_slot(const struct tokens *t, const char *id)
{
    return lookup_named(&t->by_id, id, offsetof(struct slot, token.id));
}

static struct slot *find_good(const struct tokens *t, const char *id)
{
    struct slot *s = find_slot(t, id);
    return s && !s->gone && !s->lost ? s : NULL;
}

static bool is_agent(const struct store_token *st)
{
    return strcmp(st->role, role_words[ROLE_AGENT]) == 0;
}

static void set_token(struct tokens *t, const struct store_token *to)
{
    struct slot *s = find_slot(t, to->id);
    if (!s) {
        s = mem_zero(1, sizeof(*s));
        lookup_add(&t->by_id, lookup_hash(to->id), s);
    } else if (s->token.node[0]) {
        lookup_drop(&t->by_node, lookup_hash(s->token.node), s);
    }
    s->token = *to;
    if (to->node[0])
        lookup_add(&t->by_node, lookup_hash(to->node), s);
}

/* From here on it counts for whoever wants its node, whether or not the disk has it. */
static int put_tokens(struct tokens *t, const struct store_token *v, size_t n, struct err *err)
{
    int r = store_put(t->store, STORE_TOKEN, v, n, NULL, NULL);
    if (r < 0)
        return err_set(err, r, "the hub's disk does not keep up: try again");
    set_token(t, &v[n - 1]);
    find_slot(t, v->id)->put_ms = MAX(clock_mono_ms(), 1);
    return 0;
}

static int put_token(struct tokens *t, const struct store_token *st, struct err *err)
{
    return put_tokens(t, st, 1, err);
}

/* ---- what is in the store ---- */

struct tokens_read {
    struct record_fetch read; /* first */
    struct hub *h;
    struct late *late; /* who waits to be admitted; NULL: nobody */
    char id[20];       /* the one to read; empty: all, if there is another version */
    char version[24];
    bool all; /* they were read */
    struct store_token *v;
    size_t n, cap;
};

static void add_read(void *arg, const struct store_token *st)
{
    struct tokens_read *x = arg;
    VEC_ADD(x->v, x->n, x->cap, *st);
}

static int read_tokens(struct record_fetch *r, struct store *s, struct err *err)
{
    struct tokens_read *x = (struct tokens_read *)r;
    AUTO_BUF now = BUF_INIT(sizeof(x->version) - 1);
    struct store_token one = {0};
    int got = x->id[0] ? store_get(s, GET_TOKEN(x->id, &one), err)
                       : store_get(s, GET_SETTING(STORE_TOKENS_VERSION, &now), err);
    if (got == 1 && x->id[0])
        add_read(x, &one);
    if (got < 1 || x->id[0] || strcmp(now.p, x->version) == 0)
        return MIN(got, 0);
    mem_copy_str(x->version, sizeof(x->version), now.p); /* what comes after it is read the next time */
    x->all = true;
    return MIN(store_each(s, EACH_TOKEN(add_read, x), err), 0);
}

static bool is_settled(const struct slot *s)
{
    return !s->put_ms || clock_mono_ms() - s->put_ms > SETTLED_MS;
}

/* Alone, the hub knows all but this before the store does. True: what it is cannot be said yet. */
static bool take_token(struct tokens *t, struct slot *s, const struct store_token *st)
{
    int64_t revoked_ms = MAX(s->token.revoked_ms, st->revoked_ms), enrolled = MAX(s->token.enrolled, st->enrolled);
    bool differs = t->shared && (strcmp(s->token.node, st->node) != 0 || memcmp(s->token.hash, st->hash, 32) != 0);

    if (differs && is_settled(s))
        set_token(t, st);
    s->token.revoked_ms = revoked_ms;
    s->token.enrolled = enrolled;
    s->lost = false;
    return differs && !is_settled(s);
}

/* The store did not take what another hub's came before. True: as above. */
static bool lose_tokens(struct tokens *t)
{
    bool early = false;
    size_t at = 0;

    for (struct slot *s; (s = lookup_each(&t->by_id, &at));)
        if (s->read != t->reads && is_agent(&s->token)) {
            s->lost |= is_settled(s);
            early |= !s->lost;
        }
    return early;
}

static bool know_token(struct tokens *t, const struct store_token *st)
{
    struct slot *s = find_slot(t, st->id);

    if (s)
        return take_token(t, s, st);
    set_token(t, st);
    return false;
}

void tokens_know(struct tokens *t, const struct store_token *st)
{
    know_token(t, st);
}

static void take_read(struct tokens *t, struct tokens_read *x)
{
    bool early = false;

    t->reads += x->all;
    for (size_t i = 0; i < x->n; i++) {
        early |= know_token(t, &x->v[i]);
        if (x->all)
            find_slot(t, x->v[i].id)->read = t->reads;
    }
    if (x->all && t->shared)
        early |= lose_tokens(t);
    if (early) /* it is read again */
        t->look = (struct store_file_stat){0};
    else if (!x->id[0])
        mem_copy_str(t->version, sizeof(t->version), x->version);
    free(x->v);
    x->v = NULL;
    x->n = x->cap = 0;
}

int tokens_load(struct tokens *t, struct err *err)
{
    struct tokens_read x = {0};
    mem_copy_str(x.version, sizeof(x.version), t->version);
    int r = read_tokens(&x.read, t->store, err);
    if (r == 0)
        take_read(t, &x);
    free(x.v);
    return r;
}

static void take_all(struct record_fetch *r)
{
    struct tokens_read *x = (struct tokens_read *)r;
    struct tokens *t = x->h->tokens;
    t->reading = false;
    if (r->code == 0)
        take_read(t, x);
    else
        t->look = (struct store_file_stat){0};
    FREE_ALL(x->v, x);
}

void tokens_tick(struct hub *h)
{
    struct tokens *t = h->tokens;
    if (t->reading || !store_touched(t->store, &t->look, clock_wall_ms()))
        return;
    struct tokens_read *x = NEW(struct tokens_read, .read = {.read = read_tokens, .done = take_all}, .h = h);
    mem_copy_str(x->version, sizeof(x->version), t->version);
    t->reading = record_fetch(h, &x->read, NULL) == 0;
    if (!t->reading) {
        t->look = (struct store_file_stat){0};
        free(x);
    }
}

static struct tokens_read *read_one(struct hub *h, const char *id, void (*done)(struct record_fetch *r))
{
    struct tokens_read *x = NEW(struct tokens_read, .read = {.read = read_tokens, .done = done}, .h = h);
    mem_copy_str(x->id, sizeof(x->id), id);
    return x;
}

static void admit_again(struct record_fetch *r)
{
    struct tokens_read *x = (struct tokens_read *)r;
    struct reply rp = {.close = true};
    if (r->code == 0) {
        take_read(x->h->tokens, x);
        httpd_late_admit(x->late);
    } else {
        reply_problem(&rp, 503, TOKENS_UNREADABLE);
        httpd_late_reply(x->late, &rp);
    }
    FREE_ALL(x->v, x);
}

int tokens_admit_later(struct hub *h, struct request *rq, const char *id)
{
    if (rq->who->looked || !rq->conn)
        return 0;
    struct tokens_read *x = read_one(h, id, admit_again);
    int r = record_fetch(h, &x->read, NULL);
    if (r < 0) {
        free(x);
        return r;
    }
    x->late = httpd_late(rq);
    rq->who->looked = true;
    return -EINPROGRESS;
}

static void end_read(struct record_fetch *r)
{
    struct tokens_read *x = (struct tokens_read *)r;
    FREE_ALL(x->v, x);
}

int tokens_find_for(struct hub *h, struct request *rq, const char *id, struct token *ret)
{
    struct tokens_read *x = (struct tokens_read *)request_fetched(rq);
    if (x && x->read.code < 0)
        return x->read.code;
    if (x)
        take_read(h->tokens, x);
    if (tokens_find(h->tokens, id, ret) || x)
        return tokens_find(h->tokens, id, ret);
    x = read_one(h, id, end_read);
    int r = record_fetch_for(h, rq, &x->read, NULL);
    if (r != -EINPROGRESS)
        free(x);
    return r;
}

/* ---- looking up ---- */

bool tokens_find(const struct tokens *t, const char *id, struct token *ret)
{
    const struct slot *s = find_good(t, id);
    if (!s)
        return false;
    const struct store_token *from = &s->token;
    int role = role_by_word(str_of(from->role));
    bool over = from->expires_ms && clock_wall_ms() >= from->expires_ms;
    *ret = (struct token){.role = role > 0 ? (enum role)role : ROLE_NONE,
                          .revoked = from->revoked_ms != 0 || role <= 0 || over,
                          .expires_ms = from->expires_ms};
    mem_copy_str(ret->id, sizeof(ret->id), from->id);
    mem_copy_str(ret->person, sizeof(ret->person), from->person);
    mem_copy_str(ret->node, sizeof(ret->node), from->node);
    memcpy(ret->hash, from->hash, sizeof(ret->hash));
    return true;
}

/* The next token of a node; NULL: no more. */
static struct slot *next_of(const struct tokens *t, const char *node, size_t *at)
{
    struct slot *s;
    do
        s = lookup_next_named(&t->by_node, node, offsetof(struct slot, token.node), at);
    while (s && (s->gone || s->lost || !is_agent(&s->token)));
    return s;
}

/* Who holds a node: what its tokens say. */
struct holders {
    bool revoked;
    const struct store_token *mine, *other; /* NULL: none */
};

static struct holders holders_of(const struct tokens *t, const char *node, const char *but, const char *enroll_note)
{
    struct holders h = {0};
    size_t at = 0;
    for (const struct slot *s; (s = next_of(t, node, &at));) {
        const struct store_token *st = &s->token;
        if (strcmp(st->id, but) == 0)
            continue;
        if (enroll_note && strcmp(st->note, enroll_note) == 0 && !st->revoked_ms) {
            h.mine = !h.mine || st->created_ms > h.mine->created_ms ? st : h.mine;
        } else if (st->revoked_ms) {
            h.revoked = true;
        } else if (st->used_ms) {
            h.other = st;
        }
    }
    return h;
}

static int say_held(const char *node, const struct store_token *by, struct err *err)
{
    return err_set(err, -EACCES, "node %s has a token already (%s): `muster token revoke %s` frees it", node, by->id,
                   by->id);
}

int tokens_use(struct tokens *t, const char *id, const char *node, int64_t now_ms, struct err *err)
{
    struct slot *s = find_good(t, id);
    if (!s || s->token.revoked_ms)
        return err_set(err, -EACCES, "this token is gone");
    if (s->token.node[0] && strcmp(s->token.node, node) != 0)
        return err_set(err, -EACCES,
                       "this token belongs to node %s, not to %s: make another with `muster token new --role agent`",
                       s->token.node, node);
    if (s->token.node[0] && now_ms - s->token.used_ms < DAY_MS)
        return 0;
    struct store_token st = s->token;
    bool binds = !st.node[0] || !st.used_ms;
    struct holders h = binds ? holders_of(t, node, id, NULL) : (struct holders){0};
    if (h.other)
        return say_held(node, h.other, err);
    mem_copy_str(st.node, sizeof(st.node), node);
    st.used_ms = now_ms;
    return put_token(t, &st, err);
}

/* Room for one more now? A token made for a number of nodes adds them all at once if it must. */
static bool pace(struct slot *s, int *retry_s)
{
    int64_t mono_ms = clock_mono_ms(), passed = MIN(MAX(mono_ms - s->paced_ms, 0), DAY_MS);
    int64_t gone = passed * ENROLL_RATE / 1000;
    if (gone > 0 || s->paced_ms > mono_ms) { /* less leaves paced_ms where it is: fractions add up */
        s->spent = MAX(s->spent - gone, 0);
        s->away = MAX(s->away - gone, 0);
        s->paced_ms = mono_ms;
    }
    if (s->spent < MAX(s->token.uses, ENROLL_BURST)) {
        s->spent++;
        return true;
    }
    *retry_s = (int)MIN(1 + s->away / ENROLL_RATE, 600); /* one behind the other: not all at the same moment */
    s->away++;
    return false;
}

int tokens_enroll(struct tokens *t, const char *enroll_id, const char *node, bool alive, int64_t now_ms, char text[64],
                  int *retry_s, struct err *err)
{
    char note[128], made_text[64], new_id[20];
    struct slot *with = find_good(t, enroll_id);
    if (!with || with->token.revoked_ms || (with->token.expires_ms && now_ms >= with->token.expires_ms))
        return err_set(err, -EACCES, "this token is gone");
    snprintf(note, sizeof(note), STORE_ENROLLED_WITH "%s", enroll_id);
    struct holders h = holders_of(t, node, "", note);
    if (h.revoked && !h.mine)
        return err_set(err, -EACCES,
                       "the token of node %s was revoked: give it a new one with `muster token new --role agent --node "
                       "%s`",
                       node, node);
    if (h.other)
        return say_held(node, h.other, err);
    if (h.mine && alive)
        return err_set(err, -EBUSY, "node %s is alive and has a token: stop its agent and wait half a minute", node);
    const struct store_token *e = &with->token;
    if (!h.mine && e->uses && e->enrolled >= e->uses)
        return err_set(err, -EDQUOT,
                       "this enroll token was made for %lld node%s and is used up: make another with `muster token new "
                       "--role enroll`",
                       (long long)e->uses, e->uses == 1 ? "" : "s");
    if (!pace(with, retry_s))
        return err_set(err, -EUSERS,
                       "this enroll token adds %d nodes at once and then %d a second: wait, or make one for N "
                       "with `muster token new --role enroll --uses N`",
                       ENROLL_BURST, ENROLL_RATE);
    struct store_token st = {.created_ms = now_ms};
    if (h.mine)
        st = *h.mine; /* the same token with a new secret: the old one ends */
    token_new(h.mine ? new_id : st.id, st.hash, made_text);
    mem_copy_str(st.role, sizeof(st.role), role_words[ROLE_AGENT]);
    mem_copy_str(st.node, sizeof(st.node), node);
    mem_copy_str(st.note, sizeof(st.note), note);
    st.used_ms = 0;
    bool is_new = !h.mine;
    int r = put_token(t, &st, err);
    if (r < 0)
        return r;
    with->token.enrolled += is_new;
    snprintf(text, 64, "mst_%.8s_%s", st.id, made_text + strlen("mst_xxxxxxxx_"));
    return 0;
}

int tokens_move(struct tokens *t, const char *id, const char *node, int64_t now_ms, struct err *err)
{
    const struct slot *s = find_good(t, id);
    if (!s || s->token.revoked_ms)
        return err_set(err, -EACCES, "this token is gone");
    struct store_token st[2] = {s->token, s->token};
    st[0].node[0] = 0; /* the store gives none that has a node to another */
    mem_copy_str(st[1].node, sizeof(st[1].node), node);
    st[0].used_ms = st[1].used_ms = now_ms;
    return put_tokens(t, st, 2, err);
}

void tokens_forget(struct tokens *t, const char *node)
{
    size_t at = 0;
    for (struct slot *s; (s = next_of(t, node, &at));)
        s->gone = true;
}
