/*
 * page.c: serves the page: index.html with the facts its modules read, and the files it loads. The page itself has no
 * data of the cluster, so any client may load it; its further requests are authorised like others.
 */
#include "base/rand.h"
#include "format/render.h"
#include "hub/handlers.h"

#define PAGE_MAX        (256u << 10)
#define LANGUAGE_COOKIE "muster_language=" /* web/kit/language.js sets it */

/* Facts as text of an element: escapes what could end the element. */
static void put_facts(struct buf *out, const struct api *a)
{
    AUTO_BUF facts = BUF_INIT(PAGE_MAX);
    render_facts(&facts, a->name, a->about, a->colours, true);
    for (size_t i = 0; i < facts.len; i++)
        if (facts.p[i] == '<')
            buf_adds(out, "\\u003c");
        else if (facts.p[i] != '\n')
            buf_addc(out, facts.p[i]);
}

/* The page depends only on the name of the cluster, its description and the colours. */
static uint64_t facts_version(const struct api *a)
{
    AUTO_BUF all = BUF_INIT(PAGE_MAX);
    buf_addf(&all, "%s\n%s\n%s", a->name, a->about ? a->about : "", a->colours ? a->colours : "");
    return fnv64(all.p, all.len);
}

/* The language chosen on the page, which is then in a cookie; else the first supported one in Accept-Language, which
 * lists preferred languages first. */
static size_t language_for(const struct request *rq)
{
    struct str list = rq->header(rq, "Cookie"), one;
    int at = str_find(list, LANGUAGE_COOKIE);
    list = at < 0 ? rq->header(rq, "Accept-Language") : str_drop(list, (size_t)at + strlen(LANGUAGE_COOKIE));
    while (str_cut(&list, ',', &one))
        for (size_t i = 0; i < WEB_LANGUAGES; i++)
            if (str_starts(str_trim(one), web_pages[i].language))
                return i;
    return 0;
}

/* Made once for each. */
static const struct page_made *make_page(struct api *a, size_t language)
{
    struct page_made *made = &a->pages[language];
    uint64_t name = facts_version(a);
    if (made->blob && made->name == name)
        return made;
    struct buf b = BUF_INIT(PAGE_MAX);
    buf_addstr(&b, web_pages[language].head);
    put_facts(&b, a);
    buf_addstr(&b, web_pages[language].tail);
    blob_unref(made->blob);
    made->name = name;
    made->hash = fnv64(b.p, b.len);
    made->blob = blob_new(&b); /* takes ownership of b */
    return made;
}

/* True, and 304 in rp: the reader has this already. */
static bool unchanged(const struct request *rq, struct reply *rp)
{
    if (str_find(rq->header(rq, "If-None-Match"), rp->etag + 2) < 0)
        return false;
    rp->status = 304;
    return true;
}

static const struct page_made *start_page(struct api *a, const struct request *rq, struct reply *rp)
{
    size_t language = language_for(rq);

    rp->type = "text/html; charset=utf-8";
    snprintf(rp->cache, sizeof(rp->cache), "no-cache");
    snprintf(rp->extra, sizeof(rp->extra), "%s", web_pages[language].rules);
    return make_page(a, language);
}

enum reply_mode get_page(struct api *a, struct request *rq, struct reply *rp)
{
    const struct page_made *page = start_page(a, rq, rp);
    snprintf(rp->etag, sizeof(rp->etag), "W/\"%llx\"", (unsigned long long)page->hash);
    if (!unchanged(rq, rp))
        rp->blob = blob_ref(page->blob);
    return REPLY_NOW;
}

bool wants_page(const struct request *rq)
{
    return rq->method & GET && str_find(rq->header(rq, "Accept"), "text/html") >= 0;
}

void page_instead(struct api *a, const struct request *rq, int status, struct reply *rp)
{
    reply_fini(rp);
    rp->blob = blob_ref(start_page(a, rq, rp)->blob);
    rp->status = status;
}

/* Without its port. */
static size_t host_name_len(struct str host)
{
    int colon = str_rfind(host, ":"), end = str_rfind(host, "]");

    return MIN(colon > end ? (size_t)colon : host.len, 200u);
}

/* By itself: under that name a browser gets no other file of ours either. */
void page_of_foreign_host(struct reply *rp, struct str host)
{
    bool plain = str_letters(host, ".-_:[]"); /* else it may be markup */
    rp->status = 421;
    rp->type = "text/html; charset=utf-8";
    rp->body = BUF_INIT(4096);
    buf_addf(&rp->body,
             "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Not known by this name</title>\n"
             "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
             "<meta name=\"color-scheme\" content=\"light dark\">\n"
             "<style>body{font:14px/20px system-ui,sans-serif;max-width:720px;margin:48px auto;padding:0 16px}"
             "h1{font-size:18px;line-height:28px}code{font:13px ui-monospace,monospace}</style></head><body>\n"
             "<h1>This hub is not known as %.*s</h1>\n"
             "<p>It answers only under its configured names, so that no other page can send requests to it through "
             "your browser. "
             "Its address as a number works, and so does the name of its machine.</p>\n"
             "<p>Who runs it adds the name: <code>host_names: [%.*s]</code> in muster.yaml, or "
             "<code>--host-names %.*s</code>.</p>\n</body></html>\n",
             plain ? (int)MIN(host.len, 200u) : 9, plain ? host.p : "this name", plain ? (int)host_name_len(host) : 4,
             plain ? host.p : "NAME", plain ? (int)host_name_len(host) : 4, plain ? host.p : "NAME");
}

enum reply_mode get_asset(UNUSED struct api *a, struct request *rq, struct reply *rp)
{
    struct asset *at = web_assets;
    while (at->path && !str_eq(rq->tail, at->path))
        at++;
    if (!at->path)
        return reply_problem(rp, 404, "this hub's page has no such file: load the page again");
    rp->type = at->type;
    snprintf(rp->cache, sizeof(rp->cache), "public, max-age=31536000, immutable");
    rp->blob = blob_ref(&at->blob);
    return REPLY_NOW;
}

enum reply_mode get_facts(struct api *a, struct request *rq, struct reply *rp)
{
    uint64_t version = facts_version(a);
    rp->blob = cache_get(a->cache, STR("facts"), version, rq->now_ms);
    if (!rp->blob) {
        struct buf b = BUF_INIT(PAGE_MAX);
        render_facts(&b, a->name, a->about, a->colours, false);
        rp->blob = blob_new(&b);
        cache_keep(a->cache, STR("facts"), version, rq->now_ms, rp->blob);
    }
    snprintf(rp->cache, sizeof(rp->cache), "no-cache");
    snprintf(rp->etag, sizeof(rp->etag), "W/\"%x-%llx\"", a->nonce, (unsigned long long)version);
    if (unchanged(rq, rp)) {
        blob_unref(rp->blob);
        rp->blob = NULL;
    }
    return REPLY_NOW;
}
