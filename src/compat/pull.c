/* pull.c: fetches from one machine after the other: its folder's listing, then its files. */
#include "compat/pull.h"

#include "base/log.h"
#include "base/order.h"
#include "base/rand.h"
#include "base/timer.h"
#include "compat/listing.h"
#include "model/labels.h"
#include "net/http.h"

#define LISTING_MAX  (1u << 20)
#define ASK_MS       10000
#define RETRY_MAX_MS 60000
#define FILES_MAX    ((size_t)FILES_MACHINES_MAX * READINGS_FILES)

struct file { /* one that its listing names */
    char name[LISTING_NAME_MAX + 1];
    char stamp[64]; /* Last-Modified of the text we have; empty: none */
    bool listed;
};

struct well { /* one machine that is asked */
    struct pull *pull;
    char name[ORIGIN_NAME_MAX + 1];
    char *host, *labels; /* labels NULL: none */
    int port;            /* 0: not said */
    struct http_call *call;
    struct timer *timer;
    bool asking, kept, heard; /* heard: it has ever brought a file */
    unsigned failed;
    size_t n, cap, at; /* at: which file is being asked for; n: its listing is */
    struct file *files;
};

struct pull {
    struct event_base *loop;
    struct filehosts *all;
    struct http *http;
    int port;
    int64_t every_ms;
    size_t at_once, busy;
    size_t n, cap;
    struct well **v;
    size_t n_line, cap_line;
    struct well **line; /* who waits for a turn */
};

/* ---- turns ---- */

static void url_of(const struct well *w, const char *file, struct buf *ret)
{
    int port = w->port ? w->port : w->pull->port;
    bool bare = strchr(w->host, ':') != NULL; /* an IPv6 address */
    buf_addf(ret, "http://%s%s%s:%d/", bare ? "[" : "", w->host, bare ? "]" : "", port);
    buf_addurl(ret, str_of(file));
}

static void turns(struct pull *p);

/* The pass is over, one way or the other. */
static void rest(struct well *w)
{
    struct pull *p = w->pull;
    int64_t ms = p->every_ms;
    if (w->failed)
        ms = MIN(MAX(ms, 1000) << MIN(w->failed - 1, 6u), MAX((int64_t)RETRY_MAX_MS, ms));
    w->asking = false;
    p->busy--;
    timer_after(w->timer, ms - (int64_t)((double)ms * rand_unit() / 16)); /* not all at the same moment */
    turns(p);
}

static void fail(struct well *w, const char *why)
{
    w->failed++;
    if (!w->heard) { /* its files would say what it is called */
        struct filehost *l = filehosts_get(w->pull->all, str_of(w->name), w);
        if (l)
            filehost_labels(l, w->labels);
    }
    size_t at = 0;
    for (struct filehost *l; (l = filehosts_next(w->pull->all, w, &at));)
        filehost_fail(l, why);
    rest(w);
}

static int ask(struct well *w, const char *file, const char *stamp, size_t max, struct err *err)
{
    AUTO_BUF url = BUF_INIT(2048), since = BUF_INIT(128);
    const char *headers[] = {NULL, NULL};
    if (stamp[0]) {
        buf_addf(&since, "If-Modified-Since: %s", stamp);
        headers[0] = since.p;
    }
    url_of(w, file, &url);
    return http_get(w->call, url.p, headers, max, ASK_MS, err);
}

static void begin(struct well *w)
{
    struct err err = {0};
    w->asking = true;
    w->at = SIZE_MAX;
    w->pull->busy++;
    if (ask(w, "", "", LISTING_MAX, &err) < 0)
        fail(w, err.msg);
}

static void turns(struct pull *p)
{
    while (p->n_line && p->busy < p->at_once) {
        struct well *w = p->line[0];
        memmove(p->line, p->line + 1, --p->n_line * sizeof(*p->line));
        begin(w);
    }
}

static void on_timer(void *arg)
{
    struct well *w = arg;
    struct pull *p = w->pull;
    VEC_ADD(p->line, p->n_line, p->cap_line, w);
    turns(p);
}

/* ---- answers ---- */

static void next_file(struct well *w)
{
    struct err err = {0};
    for (w->at++; w->at < w->n && !w->files[w->at].listed;)
        w->at++;
    if (w->at < w->n) {
        if (ask(w, w->files[w->at].name, w->files[w->at].stamp, READINGS_FILE_MAX, &err) < 0)
            fail(w, err.msg);
        return;
    }
    w->failed = 0;
    size_t at = 0;
    for (struct filehost *l; (l = filehosts_next(w->pull->all, w, &at));)
        filehost_round(l);
    rest(w);
}

static void take_listing(struct well *w, struct str html)
{
    char name[LISTING_NAME_MAX + 1];
    struct str host;
    enum readings_file which;
    size_t any = 0;
    for (size_t i = 0; i < w->n; i++)
        w->files[i].listed = false;
    while (listing_next(&html, name)) {
        if (!readings_name(str_of(name), &host, &which))
            continue;
        size_t i = FIRST(w->n, k, strcmp(w->files[k].name, name) == 0);
        if (i == w->n) {
            if (w->n == FILES_MAX)
                break;
            VEC_ADD(w->files, w->n, w->cap, (struct file){0});
            mem_copy_str(w->files[i].name, sizeof(name), name);
        }
        w->files[i].listed = true;
        any++;
    }
    if (!any) {
        fail(w, "its folder on the web has none of the files HOST_gpus.csv and its like");
        return;
    }
    w->at = SIZE_MAX; /* before the first */
    next_file(w);
}

static void take_file(struct well *w, struct file *f, const struct http_result *r)
{
    struct str host, when;
    enum readings_file which;
    int64_t written_ms = 0;
    readings_name(str_of(f->name), &host, &which);
    f->stamp[0] = 0;
    if (http_header(r, "Last-Modified", &when) && when.len < sizeof(f->stamp)) {
        snprintf(f->stamp, sizeof(f->stamp), "%.*s", STR_ARG(when));
        written_ms = listing_date_ms(when);
    }
    struct filehost *l;
    size_t at = 0;
    /* the placeholder that said why there are no files has another name: it goes */
    while (!w->heard && !str_eq(host, w->name) && (l = filehosts_next(w->pull->all, w, &at)))
        if (strcmp(filehost_name(l), w->name) == 0)
            filehost_leave(l, "its files come under another name");
    w->heard = true;
    l = filehosts_get(w->pull->all, host, w);
    if (!l) {
        log_debug("relay", "%s: %s belongs to another source already", w->name, f->name);
        return;
    }
    filehost_labels(l, w->labels);
    filehost_take(l, which, r->body, written_ms);
}

static void on_answer(void *arg, const struct http_result *r)
{
    struct well *w = arg;
    char why[160];
    bool listing = w->at == SIZE_MAX;
    if (r->status == 0) {
        snprintf(why, sizeof(why), "port %d there does not answer: %.110s", w->port ? w->port : w->pull->port,
                 r->error);
        fail(w, why);
    } else if (listing && r->status != 200) {
        snprintf(why, sizeof(why), "port %d there answers %d", w->port ? w->port : w->pull->port, r->status);
        fail(w, why);
    } else if (listing) {
        take_listing(w, r->body);
    } else {
        if (r->status == 200)
            take_file(w, &w->files[w->at], r);
        next_file(w); /* 304: as it was; others: gone since, or not for us */
    }
}

/* ---- the list ---- */

static void well_free(struct well *w)
{
    struct pull *p = w->pull;
    size_t place = FIRST(p->n_line, i, p->line[i] == w);
    if (place < p->n_line)
        memmove(&p->line[place], &p->line[place + 1], (--p->n_line - place) * sizeof(*p->line));
    p->busy -= w->asking;
    size_t at = 0;
    for (struct filehost *l; (l = filehosts_next(p->all, w, &at));)
        filehost_leave(l, UNLISTED "it is no longer in the list of machines to pull from");
    http_call_free(w->call);
    timer_free(w->timer);
    FREE_ALL(w->files, w->host, w->labels);
    free(w);
}

static struct well *well_new(struct pull *p, const struct relay_target *t)
{
    struct well *w = mem_zero(1, sizeof(*w));
    AUTO_FREE char *port = mem_fmt(":%d", t->port);
    struct str name = str_of(t->name);
    if (t->port && str_ends(name, port))
        name.len -= strlen(port);
    int dot = str_find(name, ".");
    bool address = strspn(t->name, "0123456789.") >= name.len; /* 10.0.0.1 is not called 10 */
    w->pull = p;
    if (dot > 0 && !address) /* as the page called it */
        name.len = (size_t)dot;
    snprintf(w->name, sizeof(w->name), "%.*s", STR_ARG(name));
    w->host = mem_str(t->host);
    w->port = t->port;
    AUTO_BUF url = BUF_INIT(2048);
    url_of(w, "", &url);
    w->call = http_call_new(p->http, &(struct http_conf){.url = url.p, .proxy = "none"}, on_answer, w);
    w->timer = timer_new(p->loop, on_timer, w);
    timer_after(w->timer, 0);
    return w;
}

static void take_labels(struct well *w, const char *labels)
{
    if (labels_same(w->labels, labels))
        return;
    free(w->labels);
    w->labels = mem_str(labels);
    size_t at = 0;
    for (struct filehost *l; (l = filehosts_next(w->pull->all, w, &at));)
        filehost_labels(l, w->labels);
}

void pull_set(struct pull *p, const struct target_list *l, int port, int64_t every_ms, size_t at_once)
{
    p->port = port;
    p->every_ms = every_ms;
    p->at_once = at_once;
    for (size_t i = 0; i < p->n; i++)
        p->v[i]->kept = false;
    for (size_t i = 0; i < l->n; i++) {
        size_t k = FIRST(p->n, e, strcmp(p->v[e]->host, l->v[i].host) == 0 && p->v[e]->port == l->v[i].port);
        if (k == p->n)
            VEC_ADD(p->v, p->n, p->cap, well_new(p, &l->v[i]));
        p->v[k]->kept = true;
        take_labels(p->v[k], l->v[i].labels);
    }
    for (size_t i = p->n; i-- > 0;)
        if (!p->v[i]->kept) {
            well_free(p->v[i]);
            memmove(&p->v[i], &p->v[i + 1], (--p->n - i) * sizeof(*p->v));
        }
    turns(p);
}

int pull_new(struct pull **ret, struct event_base *loop, struct filehosts *all, struct err *err)
{
    struct pull *p = NEW(struct pull, .loop = loop, .all = all, .at_once = 1, .every_ms = 20000);
    int r = http_new(&p->http, loop, err);
    if (r < 0)
        free(p);
    else
        *ret = p;
    return r;
}

void pull_free(struct pull *p)
{
    if (!p)
        return;
    p->at_once = 0;
    while (p->n)
        well_free(p->v[--p->n]);
    http_free(p->http);
    FREE_ALL(p->v, p->line, p);
}
