/*
 * piped.c: starts and stops commands whose output is read. A stopped command gets SIGTERM first (a GPU client killed in
 * the middle of a driver call has frozen GPUs), and SIGKILL after a while. Until it is reaped it stays in a small
 * table, which a signal handler can read too.
 */
#include "collect/piped.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"

#define PIPED_MAX    16   /* at a time, running or ending */
#define STUCK_MAX    2    /* stopped commands that do not end */
#define PATIENCE_MS  2000 /* between SIGTERM and SIGKILL */
#define LAST_CALL_MS 300

static struct piped_group {
    volatile pid_t pid; /* 0: free */
    bool stopping, killed;
    int64_t since_ms;
} groups[PIPED_MAX];

static struct piped_group *group_of(pid_t pid)
{
    return FIND(groups, PIPED_MAX, g, g->pid == pid);
}

/* Reaps ended commands and kills those past their time. Returns the number of stopped commands that still run. */
static size_t groups_tend(void)
{
    size_t stuck = 0;

    for (size_t i = 0; i < PIPED_MAX; i++) {
        struct piped_group *g = &groups[i];
        if (!g->pid || !g->stopping)
            continue;
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)g->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid) {
            kill(-g->pid, SIGKILL); /* processes its leader left behind; until the leader is reaped, no other process
                                       gets its pid */
            waitpid(g->pid, NULL, WNOHANG);
            *g = (struct piped_group){0};
            continue;
        }
        if (clock_mono_ms() - g->since_ms >= PATIENCE_MS) {
            kill(-g->pid, SIGKILL);
            stuck += g->killed;
            g->killed = true;
        }
    }
    return stuck;
}

/* Between fork and exec: only calls that are safe when other threads hold locks. */
static void piped_exec(const char *const *argv, int out)
{
    sigset_t none;
    int null = open("/dev/null", O_RDWR);

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    dup2(null, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    execvp(argv[0], (char *const *)argv);
    _exit(127);
}

int piped_start(struct piped *p, const char *const *argv, size_t max, struct err *err)
{
    int fds[2];

    if (groups_tend() >= STUCK_MAX)
        return err_set(err, -EBUSY, "cannot run '%s': %d earlier runs do not end", argv[0], STUCK_MAX);
    struct piped_group *g = group_of(0);
    if (!g)
        return err_set(err, -EBUSY, "cannot run '%s': too many commands at a time", argv[0]);
    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_set(err, -errno, "cannot run '%s': %s", argv[0], strerror(errno));
    pid_t pid = fork();
    if (pid == 0)
        piped_exec(argv, fds[1]);
    int e = errno;
    close(fds[1]);
    if (pid < 0) {
        close(fds[0]);
        return err_set(err, -e, "cannot run '%s': %s", argv[0], strerror(e));
    }
    setpgid(pid, pid); /* parent and child both call it, since either may run first */
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    *g = (struct piped_group){.pid = pid};
    *p = (struct piped){.pid = pid, .fd = fds[0], .out = BUF_INIT(max)};
    return 0;
}

int piped_read(struct piped *p)
{
    groups_tend();
    while (p->fd >= 0) {
        size_t room = MIN(p->out.max - p->out.len, (size_t)16384);
        char *to = room ? buf_room(&p->out, room) : NULL;
        if (!to)
            return -ENOBUFS;
        ssize_t n = read(p->fd, to, room);
        if (n > 0) {
            buf_appended(&p->out, (size_t)n);
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return 0;
        close(p->fd);
        p->fd = -1;
    }
    if (!p->pid)
        return 1;
    if (waitpid(p->pid, &p->status, WNOHANG) == 0)
        return 0; /* it closed its output before it ended */
    struct piped_group *g = group_of(p->pid);
    if (g)
        *g = (struct piped_group){0};
    p->pid = 0;
    return 1;
}

bool piped_line(const struct piped *p, size_t *at, struct str *ret)
{
    struct str rest = str_drop(buf_str(&p->out), *at);
    bool whole = rest.len && memchr(rest.p, '\n', rest.len);
    if (!whole && (p->fd >= 0 || rest.len == 0))
        return false;
    str_line(&rest, ret);
    *at = (size_t)(rest.p - p->out.p);
    return true;
}

void piped_consumed(struct piped *p, size_t at)
{
    if (at == 0)
        return;
    memmove(p->out.p, p->out.p + at, p->out.len - at);
    buf_cut(&p->out, p->out.len - at);
}

void piped_stop(struct piped *p)
{
    if (p->fd >= 0)
        close(p->fd);
    struct piped_group *g = p->pid ? group_of(p->pid) : NULL;
    if (g) {
        kill(-p->pid, SIGTERM);
        g->stopping = true;
        g->since_ms = clock_mono_ms();
        groups_tend();
    }
    buf_fini(&p->out);
    *p = PIPED_NONE;
}

void piped_end_all(void)
{
    int64_t until = clock_mono_ms() + LAST_CALL_MS;

    groups_tend();
    while (ANY(PIPED_MAX, i, groups[i].pid && groups[i].stopping) && clock_mono_ms() < until) {
        poll(NULL, 0, 5);
        groups_tend();
    }
    for (size_t i = 0; i < PIPED_MAX; i++)
        if (groups[i].pid && groups[i].stopping)
            kill(-groups[i].pid, SIGKILL);
    groups_tend();
}

void piped_signal_all(int sig)
{
    for (size_t i = 0; i < PIPED_MAX; i++)
        if (groups[i].pid)
            kill(-groups[i].pid, sig);
}

const char *piped_words(int status, char out[40])
{
    if (WIFSIGNALED(status))
        snprintf(out, 40, "killed by signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status) == 127)
        snprintf(out, 40, "it cannot be run");
    else
        snprintf(out, 40, "exit status %d", WEXITSTATUS(status));
    return out;
}
