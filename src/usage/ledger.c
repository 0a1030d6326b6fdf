/*
 * ledger.c: keeps the list of hours to count, in memory and on disk, and runs one thread that counts. Hours start as on
 * the wall clock of the zone that was set when the folder's first hour was counted. That never changes, so that an hour
 * stays an hour.
 */
#include "usage/ledger.h"

#include <errno.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/lookup.h"
#include "base/order.h"
#include "base/workers.h"
#include "hub/trusted_clock.h"
#include "usage/led_node.h"
#include "usage/recount.h"

#define QUIET_MS  3000   /* late data is counted after this time without more of it, */
#define LATE_MS   60000  /* but at least this often */
#define LIMIT_MS  600000 /* for one job */
#define RETRY_MS  60000
#define OFTEN_MS  300000             /* counted again within this time: cached reads help the next time */
#define MANY_MS   (1000ll * HOUR_MS) /* marking hours singly costs as much as all later marks */
#define ROLL_DAYS 64                 /* summed again in one put */
#define LOOK_MOST 2000               /* nodes checked per second for past hours, while current hours wait */
#define SPARE_US  12000              /* CPU time per second, for all hubs together, for current hours of all nodes */
#define SAVED_US  (25ll * SPARE_US)  /* and this much saved up while there was little to do */
#define SETTING   "usage_clock"
#define GAP_MOST  2000   /* hours of long gaps to mark in a second, for all nodes together */
#define OTHERS_MS 120000 /* age of a mark after which another hub has most likely counted it */
#define ALL_PARTS ((1u << STORE_PARTS) - 1)
#define AT_ONCE   16     /* nodes of one job, which share common queries, */
#define JOB_US    20000  /* as long as they need no more than this */
#define REST_MS   300000 /* interval for dropping marks of nodes that another hub counts */

struct counting { /* some hours of a node */
    char node[NODE_KEY_MAX];
    size_t n;
    int64_t hours[RECOUNT_HOURS], seqs[RECOUNT_HOURS], until_ms, now_ms;
    struct count_rule rule;
    unsigned part;
    int64_t epoch; /* in which this hub had the part */
    struct recounted out;
    int64_t took_us; /* CPU time */
    bool spare;      /* uses the CPU time for current hours */
    bool often;      /* one of its hours will soon be counted again */
    int result;
    struct err err;
};

struct counting_job {    /* several struct counting */
    struct work_job job; /* first */
    struct ledger *l;
    struct counting *v[AT_ONCE];
    size_t n;
    struct recount_common common; /* the thread's */
};

struct led_zone { /* a zone whose days are stored */
    struct zone *zone;
    bool ready;       /* all of them are there to be read */
    bool rolled;      /* all of them are put, */
    int64_t puts;     /* with put number so and so the last */
    size_t roll_node; /* not rolled: put so far up to this node, */
    int64_t roll_ms;  /* and of it up to here */
};

struct ledger {
    struct store *store;
    struct live *live;
    char *dir;
    struct led_zone zones[USAGE_ZONES];
    size_t n_zones;
    struct ledger_conf conf;
    struct work *work;
    struct store *beside; /* the thread's own store */
    struct led_node **nodes;
    struct lookup by_key;
    size_t n, cap, at, over_at; /* at: next node; over_at: the same while current hours wait */
    int64_t grid_ms;            /* hours start at multiples of an hour plus this */
    int64_t hour_ms;            /* the current hour at the last tick */
    int64_t seq, retry_ms, rested_ms;
    int64_t looked_ms; /* when a check found nothing to count */
    uint64_t counted;
    int64_t puts;                /* writes of usage, so far */
    int64_t spare_us, spared_ms; /* CPU time left for current hours, and when it was updated; below 0: they wait */
    uint32_t own;                /* bit set of the parts that this hub counts */
    bool flying;
    char error[200];
};

static int64_t hour_of(const struct ledger *l, int64_t at_ms)
{
    int64_t v = at_ms - l->grid_ms;

    return v / HOUR_MS * HOUR_MS - (v % HOUR_MS < 0 ? HOUR_MS : 0) + l->grid_ms;
}

/* ---- nodes and marks ---- */

static bool is_own(const struct ledger *l, const struct led_node *n)
{
    return l->own >> n->part & 1;
}

static struct led_node *node_find(const struct ledger *l, const char *key)
{
    return lookup_named(&l->by_key, key, offsetof(struct led_node, key));
}

static struct led_node *node_get(struct ledger *l, const char *key)
{
    struct led_node *n = node_find(l, key);

    if (n)
        return n;
    n = mem_zero(1, sizeof(*n));
    mem_copy_str(n->key, sizeof(n->key), key);
    n->part = store_part_of(n->key);
    lookup_add(&l->by_key, lookup_hash(n->key), n);
    VEC_ADD(l->nodes, l->n, l->cap, n);
    return n;
}

/* near: the data is not in that hour, only within reach of it. The hour before the current one is counted repeatedly
 * for a while, to be exact about long spells; it is counted in full anyway. */
static void mark_hour(struct ledger *l, struct led_node *n, int64_t at_ms, bool near, int64_t now_ms)
{
    struct hour_mark *m = led_node_get(n, at_ms);

    m->touched_ms = now_ms;
    if (near && !m->dirty && at_ms + HOUR_MS == hour_of(l, now_ms))
        m->until_ms = at_ms + HOUR_MS;
    else if (!near && now_ms >= at_ms + HOUR_MS)
        m->until_ms = 0;
    bool over = !near && now_ms >= at_ms + HOUR_MS; /* the hub that counts it may have removed the mark already */
    if (m->dirty && !m->flying && (is_own(l, n) || !over || m->put_ms == now_ms))
        return; /* already marked, on disk too */
    if (!m->dirty)
        m->since_ms = now_ms;
    m->dirty = true;
    m->flying = false; /* the running count may miss the new data */
    m->put_ms = now_ms;
    m->seq = l->seq = MAX(l->seq + 1, now_ms); /* from the clock, so that the numbers of several hubs rise together */
    store_put(l->store, STORE_USAGE_MARK, &(struct usage_mark){n->key, at_ms, m->seq}, 1, NULL, NULL);
}

/* Hours before this cannot be counted: their samples were deleted. */
static int64_t oldest_hour(const struct ledger *l, int64_t now_ms)
{
    return l->conf.keep_ms ? hour_of(l, now_ms - l->conf.keep_ms) + HOUR_MS : l->grid_ms;
}

/* L2. Not while the clock has jumped: then it may not be time that went by. */
static void mark_gaps(struct ledger *l, int64_t now_ms)
{
    size_t left = trusted_clock_now_doubt() ? 0 : GAP_MOST;

    for (size_t i = 0; i < l->n && left; i++) {
        struct led_node *n = l->nodes[i];
        int64_t to_ms = MIN(n->gap_to_ms, hour_of(l, now_ms));
        if (!is_own(l, n))
            continue;
        if (n->gap_ms)
            n->gap_ms = MAX(n->gap_ms, oldest_hour(l, now_ms));
        for (; n->gap_ms && n->gap_ms <= to_ms && left; left--, n->gap_ms += HOUR_MS)
            mark_hour(l, n, n->gap_ms, false, now_ms);
        if (n->gap_ms > to_ms)
            n->gap_ms = n->gap_to_ms = 0;
    }
}

/* L2: whatever lies between is marked, too. Before own_ms it is only near what came. */
static void mark_reach(struct ledger *l, struct led_node *n, int64_t first_ms, int64_t own_ms, int64_t last_ms,
                       int64_t now_ms)
{
    first_ms = MAX(first_ms, oldest_hour(l, now_ms));
    last_ms = MIN(last_ms, hour_of(l, now_ms));
    if (first_ms > last_ms)
        return;
    bool fills = n->first_ms && is_own(l, n); /* a hub that does not count the node does not have its recent marks */
    if (fills && last_ms < n->first_ms - HOUR_MS &&
        led_node_leave_gap(n, last_ms + HOUR_MS, n->first_ms) != n->first_ms)
        last_ms = n->first_ms - HOUR_MS;
    if (fills && first_ms > n->last_ms + HOUR_MS)
        first_ms = led_node_leave_gap(n, n->last_ms + HOUR_MS, first_ms);
    if (n->first_ms && trusted_clock_now_doubt()) /* the clock jumped: no data for such a long time can exist */
        first_ms = led_node_leave_gap(n, first_ms, last_ms);
    if (last_ms - first_ms > MANY_MS)
        led_node_fill(n, first_ms, last_ms);
    for (int64_t at_ms = first_ms; at_ms <= last_ms; at_ms += HOUR_MS)
        mark_hour(l, n, at_ms, at_ms < own_ms, now_ms);
    n->last_ms = n->first_ms ? MAX(n->last_ms, last_ms) : last_ms;
    n->first_ms = n->first_ms ? MIN(n->first_ms, first_ms) : first_ms;
}

static void mark_span(struct ledger *l, struct led_node *n, int64_t first_ms, int64_t last_ms, int64_t now_ms)
{
    mark_reach(l, n, first_ms, first_ms, last_ms, now_ms);
}

void ledger_mark(struct ledger *l, const char *node, int64_t from_ms, int64_t to_ms, int64_t now_ms)
{
    if (!l || to_ms < from_ms)
        return;
    struct led_node *n = node_get(l, node);
    int64_t own_ms = hour_of(l, from_ms), near_ms = hour_of(l, from_ms - count_ahead_ms(&l->conf.rule));
    near_ms = n->first_ms ? MIN(MAX(near_ms, n->first_ms), own_ms) : own_ms; /* nothing can change before its first */
    mark_reach(l, n, near_ms, own_ms, hour_of(l, to_ms + count_reach_ms(&l->conf.rule)), now_ms);
}

void ledger_mark_all(struct ledger *l, int64_t from_ms, int64_t to_ms, int64_t now_ms)
{
    for (size_t i = 0; l && i < l->n; i++)
        if (l->nodes[i]->first_ms)
            ledger_mark(l, l->nodes[i]->key, MAX(from_ms, l->nodes[i]->first_ms), to_ms, now_ms);
}

void ledger_move(struct ledger *l, const char *from, const char *to, int64_t now_ms)
{
    if (!l)
        return;
    struct led_node *old = node_get(l, from);
    int64_t first_ms = old->first_ms, last_ms = old->last_ms;
    lookup_drop(&l->by_key, lookup_hash(old->key), old);
    size_t at = FIRST(l->n, i, l->nodes[i] == old);
    memmove(&l->nodes[at], &l->nodes[at + 1], (--l->n - at) * sizeof(*l->nodes));
    struct led_node *n = node_get(l, to);
    for (size_t i = 0; i < old->n; i++)
        mark_hour(l, n, old->v[i].at_ms, false, now_ms);
    if (first_ms) { /* what is counted came along; where both had hours the last days are counted again */
        n->last_ms = n->first_ms ? MAX(n->last_ms, last_ms) : last_ms;
        n->first_ms = n->first_ms ? MIN(n->first_ms, first_ms) : first_ms;
        mark_span(l, n, hour_of(l, now_ms - 2 * 86400000ll), hour_of(l, now_ms), now_ms);
    }
    free(old->v);
    free(old);
}

int64_t ledger_first_before(struct ledger *l, const char *node, int64_t then_ms)
{
    const struct led_node *n = l ? node_get(l, node) : NULL;
    return n && n->first_ms && n->first_ms < hour_of(l, then_ms) ? n->first_ms : 0;
}

size_t ledger_recount(struct ledger *l, int64_t now_ms)
{
    size_t hours = 0;

    for (size_t i = 0; i < l->n; i++) {
        struct led_node *n = l->nodes[i];
        if (n->first_ms)
            mark_span(l, n, n->first_ms, n->last_ms, now_ms);
        for (size_t k = 0; k < n->n; k++) {
            n->v[k].since_ms = n->v[k].touched_ms = 0; /* immediately */
            hours += n->v[k].dirty;
        }
    }
    ledger_tick(l, now_ms);
    return hours;
}

/* ---- counting ---- */

static bool mark_due(const struct ledger *l, const struct hour_mark *m, int64_t now_ms)
{
    int64_t end_ms = m->at_ms + HOUR_MS;

    if (!m->dirty || m->flying)
        return false;
    if (now_ms < end_ms)
        return now_ms - m->counted_ms >= l->conf.every_ms && now_ms / MINUTE_MS * MINUTE_MS > m->until_ms;
    if (now_ms < end_ms + count_ahead_ms(&l->conf.rule) + LATE_MS && m->until_ms >= end_ms)
        return false; /* only idle spells can change, and they will again */
    return now_ms - m->touched_ms >= QUIET_MS || now_ms - m->since_ms >= LATE_MS;
}

static void count_one(struct counting_job *g, struct counting *c, struct history_session *x)
{
    struct recount_params ask = {c->node, c->n, c->hours, c->until_ms, !c->often, &g->common, x, job_stopped, &g->job};
    int64_t begin_us = clock_thread_us();

    c->result = recount(g->l->store, g->l->beside, &c->rule, &ask, &c->out, &c->err);
    c->took_us = clock_thread_us() - begin_us;
}

/* Runs the common queries here, after reading the marks: their data is in the store by now. */
static void on_worker(struct work_job *j)
{
    struct counting_job *g = (struct counting_job *)j;
    struct ledger *l = g->l;
    struct history_session *x = store_session(l->store);
    int64_t until_us = clock_thread_us() + JOB_US;
    int r = l->beside ? 0 : store_open_tools(&l->beside, l->dir, NULL, &g->v[0]->err);

    for (size_t i = 0; i < g->n; i++) {
        g->v[i]->result = i == 0 ? r : -ECANCELED; /* that one the next time */
        if (r == 0)
            count_one(g, g->v[i], x);
        r = r < 0 || job_stopped(j) || clock_thread_us() >= until_us ? -ECANCELED : g->v[i]->result;
    }
    store_session_end(x);
    recount_common_fini(&g->common);
}

static int64_t epoch_of(const struct ledger *l)
{
    return l->conf.epoch ? l->conf.epoch(l->conf.epoch_arg) : 0;
}

static int64_t part_epoch(const struct ledger *l, unsigned part)
{
    return l->conf.part ? l->conf.part(l->conf.epoch_arg, part) : 0;
}

static struct usage_day day_of(const struct zone *z, int64_t at_ms)
{
    int32_t date = zone_date(z, at_ms);

    return (struct usage_day){zone_date_ms(z, date), zone_date_ms(z, date + 1)};
}

static bool note_put(struct ledger *l, int result)
{
    l->puts += result == 0;
    return result == 0;
}

/* The hours, with the days they are in; then the days of the other zones, which are added up from the hours. */
static void put_counted(struct ledger *l, struct counting *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->now_ms < c->hours[i] + HOUR_MS)
            c->seqs[i] = 0; /* its mark stays until it is over */
    for (size_t z = 0; z < l->n_zones; z++) {
        struct usage_day days[RECOUNT_HOURS];
        size_t n_days = 0;
        for (size_t i = 0; i < c->n; i++) {
            struct usage_day day = day_of(l->zones[z].zone, c->hours[i]);
            if (!n_days || days[n_days - 1].from_ms != day.from_ms)
                days[n_days++] = day;
        }
        struct usage_put u =
            {c->node, z ? 0 : c->n, n_days, z ? NULL : c->out.hours, z ? NULL : c->seqs, zone_name(l->zones[z].zone),
             days};
        /* as of when it was counted: a hub that slept meanwhile must not put old hours over those of the next */
        note_put(l, store_put_part(l->store, c->part, c->epoch, STORE_USAGE, &u, 1));
    }
}

static void say_error(struct ledger *l, const char *text)
{
    if (text[0] && strcmp(text, l->error) != 0)
        log_warn("usage", "hours cannot be counted: %s", text);
    mem_copy_str(l->error, sizeof(l->error), text);
}

static void start_next(struct ledger *l, int64_t now_ms);

/* The hours in the store, and their marks done with. */
static void take_counted(struct ledger *l, struct led_node *n, struct counting *c, bool ok)
{
    if (ok)
        put_counted(l, c);
    l->counted += ok ? c->n : 0;
    for (size_t i = 0; i < c->n; i++) {
        struct hour_mark *m = led_node_find(n, c->hours[i]);
        bool over = c->now_ms >= c->hours[i] + HOUR_MS;
        if (!m)
            continue;
        if (ok) {
            m->until_ms = MIN(c->hours[i] + HOUR_MS, c->until_ms);
            m->counted_ms = c->now_ms;
        }
        m->dirty = !(ok && m->flying && over); /* the current hour must be counted again */
        m->flying = false;
    }
    led_node_drop(n, c->hours[0], c->hours[c->n - 1]);
}

static void end_counting(struct ledger *l, struct counting *c, bool ran)
{
    struct led_node *n = node_find(l, c->node);
    bool ok = ran && c->result == 0;

    if (c->spare)
        l->spare_us = MAX(l->spare_us - c->took_us, -5ll * SPARE_US);
    if (n) /* NULL: the node was replaced, and its hours are marked at the new one */
        take_counted(l, n, c, ok);
    if (!ok && ran && c->result != -ECANCELED) {
        say_error(l, c->err.msg);
        l->retry_ms = clock_wall_ms() + RETRY_MS;
    } else if (ok) {
        say_error(l, "");
    }
    arena_fini(&c->out.mem);
    free(c);
}

static void end_job(struct counting_job *g, bool ran)
{
    struct ledger *l = g->l;

    l->flying = false;
    for (size_t i = 0; i < g->n; i++)
        end_counting(l, g->v[i], ran);
    free(g);
    if (ran)
        start_next(l, clock_wall_ms());
}

static void on_counted(struct work_job *j)
{
    end_job((struct counting_job *)j, j->ran);
}

static struct counting *take_node(struct ledger *l, struct led_node *n, int64_t now_ms)
{
    struct counting *c = NULL;
    int64_t epoch = n->n && is_own(l, n) ? part_epoch(l, n->part) : -1;

    for (size_t i = 0; i < n->n && epoch >= 0; i++) {
        struct hour_mark *m = &n->v[i];
        if (c && (c->n == RECOUNT_HOURS || m->at_ms - c->hours[0] >= 24 * HOUR_MS))
            break;
        bool under_way = now_ms < m->at_ms + HOUR_MS;
        if (!mark_due(l, m, now_ms) || (under_way && l->spare_us <= 0))
            continue;
        if (!c) {
            c = NEW(struct counting, .rule = l->conf.rule, .part = n->part, .epoch = epoch, .now_ms = now_ms,
                    .until_ms = now_ms / MINUTE_MS * MINUTE_MS);
            memcpy(c->node, n->key, sizeof(c->node));
        }
        c->spare |= under_way;
        c->often |= under_way && now_ms - m->counted_ms < OFTEN_MS;
        c->hours[c->n] = m->at_ms;
        c->seqs[c->n++] = m->seq;
        m->flying = true;
    }
    return c;
}

/* ---- days of a new zone ---- */

/* A few at a time; true: done. */
static bool roll_some(struct ledger *l, struct led_zone *z)
{
    struct usage_day days[ROLL_DAYS];
    size_t n_days = 0;

    if (z->roll_node >= l->n)
        return true;
    struct led_node *n = l->nodes[z->roll_node];
    int64_t at_ms = z->roll_ms ? z->roll_ms : n->first_ms;
    while (n->first_ms && n_days < ROLL_DAYS && at_ms <= n->last_ms) {
        days[n_days] = day_of(z->zone, at_ms);
        at_ms = days[n_days++].to_ms;
    }
    struct usage_put u = {n->key, 0, n_days, NULL, NULL, zone_name(z->zone), days};
    if (n_days && !note_put(l, store_put_led(l->store, epoch_of(l), STORE_USAGE, &u, 1, NULL, NULL)))
        return false; /* too much waits for the disk: the next time */
    z->roll_ms = at_ms;
    if (!n->first_ms || z->roll_ms > n->last_ms) {
        z->roll_node++;
        z->roll_ms = 0;
    }
    return z->roll_node >= l->n;
}

/* Puts are durable in order: the days are ready when all earlier puts are. */
static void make_days(struct ledger *l, struct led_zone *z)
{
    struct store_stat st;

    if (!z->rolled) {
        z->rolled = roll_some(l, z);
        z->puts = l->puts;
    }
    store_stat(l->store, &st);
    z->ready = z->rolled && l->puts - (int64_t)st.usage_queued >= z->puts;
}

/* Stores the start of hours, and the zones whose days are stored. Days of a zone that is no longer updated do not
 * count. */
static void save_clock(struct ledger *l)
{
    AUTO_BUF b = BUF_INIT((ZONE_NAME_MAX + 1) * (size_t)USAGE_ZONES + 32);

    buf_addf(&b, "%lld", (long long)l->grid_ms);
    for (size_t z = 0; z < l->n_zones; z++)
        if (l->zones[z].ready)
            buf_addf(&b, " %s", zone_name(l->zones[z].zone));
    int r = store_put(l->store, STORE_SETTING, &(struct store_setting){SETTING, buf_str(&b)}, 1, NULL, NULL);
    if (r < 0)
        log_warn("usage", "which days are added up cannot be noted: %s", store_error_text(r));
}

static void start_next(struct ledger *l, int64_t now_ms)
{
    bool looked = now_ms - l->looked_ms < 1000 && now_ms >= l->looked_ms;

    if (l->flying || now_ms < l->retry_ms || looked)
        return;
    size_t *at = l->spare_us > 0 ? &l->at : &l->over_at, most = l->spare_us > 0 ? l->n : MIN(l->n, LOOK_MOST);
    struct counting_job *g = NULL;
    for (size_t i = 0; i < most && !(g && g->n == AT_ONCE); i++) {
        *at = (*at + 1) % l->n;
        struct counting *c = take_node(l, l->nodes[*at], now_ms);
        if (c && !g)
            g = NEW(struct counting_job, .job = {.run = on_worker, .done = on_counted}, .l = l);
        if (c)
            g->v[g->n++] = c;
    }
    l->flying = g && work_add(l->work, &g->job, LIMIT_MS) == 0;
    if (g && !l->flying)
        end_job(g, false);
    l->looked_ms = l->flying ? 0 : now_ms; /* nothing to do: no new check immediately */
}

/* ---- several hubs ---- */

/* Drops marks of nodes that another hub counts from time to time, so that new data stores them again. */
static void forget_others(struct ledger *l, int64_t now_ms)
{
    if (now_ms - l->rested_ms < REST_MS && now_ms >= l->rested_ms)
        return;
    l->rested_ms = now_ms;
    for (size_t i = 0; i < l->n; i++)
        if (!is_own(l, l->nodes[i]))
            l->nodes[i]->n = 0;
}

void ledger_take_mark(struct ledger *l, const struct usage_mark *m, int64_t now_ms)
{
    if (!l || hour_of(l, m->at_ms) != m->at_ms || m->at_ms < oldest_hour(l, now_ms) || m->at_ms > hour_of(l, now_ms))
        return;
    struct led_node *n = node_get(l, m->node);
    if (!is_own(l, n))
        return;
    if (n->first_ms && (m->at_ms < n->first_ms - HOUR_MS || m->at_ms > n->last_ms + HOUR_MS)) /* L2 */
        mark_span(l, n, m->at_ms, m->at_ms, now_ms);
    struct hour_mark *k = led_node_get(n, m->at_ms);
    n->last_ms = n->first_ms ? MAX(n->last_ms, m->at_ms) : m->at_ms;
    n->first_ms = n->first_ms ? MIN(n->first_ms, m->at_ms) : m->at_ms;
    l->seq = MAX(l->seq, m->seq);
    if (k->dirty && k->seq >= m->seq && !k->flying)
        return;
    if (!k->dirty)
        k->since_ms = now_ms;
    k->dirty = true;
    k->flying = false;
    k->touched_ms = now_ms;
    k->seq = MAX(k->seq, m->seq);
}

struct left_marks {      /* left by the hub that counted before */
    struct work_job job; /* first */
    struct ledger *l;
    struct usage_mark *v;
    char (*names)[NODE_KEY_MAX];
    size_t n, cap, cap_names;
    int result;
};

static void add_left(void *arg, const char *node, int64_t at_ms, int64_t seq)
{
    struct left_marks *x = arg;

    VEC_LEAST(x->names, x->cap_names, x->n + 1);
    mem_copy_str(x->names[x->n], sizeof(x->names[0]), node);
    VEC_ADD(x->v, x->n, x->cap, (struct usage_mark){.at_ms = at_ms, .seq = seq});
}

static void read_left(struct work_job *j)
{
    struct left_marks *x = (struct left_marks *)j;
    struct ledger *l = x->l;

    x->result = l->beside ? 0 : store_open_tools(&l->beside, l->dir, NULL, NULL);
    if (x->result == 0)
        x->result = store_each(l->beside, EACH_USAGE_MARK(add_left, x), NULL);
}

static void take_left(struct work_job *j)
{
    struct left_marks *x = (struct left_marks *)j;

    for (size_t i = 0; i < x->n; i++) {
        x->v[i].node = x->names[i];
        ledger_take_mark(x->l, &x->v[i], clock_wall_ms());
    }
    if (!j->ran || x->result < 0)
        x->l->own = 0; /* the next tick reads them */
    FREE_ALL(x->v, x->names, x);
}

/* Reads the marks of other hubs on the worker thread. */
static bool read_marks(struct ledger *l)
{
    struct left_marks *x = NEW(struct left_marks, .job = {.run = read_left, .done = take_left}, .l = l);
    int r = work_add(l->work, &x->job, LIMIT_MS);

    if (r < 0)
        free(x);
    return r == 0;
}

/* Which parts are this hub's now. */
static void look_whose(struct ledger *l)
{
    uint32_t own = 0;

    for (unsigned i = 0; i < STORE_PARTS; i++)
        own |= (uint32_t)(part_epoch(l, i) >= 0) << i;
    bool more = own & ~l->own;
    if (more && l->conf.part && !read_marks(l))
        return;
    l->hour_ms = more ? 0 : l->hour_ms; /* L2: also of those that are new to it */
    l->own = own;
}

void ledger_tick(struct ledger *l, int64_t now_ms)
{
    if (!l)
        return;
    look_whose(l);
    forget_others(l, now_ms);
    if (now_ms - l->spared_ms >= 1000 || now_ms < l->spared_ms) {
        l->spare_us = MIN(l->spare_us + SPARE_US * __builtin_popcount(l->own) / STORE_PARTS, SAVED_US);
        l->spared_ms = now_ms;
        mark_gaps(l, now_ms);
    }
    if (hour_of(l, now_ms) != l->hour_ms) { /* L2 */
        size_t n;
        const struct node_now *const *v = live_nodes(l->live, false, &n);
        l->hour_ms = hour_of(l, now_ms);
        for (size_t i = 0; i < n; i++) {
            struct led_node *x = node_get(l, v[i]->key);
            if (x->first_ms && is_own(l, x))
                mark_span(l, x, l->hour_ms, l->hour_ms, now_ms);
        }
    }
    for (size_t z = 0; z < l->n_zones && epoch_of(l) >= 0; z++)
        if (!l->zones[z].ready) {
            make_days(l, &l->zones[z]);
            if (l->zones[z].ready)
                save_clock(l);
            break; /* one zone at a time */
        }
    start_next(l, now_ms);
}

/* ---- from start to end ---- */

static void load_mark(void *arg, const char *node, int64_t at_ms, int64_t seq)
{
    struct ledger *l = arg;
    struct led_node *n = node_get(l, node);
    int64_t now_ms = l->hour_ms; /* set by ledger_load */

    bool ours = hour_of(l, at_ms) == at_ms && at_ms >= oldest_hour(l, now_ms) && at_ms <= hour_of(l, now_ms);

    l->seq = MAX(l->seq, seq);
    if (ours) { /* it is on disk already */
        struct hour_mark *m = led_node_get(n, at_ms);
        m->seq = seq;
        m->dirty = true;
    }
    mark_span(l, n, hour_of(l, at_ms), hour_of(l, at_ms + HOUR_MS - 1), now_ms);
    if (!ours)
        store_put(l->store, STORE_USAGE_MARK, &(struct usage_mark){node, at_ms, 0}, 1, NULL,
                  NULL); /* made by another clock, too old, or of the future */
}

static void load_reach(void *arg, const char *node, int64_t first_ms, int64_t last_ms)
{
    struct led_node *n = node_get(arg, node);

    n->first_ms = first_ms;
    n->last_ms = last_ms;
}

static void load_node(void *arg, const struct store_node *s)
{
    struct ledger *l = arg;
    struct led_node *n = node_get(l, s->key);
    int64_t now_ms = l->hour_ms;

    if (s->retired)
        return;
    if (!n->first_ms && s->first_ms)
        mark_span(l, n, hour_of(l, s->first_ms), hour_of(l, now_ms), now_ms);
    else if (n->first_ms)
        mark_span(l, n, n->last_ms, hour_of(l, now_ms), now_ms);
}

int ledger_load(struct ledger *l, int64_t now_ms, struct err *err)
{
    AUTO_BUF b = BUF_INIT(1024);
    int r = store_get(l->store, GET_SETTING(SETTING, &b), err);
    struct str rest = buf_str(&b), word = {0};

    if (r == 1 && str_word(&rest, &word) && str_int(word, &l->grid_ms))
        while (str_word(&rest, &word))
            for (size_t z = 0; z < l->n_zones; z++)
                l->zones[z].ready |= str_eq(word, zone_name(l->zones[z].zone));
    else if (r >= 0)
        l->grid_ms = ((zone_offset(l->zones[0].zone, now_ms, NULL) * -1000ll) % HOUR_MS + HOUR_MS) % HOUR_MS;
    for (size_t z = 0; r == 0 && z < l->n_zones; z++)
        l->zones[z].ready = true;
    if (r >= 0)
        save_clock(l);
    l->seq = now_ms;
    l->hour_ms = now_ms;
    if (r >= 0)
        r = store_each(l->store, EACH_USAGE_REACH(load_reach, l), err);
    if (r >= 0)
        r = store_each(l->store, EACH_USAGE_MARK(load_mark, l), err);
    if (r >= 0)
        r = store_each(l->store, EACH_NODE(load_node, l), err);
    l->hour_ms = 0;
    return MIN(r, 0);
}

struct ledger *ledger_new(struct event_base *loop, struct store *store, const char *dir, struct live *live,
                          struct zone *const *zones, size_t n_zones, const struct ledger_conf *conf)
{
    struct ledger *l = NEW(struct ledger, .store = store, .live = live, .dir = mem_str(dir), .n_zones = n_zones,
                           .conf = *conf, .spare_us = SAVED_US, .own = conf->part ? 0 : ALL_PARTS);
    for (size_t z = 0; z < n_zones; z++)
        l->zones[z].zone = zones[z];
    l->work = work_new_background(loop, 4);
    if (!l->work) {
        ledger_free(l);
        return NULL;
    }
    return l;
}

void ledger_free(struct ledger *l)
{
    if (!l)
        return;
    work_free(l->work);
    store_close(l->beside);
    for (size_t i = 0; i < l->n; i++) {
        free(l->nodes[i]->v);
        free(l->nodes[i]);
    }
    free(l->nodes);
    lookup_fini(&l->by_key);
    for (size_t z = 0; z < l->n_zones; z++)
        zone_free(l->zones[z].zone);
    free(l->dir);
    free(l);
}

void ledger_set(struct ledger *l, const struct ledger_conf *conf)
{
    if (l)
        l->conf = *conf;
}

uint64_t ledger_counted(const struct ledger *l)
{
    return l ? l->counted : 0;
}

bool ledger_counts_all(const struct ledger *l)
{
    return !l || l->own == ALL_PARTS;
}

void ledger_stat(const struct ledger *l, int64_t now_ms, struct ledger_stat *ret)
{
    *ret = (struct ledger_stat){.counted_to_ms = now_ms / MINUTE_MS * MINUTE_MS, .zone = l->zones[0].zone};
    for (size_t z = 0; z < l->n_zones; z++)
        if (l->zones[z].ready)
            ret->days[ret->n_days++] = l->zones[z].zone;
    mem_copy_str(ret->error, sizeof(ret->error), l->error);
    struct store_stat st;
    store_stat(l->store, &st);
    ret->waiting = st.usage_queued;
    if (!ledger_counts_all(l))
        ret->counted_to_ms = (now_ms - OTHERS_MS) / MINUTE_MS * MINUTE_MS;
    for (size_t i = 0; i < l->n; i++) {
        ret->waiting += is_own(l, l->nodes[i]) ? led_node_gap(l->nodes[i]) : 0;
        if (l->nodes[i]->first_ms && (!ret->records_ms || l->nodes[i]->first_ms < ret->records_ms))
            ret->records_ms = l->nodes[i]->first_ms;
        for (size_t k = 0; k < l->nodes[i]->n; k++) {
            const struct hour_mark *m = &l->nodes[i]->v[k];
            bool own = is_own(l, l->nodes[i]), over = now_ms >= m->at_ms + HOUR_MS;
            if (!m->dirty)
                continue;
            ret->waiting += over && (own ? m->until_ms < m->at_ms + HOUR_MS : now_ms - m->put_ms < OTHERS_MS);
            if (own && m->until_ms < m->at_ms + HOUR_MS) /* a whole one is counted again for its long spells */
                ret->counted_to_ms = MIN(ret->counted_to_ms, MAX(m->until_ms, m->at_ms));
        }
    }
}
