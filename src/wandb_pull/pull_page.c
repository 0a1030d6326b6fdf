/* pull_page.c: stores a page of a project's runs: which of them count, and with how many GPUs. */
#include <errno.h>

#include "base/mem.h"
#include "wandb_pull/pull_body.h"
#include "wandb_pull/rule.h"
#include "wandb_pull/run.h"

enum { METADATA_MAX = 4 << 20, TAGS_MAX = 16000 };

void pull_page_free(struct pull_page *page)
{
    if (!page)
        return;
    for (size_t i = 0; i < page->n; i++)
        run_node_fini(&page->v[i].node);
    FREE_ALL(page->v, page->cursor);
    json_decref(page->data);
    free(page);
}

/* ---- which runs count ---- */

/* Decides whether the run is in, or needs metadata for that. */
static void judge(struct pull_project *pr, struct page_run *r)
{
    const struct wandb_config *c = pr->p->config;
    struct rule_answer a = {0};
    int32_t day = zone_date(c->zone, r->node.created_ms);

    if (rules_apply(c->rules, pr->team->name, pr->name, day, &r->node, NULL, &a) == RULES_NEED_METADATA) {
        r->state = PAGE_RUN_ASKS;
        return;
    }
    bool in = run_node_fate(c, pr->team->name, pr->name, &r->node, pr->p->rec.from, pr->p->rec.to, &a) == RUN_COUNTS;
    r->state = in ? PAGE_RUN_IN : PAGE_RUN_OUT;
    r->gpus = a.gpus;
    r->rule = a.rule;
}

static void read_runs(struct pull_page *page, const json_t *edges)
{
    struct pull_project *pr = page->pr;
    const json_t *edge;
    size_t i;

    page->v = mem_zero(json_array_size(edges), sizeof(*page->v));
    json_array_foreach (edges, i, edge) {
        struct page_run *r = &page->v[page->n];
        if (run_node_read(json_object_get(edge, "node"), &r->node, NULL) < 0) {
            pr->p->st->unread++;
            page->unread = true;
            continue;
        }
        page->n++;
        r->page = page;
        r->state = PAGE_RUN_OUT;
        if (run_node_fate(pr->p->config, pr->team->name, pr->name, &r->node, pr->p->rec.from, pr->p->rec.to, NULL) ==
            RUN_COUNTS)
            judge(pr, r);
        page->n_asks += r->state == PAGE_RUN_ASKS;
    }
}

/* ---- into the store ---- */

static void fill(const struct page_run *r, const char *tags, struct wandb_run *ret)
{
    const struct run_node *n = &r->node;

    *ret = (struct wandb_run){.id = n->id,
                              .storage_id = n->storage_id,
                              .display = n->display,
                              .state = n->state,
                              .host = n->host,
                              .user = n->user,
                              .tags = tags,
                              .rule = r->rule,
                              .created_ms = n->created_ms,
                              .heartbeat_ms = n->heartbeat_ms,
                              .gpus = r->gpus,
                              .cpus = n->cpus,
                              .gpu_info = n->gpu_info,
                              .exists = WANDB_EXISTS};
}

static void page_put(struct pull_page *page)
{
    struct pull_project *pr = page->pr;
    struct pull *p = pr->p;
    AUTO_FREE struct wandb_run *runs = mem_zero(page->n, sizeof(*runs));
    AUTO_FREE const char **listed = mem_zero(page->n, sizeof(*listed));
    AUTO_ARENA text = {0};
    AUTO_BUF tags = BUF_INIT(TAGS_MAX);
    size_t n = 0;

    for (size_t i = 0; i < page->n; i++) {
        listed[i] = page->v[i].node.id;
        if (page->v[i].state != PAGE_RUN_IN)
            continue;
        buf_reset(&tags);
        const char *t = run_node_tags(&page->v[i].node, &tags) < 0 ? "[]" : arena_strn(&text, tags.p, tags.len);
        fill(&page->v[i], t, &runs[n++]);
    }
    struct wandb_page put = {.team = pr->team->name,
                             .project = pr->name,
                             .cursor = page->cursor ? page->cursor : "",
                             .last = !page->cursor,
                             .n_runs = n,
                             .n_listed = page->n,
                             .runs = runs,
                             .listed = listed,
                             .all_before_ms = page->unread ? 0 : p->before_ms};
    p->st->listed += page->n;
    p->st->runs += n;
    if (wandb_page_put(p->store, &p->rec, &put, &p->err) < 0)
        pull_fatal(p);
    p->fresh = p->again = true;
    pull_project_next(pr, page->cursor);
    page->cursor = NULL;
}

/* All requests of the page have ended. */
static void page_done(struct pull_page *page)
{
    struct pull_project *pr = page->pr;

    pr->page = NULL;
    if (page->err.code)
        pull_project_fail(pr, page->err.msg);
    else
        page_put(page);
    pull_page_free(page);
}

/* ---- metadata ---- */

static void on_metadata(void *arg, const struct wandb_answer *a)
{
    struct page_run *r = arg;
    struct pull_page *page = r->page;
    struct pull *p = page->pr->p;

    page->waiting--;
    if (p->over || pull_is_fatal(p, a))
        return;
    if (a->err.code && a->err.code != -ENOENT) {
        if (!page->err.code)
            err_set(&page->err, a->err.code, "run %.80s: %s", r->node.id, a->err.msg);
    } else {
        run_node_metadata(&r->node, a->err.code ? STR("") : a->body);
        judge(page->pr, r);
        if (r->state == PAGE_RUN_ASKS) /* cannot happen: metadata is set */
            r->state = PAGE_RUN_OUT;
    }
    if (page->waiting == 0 && (page->next_ask == page->n || page->err.code))
        page_done(page);
    pull_step(p);
}

/* Finds the next run that needs metadata, or the end. */
static void seek_ask(struct pull_page *page)
{
    while (page->next_ask < page->n && page->v[page->next_ask].state != PAGE_RUN_ASKS)
        page->next_ask++;
}

bool pull_page_request(struct pull_page *page)
{
    struct pull_project *pr = page->pr;
    AUTO_BUF path = BUF_INIT(4096);

    if (page->next_ask == page->n || page->err.code)
        return false;
    struct page_run *r = &page->v[page->next_ask++];
    seek_ask(page);
    url_run_file(&path, pr->team->name, pr->name, r->node.id, ASK_METADATA);
    AUTO_FREE char *part = mem_fmt("%s/%s", pr->team->name, pr->name);
    struct wandb_request q = {.op = ASK_METADATA, .method = "GET", .url = path.p, .max = METADATA_MAX, .part = part};
    page->waiting++;
    if (path.err || wandb_send(pr->p->w, &q, on_metadata, r, NULL) < 0) {
        page->waiting--; /* no such file can be: its name is too long */
        run_node_metadata(&r->node, STR(""));
        judge(pr, r);
        if (page->waiting == 0 && page->next_ask == page->n)
            page_done(page);
    }
    return true;
}

/* ---- the reply ---- */

void pull_page_take(struct pull_project *pr, const struct wandb_answer *a)
{
    struct pull *p = pr->p;
    struct graphql_page got = {0};
    struct err err = {0};

    if (graphql_runs_parse(a->data, pr->cursor, &got, &err) < 0) {
        pull_project_fail(pr, err.msg);
        return;
    }
    if (!pr->counted && got.count > 0)
        p->st->listed_of += (uint64_t)got.count;
    pr->counted = true;
    struct pull_page *page =
        NEW(struct pull_page, .pr = pr, .data = json_incref(a->data), .cursor = mem_str(got.cursor));
    size_t n = json_array_size(got.edges);
    if (n >= ASK_PAGE_MIN) { /* as many as make a page of the size we like */
        size_t like = PULL_PAGE_BYTES / (a->bytes / n + 1);
        pr->per_page = (int)MIN(MAX(like, (size_t)ASK_PAGE_MIN), (size_t)ASK_PAGE);
    }
    read_runs(page, got.edges);
    seek_ask(page);
    pr->page = page;
    if (page->n_asks == 0)
        page_done(page);
}
