/* tokens.c: looks tokens up in the store, and remembers for a moment what it found: agents ask every second. */
#include "access/tokens.h"

#include <errno.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/lookup.h"
#include "base/rand.h"
#include "store/records.h"

#define BUCKETS 4096   /* a power of two */
#define LOOK_MS 1000   /* how often to ask whether any token changed: how long a revoked one may go on working */
#define KEEP_MS 300000 /* read again even if none did */
#define SOON_MS 60000  /* a deleted node's tokens are out of the store after this */

#define COMING_MAX 65536 /* tokens on their way to the disk: then it does not keep up */

/* A token as it was put without waiting. Until the store has it, this counts, not what the store says of it. */
struct coming {
    struct coming *next; /* of its bucket, by node */
    struct slot *slot;
    uint64_t commits; /* of the store when it was put */
    struct store_token token;
};

struct slot { /* of a token that is in the store: there are never more */
    int64_t until_ms;
    int64_t used_ms;
    int64_t gone_ms; /* before this it may be in the store still */
    struct coming *coming;
    struct token token;
    /* of an enroll token */
    int64_t uses, enrolled;
    int64_t spent, away, paced_ms; /* enrolled and turned away lately, less ENROLL_RATE a second up to then */
};

struct tokens {
    struct store *store;
    int64_t looked_ms; /* when version was last read */
    char version[24];
    struct lookup slots; /* by id */
    struct coming *coming[BUCKETS];
    size_t n_coming, swept; /* swept: the bucket of coming to be looked through next */
};

struct tokens *tokens_new(struct store *store)
{
    return NEW(struct tokens, .store = store, .looked_ms = clock_mono_ms() - LOOK_MS);
}

void tokens_free(struct tokens *t)
{
    size_t at = 0;
    if (!t)
        return;
    for (struct slot *s; (s = lookup_each(&t->slots, &at));)
        FREE_ALL(s->coming, s);
    lookup_fini(&t->slots);
    free(t);
}

static struct slot *slot_find(const struct tokens *t, const char *id)
{
    return lookup_named(&t->slots, id, offsetof(struct slot, token.id));
}

/* Once a second: when any token was put, here or by the command line, what is remembered is read again. */
static void look_for_changes(struct tokens *t, int64_t mono_ms)
{
    AUTO_BUF now = BUF_INIT(sizeof(t->version) - 1);
    if (mono_ms - t->looked_ms < LOOK_MS)
        return;
    t->looked_ms = mono_ms;
    if (store_get(t->store, GET_SETTING(STORE_TOKENS_VERSION, &now), NULL) == 1 && strcmp(now.p, t->version) == 0)
        return;
    mem_copy_str(t->version, sizeof(t->version), now.p ? now.p : "");
    size_t at = 0;
    for (struct slot *s; (s = lookup_each(&t->slots, &at));)
        s->until_ms = 0;
}

/* Text as the store keeps it -> what auth works with. */
static void token_of(const struct store_token *from, struct token *ret)
{
    int role = role_by_word(str_of(from->role));
    *ret =
        (struct token){.role = role > 0 ? (enum role)role : ROLE_NONE, .revoked = from->revoked_ms != 0 || role <= 0};
    mem_copy_str(ret->id, sizeof(ret->id), from->id);
    mem_copy_str(ret->person, sizeof(ret->person), from->person);
    mem_copy_str(ret->node, sizeof(ret->node), from->node);
    ret->expires_ms = from->expires_ms;
    memcpy(ret->hash, from->hash, sizeof(ret->hash));
}

static struct slot *remember(struct tokens *t, const struct store_token *from)
{
    struct slot *s = slot_find(t, from->id);
    if (!s) {
        s = mem_zero(1, sizeof(*s));
        lookup_add(&t->slots, lookup_hash(from->id), s);
    }
    s->until_ms = clock_mono_ms() + KEEP_MS;
    s->used_ms = from->used_ms;
    s->uses = from->uses;
    s->enrolled = MAX(s->enrolled, from->enrolled); /* the last ones may be on their way to the disk */
    token_of(from, &s->token);
    return s;
}

/* ---- what is on its way to the disk ---- */

static struct coming **coming_bucket(struct tokens *t, const char *node)
{
    return &t->coming[fnv64(node, strlen(node)) % BUCKETS];
}

static void drop_coming(struct tokens *t, struct coming *c)
{
    struct coming **at = coming_bucket(t, c->token.node);
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    c->slot->coming = NULL;
    t->n_coming--;
    free(c);
}

static uint64_t count_commits(const struct tokens *t)
{
    struct store_stat st;
    store_stat(t->store, &st);
    return st.commits;
}

/*
 * A commit carries everything that was queued, and one that fails is tried again with all of it: of two that went well
 * since the put the first may have begun before it, the second had it.
 */
static bool is_written(const struct coming *c, uint64_t commits)
{
    return commits >= c->commits + 2;
}

/* NULL: what the store says counts. */
static struct coming *find_coming(struct tokens *t, struct slot *s)
{
    if (s && s->coming && is_written(s->coming, count_commits(t)))
        drop_coming(t, s->coming);
    return s ? s->coming : NULL;
}

static void sweep_coming(struct tokens *t, struct coming **bucket)
{
    uint64_t commits = *bucket ? count_commits(t) : 0;
    for (struct coming *c = *bucket, *next; c; c = next) {
        next = c->next;
        if (is_written(c, commits))
            drop_coming(t, c);
    }
}

/* A token that gets a node, put without waiting: from here on it counts for whoever wants that node. */
static int put_soon(struct tokens *t, const struct store_token *st, struct slot **ret, struct err *err)
{
    sweep_coming(t, &t->coming[t->swept++ % BUCKETS]); /* what nobody asks for goes, too */
    int r = t->n_coming < COMING_MAX ? store_put(t->store, STORE_TOKEN, st, 1, NULL, NULL) : -EAGAIN;
    if (r < 0)
        return err_set(err, r, "the hub's disk does not keep up: try again");
    struct slot *s = *ret = remember(t, st);
    struct coming *c = mem_alloc(sizeof(*c)), **at = coming_bucket(t, st->node);
    if (s->coming)
        drop_coming(t, s->coming); /* the store gets both, in this order */
    *c = (struct coming){.next = *at, .slot = s, .commits = count_commits(t), .token = *st};
    *at = s->coming = c;
    t->n_coming++;
    return 0;
}

/* A token as it will be once everything is written; nothing changes one that was revoked. 1, 0 or -errno. */
static int read_token(struct tokens *t, const char *id, struct store_token *ret, struct err *err)
{
    struct coming *c = find_coming(t, slot_find(t, id));
    int r = store_get(t->store, GET_TOKEN(id, ret), err);
    if (!c || r < 0 || (r == 1 && ret->revoked_ms))
        return r;
    *ret = c->token;
    return 1;
}

static bool is_revoked(struct tokens *t, const char *id)
{
    struct store_token st;
    return store_get(t->store, GET_TOKEN(id, &st), NULL) == 1 && st.revoked_ms;
}

struct each_of {
    struct tokens *t;
    void (*each)(void *arg, const struct store_token *st);
    void *arg;
};

static void each_stored(void *arg, const struct store_token *st)
{
    struct each_of *e = arg;
    struct slot *s = slot_find(e->t, st->id);
    bool coming = s && s->coming && !st->revoked_ms; /* and perhaps to another node */
    bool going = s && clock_mono_ms() < s->gone_ms;
    if (!coming && !going)
        e->each(e->arg, st);
}

/* Every token of a node as it will be once everything is written. */
static int each_token_of(struct tokens *t, const char *node, void (*each)(void *arg, const struct store_token *st),
                         void *arg, struct err *err)
{
    struct each_of e = {t, each, arg};
    struct coming **bucket = coming_bucket(t, node);
    sweep_coming(t, bucket); /* before the store is asked: it has what goes here */
    int r = store_each(t->store, EACH_TOKEN(each_stored, &e, .node = node), err);
    for (struct coming *c = *bucket; c && r >= 0; c = c->next)
        if (strcmp(c->token.node, node) == 0 && !is_revoked(t, c->token.id))
            each(arg, &c->token);
    return r;
}

/* ---- looking up ---- */

/* Only what is known is kept: a token made a moment ago works at once. */
static int look_up(struct tokens *t, const char *id, struct slot **ret)
{
    int64_t mono_ms = clock_mono_ms();
    look_for_changes(t, mono_ms);
    struct slot *s = slot_find(t, id);
    struct store_token st;
    if (s && mono_ms < s->gone_ms)
        return 0;
    if (!s || mono_ms >= s->until_ms || s->gone_ms) {
        int r = read_token(t, id, &st, NULL);
        if (r != 1)
            return r;
        s = remember(t, &st);
        if (s->coming)
            s->until_ms = mono_ms + LOOK_MS;
    }
    *ret = s;
    return 1;
}

int tokens_find(struct tokens *t, const char *id, struct token *ret)
{
    struct slot *s;
    int r = look_up(t, id, &s);
    if (r != 1)
        return r;
    *ret = s->token;
    if (ret->expires_ms && clock_wall_ms() >= ret->expires_ms)
        ret->revoked = true;
    return r;
}

/* Who holds a node: what its tokens say. */
struct holders {
    const char *but, *enroll_note;
    bool revoked, other, mine;
    struct store_token last; /* of ours */
    char other_id[20];
};

static void holder(void *arg, const struct store_token *st)
{
    struct holders *h = arg;
    if (strcmp(st->role, role_words[ROLE_AGENT]) != 0 || strcmp(st->id, h->but) == 0)
        return;
    if (h->enroll_note && strcmp(st->note, h->enroll_note) == 0 && !st->revoked_ms) {
        h->mine = true;
        h->last = *st;
    } else if (st->revoked_ms) {
        h->revoked = true;
    } else if (st->used_ms) {
        h->other = true;
        mem_copy_str(h->other_id, sizeof(h->other_id), st->id);
    }
}

int tokens_use(struct tokens *t, const char *id, const char *node, int64_t now_ms, struct err *err)
{
    struct slot *s;
    struct store_token st;
    int r = look_up(t, id, &s);
    if (r != 1)
        return err_set(err, r < 0 ? r : -EACCES, "tokens cannot be read just now");
    if (s->token.node[0] && strcmp(s->token.node, node) != 0)
        return err_set(err, -EACCES,
                       "this token belongs to node %s, not to %s: make another with `muster token new --role agent`",
                       s->token.node, node);
    if (s->token.node[0] && now_ms - s->used_ms < DAY_MS)
        return 0;
    bool binds = !s->token.node[0] || !s->used_ms;
    struct holders h = {.but = id};
    if (binds && (r = each_token_of(t, node, holder, &h, err)) < 0)
        return r;
    if (h.other)
        return err_set(err, -EACCES, "node %s has a token already (%s): `muster token revoke %s` frees it", node,
                       h.other_id, h.other_id);
    if (read_token(t, id, &st, err) != 1 || st.revoked_ms)
        return err_set(err, -EACCES, "this token is gone");
    mem_copy_str(st.node, sizeof(st.node), node);
    st.used_ms = now_ms;
    if (binds)
        return put_soon(t, &st, &s, err);
    r = store_put(t->store, STORE_TOKEN, &st, 1, NULL, NULL); /* should it be lost, the next use notes it again */
    if (r < 0)
        return err_set(err, r, "cannot note the token: %s", strerror(-r));
    remember(t, &st);
    return 0;
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
    if (s->spent < MAX(s->uses, ENROLL_BURST)) {
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
    struct slot *with, *s;
    struct holders h = {.but = "", .enroll_note = note};
    snprintf(note, sizeof(note), STORE_ENROLLED_WITH "%s", enroll_id);
    int r = look_up(t, enroll_id, &with);
    if (r != 1)
        return err_set(err, r < 0 ? r : -EACCES, "tokens cannot be read just now");
    r = each_token_of(t, node, holder, &h, err);
    if (r < 0)
        return r;
    if (h.revoked && !h.mine)
        return err_set(err, -EACCES,
                       "the token of node %s was revoked: give it a new one with `muster token new --role agent --node "
                       "%s`",
                       node, node);
    if (h.other)
        return err_set(err, -EACCES, "node %s has a token already (%s): `muster token revoke %s` frees it", node,
                       h.other_id, h.other_id);
    if (h.mine && alive)
        return err_set(err, -EBUSY, "node %s is alive and has a token: stop its agent and wait half a minute", node);
    if (!h.mine && with->uses && with->enrolled >= with->uses)
        return err_set(err, -EDQUOT,
                       "this enroll token was made for %lld node%s and is used up: make another with `muster token new "
                       "--role enroll`",
                       (long long)with->uses, with->uses == 1 ? "" : "s");
    if (!pace(with, retry_s))
        return err_set(err, -EUSERS,
                       "this enroll token adds %d nodes at once and then %d a second: wait, or make one for so many "
                       "with `muster token new --role enroll --uses N`",
                       ENROLL_BURST, ENROLL_RATE);
    struct store_token st = {.created_ms = now_ms};
    if (h.mine)
        st = h.last; /* the same token with a new secret: the old one ends */
    token_new(h.mine ? new_id : st.id, st.hash, made_text);
    mem_copy_str(st.role, sizeof(st.role), role_words[ROLE_AGENT]);
    mem_copy_str(st.node, sizeof(st.node), node);
    mem_copy_str(st.note, sizeof(st.note), note);
    st.used_ms = 0;
    r = put_soon(t, &st, &s, err);
    if (r < 0)
        return r;
    with->enrolled += !h.mine;
    s->gone_ms = 0; /* the node was deleted, and is here again */
    snprintf(text, 64, "mst_%.8s_%s", st.id, made_text + strlen("mst_xxxxxxxx_"));
    return 0;
}

int tokens_move(struct tokens *t, const char *id, const char *node, int64_t now_ms, struct err *err)
{
    struct slot *s;
    struct store_token st;
    if (look_up(t, id, &s) != 1 || read_token(t, id, &st, err) != 1 || st.revoked_ms)
        return err_set(err, -EACCES, "this token is gone");
    mem_copy_str(st.node, sizeof(st.node), node);
    st.used_ms = now_ms;
    return put_soon(t, &st, &s, err);
}

static void forget_one(void *arg, const struct store_token *st)
{
    struct tokens *t = arg;
    if (strcmp(st->role, role_words[ROLE_AGENT]) == 0)
        remember(t, st)->gone_ms = clock_mono_ms() + SOON_MS;
}

void tokens_forget(struct tokens *t, const char *node)
{
    size_t at = 0;
    each_token_of(t, node, forget_one, t, NULL);
    for (struct slot *s; (s = lookup_each(&t->slots, &at));) /* and what the store could not say */
        if (s->token.role == ROLE_AGENT && strcmp(s->token.node, node) == 0) {
            s->gone_ms = clock_mono_ms() + SOON_MS;
            if (s->coming)
                drop_coming(t, s->coming);
        }
}
