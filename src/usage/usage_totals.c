/*
 * usage_totals.c: decides when to sum, hands a worker what it needs for that, and has the store keep what it found.
 * Days that are over for more than a week are not summed any more: what is counted again of them changes no counter.
 */
#include "usage/usage_totals.h"

#include <errno.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/order.h"
#include "base/workers.h"
#include "hub/hub.h"
#include "hub/hub_event.h"
#include "hub/peer_hubs.h"
#include "usage/ledger.h"
#include "usage/sums.h"
#include "usage/totals.h"

#define NOTE_ID   1
#define EVERY_MS  5000
#define SHARE     1000    /* it may use 1/SHARE of a core */
#define OLDER_MS  HOUR_MS /* days before yesterday are summed so often */
#define LIMIT_MS  120000
#define OTHERS_MS 30000 /* what other hubs counted is summed so often */
#define DAYS      8

struct usage_totals {
    struct hub *h;
    struct totals told;   /* durable */
    struct totals next;   /* while it is put */
    bool running;         /* on a worker, or on its way to the store */
    uint64_t counted;     /* hours there were when it was summed last */
    int64_t again_ms;     /* not before; monotonic */
    int64_t summed_ms;    /* the last time, so */
    struct store *beside; /* the worker's, on a server: connecting is slower than the sums */
};

struct summing {         /* a job */
    struct work_job job; /* first */
    struct usage_totals *u;
    char dir[HUB_PLACE_MAX], zone[ZONE_NAME_MAX];
    bool days;  /* of that zone are in the store */
    bool keeps; /* what it opens */
    struct people *people;
    struct arena mem; /* of nodes */
    size_t n_nodes;
    struct sums_node *nodes;
    int64_t now_ms, keep_ms, took_us;
    bool shared; /* other hubs count, too */
    uint64_t counted;
    struct totals totals;
    int code;
    struct err err;
};

/* ---- on a worker ---- */

static int each_of(void *arg, const struct store_each *e, struct err *err)
{
    return store_each(arg, e, err);
}

/* Sums the usage of all names of a kind in [from, to). */
static int sum_kind(struct summing *k, struct store *beside, const struct zone *z, enum total_of of, int64_t from_ms,
                    int64_t to_ms, enum total_part part)
{
    static const enum usage_by by[TOTAL_KINDS] = {BY_PERSON, BY_TEAM};
    static const char *const nobody[TOTAL_KINDS] = {"(unknown)", "(none)"};
    AUTO_ARENA mem = {0};
    struct usage_table t;
    struct sums_query ask = {.by = by[of],
                             .period = PERIOD_ALL,
                             .from_ms = from_ms,
                             .to_ms = to_ms,
                             .zone = z,
                             .days_zone = k->days ? z : NULL,
                             .people = k->people,
                             .nodes = k->nodes,
                             .n_nodes = k->n_nodes,
                             .each = each_of,
                             .arg = beside,
                             .stop = job_stopped,
                             .stop_arg = k};
    int r = from_ms < to_ms ? sums_run(&ask, &mem, &t, &k->err) : 0;

    for (size_t i = 0; from_ms < to_ms && r == 0 && i < t.n; i++)
        if (!usage_is_nobody(&t.v[i]))
            totals_add(&k->totals, of, t.v[i].key ? t.v[i].key : nobody[of], &t.v[i].s, part);
    return r;
}

/* Hours that are dropped with age are before that: they do not fall out of the sum. */
static int64_t since_of(const struct summing *k, const struct zone *z)
{
    int64_t days = k->keep_ms ? MIN(DAYS, MAX(k->keep_ms / DAY_MS - 1, 0)) : DAYS;

    return MAX(k->totals.since_ms, zone_date_ms(z, zone_date(z, k->now_ms) - (int32_t)days));
}

static int sum_all(struct summing *k, struct store *beside, const struct zone *z)
{
    struct totals *t = &k->totals;
    int32_t today = zone_date(z, k->now_ms);
    int64_t was_ms = t->since_ms, since_ms = since_of(k, z), newest_ms = MAX(since_ms, zone_date_ms(z, today - 1));
    int64_t end_ms = zone_date_ms(z, today + 1); /* today is read as a day, too */
    bool older = !t->older_ms || newest_ms != t->newest_ms || since_ms != was_ms ||
                 k->now_ms - t->older_ms >= OLDER_MS || k->now_ms < t->older_ms;
    size_t teams;
    int r = 0;

    people_group_names(k->people, GROUP_TEAM, &teams);
    totals_begin(t, older);
    for (int of = 0; r == 0 && of < (teams ? TOTAL_KINDS : TOTAL_TEAM); of++) {
        r = sum_kind(k, beside, z, (enum total_of)of, was_ms, since_ms, TOTAL_BEFORE);
        if (r == 0 && older)
            r = sum_kind(k, beside, z, (enum total_of)of, since_ms, newest_ms, TOTAL_OLDER);
        if (r == 0)
            r = sum_kind(k, beside, z, (enum total_of)of, newest_ms, end_ms, TOTAL_NEWEST);
    }
    t->since_ms = since_ms;
    t->newest_ms = newest_ms;
    t->older_ms = older ? k->now_ms : t->older_ms;
    totals_settle(t);
    return r;
}

static void note_mark(void *arg, UNUSED const char *node, int64_t at_ms, UNUSED int64_t seq)
{
    int64_t *first_ms = arg;

    *first_ms = MIN(*first_ms, at_ms);
}

/* The first sum needs all data, whichever hub counts it. Some of the last hours are always open. */
static int check_marks(struct summing *k, struct store *beside)
{
    int64_t first_ms = INT64_MAX;
    int r = k->shared && !k->totals.since_ms ? store_each(beside, EACH_USAGE_MARK(note_mark, &first_ms), &k->err) : 0;

    return r < 0 ? r : first_ms < k->now_ms - 2 * HOUR_MS ? -EAGAIN : 0;
}

static void sum_run(struct work_job *j)
{
    struct summing *k = (struct summing *)j;
    struct store *beside = k->u->beside; /* of this thread's own */
    struct zone *z = NULL;
    int64_t begin_us = clock_thread_us();

    k->code = beside ? 0 : store_open_tools(&beside, k->dir, NULL, &k->err);
    if (k->code == 0)
        k->code = zone_load(k->zone, &z, &k->err);
    if (k->code == 0)
        k->code = check_marks(k, beside);
    if (k->code == 0)
        k->code = sum_all(k, beside, z);
    k->u->beside = k->keeps ? beside : NULL;
    if (!k->keeps)
        store_close(beside);
    zone_free(z);
    k->took_us = clock_thread_us() - begin_us;
}

/* ---- on the loop ---- */

static void summing_free(struct summing *k)
{
    people_unref(k->people);
    arena_fini(&k->mem);
    totals_fini(&k->totals);
    free(k);
}

static void on_kept(void *arg, int result)
{
    struct usage_totals *u = arg;

    u->running = false;
    if (result == 0) {
        totals_fini(&u->told);
        u->told = u->next;
        u->next = (struct totals){0};
    } else {
        totals_fini(&u->next);
        u->counted = 0; /* again, though nothing else is counted */
    }
}

static void sum_done(struct work_job *j)
{
    struct summing *k = (struct summing *)j;
    struct usage_totals *u = k->u;
    AUTO_BUF b = BUF_INIT(NOTE_MAX);

    u->running = false;
    u->again_ms = clock_mono_ms() + MAX(EVERY_MS, k->took_us / 1000 * SHARE);
    if (j->ran && k->code == 0) {
        totals_write(&k->totals, &b);
        totals_fini(&u->next);
        u->next = k->totals;
        k->totals = (struct totals){0};
        u->counted = k->counted;
        struct note n = {.kind = NOTE_TOTALS, .id = NOTE_ID, .bytes = buf_str(&b)};
        u->running = true;
        if (b.err)
            on_kept(u, b.err);
        else /* it calls on_kept in any case */
            hub_put_once(u->h, STORE_NOTE, &n, 1, on_kept, u);
    } else if (j->ran && k->code != -ECANCELED && k->code != -EAGAIN) {
        log_warn("usage", "what people used cannot be summed for /metrics: %s", k->err.msg);
        u->again_ms = clock_mono_ms() + 60 * (int64_t)EVERY_MS;
    }
    summing_free(k);
}

static void begin_sum(struct usage_totals *u, const struct ledger_stat *stat, int64_t now_ms)
{
    struct hub *h = u->h;
    struct summing *k =
        NEW(struct summing, .job = {.run = sum_run, .done = sum_done}, .u = u, .people = people_ref(h->api.people),
            .now_ms = now_ms, .keep_ms = h->conf.keep_usage, .counted = ledger_counted(h->ledger),
            .shared = !ledger_counts_all(h->ledger), .keeps = h->others.arg != NULL);
    const char *zone = zone_name(stat->zone);
    struct store_stat st;

    store_stat(h->store, &st);
    k->counted = st.usage_queued ? 0 : k->counted; /* queued puts are not read yet: sum again later */

    mem_copy_str(k->dir, sizeof(k->dir), h->place);
    mem_copy_str(k->zone, sizeof(k->zone), strcmp(zone, "local") == 0 ? "" : zone);
    for (size_t i = 0; i < stat->n_days; i++)
        k->days |= strcmp(zone_name(stat->days[i]), zone) == 0;
    const struct node_now *const *v = live_nodes(h->live, true, &k->n_nodes);
    k->nodes = arena_alloc(&k->mem, k->n_nodes + 1, sizeof(*k->nodes));
    for (size_t i = 0; i < k->n_nodes; i++) /* device names are not needed */
        k->nodes[i] = (struct sums_node){.key = arena_str(&k->mem, v[i]->key), .name = arena_str(&k->mem, v[i]->name)};
    totals_copy(&k->totals, &u->told);
    u->running = work_add(h->own_work, &k->job, LIMIT_MS) == 0;
    u->summed_ms = clock_mono_ms();
    if (u->running)
        return;
    u->again_ms = clock_mono_ms() + EVERY_MS;
    summing_free(k);
}

void usage_totals_tick(struct usage_totals *u, int64_t now_ms)
{
    struct ledger_stat stat;

    if (!u || u->running || clock_mono_ms() < u->again_ms)
        return;
    bool others = !ledger_counts_all(u->h->ledger) && clock_mono_ms() - u->summed_ms >= OTHERS_MS;
    if (!others && ledger_counted(u->h->ledger) == u->counted)
        return;
    ledger_stat(u->h->ledger, now_ms, &stat);
    if (u->told.since_ms || !stat.waiting) /* the first one sums everything: all of it is to be there */
        begin_sum(u, &stat, now_ms);
}

static void take_kept(void *arg, const struct note *n)
{
    struct usage_totals *u = arg;
    struct totals t = {0};

    if (totals_read(n->bytes, &t) < 0) {
        log_warn("usage", "cannot read the stored counters of /metrics: they start at 0");
        return;
    }
    totals_fini(&u->told);
    u->told = t;
}

void usage_totals_on_event(struct usage_totals *u, const struct hub_event *n)
{
    const struct note *kept = n->kind == HUB_EVENT_RECORD && n->record->kind == STORE_NOTE ? n->record->record : NULL;

    if (u && kept && kept->kind == NOTE_TOTALS)
        take_kept(u, kept);
    if (u && n->kind == HUB_EVENT_PEOPLE)
        u->counted = u->told.older_ms = 0; /* all of it is others', perhaps */
}

struct usage_totals *usage_totals_new(struct hub *h)
{
    struct usage_totals *u = NEW(struct usage_totals, .h = h);

    if (store_each(h->store, EACH_NOTE(NOTE_TOTALS, take_kept, u), NULL) < 0)
        log_warn("usage", "cannot read the stored counters of /metrics: they start at 0");
    return u;
}

void usage_totals_free(struct usage_totals *u)
{
    if (!u)
        return;
    store_close(u->beside);
    totals_fini(&u->told);
    totals_fini(&u->next);
    free(u);
}

void usage_totals_prom(const struct usage_totals *u, struct buf *out, bool openmetrics)
{
    if (u && out)
        totals_prom(&u->told, out, openmetrics);
}
