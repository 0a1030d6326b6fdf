/*
 * child.c: the loop of the collector process. At each tick it reads the open collectors, merges their readings and
 * sends the result. It only waits for the next tick. If the socket is full it drops the tick. A driver call that hangs
 * blocks this process; the parent then receives nothing.
 */
#include "collect/child.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/pages.h"
#include "collect/device_slots.h"
#include "collect/piped.h"
#include "collect/proc_cpu.h"
#include "collect/proc_info.h"
#include "collect/proc_table.h"
#include "model/state.h"

#define SOURCES_MAX    8
#define ALIVE_MS       1000  /* something is sent at least this often */
#define RETRY_MIN_MS   1000  /* opening a collector is tried again after this, then twice that, ... */
#define RETRY_MAX_MS   30000 /* ... up to this */
#define FAILS_MAX      3     /* after this many failed reads in a row the collector is reopened */
#define NAMES_WAIT_MS  20    /* names of users usually arrive within microseconds: one list is then enough */
#define SWEEP_MS       10000
#define ORPHAN_WAIT_MS 100

struct source {
    const struct collector_ops *ops;
    struct collector *c; /* NULL: not open */
    struct reading reading;
    int fails;
    int64_t retry_at, retry_ms; /* monotonic */
    char why[160];              /* why it is not read, or a remark about its readings; empty if all is well */
    bool read;                  /* in this tick */
    bool absent;                /* no driver, as far as it knows: its devices are lost, not just unread */
    bool waiting;               /* open, but without a reading yet */
};

struct child {
    int fd;
    const struct collect_conf *conf;
    struct collect_choice choice;
    size_t n_sources;
    struct source sources[SOURCES_MAX];
    struct device_slots slots;
    struct proc_info *who;
    struct proc_cpu *cpu;
    struct proc_table proc_table;
    struct proc_list procs_sent;
    struct proc_use *uses_sent;
    size_t n_uses_sent;
    bool procs_were_sent, uses_were_sent;
    struct buf out, facts_sent;
    int64_t sent_mono, swept_mono;
    uint8_t status;
    char why[160];
    bool status_due;
    bool closed; /* the parent is gone */
};

/* ---- sending ---- */

/* One message. False when it did not go out now; the caller decides whether that matters. */
static bool child_send(struct child *c, int packed)
{
    if (packed < 0 || c->closed)
        return false;
    ssize_t n;
    do
        n = send(c->fd, c->out.p, c->out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS && errno != EMSGSIZE)
            c->closed = true;
        return false;
    }
    c->sent_mono = clock_mono_ms();
    return true;
}

static void child_status(struct child *c)
{
    if (child_send(c, child_msg_status(&c->out, c->status, c->why)))
        c->status_due = false;
}

/* Facts go out when their bytes differ from the last that did. */
static bool child_send_facts(struct child *c)
{
    int r = child_msg_facts(&c->out, &c->slots.facts);

    if (r == 0 && c->facts_sent.len == c->out.len && memcmp(c->facts_sent.p, c->out.p, c->out.len) == 0)
        return true;
    if (!child_send(c, r))
        return false;
    struct buf old = c->facts_sent;
    c->facts_sent = c->out;
    c->out = old;
    c->uses_were_sent = false; /* slots may mean other devices now */
    return true;
}

static bool child_send_procs(struct child *c)
{
    size_t n = c->proc_table.procs.n, at = 0;
    uint64_t part = 0;

    if (c->procs_were_sent && n == c->procs_sent.n &&
        (n == 0 || memcmp(c->proc_table.procs.v, c->procs_sent.v, n * sizeof(*c->proc_table.procs.v)) == 0))
        return true;
    c->procs_were_sent = c->uses_were_sent = false;
    do
        if (!child_send(c, child_msg_procs(&c->out, &c->proc_table.procs, &at, part++)))
            return false;
    while (at < n);
    proc_list_copy(&c->procs_sent, &c->proc_table.procs);
    c->procs_were_sent = true;
    return true;
}

static void child_send_tick(struct child *c)
{
    const struct proc_table *now = &c->proc_table;
    size_t bytes = now->n_uses * sizeof(*now->uses);
    bool same =
        c->uses_were_sent && now->n_uses == c->n_uses_sent && (!bytes || memcmp(now->uses, c->uses_sent, bytes) == 0);
    struct child_tick t = {.at_ms = c->slots.at_ms,
                           .n_slots = c->slots.n_samples,
                           .samples = c->slots.samples,
                           .n_uses = now->n_uses,
                           .uses = now->uses,
                           .uses_changed = !same,
                           .n_custom = c->slots.n_custom,
                           .custom = c->slots.custom};

    if (!child_send(c, child_msg_tick(&c->out, &t)) || same)
        return;
    c->uses_sent = mem_grow(c->uses_sent, MAX(now->n_uses, 1u), sizeof(*now->uses));
    if (bytes)
        memcpy(c->uses_sent, now->uses, bytes);
    c->n_uses_sent = now->n_uses;
    c->uses_were_sent = true;
}

/* ---- processes on the devices ---- */

static int child_ask(void *arg, int32_t pid, struct proc_fact *ret)
{
    struct child *c = arg;

    return proc_info_fetch(c->who, pid, c->slots.at_ms, ret);
}

/* Waits shortly for names that are still being looked up, then fills the list again, so that it is sent once. */
static void child_who(struct child *c)
{
    const struct proc_list *l = &c->proc_table.procs;

    proc_table_fill(&c->proc_table, &c->slots, child_ask, c);
    if (ANY(l->n, i, l->v[i].uid >= 0 && !l->v[i].user[0]) && !proc_info_wait(c->who, 0) &&
        proc_info_wait(c->who, NAMES_WAIT_MS))
        proc_table_fill(&c->proc_table, &c->slots, child_ask, c);
}

/* ---- collectors ---- */

static void source_close(struct source *s)
{
    s->ops->close(s->c);
    s->c = NULL;
    s->fails = 0;
}

static void source_later(struct source *s, int64_t mono)
{
    s->retry_ms = s->retry_ms ? MIN(s->retry_ms * 2, RETRY_MAX_MS) : RETRY_MIN_MS;
    s->retry_at = mono + s->retry_ms;
}

/* With "auto" a stand-in is not wanted while the collector it replaces is readable. */
static bool source_wanted(const struct child *c, const struct source *s)
{
    return !c->choice.automatic || !s->ops->unless ||
           !ANY(c->n_sources, i, c->sources[i].c && strcmp(c->sources[i].ops->name, s->ops->unless) == 0);
}

static void source_open(struct child *c, struct source *s, int64_t mono)
{
    struct err err = {0};

    if (mono < s->retry_at)
        return;
    if (c->choice.automatic && !s->ops->present(c->conf)) {
        s->why[0] = 0;
        s->absent = true;
        source_later(s, mono);
        return;
    }
    int r = s->ops->open(&s->c, c->conf, &err);
    if (r < 0) {
        s->c = NULL;
        s->absent = r == -ENODEV;
        collect_text(s->why, sizeof(s->why), str_of(err.msg[0] ? err.msg : strerror(-r)));
        source_later(s, mono);
        return;
    }
    s->why[0] = 0;
    s->fails = 0;
}

/* 0, or -ESTALE. */
static int source_read(struct child *c, struct source *s, unsigned no, int64_t at_ms, int64_t mono)
{
    struct err err = {0};

    reading_reset(&s->reading);
    s->reading.at_ms = at_ms;
    int r = s->ops->read(s->c, &s->reading, &err);
    if (r == 0) {
        s->read = true;
        s->fails = 0;
        s->retry_ms = 0;
        collect_text(s->why, sizeof(s->why), str_of(err.msg));
        device_slots_take(&c->slots, no, &s->reading);
        return 0;
    }
    collect_text(s->why, sizeof(s->why), str_of(err.msg[0] ? err.msg : strerror(-r)));
    if (r == -ESTALE)
        return r;
    s->waiting = r == -EAGAIN;
    s->absent = r == -ENODEV;
    if (s->waiting)
        return 0;
    if (s->absent || ++s->fails >= FAILS_MAX) {
        source_close(s);
        source_later(s, mono);
    }
    return 0;
}

/* Sets the status of this process and the list of collectors in use. */
static void child_judge(struct child *c)
{
    AUTO_BUF why = BUF_INIT(4096), names = BUF_INIT(4096);
    bool any = false, failed = false, waiting = false;

    for (size_t i = 0; i < c->n_sources; i++) {
        struct source *s = &c->sources[i];
        any |= s->read;
        waiting |= s->waiting;
        failed |= !s->read && s->why[0];
        if (s->read)
            buf_addf(&names, "%s%s", names.len ? "," : "", s->ops->name);
        if (s->why[0])
            buf_addf(&why, "%s%s: %s", why.len ? "; " : "", s->ops->name, s->why);
    }
    if (!any && !failed && !waiting)
        buf_adds(&why, c->n_sources ? "no GPU driver found" : "told to read no devices");
    collect_text(c->slots.facts.collector, sizeof(c->slots.facts.collector), buf_str(&names));
    uint8_t status = any ? COLLECT_OK : waiting ? COLLECT_STARTING : failed ? COLLECT_FAILED : COLLECT_NONE;
    char text[sizeof(c->why)];
    collect_text(text, sizeof(text), buf_str(&why));
    if (status != c->status || strcmp(text, c->why) != 0)
        c->status_due = true;
    c->status = status;
    memcpy(c->why, text, sizeof(text));
}

/* ---- the loop ---- */

/* 0, or -ESTALE. */
static int child_tick(struct child *c, int64_t at_ms)
{
    int r = 0;

    device_slots_begin(&c->slots, at_ms);
    for (size_t i = 0; i < c->n_sources && r == 0; i++) {
        struct source *s = &c->sources[i];
        int64_t mono = clock_mono_ms();
        s->read = s->waiting = false;
        if (!source_wanted(c, s)) {
            if (s->c)
                source_close(s);
            s->why[0] = 0;
            s->retry_at = s->retry_ms = 0;
            continue;
        }
        if (!s->c)
            source_open(c, s, mono);
        if (s->c)
            r = source_read(c, s, (unsigned)i, at_ms, mono);
        if (!s->read && !s->absent)
            device_slots_excuse(&c->slots, (unsigned)i);
    }
    device_slots_end(&c->slots);
    child_judge(c);
    if (r < 0)
        return r;
    if (c->status_due)
        child_status(c);
    if (c->status != COLLECT_OK && c->slots.facts.n_devices == 0)
        return 0;
    if (!child_send_facts(c)) /* the parent cannot use a tick that names facts it does not have */
        return 0;
    for (size_t i = 0; i < c->slots.n_events; i++)
        child_send(c, child_msg_event(&c->out, &c->slots.events[i]));
    if (c->status != COLLECT_OK) /* no reading: the status reports it, no empty tick is sent */
        return 0;
    child_who(c);
    proc_cpu_read(c->cpu, &c->slots, clock_mono_ms());
    if (child_send_procs(c))
        child_send_tick(c);
    return 0;
}

/* Reads what the parent sent: the facts of the previous collector process, or the end. */
static void child_take(struct child *c, bool facts_welcome)
{
    struct child_msg msg = {0};
    buf_reset(&c->out);
    char *in = buf_room(&c->out, CHILD_MSG_MAX);
    ssize_t n = in ? recv(c->fd, in, CHILD_MSG_MAX, MSG_DONTWAIT) : -1;

    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
        c->closed = true;
    if (n > 0 && facts_welcome && child_msg_read(&msg, in, (size_t)n, NULL) == 0 && msg.type == CHILD_FACTS)
        device_slots_seed(&c->slots, &msg.facts);
    child_msg_fini(&msg);
}

/* Sleeps until `until_ms` of the wall clock, or until the parent is gone. Sends proof of life meanwhile. */
static void child_wait(struct child *c, int64_t until_ms)
{
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    int64_t wait = until_ms - clock_wall_ms(), mono = clock_mono_ms();

    for (int64_t until = mono + MIN(wait, c->conf->tick_ms); !c->closed && mono < until; mono = clock_mono_ms()) {
        if (mono - c->sent_mono >= ALIVE_MS) {
            child_status(c);
            c->sent_mono = mono; /* also when the socket is full: one try a second is enough */
        }
        if (poll(&p, 1, (int)MIN(until - mono, c->sent_mono + ALIVE_MS - mono)) > 0)
            child_take(c, false);
    }
}

/* The next whole multiple of the tick that is not just about to pass. */
static int64_t child_next(int64_t now_ms, int64_t tick_ms, bool first)
{
    int64_t next = (now_ms / tick_ms + 1) * tick_ms;

    return first && next - now_ms < tick_ms / 4 ? next + tick_ms : next;
}

static void child_fini(struct child *c)
{
    for (size_t i = 0; i < c->n_sources; i++) {
        if (c->sources[i].c)
            source_close(&c->sources[i]);
        reading_fini(&c->sources[i].reading);
    }
    device_slots_fini(&c->slots);
    proc_info_free(c->who);
    proc_cpu_free(c->cpu);
    proc_table_fini(&c->proc_table);
    proc_list_fini(&c->procs_sent);
    buf_fini(&c->out);
    buf_fini(&c->facts_sent);
    FREE_ALL(c->uses_sent, c);
}

static int child_loop(struct child *c)
{
    int64_t tick_ms = c->conf->tick_ms, at_ms = clock_wall_ms(), next = child_next(at_ms, tick_ms, true);
    int64_t settled_mono = clock_mono_ms() + PAGES_SETTLED_MS;

    while (!c->closed) {
        if (child_tick(c, at_ms) == -ESTALE) {
            c->status = COLLECT_FAILED;
            child_status(c);
            return CHILD_EXIT_STALE;
        }
        int64_t now_ms = clock_wall_ms(), mono = clock_mono_ms();
        if (mono - c->swept_mono > SWEEP_MS) {
            proc_info_expire(c->who, now_ms);
            c->swept_mono = mono;
        }
        if (mono >= settled_mono) {
            pages_give_back();
            settled_mono = INT64_MAX;
        }
        if (now_ms >= next || next - now_ms > 2 * tick_ms) /* a slow read, or the clock was set */
            next = child_next(now_ms, tick_ms, false);
        child_wait(c, next);
        now_ms = clock_wall_ms();
        bool punctual = now_ms - next <= tick_ms / 2 && next - now_ms <= 2; /* the two clocks' milliseconds differ */
        at_ms = punctual ? next : now_ms;
        next = child_next(MAX(now_ms, at_ms), tick_ms, false);
    }
    return CHILD_EXIT_CLOSED;
}

int child_run(int fd, const struct collector_ops *const *table, const char *collector_list,
              const struct collect_conf *conf, const char *proc_root)
{
    struct child *c =
        NEW(struct child, .fd = fd, .conf = conf, .out = BUF_INIT(CHILD_MSG_MAX), .facts_sent = BUF_INIT(CHILD_MSG_MAX),
            .status = COLLECT_STARTING, .slots.facts.tick_ms = (int32_t)conf->tick_ms);
    struct err err = {0};
    int r;

    if (conf->tick_ms < 1)
        r = err_set(&err, -EINVAL, "a tick of %lld ms makes no sense", (long long)conf->tick_ms);
    else
        r = collect_choose(table, collector_list, &c->choice, &err);
    if (r < 0)
        c->status = COLLECT_FAILED;
    collect_text(c->why, sizeof(c->why), str_of(err.msg));
    child_status(c);
    if (r < 0) {
        child_fini(c);
        return CHILD_EXIT_LIST;
    }
    for (size_t i = 0; table[i]; i++)
        if (c->choice.use >> i & 1 && c->n_sources < SOURCES_MAX)
            c->sources[c->n_sources++].ops = table[i];
    c->who = proc_info_new(proc_root, conf->cmdline);
    proc_info_set_pods(c->who, "/var/log/pods");
    c->cpu = proc_cpu_new(proc_root);
    child_take(c, true);
    r = child_loop(c);
    child_fini(c);
    return r;
}

/* The parent died: end our commands (SIGTERM, then SIGKILL) and this process. */
static void child_orphaned(UNUSED int sig)
{
    piped_signal_all(SIGTERM); /* NOLINT(bugprone-signal-handler): kill() over a static table */
    poll(NULL, 0, ORPHAN_WAIT_MS);
    piped_signal_all(SIGKILL);
    _exit(CHILD_EXIT_CLOSED);
}

int child_main(int fd, const char *collector_list, const struct collect_conf *conf)
{
    int size = 2 * CHILD_MSG_MAX;
    sigset_t none;

    prctl(PR_SET_PDEATHSIG, SIGTERM); /* in case the socket does not report it */
    prctl(PR_SET_NAME, "muster-collect");
    mallopt(M_ARENA_MAX, 1); /* few and idle threads: they share one heap */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGTERM, child_orphaned); /* NOLINT(bugprone-signal-handler): it only sends signals, waits and leaves */
    signal(SIGINT, SIG_IGN);         /* for the parent, which then closes the socket */
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)); /* best effort: the default does, too */
    int r = child_run(fd, collectors, collector_list, conf, "/proc");
    piped_end_all();
    return r;
}
