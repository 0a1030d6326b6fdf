/* control.c: the agent's end of its control socket: reads one line; the first line of the reply is "ok" or "no". */
#include "agent/control.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"

#define LINE_MAX_LEN 256
#define ANSWER_MAX   (64u << 10)
#define CLIENTS_MAX  8
#define CLIENT_S     5 /* a client that takes longer to send its line is disconnected */

struct client {
    struct control *control;
    int fd;
    struct event *ev;
    char line[LINE_MAX_LEN];
    size_t n;
};

struct control {
    struct event_base *base;
    struct event *accept;
    int fd;
    char *path;
    control_fn *fn;
    void *arg;
    struct client *clients[CLIENTS_MAX];
};

static int control_address(const char *state_dir, struct sockaddr_un *ret, struct err *err)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(ret->sun_path, sizeof(ret->sun_path), "%s/agent.sock", state_dir);
    if (n < 0 || (size_t)n >= sizeof(ret->sun_path))
        return err_set(err, -ENAMETOOLONG, "'%s/agent.sock' is too long a name for a socket", state_dir);
    return 0;
}

static void client_free(struct client *c)
{
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        if (c->control->clients[i] == c)
            c->control->clients[i] = NULL;
    event_free(c->ev);
    close(c->fd);
    free(c);
}

/* Sends the reply without waiting for the client: it fits the socket's buffer, or the rest is lost. */
static void client_answer(struct client *c)
{
    AUTO_BUF text = BUF_INIT(ANSWER_MAX), out = BUF_INIT(ANSWER_MAX + 16);
    int r = c->control->fn(c->control->arg, str_trim(str_n(c->line, c->n)), &text);

    buf_adds(&out, r < 0 ? "no\n" : "ok\n");
    buf_addstr(&out, buf_str(&text));
    if (send(c->fd, out.p, out.len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return;
}

static void on_client(evutil_socket_t fd, short what, void *arg)
{
    struct client *c = arg;

    if (what & EV_TIMEOUT) {
        client_free(c);
        return;
    }
    ssize_t n = recv(fd, c->line + c->n, sizeof(c->line) - c->n, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        c->n += (size_t)n;
    char *end = memchr(c->line, '\n', c->n);
    if (end) {
        c->n = (size_t)(end - c->line);
        client_answer(c);
        client_free(c);
    } else if (n <= 0 || c->n == sizeof(c->line)) {
        client_free(c);
    }
}

static bool peer_rate_ok(int fd)
{
    struct ucred who;
    socklen_t n = sizeof(who);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 && (who.uid == 0 || who.uid == geteuid());
}

static void on_accept(evutil_socket_t listener, UNUSED short what, void *arg)
{
    struct control *c = arg;
    struct timeval limit = {.tv_sec = CLIENT_S};
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return;
    size_t i = FIRST(CLIENTS_MAX, k, !c->clients[k]);
    if (i == CLIENTS_MAX || !peer_rate_ok(fd)) {
        close(fd);
        return;
    }
    struct client *k = NEW(struct client, .control = c, .fd = fd);
    k->ev = event_new(c->base, fd, EV_READ | EV_PERSIST, on_client, k);
    c->clients[i] = k;
    event_add(k->ev, &limit);
}

int control_open(struct control **ret, struct event_base *base, const char *state_dir, control_fn *fn, void *arg,
                 struct err *err)
{
    struct sockaddr_un at;
    int r = control_address(state_dir, &at, err);

    if (r < 0)
        return r;
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_set(err, -errno, "cannot make a socket: %s", strerror(errno));
    unlink(at.sun_path); /* of a predecessor: the state folder's lock is ours */
    mode_t mask = umask(0177);
    r = bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ? -errno : 0;
    umask(mask);
    if (r < 0 || listen(fd, CLIENTS_MAX) < 0)
        return err_set(err, r < 0 ? r : -errno, "cannot listen on '%s': %s", at.sun_path, strerror(r < 0 ? -r : errno));
    struct control *c =
        NEW(struct control, .base = base, .fd = mem_take_fd(&fd), .path = mem_str(at.sun_path), .fn = fn, .arg = arg);
    c->accept = event_new(base, c->fd, EV_READ | EV_PERSIST, on_accept, c);
    event_add(c->accept, NULL);
    *ret = c;
    return 0;
}

void control_close(struct control *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        if (c->clients[i])
            client_free(c->clients[i]);
    event_free(c->accept);
    close(c->fd);
    unlink(c->path);
    free(c->path);
    free(c);
}

int control_request(const char *state_dir, const char *line, int64_t timeout_ms, struct buf *ret, struct err *err)
{
    struct timeval tv = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
    AUTO_BUF text = BUF_INIT(ANSWER_MAX + 16);
    struct sockaddr_un to;
    struct str rest, first;
    int r = control_address(state_dir, &to, err);

    if (r < 0)
        return r;
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set(err, -errno, "cannot make a socket: %s", strerror(errno));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
    AUTO_FREE char *said = mem_fmt("%s\n", line);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
        r = -errno;
        if (r == -ENOENT || r == -ECONNREFUSED)
            return err_set(err, r, "no agent runs with the state folder '%s'", state_dir);
        return err_set(err, r, "cannot reach the agent at '%s': %s", to.sun_path, strerror(-r));
    }
    if (send(fd, said, strlen(said), MSG_NOSIGNAL) < 0)
        return err_set(err, -errno, "cannot connect to the agent: %s", strerror(errno));
    if ((r = buf_read_fd(&text, fd)) < 0)
        return err_set(err, r, "the agent does not answer: %s", strerror(-r));
    rest = buf_str(&text);
    if (!str_line(&rest, &first))
        return err_set(err, -EPERM,
                       "the agent closed the connection: only root and the agent's own user may send commands");
    bool ok = str_eq(first, "ok");
    if (!ok)
        return err_set(err, -EREMOTEIO, "%.*s", STR_ARG(str_trim(rest)));
    return buf_addstr(ret, rest);
}
