/* store.c: records.h and samples.h over whichever backend is open. Arguments that no backend need see twice are checked
 * here. */
#include "store/records.h"

#include <errno.h>

#include "base/mem.h"
#include "store/backend.h"

void store_close(struct store *s)
{
    if (s)
        s->ops->close(s);
}

int store_flush(struct store *s, struct err *err)
{
    return s->ops->flush(s, err);
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

bool store_has_blob(const struct store *s, const char *node, uint64_t id)
{
    return id && s->ops->get_blob((struct store *)s, node, id, NULL, NULL) == 1;
}

int store_get_blob(struct store *s, const char *node, uint64_t id, struct buf *ret, struct err *err)
{
    return id ? s->ops->get_blob(s, node, id, ret, err) : 0;
}

void store_put_node(struct store *s, const struct store_node *n)
{
    if (*n->key)
        s->ops->put(s, STORE_NODE, n, 1, NULL, NULL);
}

int store_nodes(struct store *s, void (*each)(void *arg, const struct store_node *n), void *arg, struct err *err)
{
    return s->ops->each(s, &(struct store_each){.kind = STORE_NODE, .give.node = each, .arg = arg}, err);
}

void store_take_over(struct store *s, const char *from, const char *to)
{
    if (*from && *to && strcmp(from, to) != 0)
        s->ops->take_over(s, from, to);
}

void store_drop_node(struct store *s, const char *key)
{
    if (*key)
        s->ops->take_over(s, key, "");
}

void store_put_proc(struct store *s, const struct store_proc *p)
{
    s->ops->put(s, STORE_PROC, p, 1, NULL, NULL);
}

int store_procs(struct store *s, const char *node, int64_t from_ms, void (*each)(void *arg, const struct store_proc *p),
                void *arg, struct err *err)
{
    return store_procs_in(s, node ? node : "", from_ms, 0, each, arg, err);
}

int store_procs_in(struct store *s, const char *node, int64_t from_ms, int64_t to_ms,
                   void (*each)(void *arg, const struct store_proc *p), void *arg, struct err *err)
{
    struct store_each e =
        {.kind = STORE_PROC, .node = node, .from_ms = from_ms, .to_ms = to_ms, .give.proc = each, .arg = arg};

    return s->ops->each(s, &e, err);
}

void store_put_event(struct store *s, const char *node, const char *device, const struct node_event *e)
{
    s->ops->put(s, STORE_EVENT, &(struct store_event){node, device, *e}, 1, NULL, NULL);
}

int store_events(struct store *s, const char *node, int64_t from_ms, size_t limit,
                 void (*each)(void *arg, const char *node, const char *device, const struct node_event *e), void *arg,
                 struct err *err)
{
    struct store_each e = {.kind = STORE_EVENT,
                           .node = node ? node : "",
                           .from_ms = from_ms,
                           .limit = limit,
                           .give.event = each,
                           .arg = arg};

    return s->ops->each(s, &e, err);
}

void store_job_put(struct store *s, const struct job_fact *j, store_done_fn *done, void *arg)
{
    s->ops->put(s, STORE_JOB, j, 1, done, arg);
}

void store_job_change(struct store *s, const struct job_change *c, store_done_fn *done, void *arg)
{
    s->ops->put(s, STORE_JOB_CHANGE, c, 1, done, arg);
}

int store_job_get(struct store *s, int64_t id, struct job_fact **ret, struct err *err)
{
    return s->ops->get(s, &(struct store_get){.kind = STORE_JOB, .id = id, .ret.job = ret}, err);
}

int store_jobs(struct store *s, const struct job_ask *ask, void (*each)(void *arg, const struct job_fact *j), void *arg,
               struct err *err)
{
    return s->ops->each(s, &(struct store_each){.kind = STORE_JOB, .jobs = ask, .give.job = each, .arg = arg}, err);
}

void store_notes_put(struct store *s, const struct note *v, size_t n, store_done_fn *done, void *arg)
{
    s->ops->put(s, STORE_NOTE, v, n, done, arg);
}

int store_notes(struct store *s, int32_t kind, bool open, void (*each)(void *arg, const struct note *n), void *arg,
                struct err *err)
{
    struct store_each e = {.kind = STORE_NOTE, .note = kind, .open = open, .give.note = each, .arg = arg};

    return s->ops->each(s, &e, err);
}

void store_booking_put(struct store *s, const struct booking *h, store_done_fn *done, void *arg)
{
    s->ops->put(s, STORE_BOOKING, h, 1, done, arg);
}

int store_booking_get(struct store *s, int64_t id, struct booking **ret, struct err *err)
{
    return s->ops->get(s, &(struct store_get){.kind = STORE_BOOKING, .id = id, .ret.booking = ret}, err);
}

int store_holds(struct store *s, int64_t from_ms, int64_t to_ms, void (*each)(void *arg, const struct booking *h),
                void *arg, struct err *err)
{
    struct store_each e = {.kind = STORE_BOOKING, .from_ms = from_ms, .to_ms = to_ms, .give.booking = each, .arg = arg};

    return s->ops->each(s, &e, err);
}

void store_usage_put(struct store *s, const struct usage_put *u)
{
    s->ops->put(s, STORE_USAGE, u, 1, NULL, NULL);
}

void store_usage_mark(struct store *s, const char *node, int64_t at_ms, int64_t seq)
{
    s->ops->put(s, STORE_USAGE_MARK, &(struct usage_mark){node, at_ms, seq}, 1, NULL, NULL);
}

int store_usage(struct store *s, const struct usage_ask *ask,
                int (*each)(void *arg, const char *node, const struct usage_span *span), void *arg, struct err *err)
{
    return s->ops->each(s, &(struct store_each){.kind = STORE_USAGE, .usage = ask, .give.usage = each, .arg = arg},
                        err);
}

int store_usage_marks(struct store *s, void (*each)(void *arg, const char *node, int64_t at_ms, int64_t seq), void *arg,
                      struct err *err)
{
    return s->ops->each(s, &(struct store_each){.kind = STORE_USAGE_MARK, .give.usage_mark = each, .arg = arg}, err);
}

int store_usage_reach(struct store *s, void (*each)(void *arg, const char *node, int64_t first_ms, int64_t last_ms),
                      void *arg, struct err *err)
{
    return s->ops->each(s, &(struct store_each){.kind = STORE_USAGE_REACH, .give.usage_mark = each, .arg = arg}, err);
}

int store_token_put(struct store *s, const struct store_token *t, struct err *err)
{
    return s->ops->put_now(s, STORE_TOKEN, t, err);
}

int store_token_put_soon(struct store *s, const struct store_token *t, struct err *err)
{
    int r = s->ops->put(s, STORE_TOKEN, t, 1, NULL, NULL);

    return r < 0 ? err_set(err, r, "cannot note the token: %s", strerror(-r)) : 0;
}

int store_token_get(struct store *s, const char *id, struct store_token *ret, struct err *err)
{
    return s->ops->get(s, &(struct store_get){.kind = STORE_TOKEN, .name = id, .ret.token = ret}, err);
}

int store_tokens(struct store *s, const char *node, void (*each)(void *arg, const struct store_token *t), void *arg,
                 struct err *err)
{
    struct store_each e = {.kind = STORE_TOKEN, .node = node ? node : "", .give.token = each, .arg = arg};

    return s->ops->each(s, &e, err);
}

int store_setting_get(struct store *s, const char *name, struct buf *ret, struct err *err)
{
    return s->ops->get(s, &(struct store_get){.kind = STORE_SETTING, .name = name, .ret.setting = ret}, err);
}

int store_setting_put(struct store *s, const char *name, struct str value, struct err *err)
{
    return s->ops->put_now(s, STORE_SETTING, &(struct store_setting){name, value}, err);
}

int store_newest(struct store *s, int64_t back_ms, size_t max, int (*each)(void *arg, const struct store_batch *b),
                 void *arg, struct err *err)
{
    return s->ops->each_batch(s, &(struct newest_ask){back_ms, max}, each, arg, err);
}

int store_scan(struct store *s, int (*each)(void *arg, const struct store_batch *b), void *arg, struct err *err)
{
    return s->ops->each_batch(s, NULL, each, arg, err);
}

void store_stat(const struct store *s, struct store_stat *ret)
{
    s->ops->stat((struct store *)s, ret);
}

struct history_session *store_session(struct store *s)
{
    struct history_session *x = mem_zero(1, sizeof(*x));

    x->store = s;
    x->own = s->ops->session(s);
    return x;
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
    return s->ops->node_at(s, node, at_ms, ret, err);
}

int store_procs_at(struct store *s, const char *node, int64_t at_ms,
                   void (*each)(void *arg, const struct store_proc *p), void *arg, struct err *err)
{
    return s->ops->procs_at(s, node, at_ms, each, arg, err);
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

    series_init(&p, from_ms, to_ms);
    int r = s->ops->history(s, node, TIER_MINUTE, &p.s, err);
    if (r == 0)
        r = series_give(&p, each, arg);
    series_fini(&p);
    return r;
}

int store_settle(struct store *s, struct err *err)
{
    return s->ops->settle(s, err);
}
