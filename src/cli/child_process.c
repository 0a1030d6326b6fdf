/* child_process.c: starts child processes, notices their exit, and restarts them after a growing pause. */
#include "cli/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"

#define AGAIN_MS     2000
#define STEADY_MS    60000
#define AGAIN_MAX_MS 60000

void child_process_arg(struct child_process *p, const char *a)
{
    VEC_ADD(p->argv, p->argc, p->cap, mem_str(a));
    VEC_ROOM(p->argv, p->argc, p->cap);
    p->argv[p->argc] = NULL;
}

void child_process_args(struct child_process *p, const char *const *all)
{
    for (; *all; all++)
        child_process_arg(p, *all);
}

void child_process_fini(struct child_process *p)
{
    for (size_t i = 0; i < p->argc; i++)
        free(p->argv[i]);
    free(p->argv);
    if (p->out >= 0)
        close(p->out);
}

int child_process_start(struct child_process *p, bool capture, struct err *err)
{
    int fds[2] = {-1, -1};
    if (capture && pipe2(fds, O_CLOEXEC))
        return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
    AUTO_FREE char *room = NULL;
    AUTO_FREE char **env = p->env ? process_env_of(p->env, &room) : NULL;
    pid_t parent = getpid();
    p->pid = fork();
    if (p->pid < 0)
        return err_set(err, -errno, "cannot start the %s: %s", p->what, strerror(errno));
    if (p->pid == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        setpgid(0, 0); /* Ctrl-C in a terminal must not reach the children: this process stops them in order, so that no
                          data is lost */
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(0);
        if (capture)
            dup2(fds[1], STDOUT_FILENO);
        if (env)
            close_range(STDERR_FILENO + 1, ~0u, 0);
        execve("/proc/self/exe", p->argv, env ? env : environ);
        _exit(127);
    }
    if (capture) {
        close(fds[1]);
        p->out = fds[0];
    }
    p->started_ms = clock_mono_ms();
    p->again_ms = 0;
    return 0;
}

void child_process_ended(struct child_process *p, int status)
{
    int64_t now = clock_mono_ms();
    p->pid = 0;
    if (!p->pause_ms || now - p->started_ms > STEADY_MS)
        p->pause_ms = AGAIN_MS;
    log_warn(p->area, "the %s ended (%s %d); starting it again in %lld s", p->what,
             WIFSIGNALED(status) ? "signal" : "status", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
             (long long)p->pause_ms / 1000);
    p->again_ms = now + p->pause_ms;
    p->pause_ms = MIN(p->pause_ms * 2, AGAIN_MAX_MS);
}

int64_t child_process_due(struct child_process *p)
{
    struct err err = {0};
    int64_t now = clock_mono_ms();
    if (p->again_ms && now >= p->again_ms && child_process_start(p, false, &err) < 0) {
        log_warn(p->area, "%s", err.msg);
        p->again_ms = now + AGAIN_MAX_MS;
    }
    return p->again_ms ? MAX(0, p->again_ms - now) : -1;
}

int64_t child_process_tend(struct child_process *p)
{
    int status;
    if (p->pid > 0 && waitpid(p->pid, &status, WNOHANG) == p->pid)
        child_process_ended(p, status);
    return child_process_due(p);
}

void child_process_stop(struct child_process *p)
{
    p->again_ms = 0;
    if (p->pid <= 0)
        return;
    kill(p->pid, SIGTERM);
    while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    p->pid = 0;
}
