/*
 * process.c: a child process with three pipes on the loop: started, read, written to, and reaped without waiting for
 * it.
 */
#include "base/process.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/timer.h"

#define REAP_MS     20   /* interval of checks whether it has exited, after its output ended */
#define PATIENCE_MS 3000 /* between SIGTERM and SIGKILL */
#define INPUT_MAX   (1u << 20)

enum { IN, OUT, ERR, ENDS };

struct process {
    struct process *next; /* of those that have not ended, on any loop */
    struct event_base *loop;
    struct process_calls calls;
    void *arg;
    pid_t pid;
    int fd[ENDS]; /* our ends of its standard input, output and error; -1: closed */
    struct event *on_fd[ENDS];
    struct timer *time;
    struct buf in; /* pending standard input */
    size_t written;
    char said[PROCESS_SAID_MAX];
    size_t n_said;
    bool stopped, asked, killed, input_ends;
    int64_t ending_ms; /* monotonic: when its output ended or it was stopped; 0: it runs */
};

static struct process *running; /* for process_end_all() (C6) */

static void close_end(struct process *p, int i)
{
    if (p->on_fd[i])
        event_free(p->on_fd[i]);
    p->on_fd[i] = NULL;
    if (p->fd[i] >= 0)
        close(p->fd[i]);
    p->fd[i] = -1;
}

static void process_free(struct process *p)
{
    for (int i = 0; i < ENDS; i++)
        close_end(p, i);
    timer_free(p->time);
    buf_fini(&p->in);
    for (struct process **at = &running; *at; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            break;
        }
    free(p);
}

static void ending(struct process *p)
{
    if (!p->ending_ms)
        p->ending_ms = clock_mono_ms();
    timer_after(p->time, REAP_MS);
}

/* Its output has ended, or it was stopped: has the process exited? */
static void on_time(void *arg)
{
    struct process *p = arg;
    int status = 0;
    pid_t got = waitpid(p->pid, &status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR)) {
        int64_t late = clock_mono_ms() - p->ending_ms;
        if (late > PATIENCE_MS && !p->killed) {
            kill(-p->pid, SIGKILL);
            p->killed = true;
        } else if (late > PATIENCE_MS / 2 && !p->asked) {
            kill(-p->pid, SIGTERM);
            p->asked = true;
        }
        timer_after(p->time, REAP_MS);
        return;
    }
    p->calls.ended(p->arg, status);
    process_free(p);
}

static void on_out(evutil_socket_t fd, UNUSED short what, void *arg)
{
    struct process *p = arg;
    char bytes[16384];
    for (size_t taken = 0; taken < PROCESS_READ_MAX && !p->stopped;) {
        ssize_t n = read(fd, bytes, sizeof(bytes));
        if (n > 0) {
            taken += (size_t)n;
            p->calls.out(p->arg, str_n(bytes, (size_t)n));
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            close_end(p, OUT);
            ending(p);
            return;
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

/* Keeps the end of its standard error: drops the first half when the buffer is full. */
static void on_err(evutil_socket_t fd, UNUSED short what, void *arg)
{
    struct process *p = arg;
    if (p->n_said == sizeof(p->said)) {
        memmove(p->said, p->said + PROCESS_SAID_MAX / 2, PROCESS_SAID_MAX / 2);
        p->n_said = PROCESS_SAID_MAX / 2;
    }
    ssize_t n = read(fd, p->said + p->n_said, sizeof(p->said) - p->n_said);
    if (n > 0)
        p->n_said += (size_t)n;
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        close_end(p, ERR);
}

static void on_in(evutil_socket_t fd, UNUSED short what, void *arg)
{
    struct process *p = arg;
    ssize_t n = write(fd, p->in.p + p->written, p->in.len - p->written);
    if (n > 0)
        p->written += (size_t)n;
    bool failed = n < 0 && errno != EAGAIN && errno != EINTR;
    if (failed || (p->written == p->in.len && p->input_ends))
        close_end(p, IN);
    else if (p->written == p->in.len)
        event_del(p->on_fd[IN]); /* the pipe stays open: closing it means end of input to the process */
}

/* ---- start and end ---- */

/* Without a terminal a program cannot prompt there: in the background it would be stopped for that and never end.
 * (setsid would not do: the parent may have made it the first of a group already.) */
static void leave_terminal(void)
{
    int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (tty >= 0)
        ioctl(tty, TIOCNOTTY);
}

/* Between fork and exec: only calls that are safe when other threads hold locks. */
static void process_exec(char *const *argv, char *const *env, int fds[ENDS][2], pid_t parent)
{
    sigset_t none;
    int in = fds[IN][0] >= 0 ? fds[IN][0] : open("/dev/null", O_RDONLY);
    setpgid(0, 0);
    leave_terminal();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    dup2(in, STDIN_FILENO);
    dup2(fds[OUT][1], STDOUT_FILENO);
    dup2(fds[ERR][1], STDERR_FILENO);
    close_range(STDERR_FILENO + 1, ~0u, 0); /* some libraries' do not close by themselves */
    execvpe(argv[0], argv, env);
    _exit(127);
}

/* Is this variable for a program with these needs? */
static bool is_needed(struct str name, unsigned needs)
{
    static const struct {
        unsigned needs; /* 0: always passed */
        const char *names;
    } known[] = {
        {0, "PATH HOME USER LOGNAME SHELL LANG TZ TMPDIR LD_LIBRARY_PATH"},
        {0, "ASAN_OPTIONS LSAN_OPTIONS TSAN_OPTIONS UBSAN_OPTIONS"}, /* of builds for tests */
        {NEEDS_NET | NEEDS_WANDB, "http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY no_proxy NO_PROXY"},
        {NEEDS_NET | NEEDS_WANDB, "SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE"},
        {NEEDS_SSH, "SSH_AUTH_SOCK SSH_AGENT_PID KRB5CCNAME KRB5_CONFIG XDG_RUNTIME_DIR"},
        {NEEDS_SLURM, "SLURM_*"},
        {NEEDS_WANDB, "WANDB_* NETRC PG*"},
    };

    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        struct str rest = str_of(known[i].names), one;
        while ((!known[i].needs || known[i].needs & needs) && str_word(&rest, &one))
            if (str_glob(one, name))
                return true;
    }
    return false;
}

char **process_env_of(const struct process_env *env, char **ret_room)
{
    size_t n = 0, kept = 0;

    while (environ[n])
        n++;
    char **v = mem_zero(n + 3, sizeof(*v));
    for (size_t i = 0; i < n; i++) {
        struct str value = str_of(environ[i]), name;
        str_cut(&value, '=', &name);
        if (is_needed(name, env ? env->needs : 0))
            v[kept++] = environ[i];
    }
    *ret_room = env && env->secret ? mem_fmt("MUSTER_SECRET=%s", env->secret) : NULL;
    if (*ret_room)
        v[kept++] = *ret_room;
    v[kept] = (char *)"LC_ALL=C";
    return v;
}

static void close_pairs(int fds[ENDS][2])
{
    for (int i = 0; i < ENDS; i++)
        for (int k = 0; k < 2; k++)
            if (fds[i][k] >= 0)
                close(fds[i][k]);
}

int process_start(struct process **ret, struct event_base *loop, const char *const *argv, const struct process_env *env,
                  struct str in, const struct process_calls *calls, void *arg, struct err *err)
{
    static const struct {
        int theirs; /* which end of the pipe is the child's */
        short what;
        event_callback_fn call;
    } ends[ENDS] = {{0, EV_WRITE, on_in}, {1, EV_READ, on_out}, {1, EV_READ, on_err}};
    int fds[ENDS][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    int r = 0;
    for (int i = in.p ? IN : OUT; i < ENDS && r == 0; i++)
        if (pipe2(fds[i], O_CLOEXEC) < 0)
            r = err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
    AUTO_FREE char *room = NULL;
    AUTO_FREE char **names = process_env_of(env, &room);
    pid_t parent = getpid(), pid = r == 0 ? fork() : -1;
    if (pid == 0)
        process_exec((char *const *)argv, names, fds, parent);
    if (r == 0 && pid < 0)
        r = err_set(err, -errno, "cannot start %s: %s", argv[0], strerror(errno));
    if (r < 0) {
        close_pairs(fds);
        return r;
    }
    setpgid(pid, pid); /* parent and child both call it: either may be first */
    struct process *p = NEW(struct process, .next = running, .loop = loop, .calls = *calls, .arg = arg, .pid = pid,
                            .in = BUF_INIT(in.len + INPUT_MAX));
    running = p;
    if (in.p)
        buf_addstr(&p->in, in);
    for (int i = 0; i < ENDS; i++) {
        p->fd[i] = fds[i][!ends[i].theirs];
        if (p->fd[i] < 0)
            continue;
        close(fds[i][ends[i].theirs]);
        fcntl(p->fd[i], F_SETFL, O_NONBLOCK);
        p->on_fd[i] = event_new(loop, p->fd[i], (short)(ends[i].what | EV_PERSIST), ends[i].call, p);
        event_add(p->on_fd[i], NULL);
    }
    p->time = timer_new(loop, on_time, p);
    *ret = p;
    return 0;
}

int process_write(struct process *p, struct str bytes)
{
    if (p->fd[IN] < 0 || p->input_ends)
        return -EPIPE;
    if (p->written) { /* what is written goes */
        memmove(p->in.p, p->in.p + p->written, p->in.len - p->written);
        buf_cut(&p->in, p->in.len - p->written);
        p->written = 0;
    }
    if (bytes.len > INPUT_MAX - p->in.len)
        return -EMSGSIZE;
    buf_addstr(&p->in, bytes);
    event_add(p->on_fd[IN], NULL);
    return 0;
}

void process_input_ends(struct process *p)
{
    p->input_ends = true;
    if (p->written == p->in.len)
        close_end(p, IN);
}

void process_stop(struct process *p)
{
    p->stopped = true;
    close_end(p, IN);
    close_end(p, OUT);
    if (!p->asked)
        kill(-p->pid, SIGTERM);
    p->asked = true;
    ending(p);
}

static void tell_nobody(UNUSED void *arg, UNUSED int status) {}

void process_drop(struct process *p)
{
    p->calls.ended = tell_nobody;
    process_stop(p); /* also stops reading its output */
}

static struct process *first_of(const struct event_base *loop)
{
    struct process *p = running;
    while (p && p->loop != loop)
        p = p->next;
    return p;
}

/* Every one: the first may be one that the kernel holds fast, and the others need not wait for it. */
static void kill_all_of(const struct event_base *loop)
{
    for (struct process *p = running; p; p = p->next)
        if (p->loop == loop && !p->killed) {
            kill(-p->pid, SIGKILL);
            p->killed = true;
        }
}

void process_end_all(struct event_base *loop)
{
    for (struct process *p = running; p; p = p->next)
        if (p->loop == loop && !p->stopped)
            process_stop(p);
    struct process *p;
    /* Counts rounds: a test's clock may stand still. */
    for (int turn = 0; (p = first_of(loop));) {
        int status = 0;
        pid_t got = waitpid(p->pid, &status, WNOHANG);
        bool runs = got == 0 || (got < 0 && errno == EINTR);
        if (runs && turn < 2 * PATIENCE_MS / REAP_MS) {
            if (turn >= PATIENCE_MS / REAP_MS)
                kill_all_of(loop);
            poll(NULL, 0, REAP_MS);
            turn++;
            continue;
        }
        p->calls.ended(p->arg, runs ? SIGKILL : status); /* one that the kernel holds fast is left to it */
        process_free(p);
    }
}

/* ---- standard error ---- */

struct str process_stderr(const struct process *p)
{
    return str_n(p->said, p->n_said);
}

void process_last_words(struct str said, char *ret, size_t size)
{
    struct str line, last = STR("");
    size_t n = 0;
    while (str_line(&said, &line))
        if (str_trim(line).len)
            last = str_trim(line);
    for (; n < last.len && n + 1 < size; n++)
        ret[n] = (unsigned char)last.p[n] < 32 || (unsigned char)last.p[n] > 126 ? '?' : last.p[n];
    ret[n] = 0;
}
