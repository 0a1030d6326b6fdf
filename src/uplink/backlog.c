/*
 * backlog.c: batches of one hub that wait on disk: stored, synced, and dropped beyond the spool's bounds. A failure is
 * logged once. sender.c decides when they are sent.
 */
#include "uplink/backlog.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"

#define SYNC_MS 1000

struct backlog {
    struct spool *spool;
    const char *hub;
    backlog_dropped_fn *dropped;
    void *arg;
    struct timer *sync; /* set while something is not synced */
    uint64_t told_dropped, told_damaged;
    bool bad;
};

static void backlog_trouble(struct backlog *b, const struct err *err)
{
    if (!b->bad)
        log_error("agent", "hub %s: %s; batches are kept in memory meanwhile", b->hub, err->msg);
    b->bad = true;
}

/* Reports n more lost batches. */
static void backlog_lost(struct backlog *b, uint64_t now, uint64_t *told, const char *how)
{
    char why[160];
    uint64_t n = now - *told;

    if (n == 0)
        return;
    *told = now;
    snprintf(why, sizeof(why), "%s: %llu batches given up", how, (unsigned long long)n);
    log_warn("agent", "hub %s: %s", b->hub, why);
    b->dropped(b->arg, n, why);
}

static void backlog_tell(struct backlog *b)
{
    struct spool_stat st;

    spool_stat(b->spool, &st);
    backlog_lost(b, st.dropped, &b->told_dropped, "the spool is full, or they were too old");
    backlog_lost(b, st.damaged, &b->told_damaged, "damaged on disk");
}

static void on_sync(void *arg)
{
    struct backlog *b = arg;
    struct err err = {0};

    if (spool_sync(b->spool, &err) < 0)
        backlog_trouble(b, &err);
    backlog_tell(b);
}

static void backlog_dirty(struct backlog *b)
{
    if (!timer_is_set(b->sync))
        timer_after(b->sync, SYNC_MS);
}

static int backlog_write(struct backlog *b, const struct packet *p, struct err *err)
{
    struct spool_rec rec = {.run = p->run, .number = p->number, .at_ms = p->at_ms, .bytes = buf_str(&p->frame)};
    const struct enclosure *blobs[] = {p->facts, p->procs};
    int r;

    for (size_t i = 0; i < ARRAY_LEN(blobs); i++) {
        if (!blobs[i])
            continue;
        rec.blobs[i] = blobs[i]->id;
        if ((r = spool_put_blob(b->spool, blobs[i]->id, buf_str(&blobs[i]->frame), err)) < 0)
            return r;
    }
    return spool_put(b->spool, &rec, clock_wall_ms(), err);
}

bool backlog_put(struct backlog *b, const struct packet *p)
{
    struct err err = {0};

    if (backlog_write(b, p, &err) < 0) {
        backlog_trouble(b, &err);
        return false;
    }
    if (b->bad)
        log_info("agent", "hub %s: the spool can be written again", b->hub);
    b->bad = false;
    backlog_dirty(b);
    return true;
}

void backlog_done(struct backlog *b, uint64_t run, uint64_t number)
{
    struct err err = {0};

    if (spool_done(b->spool, run, number, &err) < 0)
        backlog_trouble(b, &err);
    else
        backlog_dirty(b);
}

static bool backlog_found(struct backlog *b, int r, const struct err *err)
{
    if (r < 0)
        backlog_trouble(b, err);
    return r == 1;
}

bool backlog_peek(struct backlog *b, size_t i, struct spool_rec *ret)
{
    struct err err = {0};

    return backlog_found(b, spool_peek(b->spool, i, ret, &err), &err);
}

bool backlog_blob(struct backlog *b, uint64_t id, struct buf *ret)
{
    struct err err = {0};

    return backlog_found(b, spool_blob(b->spool, id, ret, &err), &err);
}

void backlog_stat(const struct backlog *b, struct spool_stat *ret)
{
    spool_stat(b->spool, ret);
}

void backlog_name(struct backlog *b, const char *hub)
{
    b->hub = hub;
}

int backlog_open(struct backlog **ret, struct event_base *loop, const struct spool_conf *conf, const char *hub,
                 backlog_dropped_fn *dropped, void *arg, struct err *err)
{
    struct spool *spool = NULL;
    int r = spool_open(&spool, conf, clock_wall_ms(), err);

    if (r < 0)
        return r;
    struct backlog *b = NEW(struct backlog, .spool = spool, .hub = hub, .dropped = dropped, .arg = arg);
    b->sync = timer_new(loop, on_sync, b);
    backlog_dirty(b); /* reports losses found by spool_open, after the owner is set up */
    *ret = b;
    return 0;
}

void backlog_close(struct backlog *b)
{
    struct err err = {0};

    if (!b)
        return;
    if (spool_sync(b->spool, &err) < 0)
        backlog_trouble(b, &err);
    timer_free(b->sync);
    spool_close(b->spool);
    free(b);
}
