/* ports.c: listening sockets. Out of descriptors, accepting rests until the next tick instead of spinning. */
#include "http/ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "base/order.h"
#include "base/str.h"

struct port {
    char *address;
    struct evconnlistener *listener;
};

struct ports {
    struct event_base *loop;
    ports_fn *fn;
    bool (*full)(void *arg); /* may be NULL */
    void *arg;
    bool paused;
    size_t n;
    struct port *v;
};

struct ports *ports_new(struct event_base *loop, ports_fn *fn, void *arg)
{
    return NEW(struct ports, .loop = loop, .fn = fn, .arg = arg);
}

void ports_on_full(struct ports *p, bool (*full)(void *arg))
{
    p->full = full;
}

void ports_free(struct ports *p)
{
    if (!p)
        return;
    ports_close(p, NULL);
    free(p->v);
    free(p);
}

static void on_accept(UNUSED struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *from, int len, void *arg)
{
    struct ports *p = arg;
    char peer[64] = "";
    if (len > 0 && from->sa_family == AF_INET)
        inet_ntop(AF_INET, &((struct sockaddr_in *)(void *)from)->sin_addr, peer, sizeof(peer));
    else if (len > 0 && from->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &((struct sockaddr_in6 *)(void *)from)->sin6_addr, peer, sizeof(peer));
    bool mapped = strncmp(peer, "::ffff:", 7) == 0 && strchr(peer, '.');
    p->fn(p->arg, fd, mapped ? peer + 7 : peer);
}

static void on_accept_error(UNUSED struct evconnlistener *l, void *arg)
{
    struct ports *p = arg;
    int why = EVUTIL_SOCKET_ERROR();
    if ((why == EMFILE || why == ENFILE) && p->full && p->full(p->arg))
        return;       /* the next event loop iteration accepts waiting clients */
    p->paused = true; /* the next tick tries again */
    for (size_t i = 0; i < p->n; i++)
        evconnlistener_disable(p->v[i].listener);
}

/* "host:port" or "[host]:port" -> a socket address. */
static int address_parse(const char *text, struct sockaddr_storage *ret, socklen_t *ret_len, struct err *err)
{
    const char *colon = strrchr(text, ':');
    char host[64];
    int64_t port;
    struct sockaddr_in *four = (void *)ret;
    struct sockaddr_in6 *six = (void *)ret;
    struct str h = colon ? str_n(text, (size_t)(colon - text)) : str_n("", 0);
    if (h.len >= 2 && h.p[0] == '[' && h.p[h.len - 1] == ']')
        h = str_n(h.p + 1, h.len - 2);
    if (str_eq(h, "localhost"))
        h = STR("127.0.0.1");
    if (str_eq(h, "*") || (colon && h.len == 0))
        h = STR("0.0.0.0");
    if (!colon || h.len >= sizeof(host) || !str_int(str_of(colon + 1), &port) || port < 0 || port > 65535)
        return err_set(err, -EINVAL, "'%s' is not an address to listen on: write ADDRESS:PORT, as 0.0.0.0:8765", text);
    memcpy(host, h.p, h.len);
    host[h.len] = 0;
    memset(ret, 0, sizeof(*ret));
    if (inet_pton(AF_INET, host, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)port);
        *ret_len = sizeof(*four);
    } else if (inet_pton(AF_INET6, host, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons((uint16_t)port);
        *ret_len = sizeof(*six);
    } else {
        return err_set(err, -EINVAL, "'%s': '%s' is not an address; names are not looked up here", text, host);
    }
    return 0;
}

/* A socket that listens, or -errno. */
static int listen_on(const char *address, struct sockaddr_storage *sa, socklen_t *len, struct err *err)
{
    int on = 1, r = address_parse(address, sa, len, err);
    if (r < 0)
        return r;
    int fd = socket(sa->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set(err, -errno, "cannot listen on '%s': %s", address, strerror(errno));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* accepted sockets have it too */
    if (bind(fd, (struct sockaddr *)sa, *len) < 0 || listen(fd, 1024) < 0) {
        r = errno == EADDRINUSE
                ? err_set(err, -EADDRINUSE,
                          "cannot listen on '%s': another program uses the port; --listen selects another one", address)
                : err_set(err, -errno, "cannot listen on '%s': %s", address, strerror(errno));
        close(fd);
        return r;
    }
    getsockname(fd, (struct sockaddr *)sa, len);
    return fd;
}

static int port_of(const struct sockaddr_storage *sa)
{
    struct sockaddr_in6 six; /* the port is at the same place in both families */
    memcpy(&six, sa, sizeof(six));
    return ntohs(six.sin6_port);
}

int ports_try(const char *address, struct err *err)
{
    struct sockaddr_storage sa = {0};
    socklen_t len = 0;
    int fd = listen_on(address, &sa, &len, err);
    if (fd < 0)
        return fd;
    close(fd);
    return 0;
}

int ports_open(struct ports *p, const char *address, int *ret_port, struct err *err)
{
    struct sockaddr_storage sa = {0};
    socklen_t len = 0;
    int fd = listen_on(address, &sa, &len, err);
    if (fd < 0)
        return fd;
    struct evconnlistener *l =
        evconnlistener_new(p->loop, on_accept, p, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
    if (!l) {
        close(fd);
        return err_set(err, -ENOMEM, "cannot listen on '%s'", address);
    }
    evconnlistener_set_error_cb(l, on_accept_error);
    p->v = mem_grow(p->v, p->n + 1, sizeof(*p->v));
    p->v[p->n++] = (struct port){mem_str(address), l};
    if (ret_port)
        *ret_port = port_of(&sa);
    return 0;
}

bool ports_has(const struct ports *p, const char *address)
{
    return ANY(p->n, i, strcmp(p->v[i].address, address) == 0);
}

void ports_close(struct ports *p, const char *address)
{
    for (size_t i = p->n; i-- > 0;) {
        if (address && strcmp(p->v[i].address, address) != 0)
            continue;
        evconnlistener_free(p->v[i].listener);
        free(p->v[i].address);
        p->v[i] = p->v[--p->n];
    }
}

void ports_resume(struct ports *p)
{
    if (!p->paused)
        return;
    p->paused = false;
    for (size_t i = 0; i < p->n; i++)
        evconnlistener_enable(p->v[i].listener);
}
