/*
 * member.c: the thread. Each round it renews its leases, lists the hubs, reserves ids and reads changes; then it waits
 * for a NOTIFY, or the next round. Failed steps are retried in the next round.
 */
#include "cluster/member.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/thread.h"
#include "cluster/feed.h"
#include "cluster/ids.h"
#include "cluster/place.h"
#include "model/record.h"
#include "sql/pg.h"
#include "store/kinds.h"

#define HERE_MS   15000 /* duration of a hub's lease */
#define LEADER_MS 10000 /* of the leader's: a dead leader is replaced after this time */
#define ANSWER_MS 4000  /* a server that takes longer is unreachable */
#define ROUND_MS  1000
#define KEEP_MS   2000       /* interval of lease renewals */
#define ROOM_MS   900        /* interval of the check for disk space: detects a hung server within a second */
#define FEED_MS   5000       /* interval of reading changes without a NOTIFY */
#define REST_MS   500        /* minimum interval under many changes */
#define QUIET_MS  6000       /* a hub that has not renewed its lease for this long is missed */
#define POLL_MS   500        /* interval where NOTIFY does not work: through a connection pooler */
#define FORGET_MS 86400000ll /* retention of rows of dead hubs and of deletions */
#define TIDY_MS   600000
#define FOLLOW_MS 15000 /* for the first read */
#define IDS_AHEAD 8     /* ids left when more are reserved */

struct id_block {
    int64_t next, end;
};

struct member {
    char *place, open_way[128];
    int64_t id;
    struct db *db;
    struct leases s;
    struct lease here, leader, parts[LEASE_PARTS];
    struct change_feed feed;
    pthread_t thread;
    bool running;
    int wake_fd;
    uint64_t listens;                            /* number of the connection that listens; 0: none */
    int64_t kept_ms, room_ms, fed_ms, tidied_ms; /* monotonic; 0: never */
    bool unread;                                 /* a NOTIFY arrived since the last read */

    pthread_mutex_t lock;
    pthread_cond_t looked;
    uint32_t wanted; /* parts that this hub should own, as bits */
    bool stop, follow, following;
    struct id_block ids[IDS_KINDS], more[IDS_KINDS];
    struct hub_row hubs[MEMBER_HUBS_MAX];
    size_t n_hubs;
    bool hubs_read;
    struct hub_row missed; /* id 0: none */
    int64_t away_since_ms; /* monotonic; 0: reachable */
    int64_t away_wall_ms;
    int64_t there_ms; /* monotonic; time since when it is reachable */
    bool full;        /* its disk */
    char why[480];
    struct hub_row own; /* id, url, conf, pin */
    bool changed_own;   /* it must be written to the table */
    struct feed_item *items, **tail;
    uint64_t changes;

    /* owned by the loop */
    int loop_fd;
    struct event *ev;
    member_changed_fn *changed;
    void *changed_arg;
};

/* ---- the thread's rounds ---- */

/* began_ms: time of the request that failed. */
static void say_away(struct member *m, int64_t began_ms, const struct err *err)
{
    LOCKED(&m->lock);
    if (!m->away_since_ms) {
        m->away_since_ms = MAX(began_ms, 1);
        m->away_wall_ms = clock_wall_ms() - (clock_mono_ms() - began_ms);
    }
    mem_copy_str(m->why, sizeof(m->why), err->msg);
}

static void say_there(struct member *m)
{
    LOCKED(&m->lock);
    if (m->away_since_ms || !m->there_ms)
        m->there_ms = clock_mono_ms();
    m->away_since_ms = 0;
    m->why[0] = 0;
}

/* Keeps or acquires it, unless another hub has it. */
static int hold_lease(struct member *m, struct lease *l, struct err *err)
{
    int r = atomic_load(&l->stop_ms) ? lease_keep(&m->s, l, err) : 0;

    return r == 0 ? lease_take(&m->s, l, err) : r;
}

static int keep_leases(struct member *m, struct err *err)
{
    int r = hold_lease(m, &m->here, err);

    return r < 0 ? r : hold_lease(m, &m->leader, err);
}

/* Another hub has its URL or name: it was restarted. */
static bool is_back(const struct hub_row *gone, const struct hub_row *rows, size_t n)
{
    const char *url = gone->url;

    return ANY(n, k,
               rows[k].here && rows[k].id > gone->id &&
                   strcmp(url[0] ? rows[k].url : rows[k].name, url[0] ? url : gone->name) == 0);
}

/*
 * With the lock: finds a hub that did not shut down cleanly, and has not renewed its lease for a while since this one
 * started. After an outage of the server all hubs need some time.
 */
static void note_missed(struct member *m, const struct hub_row *rows, size_t n)
{
    const struct hub_row *own = NULL;

    for (size_t i = 0; i < n; i++)
        own = rows[i].id == m->id ? &rows[i] : own;
    m->missed.id = 0;
    if (!own || !m->there_ms || m->away_since_ms || clock_mono_ms() - m->there_ms < QUIET_MS)
        return;
    for (size_t i = 0; i < n; i++) {
        int64_t quiet_ms = rows[i].now_ms - (rows[i].until_ms - HERE_MS);
        if (rows[i].until_ms > own->started_ms && quiet_ms > QUIET_MS && &rows[i] != own && !is_back(&rows[i], rows, n))
            m->missed = rows[i];
    }
}

/* Hubs of another version may not know parts: then the leader has all of them, as in that version. */
static bool are_alike(const struct hub_row *rows, size_t n)
{
    size_t one = FIRST(n, i, rows[i].here);

    return !ANY(n, i, rows[i].here && strcmp(rows[i].version, rows[one].version) != 0);
}

/* Each sharing hub has every n-th. */
uint32_t member_parts_of(int64_t id, const struct hub_row *rows, size_t n)
{
    size_t here = 0, n_share = 0, place = SIZE_MAX;
    uint32_t mask = 0;

    for (size_t i = 0; i < n; i++)
        here += rows[i].here;
    bool alike = are_alike(rows, n);
    for (size_t i = 0; i < n; i++) {
        if (!rows[i].here || (alike ? here > 2 && rows[i].leads : !rows[i].leads))
            continue;
        place = rows[i].id == id ? n_share : place;
        n_share++;
    }
    for (size_t k = 0; k < LEASE_PARTS && place != SIZE_MAX; k++)
        mask |= (uint32_t)(k % n_share == place) << k;
    return mask;
}

static int look_around(struct member *m, struct err *err)
{
    AUTO_FREE struct hub_row *rows = NULL;
    size_t n = 0;
    int r = hub_rows(&m->s, &rows, &n, err);

    if (r < 0)
        return r;
    m->wanted = member_parts_of(m->id, rows, n);
    LOCKED(&m->lock);
    m->n_hubs = 0;
    m->hubs_read = true;
    for (size_t i = 0; i < n && m->n_hubs < MEMBER_HUBS_MAX; i++)
        if (rows[i].here)
            m->hubs[m->n_hubs++] = rows[i];
    note_missed(m, rows, n);
    return 0;
}

static int look_for_room(struct member *m, struct err *err)
{
    int r = pg_has_room(m->db, err);

    LOCKED(&m->lock);
    m->full = r == 0;
    return MIN(r, 0);
}

/* Renews the parts it has in one call; then releases those of other hubs and acquires its own. */
static int keep_parts(struct member *m, struct err *err)
{
    bool any = ANY(LEASE_PARTS, i, atomic_load(&m->parts[i].stop_ms) != 0);
    int r = any ? lease_keep_parts(&m->s, m->parts, LEASE_PARTS, err) : 0;

    for (size_t i = 0; i < LEASE_PARTS && r >= 0; i++) {
        bool has = atomic_load(&m->parts[i].stop_ms) != 0, wants = m->wanted >> i & 1;
        if (has && !wants)
            r = lease_give_up(&m->s, &m->parts[i], err);
        else if (!has && wants)
            r = lease_take(&m->s, &m->parts[i], err);
    }
    return MIN(r, 0);
}

static int write_own_row(struct member *m, struct err *err)
{
    pthread_mutex_lock(&m->lock);
    const struct hub_row row = m->own;
    bool changed = m->changed_own;
    m->changed_own = false;
    pthread_mutex_unlock(&m->lock);
    int r = changed ? hub_row_change(&m->s, &row, err) : 0;
    if (r < 0) {
        LOCKED(&m->lock);
        m->changed_own = true;
    }
    return r;
}

static int take_ids(struct member *m, enum hub_ids of, struct err *err)
{
    struct id_block b;

    pthread_mutex_lock(&m->lock);
    bool low = m->ids[of].end - m->ids[of].next < IDS_AHEAD && m->more[of].next == m->more[of].end;
    pthread_mutex_unlock(&m->lock);
    if (!low)
        return 0;
    int r = ids_take(m->db, of, &b.next, &b.end, err);
    if (r < 0)
        return r;
    LOCKED(&m->lock);
    m->more[of] = b;
    return 0;
}

static int read_changes(struct member *m, struct err *err)
{
    struct feed_item *items = NULL, **tail = &items;
    int r = feed_read(&m->feed, &tail, err);
    size_t n = 0;

    for (const struct feed_item *i = items; i; i = i->next)
        n++;
    LOCKED(&m->lock);
    if (items) {
        *m->tail = items;
        m->tail = tail;
        m->changes += n;
        wake_ring(m->loop_fd);
    }
    return r;
}

static int listen_again(struct member *m, struct err *err)
{
    uint64_t now = pg_connection(m->db); /* it may have reconnected since the last round */
    int r = m->listens == now || pg_is_pooled(m->db) ? 0 : db_exec(m->db, "LISTEN muster");

    if (r < 0)
        return db_fail(m->db, r, "listen to", err);
    if (m->listens != now)
        m->fed_ms = 0; /* notifications in between were lost */
    m->listens = now;
    return 0;
}

/* Deletes old rows of hubs and records. Only one hub needs to. */
static int tidy(struct member *m, struct err *err)
{
    int64_t now_ms = clock_mono_ms(), r;

    if (!lease_holds(&m->leader) || (m->tidied_ms && now_ms - m->tidied_ms < TIDY_MS))
        return 0;
    m->tidied_ms = now_ms;
    r = hub_rows_drop(&m->s, FORGET_MS, err);
    if (r >= 0)
        r = feed_tidy(&m->feed, FORGET_MS);
    return (int)MIN(r, 0);
}

static int follow(struct member *m, struct err *err)
{
    int r = listen_again(m, err);

    int64_t every_ms = m->unread ? REST_MS : pg_is_pooled(m->db) ? POLL_MS : FEED_MS;
    if (r < 0 || (m->fed_ms && clock_mono_ms() - m->fed_ms < every_ms))
        return r;
    m->unread = false;
    m->fed_ms = clock_mono_ms();
    r = read_changes(m, err);
    if (r < 0)
        m->fed_ms = 0;
    return r;
}

static int do_round(struct member *m, bool follows, struct err *err)
{
    int64_t now_ms = clock_mono_ms();
    int r = 0;

    if (!m->kept_ms || now_ms - m->kept_ms >= KEEP_MS) {
        r = keep_leases(m, err);
        if (r >= 0)
            r = look_around(m, err);
        if (r >= 0)
            r = keep_parts(m, err);
        m->kept_ms = r < 0 ? 0 : now_ms;
    } else if (now_ms - MAX(m->kept_ms, m->room_ms) >= ROOM_MS) {
        r = look_for_room(m, err);
        m->room_ms = now_ms;
    }
    if (r >= 0)
        r = write_own_row(m, err);
    if (r >= 0 && follows)
        r = follow(m, err);
    for (enum hub_ids of = 0; of < IDS_KINDS && r >= 0 && follows; of++)
        r = take_ids(m, of, err);
    return r < 0 ? r : follows ? tidy(m, err) : 0;
}

/* Returns 1 after a NOTIFY. */
static int wait_round(struct member *m, bool well)
{
    int64_t rest_ms = m->unread && m->fed_ms ? MAX(REST_MS - (clock_mono_ms() - m->fed_ms), 1) : ROUND_MS;
    int r = well ? pg_wait(m->db, m->wake_fd, MIN(rest_ms, pg_is_pooled(m->db) ? POLL_MS : ROUND_MS)) : -ENOTCONN;

    if (r < 0) {
        struct pollfd p = {.fd = m->wake_fd, .events = POLLIN};
        m->listens = 0;
        if (well)
            return 0; /* immediately: the server may be back */
        poll(&p, 1, ROUND_MS);
    }
    wake_clear(m->wake_fd);
    return MAX(r, 0);
}

static void *member_main(void *arg)
{
    struct member *m = arg;
    bool stop = false;

    while (!stop) {
        struct err err = {0};
        int64_t began_ms = clock_mono_ms();
        pthread_mutex_lock(&m->lock);
        bool follows = m->follow;
        pthread_mutex_unlock(&m->lock);
        int r = do_round(m, follows, &err);
        if (r < 0)
            say_away(m, began_ms, &err);
        else
            say_there(m);
        pthread_mutex_lock(&m->lock);
        m->following = follows && r >= 0;
        stop = m->stop;
        pthread_cond_broadcast(&m->looked);
        pthread_mutex_unlock(&m->lock);
        if (!stop)
            m->unread |= wait_round(m, r >= 0) == 1;
    }
    return NULL;
}

/* ---- open and close ---- */

static int join(struct member *m, const struct member_conf *conf, struct err *err)
{
    char name[LEASE_NAME_MAX];
    int r = db_open(&m->db, conf->place, &lease_kind, DB_WRITE, err);

    if (r < 0)
        return r;
    pg_set_limit(m->db, ANSWER_MS);
    if (!pg_used_password(m->db) || !place_is_open(conf->place, m->open_way))
        m->open_way[0] = 0;
    leases_init(&m->s, m->db);
    r = hub_row_add(&m->s, &conf->self, &m->id, err);
    if (r < 0)
        return r;
    m->place = place_for_hub(conf->place, m->id);
    feed_init(&m->feed, m->db, m->id);
    lease_init(&m->here, lease_of_hub(m->id, name), m->id, HERE_MS);
    lease_init(&m->leader, LEASE_LEADER, m->id, LEADER_MS);
    for (unsigned i = 0; i < LEASE_PARTS; i++)
        lease_init(&m->parts[i], lease_of_part(i, name), m->id, LEADER_MS);
    return keep_leases(m, err);
}

int member_open(struct member **ret, const struct member_conf *conf, struct err *err)
{
    struct member *m = NEW(struct member, .wake_fd = wake_new(), .loop_fd = wake_new());

    m->tail = &m->items;
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->looked, NULL);
    int r = m->wake_fd < 0 || m->loop_fd < 0 ? err_set(err, -errno, "cannot make an eventfd: %s", strerror(errno)) : 0;
    if (r == 0)
        r = join(m, conf, err);
    if (r >= 0) {
        m->own = conf->self;
        m->own.id = m->id;
        r = thread_start(&m->thread, NULL, member_main, m);
        m->running = r == 0;
        if (r < 0)
            err_set(err, r, "cannot start a thread: %s", strerror(-r));
    }
    if (r < 0) {
        member_close(m);
        return r;
    }
    *ret = m;
    return 0;
}

static void free_items(struct feed_item *i)
{
    while (i) {
        struct feed_item *next = i->next;
        free(i);
        i = next;
    }
}

void member_close(struct member *m)
{
    if (!m)
        return;
    member_unfollow(m);
    if (m->running) {
        pthread_mutex_lock(&m->lock);
        m->stop = true;
        pthread_mutex_unlock(&m->lock);
        wake_ring(m->wake_fd);
        pthread_join(m->thread, NULL);
        for (size_t i = 0; i < LEASE_PARTS; i++) /* on failure it expires in a few seconds anyway */
            if (atomic_load(&m->parts[i].stop_ms))
                lease_give_up(&m->s, &m->parts[i], NULL);
        lease_give_up(&m->s, &m->leader, NULL);
        lease_give_up(&m->s, &m->here, NULL);
    }
    if (m->id)
        feed_fini(&m->feed);
    if (m->db)
        leases_fini(&m->s);
    db_close(m->db);
    free_items(m->items);
    if (m->wake_fd >= 0)
        close(m->wake_fd);
    if (m->loop_fd >= 0)
        close(m->loop_fd);
    pthread_cond_destroy(&m->looked);
    pthread_mutex_destroy(&m->lock);
    free(m->place);
    free(m);
}

int64_t member_id(const struct member *m)
{
    return m->id;
}

const char *member_open_way(const struct member *m)
{
    return m->open_way[0] ? m->open_way : NULL;
}

const char *member_place(const struct member *m)
{
    return m->place;
}

/* ---- queries ---- */

bool member_leads(const struct member *m, int64_t *ret_epoch)
{
    *ret_epoch = atomic_load(&m->leader.epoch);
    return lease_holds(&m->leader);
}

int64_t member_part(const struct member *m, unsigned part)
{
    int64_t epoch = atomic_load(&m->parts[part].epoch);

    return lease_holds(&m->parts[part]) ? epoch : -1;
}

/* Unknown hubs are not gone. */
bool member_has_left(struct member *m, int64_t hub)
{
    LOCKED(&m->lock);
    bool known = m->hubs_read && !m->away_since_ms;
    for (size_t i = 0; i < m->n_hubs; i++)
        if (m->hubs[i].id == hub)
            known = false;
    return known && hub != m->id;
}

int64_t member_next_id(struct member *m, enum hub_ids of)
{
    LOCKED(&m->lock);
    struct id_block *b = &m->ids[of];
    if (b->next == b->end) {
        *b = m->more[of];
        m->more[of] = (struct id_block){0};
    }
    int64_t id = b->next < b->end ? b->next++ : 0;
    if (b->end - b->next < IDS_AHEAD)
        wake_ring(m->wake_fd);
    return id;
}

void member_publish(struct member *m, const char *url, const char *conf, const char *pin)
{
    LOCKED(&m->lock);
    struct hub_row *own = &m->own;
    m->changed_own |= strcmp(own->url, url) != 0 || strcmp(own->conf, conf) != 0 || strcmp(own->pin, pin) != 0;
    mem_copy_str(own->url, sizeof(own->url), url);
    mem_copy_str(own->conf, sizeof(own->conf), conf);
    mem_copy_str(own->pin, sizeof(own->pin), pin);
    wake_ring(m->wake_fd);
}

void member_stat(struct member *m, struct member_stat *ret)
{
    LOCKED(&m->lock);
    ret->n = m->n_hubs;
    memcpy(ret->hubs, m->hubs, m->n_hubs * sizeof(m->hubs[0]));
    ret->away_ms = m->away_since_ms ? MAX(clock_mono_ms() - m->away_since_ms, 1) : 0;
    ret->away_wall_ms = m->away_wall_ms;
    ret->full = m->full;
    mem_copy_str(ret->why, sizeof(ret->why), m->why);
    ret->leads = lease_holds(&m->leader);
    ret->changes = m->changes;
    ret->missed = m->missed;
    ret->missed_wall_ms = m->missed.until_ms - HERE_MS;
}

/* ---- the loop's side ---- */

static void give_changes(evutil_socket_t fd, UNUSED short what, void *arg)
{
    struct member *m = arg;
    union any_record rec;

    wake_clear(fd);
    pthread_mutex_lock(&m->lock);
    struct feed_item *items = m->items;
    m->items = NULL;
    m->tail = &m->items;
    pthread_mutex_unlock(&m->lock);
    for (struct feed_item *i = items; i; i = i->next) {
        record_unpack(main_records[i->kind], i->bytes, &rec);
        m->changed(m->changed_arg, &(struct peer_record){i->kind, i->gone, &rec});
    }
    free_items(items);
}

int member_follow(struct member *m, struct event_base *loop, member_changed_fn *changed, void *arg, struct err *err)
{
    m->changed = changed;
    m->changed_arg = arg;
    m->ev = event_new(loop, m->loop_fd, EV_READ | EV_PERSIST, give_changes, m);
    if (!m->ev || event_add(m->ev, NULL) < 0)
        return err_set(err, -ENOMEM, "cannot watch for what other hubs change");
    int64_t until_ms = clock_boot_ms() + FOLLOW_MS;
    LOCKED(&m->lock);
    m->follow = true;
    wake_ring(m->wake_fd);
    while (!m->following && clock_boot_ms() < until_ms)
        pthread_cond_wait(&m->looked, &m->lock); /* rounds run every second */
    return m->following ? 0 : err_set(err, -ENOTCONN, "%s", m->why[0] ? m->why : "the server does not answer");
}

void member_unfollow(struct member *m)
{
    if (m->ev)
        event_free(m->ev);
    m->ev = NULL;
}
