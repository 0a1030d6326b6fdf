/* ssh.c: the system's ssh as a child: started, listened to, ended. */
#include "link/ssh.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define SAID_MAX    4096
#define REAP_MS     50   /* how often to look whether it has ended, once its output has */
#define PATIENCE_MS 3000 /* between asking it to end and making it */

struct ssh {
    struct ssh_calls calls;
    void *arg;
    struct ssh_target to; /* its text is ours */
    char *host, *user;
    pid_t pid;
    int in, out, err;
    struct event *on_in, *on_out, *on_err, *on_time;
    struct buf script; /* what is still to be written */
    size_t written;
    struct buf line; /* not whole yet */
    bool cut;        /* the rest of a line that was too long is coming */
    char said[SAID_MAX];
    size_t n_said;
    bool stopped, killed;
    int64_t ending_ms; /* monotonic: its output ended, or it was told to end; 0: it runs */
};

/* ---- arguments ---- */

static void add(struct ssh_args *a, char *s)
{
    if (a->n < SSH_ARGS_MAX)
        a->v[a->n++] = s;
    else
        free(s);
}

static void add_option(struct ssh_args *a, char *s)
{
    add(a, mem_str("-o"));
    add(a, s);
}

static bool plain(const char *s)
{
    if (!s[0] || s[0] == '-')
        return false;
    for (; *s; s++)
        if ((unsigned char)*s <= ' ' || *s == 127 || strchr("'\"\\`$;&|<>(){}*?!", *s))
            return false;
    return true;
}

int ssh_args(const struct ssh_conf *conf, const struct ssh_target *to, struct ssh_args *ret, struct err *err)
{
    static const char *const fixed[] = {"BatchMode=yes",           "StrictHostKeyChecking=yes",
                                        "ServerAliveInterval=15",  "ServerAliveCountMax=2",
                                        "ForwardAgent=no",         "ForwardX11=no",
                                        "ClearAllForwardings=yes", "PermitLocalCommand=no",
                                        "LogLevel=ERROR",          "RequestTTY=no"};
    *ret = (struct ssh_args){0};
    if (!plain(to->host))
        return err_set(err, -EINVAL, "'%.80s' is not a host that can be asked over ssh", to->host);
    if (to->user && !plain(to->user))
        return err_set(err, -EINVAL, "'%.80s' is not a user that can be asked for over ssh", to->user);
    add(ret, mem_str(conf->program ? conf->program : "ssh"));
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        add_option(ret, mem_str(fixed[i]));
    add_option(ret, mem_fmt("ConnectTimeout=%lld", (long long)MAX(conf->connect_ms / 1000, 1)));
    if (conf->control_dir) {
        add_option(ret, mem_str("ControlMaster=auto"));
        add_option(ret, mem_fmt("ControlPath=%s/%%C", conf->control_dir));
    }
    if (conf->known_hosts)
        add_option(ret, mem_fmt("UserKnownHostsFile=\"%s\"", conf->known_hosts));
    const struct {
        const char *flag, *value;
    } pairs[] = {{"-F", conf->config}, {"-i", conf->key}, {"-J", conf->jump}, {"-l", to->user}};
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
        if (pairs[i].value && pairs[i].value[0]) {
            add(ret, mem_str(pairs[i].flag));
            add(ret, mem_str(pairs[i].value));
        }
    if (to->port) {
        add(ret, mem_str("-p"));
        add(ret, mem_fmt("%d", to->port));
    }
    add(ret, mem_str("--"));
    add(ret, mem_str(to->host));
    add(ret, mem_str("exec /bin/sh -s")); /* whatever the login shell is, it understands this */
    return 0;
}

void ssh_args_fini(struct ssh_args *a)
{
    for (int i = 0; i < a->n; i++)
        free(a->v[i]);
    *a = (struct ssh_args){0};
}

/* ---- words ---- */

/* The last line that is not empty, without what cannot be shown. */
static void last_line(struct str said, char *ret, size_t size)
{
    struct str line, last = str_n("", 0);
    while (str_line(&said, &line))
        if (str_trim(line).len)
            last = str_trim(line);
    size_t n = 0;
    for (size_t i = 0; i < last.len && n + 1 < size; i++)
        ret[n++] = (unsigned char)last.p[i] < 32 || (unsigned char)last.p[i] > 126 ? '?' : last.p[i];
    ret[n] = 0;
}

void ssh_words(struct str said, int status, const struct ssh_target *to, char ret[160])
{
    static const struct {
        const char *has, *before, *after; /* the host's name stands between */
    } known[] = {
        {"REMOTE HOST IDENTIFICATION HAS CHANGED", "its host key has changed; if that is right: ssh-keygen -R ", ""},
        {"Host key verification failed", "its host key is not known: as the hub's user, once, ssh ", ""},
        {"Permission denied", "", " does not let us in: is the hub's key in authorized_keys there?"},
        {"Could not resolve hostname", "there is no host called ", ""},
        {"Connection refused", "", " refuses connections: is sshd running there?"},
        {"No route to host", "there is no way to ", ""},
        {"Network is unreachable", "there is no way to ", ""},
        {"timed out", "", " does not answer"},
        {"Too many authentication failures", "too many keys were offered to ", ": name the one to use"},
        {"Bad configuration option", "its own configuration is not understood, on the way to ", ""},
        {"not responding", "", " has stopped answering"},
        {"Connection closed", "", " closed the connection"},
        {"Connection reset", "", " closed the connection"},
        {"Broken pipe", "the connection broke to ", ""},
    };
    char last[120];
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_find(said, known[i].has) >= 0) {
            snprintf(ret, 160, "ssh: %s%.60s%s", known[i].before, to->host, known[i].after);
            return;
        }
    last_line(said, last, sizeof(last));
    if (last[0])
        snprintf(ret, 160, "ssh: %s", last);
    else if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        snprintf(ret, 160, "ssh could not be started, or there is no /bin/sh on %.60s", to->host);
    else if (WIFSIGNALED(status))
        snprintf(ret, 160, "ssh was ended by signal %d", WTERMSIG(status));
    else
        snprintf(ret, 160, "ssh: the connection to %.60s ended", to->host);
}

/* ---- the process ---- */

static void drop_event(struct event **e)
{
    if (*e)
        event_free(*e);
    *e = NULL;
}

static void close_end(int *fd, struct event **e)
{
    drop_event(e);
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void ssh_free(struct ssh *s)
{
    close_end(&s->in, &s->on_in);
    close_end(&s->out, &s->on_out);
    close_end(&s->err, &s->on_err);
    drop_event(&s->on_time);
    buf_fini(&s->script);
    buf_fini(&s->line);
    free(s->host);
    free(s->user);
    free(s);
}

static void look_again(struct ssh *s)
{
    struct timeval soon = {.tv_usec = REAP_MS * 1000};
    event_add(s->on_time, &soon);
}

static void ending(struct ssh *s)
{
    if (!s->ending_ms)
        s->ending_ms = clock_mono_ms();
    look_again(s);
}

/* Its output has ended, or it was told to end: has it? */
static void on_time(evutil_socket_t fd, short what, void *arg)
{
    struct ssh *s = arg;
    int status = 0;
    (void)fd, (void)what;
    pid_t got = waitpid(s->pid, &status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR)) {
        int64_t late = clock_mono_ms() - s->ending_ms;
        if (late > PATIENCE_MS && !s->killed) {
            kill(-s->pid, SIGKILL);
            s->killed = true;
        } else if (late > PATIENCE_MS / 2) {
            kill(-s->pid, SIGTERM);
        }
        look_again(s);
        return;
    }
    struct ssh_calls calls = s->calls;
    void *to = s->arg;
    bool stopped = s->stopped;
    char words[160];
    ssh_words(str_n(s->said, s->n_said), status, &s->to, words);
    ssh_free(s);
    if (!stopped)
        calls.ended(to, words);
}

/* Whole lines to whoever listens. It may stop us: then nothing more is taken. */
static void take(struct ssh *s, struct str text)
{
    while (text.len && !s->stopped) {
        const char *end = memchr(text.p, '\n', text.len);
        size_t n = end ? (size_t)(end - text.p) : text.len;
        size_t fits = MIN(n, (size_t)SSH_LINE_MAX - s->line.len);
        if (!s->cut)
            buf_add(&s->line, text.p, fits);
        s->cut = s->cut || fits < n;
        if (end) {
            s->calls.line(s->arg, buf_str(&s->line));
            buf_reset(&s->line);
            s->cut = false;
        }
        n += end != NULL;
        text = str_n(text.p + n, text.len - n);
    }
}

static void on_out(evutil_socket_t fd, short what, void *arg)
{
    struct ssh *s = arg;
    char bytes[16384];
    (void)what;
    for (size_t taken = 0; taken < SSH_READ_MAX && !s->stopped;) {
        ssize_t n = read(fd, bytes, sizeof(bytes));
        if (n > 0) {
            taken += (size_t)n;
            take(s, str_n(bytes, (size_t)n));
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            close_end(&s->out, &s->on_out);
            ending(s);
            return;
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

/* The end of what it says is what counts: the first half goes when there is no more room. */
static void on_err(evutil_socket_t fd, short what, void *arg)
{
    struct ssh *s = arg;
    (void)what;
    if (s->n_said == sizeof(s->said)) {
        memmove(s->said, s->said + SAID_MAX / 2, SAID_MAX / 2);
        s->n_said = SAID_MAX / 2;
    }
    ssize_t n = read(fd, s->said + s->n_said, sizeof(s->said) - s->n_said);
    if (n > 0)
        s->n_said += (size_t)n;
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        close_end(&s->err, &s->on_err);
}

static void on_in(evutil_socket_t fd, short what, void *arg)
{
    struct ssh *s = arg;
    (void)what;
    ssize_t n = write(fd, s->script.p + s->written, s->script.len - s->written);
    if (n > 0)
        s->written += (size_t)n;
    if (s->written == s->script.len || (n < 0 && errno != EAGAIN && errno != EINTR))
        drop_event(&s->on_in); /* the pipe stays open: its end is the script's */
}

/* Between fork and exec: only calls that are safe when other threads hold locks. */
static void ssh_exec(char *const *argv, int in, int out, int err, pid_t parent)
{
    sigset_t none;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    execvp(argv[0], argv);
    _exit(127);
}

static void close_pairs(int fds[3][2])
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++)
            if (fds[i][k] >= 0)
                close(fds[i][k]);
}

int ssh_start(struct ssh **ret, struct event_base *loop, const struct ssh_conf *conf, const struct ssh_target *to,
              struct str script, const struct ssh_calls *calls, void *arg, struct err *err)
{
    int fds[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    struct ssh_args args;
    int r = ssh_args(conf, to, &args, err);
    for (int i = 0; r == 0 && i < 3; i++)
        if (pipe2(fds[i], O_CLOEXEC) < 0)
            r = err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
    pid_t parent = getpid(), pid = r == 0 ? fork() : -1;
    if (pid == 0)
        ssh_exec(args.v, fds[0][0], fds[1][1], fds[2][1], parent);
    if (r == 0 && pid < 0)
        r = err_set(err, -errno, "cannot start ssh: %s", strerror(errno));
    ssh_args_fini(&args);
    if (r < 0) {
        close_pairs(fds);
        return r;
    }
    setpgid(pid, pid); /* both sides do: whoever is first */
    close(fds[0][0]);
    close(fds[1][1]);
    close(fds[2][1]);
    struct ssh *s = mem_zero(1, sizeof(*s));
    *s = (struct ssh){.calls = *calls,
                      .arg = arg,
                      .host = mem_str(to->host),
                      .user = to->user ? mem_str(to->user) : NULL,
                      .pid = pid,
                      .in = fds[0][1],
                      .out = fds[1][0],
                      .err = fds[2][0],
                      .script = BUF_INIT(1u << 20),
                      .line = BUF_INIT(SSH_LINE_MAX)};
    s->to = (struct ssh_target){.host = s->host, .user = s->user, .port = to->port};
    buf_addstr(&s->script, script);
    const int ours[] = {s->in, s->out, s->err};
    for (size_t i = 0; i < ARRAY_LEN(ours); i++)
        fcntl(ours[i], F_SETFL, O_NONBLOCK);
    s->on_in = event_new(loop, s->in, EV_WRITE | EV_PERSIST, on_in, s);
    s->on_out = event_new(loop, s->out, EV_READ | EV_PERSIST, on_out, s);
    s->on_err = event_new(loop, s->err, EV_READ | EV_PERSIST, on_err, s);
    s->on_time = event_new(loop, -1, 0, on_time, s);
    event_add(s->on_in, NULL);
    event_add(s->on_out, NULL);
    event_add(s->on_err, NULL);
    *ret = s;
    return 0;
}

void ssh_stop(struct ssh *s)
{
    if (!s)
        return;
    s->stopped = true;
    close_end(&s->in, &s->on_in);
    close_end(&s->out, &s->on_out);
    kill(-s->pid, SIGTERM);
    ending(s);
}
