/*
 * collector_keeper.c: starts, watches, kills and restarts the collector process, by events on the loop. Passes its
 * messages to the caller's hooks.
 */
#include "agent/collector_keeper.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/spawn.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"

#define ALIVE_MS     1000 /* a healthy child sends something at least this often */
#define START_TIMES  6    /* a new child may take this many collect_timeouts before its first message */
#define CLOSE_MS     3000 /* time for a child to exit before SIGKILL */
#define STUCK_MS     2000 /* a child that has not ended this long after SIGKILL is stuck in the kernel */
#define RETRY_MAX_MS 30000
#define SETTLED_MS   60000 /* a child that lived this long was a good one */
#define MSGS_AT_ONCE 64    /* then the rest of the loop has its turn */
#define DYING_MAX    8

struct dying {
    pid_t pid;
    int64_t kill_mono; /* when to kill, or when it was killed */
    bool killed;
};

struct keeper {
    struct event_base *base;
    const struct agent_conf *conf;
    struct keeper_hooks hooks;
    void *arg;
    struct event *readable, *ended;
    struct timer *silence, *retry, *reaper;

    pid_t pid;
    int fd;
    bool answered; /* this child has reported the driver's state */
    bool closed;   /* it closed its end and should exit soon */
    int64_t begun_mono, heard_mono, begun_ms, heard_ms;
    enum collect_state said; /* this child's own word of its state */
    char said_why[160];
    unsigned failures;

    size_t n_dying;
    struct dying dying[DYING_MAX];
    bool stopped;
    int64_t paused_until_ms, paused_until_mono;
    struct keeper_state state;
    struct child_msg msg;
    struct node_fact known; /* devices of this and earlier children */
    char *room;             /* CHILD_MSG_MAX */
};

static void keeper_read(struct keeper *k);

/* ---- state ---- */

static unsigned keeper_count_stuck(const struct keeper *k)
{
    unsigned n = 0;
    int64_t now = clock_mono_ms();

    for (size_t i = 0; i < k->n_dying; i++)
        n += k->dying[i].killed && now - k->dying[i].kill_mono >= STUCK_MS;
    return n;
}

static void keeper_set(struct keeper *k, enum collect_state to, int64_t since_ms, const char *why)
{
    struct keeper_state was = k->state;
    struct keeper_state now = {.collect = to, .since_ms = since_ms, .stuck = keeper_count_stuck(k)};

    if (to == was.collect)
        now.since_ms = was.since_ms;
    mem_copy_str(now.why, sizeof(now.why), why ? why : "");
    k->state = now;
    if (was.collect != now.collect || was.stuck != now.stuck || strcmp(was.why, now.why) != 0)
        k->hooks.state(k->arg, &was, &now);
}

/* ---- letting go and reaping ---- */

static void keeper_forget_child(struct keeper *k)
{
    if (k->fd >= 0) {
        event_del(k->readable);
        timer_stop(k->silence);
        close(k->fd);
        k->fd = -1;
    }
    k->pid = -1;
}

/* Closes the child's socket, which makes it exit. Kills it now, or later if it does not exit. */
static void keeper_let_go(struct keeper *k, bool now)
{
    int64_t mono = clock_mono_ms();

    if (k->pid < 0)
        return;
    if (k->n_dying == DYING_MAX) /* cannot be: no more than KEEPER_STUCK_MAX are left behind */
        k->n_dying--;
    k->dying[k->n_dying++] = (struct dying){k->pid, now ? mono : mono + CLOSE_MS, now};
    if (now)
        kill(k->pid, SIGKILL);
    keeper_forget_child(k);
    timer_after(k->reaper, 500);
}

static void keeper_retry_later(struct keeper *k)
{
    int64_t ms = k->failures == 0 ? 0 : MIN((int64_t)RETRY_MAX_MS, 1000ll << MIN(k->failures - 1, 10u));

    k->failures++;
    timer_after(k->retry, ms);
}

static void keeper_reap_dying(void *arg)
{
    struct keeper *k = arg;
    size_t kept = 0, before = k->n_dying;
    int64_t mono = clock_mono_ms();

    for (size_t i = 0; i < before; i++) {
        struct dying d = k->dying[i];
        if (waitpid(d.pid, NULL, WNOHANG) != 0) /* ended, or was never our child */
            continue;
        if (!d.killed && mono >= d.kill_mono) {
            kill(d.pid, SIGKILL);
            d.killed = true;
        }
        k->dying[kept++] = d;
    }
    k->n_dying = kept;
    if (k->n_dying)
        timer_after(k->reaper, 500);
    if (keeper_count_stuck(k) != k->state.stuck)
        keeper_set(k, k->state.collect, k->state.since_ms, k->state.why);
    if (kept < before && before >= KEEPER_STUCK_MAX && kept < KEEPER_STUCK_MAX && k->pid < 0 && !timer_is_set(k->retry))
        keeper_start(k); /* K3: there is room again */
}

/* The reason why a child ended, as text. */
static void end_words(int status, char out[160])
{
    if (WIFSIGNALED(status))
        snprintf(out, 160, "the collector was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(out, 160, "the collector ended with status %d", WEXITSTATUS(status));
}

static void keeper_child_ended(struct keeper *k, int status)
{
    int64_t lived = clock_mono_ms() - k->begun_mono;
    bool stale = WIFEXITED(status) && WEXITSTATUS(status) == CHILD_EXIT_STALE;
    char why[160];

    keeper_read(k); /* its last messages */
    keeper_forget_child(k);
    if (k->stopped || k->paused_until_ms)
        return;
    if (lived >= SETTLED_MS)
        k->failures = 0;
    if (stale) {
        log_info("agent", "the driver was replaced; a new collector loads the new one");
    } else {
        end_words(status, why);
        log_warn("agent", "%s", why);
        if (k->state.collect != COLLECT_HUNG)
            keeper_set(k, COLLECT_FAILED, clock_wall_ms(),
                       k->said == COLLECT_FAILED && k->said_why[0] ? k->said_why : why);
    }
    keeper_retry_later(k);
}

static void on_child(UNUSED evutil_socket_t sig, UNUSED short what, void *arg)
{
    struct keeper *k = arg;
    int status = 0;

    if (k->pid > 0 && waitpid(k->pid, &status, WNOHANG) == k->pid)
        keeper_child_ended(k, status);
    keeper_reap_dying(k);
}

/* ---- messages of the child ---- */

static void keeper_take(struct keeper *k, size_t n)
{
    struct err err = {0};

    if (child_msg_read(&k->msg, k->room, n, &err) < 0) {
        log_error("agent", "the collector sent nonsense: %s; it is replaced", err.msg);
        keeper_let_go(k, true);
        keeper_retry_later(k);
        return;
    }
    if (k->msg.type == CHILD_STATUS) {
        k->said = k->msg.status < COLLECT_STATES ? (enum collect_state)k->msg.status : COLLECT_FAILED;
        memcpy(k->said_why, k->msg.why, sizeof(k->said_why));
    }
    if (k->msg.type == CHILD_FACTS) {
        node_fact_fini(&k->known);
        node_fact_copy(&k->known, &k->msg.facts);
    }
    bool word = k->msg.type == CHILD_TICK || (k->msg.type == CHILD_STATUS && k->said != COLLECT_STARTING);
    k->answered |= word || k->msg.type == CHILD_FACTS;
    k->hooks.msg(k->arg, &k->msg);
    if (word)
        keeper_set(k, k->said, clock_wall_ms(), k->said_why);
}

/* Everything that waits in the socket, within reason. */
static void keeper_read(struct keeper *k)
{
    for (int i = 0; i < MSGS_AT_ONCE && k->fd >= 0 && !k->closed; i++) {
        ssize_t n = recv(k->fd, k->room, CHILD_MSG_MAX, MSG_DONTWAIT | MSG_TRUNC);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return;
        if (n == 0) { /* it closed; SIGCHLD follows, or else it is killed */
            k->closed = true;
            event_del(k->readable);
            timer_after(k->silence, CLOSE_MS);
            return;
        }
        k->heard_mono = clock_mono_ms();
        k->heard_ms = clock_wall_ms();
        if ((size_t)n > CHILD_MSG_MAX)
            n = 0; /* longer than a message can be: nonsense */
        keeper_take(k, (size_t)n);
    }
}

static void on_readable(UNUSED evutil_socket_t fd, UNUSED short what, void *arg)
{
    keeper_read(arg);
}

/* ---- silence ---- */

static void keeper_say_hung(struct keeper *k, int64_t since_ms)
{
    unsigned stuck = keeper_count_stuck(k);
    char why[160];

    if (stuck >= KEEPER_STUCK_MAX)
        snprintf(why, sizeof(why),
                 "the driver does not answer; %u collectors are stuck in the kernel, no new one is started", stuck);
    else
        snprintf(why, sizeof(why), "the driver does not answer");
    keeper_set(k, COLLECT_HUNG, since_ms, why);
}

static void on_silence(void *arg)
{
    struct keeper *k = arg;
    int64_t heard = k->heard_mono;

    keeper_read(k); /* this process may have been stopped or suspended itself */
    if (k->fd < 0)
        return;
    if (k->closed) {
        keeper_let_go(k, true);
        keeper_retry_later(k);
        return;
    }
    int64_t now = clock_mono_ms(), timeout = k->conf->collect_timeout;
    int64_t from = k->answered ? k->heard_mono : k->begun_mono;
    int64_t say = k->answered ? ALIVE_MS + timeout : timeout;
    int64_t end = k->answered ? say : timeout * START_TIMES;
    if (k->heard_mono != heard || now - from < say) {
        timer_after(k->silence, MAX(from + say - now, 10));
        return;
    }
    keeper_say_hung(k, k->answered ? k->heard_ms : k->begun_ms);
    if (now - from < end) {
        timer_after(k->silence, from + end - now);
        return;
    }
    log_warn("agent", "collector %d has not answered for %lld s; it is killed and replaced", (int)k->pid,
             (long long)((now - from) / 1000));
    keeper_let_go(k, true);
    keeper_retry_later(k);
}

/* ---- starting, pausing ---- */

void keeper_start(struct keeper *k)
{
    AUTO_BUF seed = BUF_INIT(CHILD_MSG_MAX);
    struct err err = {0};

    if (k->stopped || k->pid > 0 || k->paused_until_ms)
        return;
    if (k->n_dying >= KEEPER_STUCK_MAX) {
        if (k->state.collect == COLLECT_HUNG)
            keeper_say_hung(k, k->state.since_ms);
        return; /* keeper_reap_dying tries again */
    }
    /* It gets the previous child's devices: they keep their slots, and missing ones are recognised as lost. */
    if (k->known.n_devices && child_msg_facts(&seed, &k->known) < 0)
        buf_reset(&seed);
    if (spawn_collector(k->conf, buf_str(&seed), &k->pid, &k->fd, &err) < 0) {
        log_error("agent", "%s", err.msg);
        k->pid = -1;
        keeper_set(k, COLLECT_FAILED, clock_wall_ms(), err.msg);
        keeper_retry_later(k);
        return;
    }
    k->begun_mono = k->heard_mono = clock_mono_ms();
    k->begun_ms = k->heard_ms = clock_wall_ms();
    k->answered = k->closed = false;
    k->said = COLLECT_OK;
    k->said_why[0] = 0;
    child_msg_fini(&k->msg);
    k->msg = (struct child_msg){0};
    event_assign(k->readable, k->base, k->fd, EV_READ | EV_PERSIST, on_readable, k);
    event_add(k->readable, NULL);
    timer_after(k->silence, k->conf->collect_timeout);
    if (k->state.collect == COLLECT_PAUSED)
        keeper_set(k, COLLECT_STARTING, k->begun_ms, "");
    k->hooks.start(k->arg);
}

static void on_retry(void *arg)
{
    struct keeper *k = arg;
    int64_t left = k->paused_until_ms ? k->paused_until_mono - clock_mono_ms() : 0;

    if (left > 0) { /* the loop's clock is slightly behind: timers may fire early */
        timer_after(k->retry, left);
        return;
    }
    k->paused_until_ms = 0;
    keeper_start(k);
}

void keeper_pause(struct keeper *k, int64_t ms)
{
    char why[160], at[32];

    k->paused_until_ms = clock_wall_ms() + ms;
    k->paused_until_mono = clock_mono_ms() + ms;
    keeper_let_go(k, k->state.collect == COLLECT_HUNG);
    snprintf(why, sizeof(why), "paused until %s", clock_iso(k->paused_until_ms, at));
    keeper_set(k, COLLECT_PAUSED, clock_wall_ms(), why);
    timer_after(k->retry, ms);
}

void keeper_resume(struct keeper *k)
{
    if (!k->paused_until_ms)
        return;
    k->paused_until_ms = 0;
    k->failures = 0;
    timer_stop(k->retry);
    keeper_start(k);
}

void keeper_set_conf(struct keeper *k, const struct agent_conf *conf, bool restart, bool forget)
{
    k->conf = conf;
    if (forget)
        node_fact_fini(&k->known);
    if (!restart || k->pid < 0)
        return;
    keeper_let_go(k, false);
    k->failures = 0;
    keeper_retry_later(k);
}

void keeper_stop(struct keeper *k)
{
    k->stopped = true;
    timer_stop(k->retry);
    keeper_read(k);
    keeper_let_go(k, k->state.collect == COLLECT_HUNG);
}

const struct keeper_state *keeper_state(const struct keeper *k)
{
    return &k->state;
}

int64_t keeper_paused_until_ms(const struct keeper *k)
{
    return k->paused_until_ms;
}

pid_t keeper_pid(const struct keeper *k)
{
    return k->pid;
}

struct keeper *keeper_new(struct event_base *base, const struct agent_conf *conf, const struct keeper_hooks *hooks,
                          void *arg)
{
    struct keeper *k = NEW(struct keeper, .base = base, .conf = conf, .hooks = *hooks, .arg = arg, .pid = -1, .fd = -1);
    k->state = (struct keeper_state){.collect = COLLECT_STARTING, .since_ms = clock_wall_ms()};
    k->room = mem_alloc(CHILD_MSG_MAX);
    k->readable = event_new(base, -1, 0, on_readable, k);
    k->silence = timer_new(base, on_silence, k);
    k->retry = timer_new(base, on_retry, k);
    k->reaper = timer_new(base, keeper_reap_dying, k);
    k->ended = evsignal_new(base, SIGCHLD, on_child, k);
    event_add(k->ended, NULL);
    return k;
}

void keeper_free(struct keeper *k)
{
    if (!k)
        return;
    if (!k->stopped)
        keeper_stop(k);
    for (int i = 0; i < 100 && k->n_dying; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        keeper_reap_dying(k);
    }
    for (size_t i = 0; i < k->n_dying; i++)
        kill(k->dying[i].pid, SIGKILL);
    event_free(k->readable);
    timer_free(k->silence);
    timer_free(k->retry);
    timer_free(k->reaper);
    event_free(k->ended);
    child_msg_fini(&k->msg);
    node_fact_fini(&k->known);
    free(k->room);
    free(k);
}
