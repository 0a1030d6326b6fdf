/*
 * source_dns.c: SRV records. The C library's resolver blocks, so it runs in a thread that shares only a socket with the
 * loop. If the source is closed meanwhile, the thread ends on its own.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <resolv.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#undef MIN /* resolv.h brings sys/param.h's */
#undef MAX

#include "relay/source.h"

#define ANSWER_MAX 65535

struct dns {
    struct source s;
    struct event_base *loop;
    char *name;
    struct sockaddr_in server; /* sin_port 0: the system's */
    unsigned missing;          /* consecutive replies that the name does not exist */
    int fd;
    struct event *on_fd;
    struct buf answer;
};

struct question { /* the thread's own */
    char *name;
    struct sockaddr_in server;
    int fd;
};

static void send_all(int fd, const void *p, size_t n)
{
    const char *at = p;
    while (n) {
        ssize_t k = send(fd, at, n, MSG_NOSIGNAL);
        if (k <= 0)
            return;
        at += k;
        n -= (size_t)k;
    }
}

/* Sends one byte of h_errno, then the reply. */
static void *ask(void *arg)
{
    struct question *q = arg;
    struct __res_state *state = mem_zero(1, sizeof(*state));
    uint8_t *answer = mem_alloc(ANSWER_MAX);
    uint8_t code = NO_RECOVERY;
    int n = -1;
    if (res_ninit(state) == 0) {
        if (q->server.sin_port) {
            state->nscount = 1;
            state->nsaddr_list[0] = q->server;
        }
        n = res_nquery(state, q->name, ns_c_in, ns_t_srv, answer, ANSWER_MAX);
        code = n < 0 ? (uint8_t)state->res_h_errno : 0;
        res_nclose(state);
    }
    send_all(q->fd, &code, 1);
    if (n > 0)
        send_all(q->fd, answer, (size_t)n);
    close(q->fd);
    FREE_ALL(answer, state, q->name, q);
    return NULL;
}

static void drop_answer(struct dns *d)
{
    if (d->on_fd)
        event_free(d->on_fd);
    if (d->fd >= 0)
        close(d->fd);
    d->on_fd = NULL;
    d->fd = -1;
    buf_reset(&d->answer);
}

static void take(struct dns *d, uint8_t code, struct str answer)
{
    AUTO_FOUND l = {0};
    struct err err = {0};
    bool missing = code == HOST_NOT_FOUND || code == NO_DATA;
    d->missing = missing ? d->missing + 1 : 0;
    if (missing && d->missing > 2) /* it is meant */
        source_give(&d->s, &l, "there is no such name");
    else if (missing)
        source_fail(&d->s, "there is no SRV record of that name");
    else if (code)
        source_fail(&d->s, "the name server does not answer, or fails");
    else
        source_end(&d->s, &l, found_srv(&l, (const uint8_t *)answer.p, answer.len, &err), &err);
}

static void on_answer(evutil_socket_t fd, UNUSED short what, void *arg)
{
    struct dns *d = arg;
    char bytes[8192];
    ssize_t n = read(fd, bytes, sizeof(bytes));
    if (n > 0 && buf_add(&d->answer, bytes, (size_t)n) == 0)
        return;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    struct buf whole = d->answer;
    d->answer = BUF_INIT(ANSWER_MAX + 1);
    drop_answer(d);
    if (whole.len)
        take(d, (uint8_t)whole.p[0], str_n(whole.p + 1, whole.len - 1));
    else
        source_fail(&d->s, "the name server was not queried");
    buf_fini(&whole);
}

static void dns_look(struct source *s)
{
    struct dns *d = (struct dns *)s;
    int pair[2];
    pthread_t thread;
    pthread_attr_t attr;
    drop_answer(d);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        source_fail(s, "cannot make a socket");
        return;
    }
    struct question *q = NEW(struct question, mem_str(d->name), d->server, pair[1]);
    d->fd = pair[0];
    fcntl(d->fd, F_SETFL, O_NONBLOCK);
    d->on_fd = event_new(d->loop, d->fd, EV_READ | EV_PERSIST, on_answer, d);
    event_add(d->on_fd, NULL);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &attr, ask, q) != 0) {
        close(pair[1]); /* read as an empty reply */
        FREE_ALL(q->name, q);
    }
    pthread_attr_destroy(&attr);
}

static void dns_close(struct source *s)
{
    struct dns *d = (struct dns *)s;
    drop_answer(d);
    buf_fini(&d->answer);
    free(d->name);
}

/* "_muster._tcp.example.org", "gpu.service.consul@127.0.0.1:8600". */
static int dns_open(struct source *s, struct event_base *loop, UNUSED struct http *http, const struct source_conf *conf,
                    struct err *err)
{
    struct str name = str_of(conf->what), where = STR(""), host;
    struct sockaddr_in server = {.sin_family = AF_INET};
    int at = str_find(name, "@");
    struct dns *d = (struct dns *)s;
    int64_t port = 53;
    if (at >= 0) {
        where = str_n(name.p + at + 1, name.len - (size_t)at - 1);
        name.len = (size_t)at;
        bool some = str_cut(&where, ':', &host);
        AUTO_FREE char *ip = some ? mem_strn(host.p, host.len) : mem_str("");
        if (inet_pton(AF_INET, ip, &server.sin_addr) != 1 ||
            (where.len && (!str_int(where, &port) || port < 1 || port > 65535)))
            return err_set(err, -EINVAL, "'%.200s' is not NAME@ADDRESS:PORT of a name server (IPv4)", conf->what);
        server.sin_port = htons((uint16_t)port);
    }
    if (!name.len || name.len > 253)
        return err_set(err, -EINVAL, "'%.200s' is not a name", conf->what);
    d->loop = loop;
    d->name = mem_strn(name.p, name.len);
    d->server = server;
    d->fd = -1;
    d->answer = BUF_INIT(ANSWER_MAX + 1);
    return 0;
}

const struct source_ops source_dns_srv = {
    .name = "dns_srv",
    .service_port = true,
    .every_ms = 30000,
    .size = sizeof(struct dns),
    .open = dns_open,
    .look = dns_look,
    .close = dns_close,
};
