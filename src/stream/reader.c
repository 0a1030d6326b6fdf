/* reader.c: the thread that follows one hub's stream, and its queue of updates. */
#include "stream/reader.h"

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/thread.h"

enum { AGAIN_MS = 1000 };

struct hub_reader {
    struct hub_reader_conf conf;
    struct hub_line *line;
    pthread_t thread;
    struct intake in;     /* owned by the thread */
    int64_t again_ms;     /* owned by the thread */
    pthread_mutex_t lock; /* protects the following members */
    struct stream_changes waiting;
    struct reader_result said;
};

static void wake(const struct hub_reader *r)
{
    if (r->conf.wake)
        r->conf.wake(r->conf.arg);
}

static int take_piece(void *arg, struct str piece)
{
    struct hub_reader *r = arg;
    struct err err = {0};
    int code = intake_take(&r->in, piece, clock_mono_ms(), &err);

    if (r->in.news.begun)
        r->again_ms = AGAIN_MS;
    pthread_mutex_lock(&r->lock);
    r->said.connected |= code == 0 && r->in.news.begun;
    stream_changes_merge(&r->waiting, &r->in.news);
    pthread_mutex_unlock(&r->lock);
    wake(r);
    return code;
}

static void on_tick(void *arg)
{
    struct hub_reader *r = arg;

    if (r->conf.tick)
        r->conf.tick(r->conf.arg, r->in.news.clock_ms);
}

static void *run(void *arg)
{
    struct hub_reader *r = arg;

    while (!hub_line_stopped(r->line)) {
        struct err err = {0};
        intake_reset(&r->in, r->conf.event_max);
        int code = hub_line_follow(r->line, r->conf.path, r->conf.quiet_ms, take_piece, on_tick, r, &err);
        pthread_mutex_lock(&r->lock);
        r->said.connected = false;
        r->said.code = code;
        mem_copy_str(r->said.why, sizeof(r->said.why), r->in.err.msg[0] ? r->in.err.msg : err.msg);
        pthread_mutex_unlock(&r->lock);
        wake(r);
        hub_line_sleep(r->line, r->again_ms);
        r->again_ms = MIN(r->again_ms * 2, r->conf.again_max_ms);
    }
    return NULL;
}

int hub_reader_new(const struct hub_reader_conf *conf, struct hub_reader **ret, struct err *err)
{
    struct hub_reader *r = NEW(struct hub_reader, .conf = *conf, .again_ms = AGAIN_MS);

    r->in = (struct intake){.own = conf->own, .max_nodes = conf->max_nodes, .meet = conf->meet, .arg = conf->arg};
    r->line = hub_line_new(&conf->line);
    pthread_mutex_init(&r->lock, NULL);
    int e = thread_start(&r->thread, NULL, run, r);
    if (e == 0) {
        *ret = r;
        return 0;
    }
    hub_line_free(r->line);
    pthread_mutex_destroy(&r->lock);
    free(r);
    return err_set(err, e, "cannot start a thread: %s", strerror(-e));
}

void hub_reader_free(struct hub_reader *r)
{
    if (!r)
        return;
    hub_line_stop(r->line);
    pthread_join(r->thread, NULL);
    hub_line_free(r->line);
    pthread_mutex_destroy(&r->lock);
    intake_fini(&r->in);
    stream_nodes_fini(&r->waiting.nodes);
    free(r);
}

void hub_reader_take(struct hub_reader *r, struct stream_changes *ret, struct reader_result *said)
{
    LOCKED(&r->lock);
    *ret = r->waiting;
    *said = r->said;
    r->waiting.nodes = (struct stream_nodes){0};
    r->waiting.begun = r->waiting.whole = false;
}
