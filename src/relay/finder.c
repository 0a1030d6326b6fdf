/* finder.c: opens the sources of names and keeps what each one listed. */
#include "relay/finder.h"

#include <errno.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/order.h"
#include "base/secret.h"
#include "relay/source.h"

struct entry { /* one source */
    struct finder *finder;
    char *spec, *name; /* name: for display */
    struct source *source;
    struct target_list list;
    char error[200]; /* why it fails; empty: it does not */
    int64_t since_ms;
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

/* The source as configured, without the credentials of "consul:http://ops:secret@consul/…". */
static char *shown(const char *spec)
{
    AUTO_BUF out = BUF_INIT(4096);
    struct str s = str_of(spec);
    int slashes = str_find(s, "://"), at = str_find(s, "@");
    int blank = str_find(s, " ");
    if (blank >= 0)
        s.len = (size_t)blank;
    if (slashes > 0 && at > slashes && at < (int)s.len) {
        buf_add(&out, s.p, (size_t)slashes + 3);
        s = str_n(s.p + at + 1, s.len - (size_t)at - 1);
    }
    buf_addstr(&out, s);
    return buf_take(&out);
}

static void on_list(void *arg, struct source *s, const struct found *v, size_t n, const char *error)
{
    struct entry *e = arg;
    bool ssh_port = !s->ops->service_port;
    if (error) {
        if (!e->error[0])
            e->since_ms = clock_wall_ms();
        mem_copy_str(e->error, sizeof(e->error), error);
        log_warn("relay", "%s: %s; its %zu machine%s as before", e->name, error, e->list.n,
                 e->list.n == 1 ? " stays" : "s stay");
        return;
    }
    struct target_list next = {0};
    e->error[0] = 0;
    for (size_t i = 0; i < n; i++) {
        target_list_put(&next, str_of(v[i].name), v[i].address, v[i].user, ssh_port ? v[i].port : 0);
        target_list_label(&next, str_of(v[i].name), v[i].labels);
    }
    target_list_fini(&e->list);
    e->list = next;
    log_info("relay", "%s: %zu machine%s%s%s", e->name, n, n == 1 ? "" : "s", s->note[0] ? "; " : "", s->note);
    e->finder->changed(e->finder->arg);
}

static void entry_free(struct entry *e)
{
    source_close(e->source);
    target_list_fini(&e->list);
    FREE_ALL(e->spec, e->name, e);
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
    return NEW(struct finder, .loop = loop, .changed = changed, .arg = arg);
}

void finder_free(struct finder *f)
{
    if (!f)
        return;
    entries_free(f->v, f->n);
    http_free(f->http);
    FREE_ALL(f->way, f);
}

/* "KIND:WHAT token_file=FILE ca_file=FILE only=PATTERNS user=NAME": what follows the first blank holds for this one. */
struct spec {
    char *what; /* all of it, ended at the first blank */
    const char *token_file, *ca_file, *only, *user;
    char *words;
};

static void spec_fini(struct spec *s)
{
    FREE_ALL(s->what, s->words);
}

static int spec_parse(const char *text, struct spec *ret, struct err *err)
{
    const char *blank = strchr(text, ' ');
    struct spec s = {.what = mem_strn(text, strcspn(text, " ")), .words = mem_str(blank ? blank + 1 : "")};
    char *rest = NULL;
    int r = 0;
    for (char *w = strtok_r(s.words, " ", &rest); w && r == 0; w = strtok_r(NULL, " ", &rest)) {
        const struct {
            const char *name;
            const char **to;
        } keys[] = {{"token_file=", &s.token_file}, {"ca_file=", &s.ca_file}, {"only=", &s.only}, {"user=", &s.user}};
        struct str word = str_of(w);
        size_t i = FIRST(ARRAY_LEN(keys), k, str_skip(&word, keys[k].name));
        if (i == ARRAY_LEN(keys) || !word.len)
            r = err_set(err, -EINVAL, "sources: '%.60s' is not token_file=, ca_file=, only= or user=", w);
        else
            *keys[i].to = word.p;
    }
    if (r < 0) {
        spec_fini(&s);
        return r;
    }
    *ret = s;
    return 0;
}

int finder_check(const struct relay_settings *s, struct err *err)
{
    const char *what;
    if (s->sources.n > SOURCES_MAX)
        return err_set(err, -EINVAL, "more than %d sources", SOURCES_MAX);
    for (size_t i = 0; i < s->sources.n; i++) {
        if (ANY(i, k, strcmp(s->sources.v[i], s->sources.v[k]) == 0))
            return err_set(err, -EINVAL, "sources: '%.120s' is there twice", s->sources.v[i]);
        if (!source_kind(s->sources.v[i], &what)) {
            AUTO_BUF kinds = BUF_INIT(256);
            for (size_t k = 0; sources[k]; k++)
                buf_addf(&kinds, "%s%s:", k ? ", " : "", sources[k]->name);
            return err_set(err, -EINVAL, "sources: '%.120s' does not start with a kind (%s)", s->sources.v[i], kinds.p);
        }
        struct spec words;
        int r = spec_parse(s->sources.v[i], &words, err);
        if (r < 0)
            return r;
        spec_fini(&words);
    }
    return 0;
}

static struct entry *old_entry(struct finder *f, const char *spec)
{
    struct entry **old = FIND(f->v, f->n, e, *e && strcmp((*e)->spec, spec) == 0);
    return old ? *old : NULL;
}

static int open_one(struct finder *f, const struct relay_settings *s, const char *spec, const char *token,
                    struct entry **ret, struct err *err)
{
    AUTO_BUF own = {0};
    struct spec words;
    int r = spec_parse(spec, &words, err);
    if (r < 0)
        return r;
    struct source_conf conf = {.only = words.only ? words.only : s->source_only,
                               .user = words.user ? words.user : s->user,
                               .token = token,
                               .ca_file = words.ca_file ? words.ca_file : s->source_ca_file};
    if (words.token_file && (r = file_read_secret(words.token_file, &own, err)) == 0)
        conf.token = own.p;
    char host[SECRET_HOST_MAX];
    struct entry *e = NEW(struct entry, .finder = f, .spec = mem_str(spec), .name = shown(spec));
    const struct source_ops *ops = source_kind(words.what, &conf.what);
    if (r == 0)
        r = source_open(&e->source, ops, f->loop, f->http, &conf, on_list, e, err);
    if (r == 0 && conf.token && secret_in_clear(conf.what, host))
        log_warn("relay", "the token for the source %s can go to %s without TLS: use https://", e->name, host);
    spec_fini(&words);
    if (r < 0) {
        entry_free(e);
        return r;
    }
    *ret = e;
    return 0;
}

int finder_set(struct finder *f, const struct relay_settings *s, struct err *err)
{
    AUTO_BUF token = {0};
    int r = finder_check(s, err);
    if (r == 0 && s->sources.n && !f->http)
        r = http_new(&f->http, f->loop, err);
    if (r == 0 && s->source_token_file)
        r = file_read_secret(s->source_token_file, &token, err);
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
        FREE_ALL(v, way, fresh);
        return r;
    }
    for (size_t i = 0; i < n; i++) {
        struct entry *old = old_entry(f, v[i]->spec);
        if (fresh[i] && old) { /* keep the old machines until the new source has responded */
            v[i]->list = old->list;
            old->list = (struct target_list){0};
        }
        for (size_t k = 0; k < f->n; k++)
            if (f->v[k] == v[i])
                f->v[k] = NULL;
    }
    entries_free(f->v, f->n);
    FREE_ALL(f->way, fresh);
    f->v = v;
    f->n = n;
    f->way = way;
    return 0;
}

void finder_status_json(const struct finder *f, const char *way, struct json *j)
{
    for (size_t i = 0; i < f->n; i++) {
        const struct entry *e = f->v[i];
        json_obj(j, NULL);
        json_cstr(j, "source", e->name);
        json_cstr(j, "way", way);
        json_uint(j, "nodes", e->list.n);
        if (e->error[0]) {
            json_cstr(j, "error", e->error);
            json_int(j, "since", e->since_ms);
        }
        json_end_obj(j);
    }
}

void finder_add(const struct finder *f, struct target_list *l)
{
    for (size_t i = 0; i < f->n; i++)
        target_list_join(l, &f->v[i]->list);
}
