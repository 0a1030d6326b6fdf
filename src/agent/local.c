/* local.c: starts a collector process and fills batches from it without an event loop: it waits with poll. */
#include "agent/local.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/filler.h"
#include "agent/identity.h"
#include "agent/spawn.h"
#include "base/clock.h"
#include "base/mem.h"

#define SNAPSHOT_TICK_MS 250
#define CLOSE_MS         300

struct local {
    struct agent_conf conf; /* a shallow copy */
    struct local_sink sink;
    struct node_identity id;
    struct host *host;
    struct filler *filler;
    pid_t pid;
    int fd;
    struct child_msg msg;
    char *room;
    uint64_t facts, procs; /* delivered last */
    enum collect_state state;
    int64_t state_ms, begun_mono;
    char why[160];
};

static void local_hello(struct local *l)
{
    struct hello h = {.node = l->id.node,
                      .run = l->id.run,
                      .state_since_ms = l->state_ms,
                      .collect = (uint8_t)l->state};

    h.sent_ms = clock_wall_ms();
    mem_copy_str(h.name, sizeof(h.name), filler_name(l->filler));
    mem_copy_str(h.why, sizeof(h.why), l->why);
    l->sink.hello(l->sink.arg, &h);
}

static void local_set(struct local *l, enum collect_state to, const char *why)
{
    if (to != l->state)
        l->state_ms = clock_wall_ms();
    l->state = to;
    mem_copy_str(l->why, sizeof(l->why), why);
}

static void on_filled(void *arg, const struct filled *f)
{
    struct local *l = arg;

    local_hello(l);
    if (f->facts && f->facts->id != l->facts) {
        l->facts = f->facts->id;
        l->sink.facts(l->sink.arg, l->facts, f->node);
    }
    if (f->procs && f->procs->id != l->procs) {
        l->procs = f->procs->id;
        l->sink.procs(l->sink.arg, l->procs, f->list);
    }
    l->sink.batch(l->sink.arg, &f->batch);
}

int local_open(struct local **ret, const struct agent_conf *conf, const struct local_sink *sink, struct err *err)
{
    struct local *l = NEW(struct local, .conf = *conf, .sink = *sink, .fd = -1);

    int r = spawn_collector(&l->conf, STR(""), &l->pid, &l->fd, err);
    if (r < 0) {
        free(l);
        return r;
    }
    identity_peek(&l->id, conf->state_dir);
    l->host = host_new("/proc");
    l->filler = filler_new(&l->id.node, l->id.run, conf->name, conf->tick, l->host, on_filled, l);
    l->room = mem_alloc(CHILD_MSG_MAX);
    l->state = COLLECT_STARTING;
    l->state_ms = clock_wall_ms();
    l->begun_mono = clock_mono_ms();
    *ret = l;
    return 0;
}

/* One message: 1 when there is something to deliver, 0 when not yet, or -errno. */
static int local_take(struct local *l, struct err *err)
{
    ssize_t n = recv(l->fd, l->room, CHILD_MSG_MAX, MSG_DONTWAIT | MSG_TRUNC);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : err_set(err, -errno, "the collector: %s", strerror(errno));
    if (n == 0)
        return err_set(err, -EPIPE, "the collector ended%s%s", l->why[0] ? ": " : "", l->why);
    int r = child_msg_read(&l->msg, l->room, (size_t)n > CHILD_MSG_MAX ? 0 : (size_t)n, err);
    if (r < 0)
        return r;
    filler_msg(l->filler, &l->msg, clock_mono_ms());
    if (l->msg.type == CHILD_STATUS)
        local_set(l, l->msg.status < COLLECT_STATES ? (enum collect_state)l->msg.status : COLLECT_FAILED, l->msg.why);
    else if (l->msg.type == CHILD_TICK && l->state == COLLECT_STARTING)
        local_set(l, COLLECT_OK, "");
    if (l->msg.type == CHILD_TICK)
        return 1;
    if (l->msg.type != CHILD_STATUS || l->state == COLLECT_OK || l->state == COLLECT_STARTING)
        return 0;
    filler_beat(l->filler, clock_wall_ms(), clock_mono_ms()); /* no devices: the node alone */
    return 1;
}

int local_next(struct local *l, int64_t timeout_ms, struct err *err)
{
    struct pollfd p = {.fd = l->fd, .events = POLLIN};
    int64_t now = clock_mono_ms(), until = now + timeout_ms;

    for (; now < until; now = clock_mono_ms()) {
        int r = poll(&p, 1, (int)MIN(until - now, 60000)) > 0 ? local_take(l, err) : 0;
        if (r < 0)
            return r;
        if (r > 0) {
            filler_flush(l->filler);
            return 1;
        }
    }
    if (now - l->begun_mono >= l->conf.collect_timeout)
        local_set(l, COLLECT_HUNG, "the driver does not answer");
    local_hello(l);
    return 0;
}

int local_fd(const struct local *l)
{
    return l->fd;
}

void local_close(struct local *l)
{
    if (!l)
        return;
    close(l->fd); /* it ends by itself, unless the driver holds it */
    bool there = true;
    for (int i = 0; i < CLOSE_MS / 10 && (there = waitpid(l->pid, NULL, WNOHANG) == 0); i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    if (there && l->state == COLLECT_HUNG)
        kill(l->pid, SIGKILL);
    filler_free(l->filler);
    host_free(l->host);
    child_msg_fini(&l->msg);
    free(l->room);
    free(l);
}

int local_snapshot(const struct agent_conf *conf, int64_t timeout_ms, const struct local_sink *sink, struct err *err)
{
    struct agent_conf quick = *conf; /* shallow: for the length of this call */
    struct err ignored = {0};
    struct local *l = NULL;
    int64_t until = clock_mono_ms() + timeout_ms;

    quick.tick = MIN(conf->tick, SNAPSHOT_TICK_MS);
    int r = local_open(&l, &quick, sink, err);
    if (r < 0)
        return r;
    r = local_next(l, timeout_ms, err);
    if (r == 1 && l->state == COLLECT_OK)
        local_next(l, MAX(until - clock_mono_ms(), 2ll * SNAPSHOT_TICK_MS), &ignored);
    local_close(l);
    return r;
}
