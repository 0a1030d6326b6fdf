/* filehost.c: reads the files that came for each machine and sends what is new in them to the hub. */
#include "compat/filehost.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/order.h"
#include "base/rand.h"
#include "base/timer.h"
#include "uplink/uplink.h"

#define LOOK_MS   5000
#define TICK_MS   20000 /* of the node scripts */
#define AHEAD_MS  5000
#define ALONE_MS  60000 /* GPUs have not been read for this long: the machine speaks alone */
#define OLD_WORDS "the newest reading in its files is more than 500 s old"

struct filehost {
    struct filehosts *all;
    const void *owner; /* NULL: nobody's any more */
    char name[ORIGIN_NAME_MAX + 1];
    struct readings *readings;
    struct uplink *teller;
    int64_t told_at;      /* of the newest reading told, as it says */
    int64_t at;           /* of the newest reading there is; 0: none */
    int64_t tick_ms;      /* of the last round */
    int64_t left_mono;    /* owner NULL since */
    size_t left_out;      /* disks, as said last */
    bool machine, warned; /* machine: something new of the machine itself, not told yet */
};

struct filehosts {
    struct event_base *loop;
    struct post *post;
    uint64_t run;
    struct readings_zone zone;
    struct reading reading; /* used by all, one after the other */
    struct timer *look;
    size_t n, cap;
    struct filehost **v;
};

static void filehost_free(struct filehost *l)
{
    uplink_free(l->teller);
    readings_free(l->readings);
    free(l);
}

/* ---- a round ---- */

static void tell_age(struct filehost *l)
{
    int64_t now = clock_wall_ms();
    if (!l->at)
        uplink_state(l->teller, COLLECT_NONE, "its files name no GPU");
    else if (now - l->at > FILES_STALE_MS)
        uplink_state(l->teller, COLLECT_FAILED, OLD_WORDS); /* L3 */
    else
        uplink_state(l->teller, COLLECT_OK, "");
}

void filehost_round(struct filehost *l)
{
    struct reading *r = &l->all->reading;
    int64_t now = clock_wall_ms();
    struct node_fact host = {.tick_ms = TICK_MS, .cpus = readings_cpus(l->readings)};
    l->at = readings_at(l->readings, &l->all->zone);
    bool news = l->at > l->told_at;
    if (l->at > now + AHEAD_MS && !l->warned) {
        l->warned = true;
        log_warn("relay", "%s: its readings are %lld s ahead of this clock: is files.zone right, and the clock there?",
                 l->name, (long long)(l->at - now) / 1000);
    }
    bool alone = !news && l->machine && now - l->at > ALONE_MS;
    if ((news && l->at > now - DAY_MS) || alone) { /* L1, L2 */
        reading_reset(r);
        r->at_ms = MAX(news ? MIN(l->at, now) : now, l->tick_ms + 1); /* older ones would count as long past */
        l->tick_ms = r->at_ms;
        mem_copy_str(host.collector, sizeof(host.collector), "files");
        if (readings_read(l->readings, &l->all->zone, r)) {
            uplink_round(l->teller, r, &host, news ? UPLINK_READ : UPLINK_KNOWN);
            uplink_send(l->teller);
        }
        l->machine = false;
    }
    l->told_at = l->at;
    tell_age(l);
}

static void tell_left_out(struct filehost *l)
{
    size_t n = readings_left_out(l->readings);
    if (n > l->left_out)
        log_warn("relay", "%s: %zu of its disks %s left out, there are too many", l->name, n, n == 1 ? "is" : "are");
    l->left_out = n;
}

void filehost_take(struct filehost *l, enum readings_file which, struct str text, int64_t written_ms)
{
    readings_take(l->readings, which, text, written_ms);
    tell_left_out(l);
    l->machine |= which == READINGS_STATUS || which == READINGS_DISKS;
}

void filehost_fail(struct filehost *l, const char *why)
{
    uplink_state(l->teller, COLLECT_FAILED, why);
}

void filehost_labels(struct filehost *l, const char *labels)
{
    uplink_labels(l->teller, labels);
}

void filehost_leave(struct filehost *l, const char *why)
{
    l->owner = NULL;
    l->left_mono = MAX(clock_mono_ms(), 1);
    uplink_state(l->teller, COLLECT_PAUSED, why);
}

const char *filehost_name(const struct filehost *l)
{
    return l->name;
}

/* ---- all of them ---- */

static void on_look(void *arg)
{
    struct filehosts *all = arg;
    int64_t now = clock_mono_ms();
    for (size_t i = all->n; i-- > 0;) {
        struct filehost *l = all->v[i];
        if (l->owner) {
            if (uplink_collect(l->teller) != COLLECT_OK)
                continue;
            if (l->machine && clock_wall_ms() - l->at > ALONE_MS)
                filehost_round(l); /* nothing came of its GPUs that could have taken this along */
            else
                tell_age(l);
        } else if (now - l->left_mono > FILES_FORGET_MS) {
            log_info("relay", "%s: forgotten", l->name);
            filehost_free(l);
            memmove(&all->v[i], &all->v[i + 1], (--all->n - i) * sizeof(struct filehost *));
        }
    }
}

struct filehosts *filehosts_new(struct event_base *loop, struct post *post)
{
    struct filehosts *all =
        NEW(struct filehosts, .loop = loop, .post = post, .run = rand_u64() | 1, .zone = {.automatic = true});
    all->look = timer_new(loop, on_look, all);
    timer_every(all->look, LOOK_MS);
    return all;
}

void filehosts_free(struct filehosts *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->n; i++)
        filehost_free(all->v[i]);
    timer_free(all->look);
    reading_fini(&all->reading);
    free(all->v);
    free(all);
}

void filehosts_zone(struct filehosts *all, const struct readings_zone *z)
{
    if (all->zone.automatic != z->automatic || all->zone.offset_ms != z->offset_ms)
        for (size_t i = 0; i < all->n; i++) {
            all->v[i]->told_at = 0;
            all->v[i]->warned = false;
        }
    all->zone = *z;
}

size_t filehosts_count(const struct filehosts *all, size_t ret_states[COLLECT_STATES])
{
    for (size_t i = 0; i < all->n; i++)
        ret_states[uplink_collect(all->v[i]->teller)]++;
    return all->n;
}

struct filehost *filehosts_get(struct filehosts *all, struct str host, const void *owner)
{
    char key[NODE_KEY_MAX];
    struct filehost **known = FIND(all->v, all->n, e, str_eq(host, (*e)->name));
    if (known) {
        if (!(*known)->owner)
            (*known)->owner = owner;
        return (*known)->owner == owner ? *known : NULL;
    }
    if (all->n == FILEHOSTS_MAX || host.len > ORIGIN_NAME_MAX)
        return NULL;
    snprintf(key, sizeof(key), "file:%.*s", STR_ARG(host));
    if (!node_origin_ok(str_of(key)))
        return NULL;
    struct filehost *l = NEW(struct filehost, .all = all, .owner = owner);
    snprintf(l->name, sizeof(l->name), "%.*s", STR_ARG(host));
    l->readings = readings_new();
    l->teller = uplink_new(all->loop, all->post, key, all->run, "its files have not been read yet");
    VEC_ADD(all->v, all->n, all->cap, l);
    return l;
}

struct filehost *filehosts_next(struct filehosts *all, const void *owner, size_t *at)
{
    while (*at < all->n && all->v[*at]->owner != owner)
        ++*at;
    return *at < all->n ? all->v[(*at)++] : NULL;
}
