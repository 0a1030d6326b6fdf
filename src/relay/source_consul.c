/*
 * source_consul.c: the nodes of a service that Consul knows, by blocking queries: Consul responds when something
 * changes.
 */
#include <errno.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/timer.h"
#include "relay/consul.h"
#include "relay/source.h"

#define ANSWER_MAX (32u << 20)
#define ASK_MS     10000 /* for a reply that is not held */
#define APART_MS   1000  /* minimum interval of queries: an index can change all the time */

struct consul {
    struct source s;
    struct buf base;
    uint64_t index; /* 0: query without */
    int64_t asked_mono;
};

static void on_answer(void *arg, const struct http_result *r)
{
    struct consul *c = arg;
    AUTO_FOUND l = {0};
    struct err err = {0};
    struct str value = STR("");
    uint64_t had = c->index;

    c->index = 0; /* after a failure the server's index may be lower: start again */
    if (r->status != 200) {
        source_http_fail(&c->s, r, "Consul");
        if (r->retry_after_ms > 0)
            timer_after(c->s.timer, r->retry_after_ms);
        return;
    }
    if (found_consul(&l, r->body, &err) < 0) {
        source_fail(&c->s, err.msg);
        return;
    }
    if (http_header(r, "X-Consul-Index", &value))
        c->index = consul_index(had, value);
    bool part = http_header(r, "X-Consul-Results-Filtered-By-ACLs", &value) && str_eq(value, "true");
    bool held = c->index || had;
    source_give(&c->s, &l, part ? "Consul's token sees only a part of the list" : NULL);
    if (held) /* else its replies have no index: poll */
        timer_after(c->s.timer, MAX(c->asked_mono + APART_MS - clock_mono_ms(), (int64_t)0));
}

static void consul_look(struct source *s)
{
    struct consul *c = (struct consul *)s;
    const char *const headers[] = {"Accept: application/json", s->header, NULL};
    AUTO_BUF url = BUF_INIT(4096);
    struct err err = {0};

    consul_url(buf_str(&c->base), c->index, &url);
    c->asked_mono = clock_mono_ms();
    /* Consul adds up to a sixteenth to the wait, so that queries do not all end together. */
    int64_t limit = c->index ? CONSUL_WAIT_MS + CONSUL_WAIT_MS / 16 + ASK_MS : ASK_MS;
    if (http_get(s->call, url.p, headers, ANSWER_MAX, limit, &err) < 0)
        source_fail(s, err.msg);
}

static void consul_close(struct source *s)
{
    buf_fini(&((struct consul *)s)->base);
}

static int consul_open(struct source *s, UNUSED struct event_base *loop, struct http *http,
                       const struct source_conf *conf, struct err *err)
{
    AUTO_BUF base = BUF_INIT(2048), old = BUF_INIT(2048), text = {0};
    struct consul *c = (struct consul *)s;
    const char *what = conf->what;
    int r = 0;
    if (str_ends(str_of(what), ".json") && str_find(str_of(what), "://") < 0) {
        if ((r = file_read(what, 1u << 20, &text, err)) < 0)
            return r;
        if ((r = consul_old_conf(buf_str(&text), &old, err)) < 0)
            return err_prefix(err, r, "%s", what);
        what = old.p;
    }
    if ((r = consul_base(what, &base, err)) < 0)
        return r;
    c->base = base;
    base = (struct buf){0};
    s->header = conf->token ? mem_fmt("X-Consul-Token: %s", conf->token) : NULL;
    s->call = http_call_new(http, &(struct http_conf){c->base.p, conf->ca_file, conf->pin, conf->proxy}, on_answer, c);
    return 0;
}

const struct source_ops source_consul = {
    .name = "consul",
    .service_port = true,
    .http = true,
    .every_ms = 10000,
    .size = sizeof(struct consul),
    .open = consul_open,
    .look = consul_look,
    .close = consul_close,
};
