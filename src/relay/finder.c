/* finder.c: sources opened, their lists kept as machines to be read. */
#include "relay/finder.h"

#include <errno.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/log.h"
#include "link/source.h"

struct entry { /* one source */
    struct finder *finder;
    char *spec;
    struct source *source;
    struct target_list list;
};

struct finder {
    struct event_base *loop;
    struct http *http;
    void (*changed)(void *arg);
    void *arg;
    char *way; /* what all sources share of the settings */
    size_t n;
    struct entry **v;
};

static void on_list(void *arg, struct source *s, const struct found *v, size_t n, const char *error)
{
    struct entry *e = arg;
    bool ssh_port = !source_ops_of(s)->service_port;
    if (error) {
        log_warn("relay", "%s: %s; its %zu machines stay as they are", e->spec, error, e->list.n);
        return;
    }
    struct target_list next = {0};
    for (size_t i = 0; i < n; i++)
        target_list_put(&next, str_of(v[i].name), v[i].address, v[i].user, ssh_port ? v[i].port : 0);
    target_list_fini(&e->list);
    e->list = next;
    log_info("relay", "%s: %zu machines%s%s", e->spec, n, source_note(s)[0] ? "; " : "", source_note(s));
    e->finder->changed(e->finder->arg);
}

static void entry_free(struct entry *e)
{
    source_close(e->source);
    target_list_fini(&e->list);
    free(e->spec);
    free(e);
}

static void entries_free(struct entry **v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v[i])
            entry_free(v[i]);
    free(v);
}

struct finder *finder_new(struct event_base *loop, void (*changed)(void *arg), void *arg)
{
    struct finder *f = mem_zero(1, sizeof(*f));
    *f = (struct finder){.loop = loop, .changed = changed, .arg = arg};
    return f;
}

void finder_free(struct finder *f)
{
    if (!f)
        return;
    entries_free(f->v, f->n);
    http_free(f->http);
    free(f->way);
    free(f);
}

int finder_check(const struct ssh_settings *s, struct err *err)
{
    const char *what;
    if (s->sources.n > SOURCES_MAX)
        return err_set(err, -EINVAL, "more than %d sources", SOURCES_MAX);
    for (size_t i = 0; i < s->sources.n; i++) {
        for (size_t k = 0; k < i; k++)
            if (strcmp(s->sources.v[i], s->sources.v[k]) == 0)
                return err_set(err, -EINVAL, "sources: '%.120s' is there twice", s->sources.v[i]);
        if (!source_kind(s->sources.v[i], &what)) {
            AUTO_BUF kinds = BUF_INIT(256);
            for (size_t k = 0; sources[k]; k++)
                buf_addf(&kinds, "%s%s:", k ? ", " : "", sources[k]->name);
            return err_set(err, -EINVAL, "sources: '%.120s' does not begin with a kind (%s)", s->sources.v[i], kinds.p);
        }
    }
    return 0;
}

static struct entry *old_entry(struct finder *f, const char *spec)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->v[i] && strcmp(f->v[i]->spec, spec) == 0)
            return f->v[i];
    return NULL;
}

static int open_one(struct finder *f, const struct ssh_settings *s, const char *spec, const char *token,
                    struct entry **ret, struct err *err)
{
    struct source_conf conf = {.only = s->source_only, .user = s->user, .token = token, .ca_file = s->source_ca_file};
    const struct source_ops *ops = source_kind(spec, &conf.what);
    struct entry *e = mem_zero(1, sizeof(*e));
    *e = (struct entry){.finder = f, .spec = mem_str(spec)};
    int r = source_open(&e->source, ops, f->loop, f->http, &conf, on_list, e, err);
    if (r < 0) {
        entry_free(e);
        return r;
    }
    *ret = e;
    return 0;
}

int finder_set(struct finder *f, const struct ssh_settings *s, struct err *err)
{
    AUTO_BUF token = {0};
    struct err said = {0};
    int r = finder_check(s, err);
    if (r == 0 && s->sources.n && !f->http)
        r = http_new(&f->http, f->loop, err);
    if (r == 0 && s->source_token_file) {
        if ((r = file_read_secret(s->source_token_file, &token, &said)) < 0)
            r = err_set(err, r, "%s", said.msg);
        else if (said.msg[0])
            log_warn("relay", "%s", said.msg);
    }
    if (r < 0)
        return r;
    char *way = mem_fmt("%s\n%s\n%s\n%s", token.p ? token.p : "", s->source_only ? s->source_only : "",
                        s->source_ca_file ? s->source_ca_file : "", s->user ? s->user : "");
    bool same_way = f->way && strcmp(f->way, way) == 0;
    struct entry **v = mem_zero(s->sources.n + 1, sizeof(*v));
    bool *fresh = mem_zero(s->sources.n + 1, sizeof(*fresh));
    size_t n = 0;
    for (; n < s->sources.n && r == 0; n++) {
        struct entry *old = old_entry(f, s->sources.v[n]);
        fresh[n] = !old || !same_way;
        if (fresh[n])
            r = open_one(f, s, s->sources.v[n], token.p, &v[n], err);
        else
            v[n] = old;
    }
    if (r < 0) { /* those that are not new stay where they are */
        for (size_t i = 0; i < n; i++)
            if (fresh[i] && v[i])
                entry_free(v[i]);
        free(v);
        free(way);
        free(fresh);
        return r;
    }
    for (size_t i = 0; i < n; i++) {
        struct entry *old = old_entry(f, v[i]->spec);
        if (fresh[i] && old) { /* what it knew, until the new one has answered */
            v[i]->list = old->list;
            old->list = (struct target_list){0};
        }
        for (size_t k = 0; k < f->n; k++)
            if (f->v[k] == v[i])
                f->v[k] = NULL;
    }
    entries_free(f->v, f->n);
    free(f->way);
    free(fresh);
    f->v = v;
    f->n = n;
    f->way = way;
    return 0;
}

void finder_add(const struct finder *f, struct target_list *l)
{
    for (size_t i = 0; i < f->n; i++)
        for (size_t k = 0; k < f->v[i]->list.n; k++) {
            const struct target *t = &f->v[i]->list.v[k];
            target_list_put(l, str_of(t->name), t->host, t->user, t->port);
        }
}
