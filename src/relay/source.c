/* source.c: code shared by all sources of node names: the last list, the time of the next lookup, and reports. */
#include "relay/source.h"

#include <errno.h>

#include "base/rand.h"
#include "base/timer.h"

#define RETRY_MAX_MS 60000

const struct source_ops *const sources[] =
    {&source_consul, &source_file_sd, &source_http_sd, &source_ssh_config, &source_sinfo, &source_dns_srv, NULL};

const struct source_ops *source_kind(const char *spec, const char **ret)
{
    for (size_t i = 0; sources[i]; i++) {
        struct str s = str_of(spec);
        if (str_skip(&s, sources[i]->name) && str_skip(&s, ":")) {
            *ret = s.p;
            return sources[i];
        }
    }
    return NULL;
}

static void on_timer(void *arg)
{
    struct source *s = arg;
    s->ops->look(s);
}

int source_open(struct source **ret, const struct source_ops *ops, struct event_base *loop, struct http *http,
                const struct source_conf *conf, source_list_fn *on_list, void *arg, struct err *err)
{
    if (!conf->what || !conf->what[0])
        return err_set(err, -EINVAL, "%s: nothing is named after it", ops->name);
    if (conf->token && strpbrk(conf->token, "\r\n"))
        return err_set(err, -EINVAL, "%s: the token has a line end in it", ops->name);
    if (ops->http && !http)
        return err_set(err, -EINVAL, "%s: there is no HTTP client", ops->name);
    struct source *s = mem_zero(1, MAX(ops->size, sizeof(*s)));
    int r = ops->open ? ops->open(s, loop, http, conf, err) : 0;
    if (r < 0) {
        free(s);
        return err_prefix(err, r, "%s", ops->name);
    }
    s->ops = ops;
    s->on_list = on_list;
    s->arg = arg;
    s->what = mem_str(conf->what);
    s->only = mem_str(conf->only);
    s->user = mem_str(conf->user);
    s->every_ms = conf->every_ms > 0 ? conf->every_ms : ops->every_ms;
    s->timer = timer_new(loop, on_timer, s);
    timer_after(s->timer, 0);
    *ret = s;
    return 0;
}

void source_close(struct source *s)
{
    if (!s)
        return;
    timer_free(s->timer);
    found_list_fini(&s->last);
    http_call_free(s->call);
    FREE_ALL(s->what, s->only, s->user, s->header);
    if (s->ops->close)
        s->ops->close(s);
    free(s);
}

static bool wanted(const char *only, struct str name)
{
    struct str rest = str_of(only), pattern;
    if (!only)
        return true;
    while (str_cut(&rest, ',', &pattern))
        if (str_glob(str_trim(pattern), name))
            return true;
    return false;
}

/* Keeps only the wanted names, and sets their user. */
static void fit(struct source *s, struct found_list *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (!wanted(s->only, str_of(l->v[i].name))) {
            free(l->v[i].labels);
            continue;
        }
        l->v[n] = l->v[i];
        if (!l->v[n].user)
            l->v[n].user = s->user;
        n++;
    }
    l->n = n;
}

void source_give(struct source *s, struct found_list *l, const char *note)
{
    found_list_settle(l);
    fit(s, l);
    mem_copy_str(s->note, sizeof(s->note), note ? note : "");
    if (l->skipped && !note)
        snprintf(s->note, sizeof(s->note), "%zu of its names cannot be hosts and are left out", l->skipped);
    bool news = !s->given || s->error[0] || !found_list_same(&s->last, l);
    found_list_fini(&s->last);
    s->last = *l;
    *l = (struct found_list){0};
    s->given = true;
    s->failed = 0;
    s->error[0] = 0;
    timer_after(s->timer, s->every_ms);
    if (news)
        s->on_list(s->arg, s, s->last.v, s->last.n, NULL);
}

void source_fail(struct source *s, const char *why)
{
    int64_t ms = MIN((int64_t)1000 << MIN(s->failed, 10u), (int64_t)RETRY_MAX_MS);
    bool news = strcmp(s->error, why) != 0;
    s->failed++;
    mem_copy_str(s->error, sizeof(s->error), why);
    timer_after(s->timer, ms - (int64_t)((double)ms * rand_unit() / 4)); /* jitter, to spread the lookups */
    if (news)
        s->on_list(s->arg, s, s->last.v, s->last.n, s->error);
}

void source_end(struct source *s, struct found_list *l, int r, const struct err *err)
{
    if (r < 0)
        source_fail(s, err->msg);
    else
        source_give(s, l, NULL);
}

void source_http_fail(struct source *s, const struct http_result *r, const char *whom)
{
    struct str body = r->body, line = STR("");
    char said[121], why[320];
    size_t n = 0;
    while (!line.len && str_line(&body, &line))
        line = str_trim(line);
    for (; n < line.len && n < sizeof(said) - 1; n++)
        said[n] = (unsigned char)line.p[n] < 32 || (unsigned char)line.p[n] > 126 ? '?' : line.p[n];
    said[n] = 0;
    const char *hint = r->status == 401 || r->status == 403  ? " (is the token right, and may it read this?)"
                       : r->status >= 300 && r->status < 400 ? " (redirects are not followed: name the last address)"
                                                             : "";
    if (r->status == 0)
        snprintf(why, sizeof(why), "%s does not answer: %.240s", whom, r->error);
    else
        snprintf(why, sizeof(why), "%s answers %d%s%s%s", whom, r->status, said[0] ? ": " : "", said, hint);
    source_fail(s, why);
}
