/*
 * scrape.c: hosts with an exporter each, for a Prometheus to scrape: /N answers with what host N says this second, out
 * of a "scrape" file of gen.
 *
 *   build/bench/scrape FILE HOSTS       prints the port it listens on, at 127.0.0.1
 */
#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

struct scrape {
    struct buf text, idx;
    int64_t hosts, ticks, began_ms;
};

static uint64_t offset_of(const struct scrape *s, int64_t part)
{
    uint64_t v;

    memcpy(&v, s->idx.p + part * (int64_t)sizeof(v), sizeof(v));
    return v;
}

static void on_request(struct evhttp_request *rq, void *arg)
{
    struct scrape *s = arg;
    struct evbuffer *out = evbuffer_new();
    int64_t host = 0, tick = (clock_mono_ms() - s->began_ms) / 1000 % s->ticks;

    str_int(str_of(evhttp_request_get_uri(rq) + 1), &host);
    int64_t part = tick * s->hosts + (int64_t)((uint64_t)host % (uint64_t)s->hosts);
    uint64_t from = offset_of(s, part), to = offset_of(s, part + 1);
    evbuffer_add_reference(out, s->text.p + from, to - from, NULL, NULL);
    evhttp_add_header(evhttp_request_get_output_headers(rq), "Content-Type", "text/plain; version=0.0.4");
    evhttp_send_reply(rq, 200, "OK", out);
    evbuffer_free(out);
}

int main(int argc, char **argv)
{
    struct scrape s = {.began_ms = clock_mono_ms()};
    struct err err = {0};
    struct sockaddr_in at;
    socklen_t len = sizeof(at);

    if (argc != 3 || !str_int(str_of(argv[2]), &s.hosts) || s.hosts < 1) {
        fprintf(stderr, "usage: scrape FILE HOSTS\n");
        return 2;
    }
    AUTO_FREE char *idx = mem_fmt("%s.idx", argv[1]);
    if (file_read(argv[1], 4ull << 30, &s.text, &err) < 0 || file_read(idx, 1u << 30, &s.idx, &err) < 0) {
        fprintf(stderr, "scrape: %s\n", err.msg);
        return 1;
    }
    s.ticks = (int64_t)(s.idx.len / sizeof(uint64_t) - 1) / s.hosts;
    struct event_base *base = event_base_new();
    struct evhttp *http = evhttp_new(base);
    struct evhttp_bound_socket *sock = evhttp_bind_socket_with_handle(http, "127.0.0.1", 0);
    if (!sock || s.ticks < 1 || getsockname(evhttp_bound_socket_get_fd(sock), (struct sockaddr *)&at, &len) < 0) {
        fprintf(stderr, "scrape: cannot listen\n");
        return 1;
    }
    evhttp_set_gencb(http, on_request, &s);
    printf("port %d\n", ntohs(at.sin_port));
    fflush(stdout);
    return event_base_dispatch(base);
}
