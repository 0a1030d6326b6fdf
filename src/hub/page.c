/*
 * page.c: serves the page: index.html with the facts its modules read, and the files it loads. The page itself has no
 * data of the cluster in it, so that anybody may load it; what it then asks for is guarded like any other request.
 */
#include "base/rand.h"
#include "format/render.h"
#include "http/web.h"
#include "hub/handlers.h"

#define PAGE_MAX (256u << 10)

/* Facts as text of an element: nothing in them may look like its end. */
static void put_facts(struct buf *out, const struct api *a)
{
    AUTO_BUF facts = BUF_INIT(PAGE_MAX);
    render_facts(&facts, a->name, a->about, a->colours);
    for (size_t i = 0; i < facts.len; i++)
        if (facts.p[i] == '<')
            buf_adds(out, "\\u003c");
        else if (facts.p[i] != '\n')
            buf_addc(out, facts.p[i]);
}

/* What the page says depends on this alone: the name of the cluster, what is said of it, and colours. */
static uint64_t facts_version(const struct api *a)
{
    AUTO_BUF all = BUF_INIT(PAGE_MAX);
    buf_addf(&all, "%s\n%s\n%s", a->name, a->about ? a->about : "", a->colours ? a->colours : "");
    return fnv64(all.p, all.len);
}

/* Made once for each. */
static struct blob *page_blob(struct api *a)
{
    uint64_t name = facts_version(a);
    if (a->page && a->page_name == name)
        return a->page;
    struct buf b = BUF_INIT(PAGE_MAX);
    buf_addstr(&b, web_index_head);
    put_facts(&b, a);
    buf_addstr(&b, web_index_tail);
    blob_unref(a->page);
    a->page_name = name;
    a->page_hash = fnv64(b.p, b.len);
    return a->page = blob_new(&b);
}

/* True, and 304 in rp: the reader has this already. */
static bool unchanged(const struct request *rq, struct reply *rp)
{
    if (str_find(rq->header(rq, "If-None-Match"), rp->etag + 2) < 0)
        return false;
    rp->status = 304;
    return true;
}

enum reply_how get_page(struct api *a, struct request *rq, struct reply *rp)
{
    struct blob *page = page_blob(a);
    rp->type = "text/html; charset=utf-8";
    snprintf(rp->cache, sizeof(rp->cache), "no-cache");
    snprintf(rp->extra, sizeof(rp->extra), "%s", web_rules);
    snprintf(rp->etag, sizeof(rp->etag), "W/\"%llx\"", (unsigned long long)a->page_hash);
    if (!unchanged(rq, rp))
        rp->blob = blob_ref(page);
    return REPLY_NOW;
}

enum reply_how get_asset(UNUSED struct api *a, struct request *rq, struct reply *rp)
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

enum reply_how get_facts(struct api *a, struct request *rq, struct reply *rp)
{
    uint64_t version = facts_version(a);
    rp->blob = cache_get(a->cache, STR("facts"), version, rq->now_ms);
    if (!rp->blob) {
        struct buf b = BUF_INIT(PAGE_MAX);
        render_facts(&b, a->name, a->about, a->colours);
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
