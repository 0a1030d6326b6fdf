/* store.c: records.h and samples.h over whichever backend is open. Arguments that no backend need see twice are checked
 * here. */
#include "store/records.h"

#include "base/mem.h"
#include "store/backend.h"

void store_close(struct store *s)
{
    if (s)
        s->ops->close(s);
}

void store_loaded(struct store *s)
{
    s->loaded = true;
    s->thread = pthread_self();
}

/* Before the disk is asked for anything that whoever calls waits for. */
static void note_wait(struct store *s)
{
    s->waits += s->loaded && pthread_equal(s->thread, pthread_self());
}

int store_flush(struct store *s, struct err *err)
{
    return s->ops->flush(s, false, err);
}

void store_append(struct store *s, const struct store_batch *b, size_t n, store_done_fn *done, void *arg)
{
    s->ops->append(s, b, n, done, arg);
}

bool store_has(const struct store *s, const char *node, uint64_t run, uint64_t number)
{
    return s->ops->has((struct store *)s, node, run, number);
}

/* A blob named 0 is no blob. */
void store_put_blob(struct store *s, const char *node, enum blob_kind kind, uint64_t id, struct str bytes)
{
    if (id)
        s->ops->put_blob(s, node, kind, id, bytes);
}

int store_get_blob(struct store *s, const char *node, uint64_t id, struct buf *ret, struct err *err)
{
    return id ? s->ops->get_blob(s, node, id, ret, err) : 0;
}

int store_put(struct store *s, enum store_kind kind, const void *v, size_t n, store_done_fn *done, void *arg)
{
    return s->ops->put(s, kind, v, n, done, arg);
}

int store_put_now(struct store *s, enum store_kind kind, const void *record, struct err *err)
{
    note_wait(s);
    return s->ops->put_now(s, kind, record, err);
}

int store_get(struct store *s, const struct store_get *g, struct err *err)
{
    bool of_tokens = g->kind == STORE_TOKEN || (g->kind == STORE_SETTING && strcmp(g->name, STORE_TOKENS_VERSION) == 0);

    if (!of_tokens)
        note_wait(s);
    return s->ops->get(s, g, err);
}

int store_each(struct store *s, const struct store_each *e, struct err *err)
{
    if (e->kind != STORE_TOKEN)
        note_wait(s);
    return s->ops->each(s, e, err);
}

void store_take_over(struct store *s, const char *from, const char *to)
{
    if (*from && strcmp(from, to) != 0)
        s->ops->take_over(s, from, to);
}

int store_each_batch(struct store *s, const struct newest_ask *newest,
                     int (*each)(void *arg, const struct store_batch *b), void *arg, struct err *err)
{
    note_wait(s);
    return s->ops->each_batch(s, newest, each, arg, err);
}

void store_stat(const struct store *s, struct store_stat *ret)
{
    s->ops->stat((struct store *)s, ret);
    ret->waits = s->waits;
}

struct history_session *store_session(struct store *s)
{
    return NEW(struct history_session, .store = s, .own = s->ops->session(s));
}

void store_session_end(struct history_session *x)
{
    if (x && x->own)
        x->store->ops->session_end(x->store, x->own);
    free(x);
}

int store_node_at(struct store *s, const char *node, int64_t at_ms, struct node_was *ret, struct err *err)
{
    *ret = (struct node_was){0};
    note_wait(s);
    return s->ops->node_at(s, node, at_ms, ret, err);
}

/* Its own, or the coarsest whose bins fit and that is still kept. */
static int choose_tier(const struct store_conf *conf, const struct history_ask *ask)
{
    const int64_t keep[] = {conf->keep_raw_ms, conf->keep_minute_ms, conf->keep_hour_ms};
    int tier = ask->tier;

    if (tier >= 0 && tier < TIER_COUNT)
        return tier;
    for (tier = TIER_HOUR; tier > TIER_RAW && (ask->step_ms < tier_bin_ms(tier) || ask->step_ms % tier_bin_ms(tier));)
        tier--;
    while (tier < TIER_HOUR && conf->now_ms && keep[tier] && ask->from_ms < conf->now_ms() - keep[tier])
        tier++;
    return tier;
}

int store_history(struct store *s, const struct history_ask *ask, struct history *ret, struct err *err)
{
    struct bins_sink b;
    int tier = choose_tier(&s->conf, ask);
    int r = bins_init(&b, ask, tier, err);

    note_wait(s);
    b.s.session = ask->session ? ask->session->own : NULL;
    if (r == 0)
        r = s->ops->history(s, ask->node, tier, &b.s, err);
    if (r == 0) {
        *ret = b.h;
        ret->damaged = b.s.damaged;
        b.h = (struct history){0};
    }
    bins_fini(&b);
    return r;
}

int store_points(struct store *s, const char *node, const char *device, const char *metric, int64_t from_ms,
                 int64_t to_ms, int (*each)(void *arg, int64_t at_ms, int64_t v), void *arg, struct err *err)
{
    struct points_sink p;

    note_wait(s);
    points_init(&p, device, metric, from_ms, to_ms);
    int r = s->ops->history(s, node, TIER_RAW, &p.s, err);
    if (r == 0)
        r = points_give(&p, each, arg);
    points_fini(&p);
    return r;
}

/* The hours know every series that the finer tiers have, and few chunks hold them. */
int store_series(struct store *s, const char *node, int64_t from_ms, int64_t to_ms,
                 int (*each)(void *arg, const char *device, const char *metric), void *arg, struct err *err)
{
    struct series_sink p;

    note_wait(s);
    series_init(&p, from_ms, to_ms);
    int r = s->ops->history(s, node, TIER_MINUTE, &p.s, err);
    if (r == 0)
        r = series_give(&p, each, arg);
    series_fini(&p);
    return r;
}

int store_settle(struct store *s, struct err *err)
{
    return s->ops->flush(s, true, err);
}
