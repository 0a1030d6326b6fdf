/* line.c: a streaming GET through libcurl's multi interface: it can be stopped while it waits. */
#include "stream/line.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"

struct hub_line {
    struct line_conf conf;      /* owns its strings */
    const struct curl_lib *lib; /* NULL: not available, following fails */
    CURLM *multi;
    atomic_bool stop;
    /* of the current request */
    struct hub_request q;
    struct buf refusal; /* the body of a response other than 200 */
    int (*take)(void *arg, struct str piece);
    void *arg;
    int taken; /* the negative result of take */
    int64_t news_ms;
};

struct hub_line *hub_line_new(const struct line_conf *conf)
{
    const struct curl_lib *lib = curl_lib_shared(NULL);
    struct hub_line *l = NEW(struct hub_line, .conf = *conf, .lib = lib, .multi = lib ? lib->multi_init() : NULL);
    l->conf.ask = (struct hub_request_conf){.url = mem_str(conf->ask.url),
                                            .shown = mem_str(conf->ask.shown),
                                            .ca_file = mem_str(conf->ask.ca_file),
                                            .pin = mem_str(conf->ask.pin)};
    return l;
}

void hub_line_free(struct hub_line *l)
{
    if (!l)
        return;
    if (l->lib)
        l->lib->multi_cleanup(l->multi);
    free((char *)l->conf.ask.url);
    free((char *)l->conf.ask.shown);
    free((char *)l->conf.ask.ca_file);
    free((char *)l->conf.ask.pin);
    free(l);
}

static size_t take_line(char *p, size_t size, size_t n, void *arg)
{
    struct hub_line *l = arg;
    long status = 0;
    l->news_ms = clock_mono_ms();
    l->lib->easy_getinfo(l->q.c, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200)
        return buf_add(&l->refusal, p, size * n) == 0 ? size * n : 0;
    l->taken = l->take(l->arg, str_n(p, size * n));
    return l->taken < 0 ? 0 : size * n;
}

/* Sets err to the reason it ended; every end is an error. */
static int line_end(struct hub_line *l, CURLcode rc, struct err *err)
{
    long status = 0;
    l->lib->easy_getinfo(l->q.c, CURLINFO_RESPONSE_CODE, &status);
    if (l->taken < 0)
        return err_set(err, l->taken, "'%s' sent an unexpected response; is it a muster hub?", l->conf.ask.shown);
    if (status && status != 200)
        return hub_request_refused(&l->conf.ask, status, buf_str(&l->refusal), err);
    return rc != CURLE_OK ? hub_request_unreachable(&l->conf.ask, &l->q, rc, err)
                          : err_set(err, -EPIPE, "the hub at '%s' ended the connection", l->conf.ask.shown);
}

int hub_line_follow(struct hub_line *l, const char *path, int64_t quiet_ms,
                    int (*take_piece)(void *arg, struct str piece), void (*tick)(void *arg), void *arg, struct err *err)
{
    AUTO_BUF token = BUF_INIT(4096);
    struct hub_request_conf ask = l->conf.ask;
    int r = l->conf.token ? l->conf.token(l->conf.token_arg, &token, err) : 0, running = 1;
    if (r < 0)
        return r;
    ask.token = token.p;
    r = hub_request_init(&l->q, &ask, "GET", path, "", str_of(""), err);
    if (r < 0)
        return r;
    l->refusal = BUF_INIT(65536);
    l->take = take_piece;
    l->arg = arg;
    l->taken = 0;
    l->news_ms = clock_mono_ms();
    l->lib->easy_setopt(l->q.c, CURLOPT_WRITEFUNCTION, take_line);
    l->lib->easy_setopt(l->q.c, CURLOPT_WRITEDATA, l);
    l->lib->multi_add_handle(l->multi, l->q.c);
    int64_t ticked = l->news_ms;
    while (running && !l->stop && clock_mono_ms() - l->news_ms < quiet_ms) {
        if (l->lib->multi_perform(l->multi, &running) != CURLM_OK)
            break;
        if (clock_mono_ms() - ticked >= 1000) {
            ticked = clock_mono_ms();
            if (tick)
                tick(arg);
        }
        if (running && !l->stop)
            l->lib->multi_poll(l->multi, NULL, 0, 1000, NULL);
    }
    bool silent = running && !l->stop;
    CURLcode rc = CURLE_OPERATION_TIMEDOUT;
    int left;
    for (CURLMsg *m; (m = l->lib->multi_info_read(l->multi, &left));)
        if (m->msg == CURLMSG_DONE)
            rc = m->data.result;
    l->lib->multi_remove_handle(l->multi, l->q.c);
    r = l->stop  ? -ECANCELED
        : silent ? err_set(err, -ETIMEDOUT, "the hub at '%s' has sent nothing for %lld s", l->conf.ask.shown,
                           (long long)quiet_ms / 1000)
                 : line_end(l, rc, err);
    hub_request_fini(&l->q);
    buf_fini(&l->refusal);
    return r;
}

void hub_line_sleep(struct hub_line *l, int64_t ms)
{
    int64_t until = clock_mono_ms() + ms;
    for (int64_t now; !l->stop && (now = clock_mono_ms()) < until;)
        if (l->lib)
            l->lib->multi_poll(l->multi, NULL, 0, (int)MIN(until - now, 1000), NULL);
        else
            poll(NULL, 0, 100);
}

void hub_line_stop(struct hub_line *l)
{
    l->stop = true;
    if (l->lib)
        l->lib->multi_wakeup(l->multi);
}

bool hub_line_stopped(const struct hub_line *l)
{
    return l->stop;
}
