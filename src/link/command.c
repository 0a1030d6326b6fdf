/* command.c: a child process with a pipe for what it prints and one for what it complains of. */
#include "link/command.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define REAP_MS  20
#define SAID_MAX 1024

struct command {
    pid_t pid;
    char *name;
    struct buf out, said;
    int fd[2]; /* its standard output and error */
    struct event *on_fd[2], *timer;
    int64_t end_mono;
    bool late, too_long, stopped;
    command_done_fn *done;
    void *arg;
};

static void close_end(struct command *c, int i)
{
    if (c->on_fd[i])
        event_free(c->on_fd[i]);
    if (c->fd[i] >= 0)
        close(c->fd[i]);
    c->on_fd[i] = NULL;
    c->fd[i] = -1;
}

static void command_free(struct command *c)
{
    close_end(c, 0);
    close_end(c, 1);
    event_free(c->timer);
    buf_fini(&c->out);
    buf_fini(&c->said);
    free(c->name);
    free(c);
}

static void look_after(struct command *c, int64_t ms)
{
    struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    event_add(c->timer, &tv);
}

static void words(const struct command *c, int status, char ret[320])
{
    struct str rest = buf_str(&c->said), line, last = STR("");
    char said[160];
    size_t n = 0;
    while (str_line(&rest, &line))
        if (str_trim(line).len)
            last = str_trim(line);
    for (; n < last.len && n < sizeof(said) - 1; n++)
        said[n] = (unsigned char)last.p[n] < 32 || (unsigned char)last.p[n] > 126 ? '?' : last.p[n];
    said[n] = 0;
    if (c->late)
        snprintf(ret, 320, "%.80s did not end in time", c->name);
    else if (c->too_long)
        snprintf(ret, 320, "%.80s prints more than %zu bytes", c->name, c->out.max);
    else if (said[0])
        snprintf(ret, 320, "%.80s: %s", c->name, said);
    else if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        snprintf(ret, 320, "%.80s could not be started: is it installed?", c->name);
    else if (WIFSIGNALED(status))
        snprintf(ret, 320, "%.80s was ended by signal %d", c->name, WTERMSIG(status));
    else
        snprintf(ret, 320, "%.80s ended with status %d", c->name, WEXITSTATUS(status));
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct command *c = arg;
    int status = 0;
    (void)fd, (void)what;
    if (c->fd[0] >= 0 && !c->late) { /* its time is over */
        c->late = true;
        kill(-c->pid, SIGKILL);
        close_end(c, 0);
        close_end(c, 1);
    }
    pid_t got = waitpid(c->pid, &status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR)) {
        if (!c->late && clock_mono_ms() > c->end_mono) {
            c->late = true;
            kill(-c->pid, SIGKILL);
        }
        look_after(c, REAP_MS);
        return;
    }
    char sentence[320];
    bool ok = got == c->pid && status == 0 && !c->late && !c->too_long;
    struct command_result r = {.out = buf_str(&c->out)};
    if (!ok) {
        words(c, status, sentence);
        r.error = sentence;
    }
    if (!c->stopped)
        c->done(c->arg, &r);
    command_free(c);
}

static void on_read(evutil_socket_t fd, short what, void *arg)
{
    struct command *c = arg;
    int i = fd == c->fd[1];
    char bytes[16384];
    (void)what;
    ssize_t n = read(fd, bytes, sizeof(bytes));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0 && i == 1) {
        if (c->said.len + (size_t)n <= SAID_MAX) /* a program that has much to say has said why by then */
            buf_add(&c->said, bytes, (size_t)n);
        return;
    }
    if (n > 0 && buf_add(&c->out, bytes, (size_t)n) == 0)
        return;
    if (n > 0) {
        c->too_long = true;
        kill(-c->pid, SIGKILL);
    }
    close_end(c, i);
    if (i == 0)
        look_after(c, REAP_MS);
}

/* Between fork and exec: only calls that are safe when other threads hold locks. */
static void child(char *const *argv, char *const *env, int out, int err, pid_t parent)
{
    sigset_t none;
    int null = open("/dev/null", O_RDONLY);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    dup2(null, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    execvpe(argv[0], argv, env);
    _exit(127);
}

/* Ours, with LC_ALL=C; the strings are the environment's own. */
static char **child_env(void)
{
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    char **env = mem_zero(n + 2, sizeof(*env));
    for (size_t i = 0; i < n; i++)
        if (!str_starts(str_of(environ[i]), "LC_ALL=") && !str_starts(str_of(environ[i]), "MUSTER_"))
            env[kept++] = environ[i];
    env[kept] = (char *)"LC_ALL=C";
    return env;
}

int command_start(struct command **ret, struct event_base *loop, const char *const *argv, size_t out_max,
                  int64_t limit_ms, command_done_fn *done, void *arg, struct err *err)
{
    int pipes[2][2] = {{-1, -1}, {-1, -1}};
    int r = 0;
    for (int i = 0; i < 2 && r == 0; i++)
        if (pipe2(pipes[i], O_CLOEXEC) < 0)
            r = err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
    AUTO_FREE char **env = child_env();
    pid_t parent = getpid(), pid = r == 0 ? fork() : -1;
    if (pid == 0)
        child((char *const *)argv, env, pipes[0][1], pipes[1][1], parent);
    if (r == 0 && pid < 0)
        r = err_set(err, -errno, "cannot start %s: %s", argv[0], strerror(errno));
    for (int i = 0; i < 2; i++)
        if (pipes[i][1] >= 0)
            close(pipes[i][1]);
    if (r < 0) {
        for (int i = 0; i < 2; i++)
            if (pipes[i][0] >= 0)
                close(pipes[i][0]);
        return r;
    }
    setpgid(pid, pid); /* both sides do: whoever is first */
    struct command *c = mem_zero(1, sizeof(*c));
    *c = (struct command){.pid = pid,
                          .name = mem_str(argv[0]),
                          .out = BUF_INIT(out_max),
                          .said = BUF_INIT(SAID_MAX),
                          .end_mono = clock_mono_ms() + limit_ms,
                          .done = done,
                          .arg = arg};
    for (int i = 0; i < 2; i++) {
        c->fd[i] = pipes[i][0];
        fcntl(c->fd[i], F_SETFL, O_NONBLOCK);
        c->on_fd[i] = event_new(loop, c->fd[i], EV_READ | EV_PERSIST, on_read, c);
        event_add(c->on_fd[i], NULL);
    }
    c->timer = evtimer_new(loop, on_timer, c);
    look_after(c, limit_ms);
    *ret = c;
    return 0;
}

void command_stop(struct command *c)
{
    if (!c)
        return;
    c->stopped = true;
    kill(-c->pid, SIGKILL);
    close_end(c, 0);
    close_end(c, 1);
    look_after(c, 0);
}
