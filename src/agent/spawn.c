/*
 * spawn.c: starts the collector process. /proc/self/exe is executed rather than forked, so that the driver's library
 * and the sockets to the hub never share a process, and so that it works when the file on disk was replaced meanwhile.
 * All settings travel as flags; the token stays here, in the parent.
 */
#include "agent/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "collect/child.h"

#define SPAWN_FD   3 /* where the child finds its end of the pair */
#define SPAWN_ARGS (16 + 64)

struct args {
    char *v[SPAWN_ARGS + 1];
    size_t n;
};

static void args_add(struct args *a, char *owned)
{
    if (a->n < SPAWN_ARGS)
        a->v[a->n++] = owned;
    else
        free(owned);
}

static void args_fini(struct args *a)
{
    for (size_t i = 0; i < a->n; i++)
        free(a->v[i]);
}

static void args_fill(struct args *a, const struct agent_conf *c)
{
    args_add(a, mem_str("muster-agent"));
    args_add(a, mem_str("agent")); /* the subcommand in `muster`; `muster-agent` skips it */
    args_add(a, mem_fmt("--child-fd=%d", SPAWN_FD));
    args_add(a, mem_fmt("--tick=%lldms", (long long)c->tick));
    args_add(a, mem_fmt("--collector=%s", c->collector));
    args_add(a, mem_str(c->cmdline ? "--cmdline" : "--no-cmdline"));
    if (c->nvml_lib)
        args_add(a, mem_fmt("--nvml-lib=%s", c->nvml_lib));
    if (c->smi)
        args_add(a, mem_fmt("--smi=%s", c->smi));
    if (c->replay)
        args_add(a, mem_fmt("--replay=%s", c->replay));
    for (size_t i = 0; i < c->exec.n; i++)
        args_add(a, mem_fmt("--exec=%s", c->exec.v[i]));
}

/* Our environment without variables that the collector does not need: it may run other people's commands. */
static char **env_for_child(void)
{
    size_t n = 0, kept = 0;

    while (environ[n])
        n++;
    char **env = mem_zero(n + 1, sizeof(*env));
    for (size_t i = 0; i < n; i++) {
        struct str s = str_of(environ[i]);
        if (!str_starts(s, "MUSTER_TOKEN") && !str_starts(s, "NOTIFY_SOCKET=") && !str_starts(s, "WATCHDOG_"))
            env[kept++] = environ[i];
    }
    return env;
}

static int spawn_at(const struct args *a, int child_end, pid_t *ret_pid)
{
    AUTO_FREE char **env = env_for_child();
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t all, none;
    int e;

    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    posix_spawn_file_actions_adddup2(&files, child_end, SPAWN_FD); /* also clears close-on-exec there */
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0); /* ours may carry the wire */
    posix_spawn_file_actions_addclosefrom_np(&files, SPAWN_FD + 1); /* libcurl's sockets do not close by themselves */
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    e = posix_spawn(ret_pid, "/proc/self/exe", &files, &attr, a->v, env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return -e;
}

int spawn_collector(const struct agent_conf *conf, struct str first, pid_t *ret_pid, int *ret_fd, struct err *err)
{
    struct args a = {0};
    int pair[2], size = 4 * CHILD_MSG_MAX;
    pid_t pid = -1;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_set(err, -errno, "cannot make a socket pair: %s", strerror(errno));
    AUTO_CLOSE int ours = pair[0], theirs = pair[1];
    if (theirs == SPAWN_FD) { /* dup2 onto itself would leave close-on-exec set */
        int moved = fcntl(theirs, F_DUPFD_CLOEXEC, SPAWN_FD + 1);
        if (moved < 0)
            return err_set(err, -errno, "cannot start the collector: %s", strerror(errno));
        close(theirs);
        theirs = moved;
    }
    setsockopt(ours, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)); /* the kernel may grant less; the child sets it too */
    fcntl(ours, F_SETFL, O_NONBLOCK);
    if (first.len && send(ours, first.p, first.len, MSG_NOSIGNAL) < 0)
        return err_set(err, -errno, "cannot connect to the collector: %s", strerror(errno));
    args_fill(&a, conf);
    int r = spawn_at(&a, theirs, &pid);
    args_fini(&a);
    if (r < 0)
        return err_set(err, r, "cannot start the collector: %s", strerror(-r));
    *ret_pid = pid;
    *ret_fd = mem_take_fd(&ours);
    return 0;
}

int spawn_be_collector(const struct agent_conf *conf)
{
    struct collect_conf cc = {.tick_ms = conf->tick,
                              .nvml_lib = conf->nvml_lib,
                              .smi_path = conf->smi,
                              .replay = conf->replay,
                              .exec = (const char *const *)conf->exec.v,
                              .cmdline = conf->cmdline};

    return child_main((int)conf->child_fd, conf->collector, &cc);
}
