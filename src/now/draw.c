/* draw.c: walks a list of nodes in steps and writes each as JSON or metrics, or counts its devices. */
#include "now/draw.h"

#include <errno.h>

#include "base/mem.h"
#include "format/render.h"
#include "hub/self.h"
#include "now/view.h"

#define DRAW_MAX (512u << 20)

typedef bool step_fn(struct render_job *d, struct api *a, size_t bytes);

struct picture {
    struct render_job d; /* first */
    step_fn *draw;       /* each step, after the count for a filter is complete */
    struct view view;    /* without nodes; owns its texts */
    char *notice;
    struct filter *filter;
    struct filter_kinds kinds; /* of its bare words */
    struct arena mem;          /* a filtered copy of the current node */
    size_t n, at;
    struct {
        char key[NODE_KEY_MAX];
        bool twin;
    } * nodes;
    bool any, begun, openmetrics, own;
    bool lent;          /* the filter is borrowed */
    struct tally tally; /* for a summary, and the result line of a page */
    char words[FILTER_SAID];
    render_term_fn *page;
    struct term term;
    struct prom *prom; /* NULL: JSON */
};

static void picture_end(struct render_job *d)
{
    struct picture *p = (struct picture *)d;

    prom_free(p->prom);
    if (!p->lent)
        filter_free(p->filter);
    arena_fini(&p->mem);
    buf_fini(&d->out);
    buf_fini(&d->piece);
    FREE_ALL(p->nodes, p->notice, p);
}

/* Limit of one step: also a filter without matches must let other jobs run. */
static size_t step_end(const struct picture *p)
{
    return MIN(p->n, p->at + DRAW_NODES);
}

/* NULL if removed. */
static const struct node_now *node_at(const struct picture *p, struct api *a, size_t i)
{
    const struct node_now *n = live_any(a->live, p->nodes[i].key);
    return n && strcmp(n->key, p->nodes[i].key) == 0 ? n : NULL;
}

/* The first output is the number of devices before filtering. */
static bool count_step(struct render_job *d, struct api *a, UNUSED size_t bytes)
{
    struct picture *p = (struct picture *)d;

    for (size_t end = step_end(p); p->at < end; p->at++) {
        const struct node_now *n = node_at(p, a, p->at);
        p->view.of += n ? node_counts(n) : 0;
    }
    if (p->at == p->n) {
        p->at = 0;
        d->step = p->draw;
    }
    return false;
}

/* The next remaining node before end, as visible to the reader; NULL at the end. */
static const struct node_now *next_node(struct picture *p, struct api *a, size_t end, bool *ret_twin)
{
    while (p->at < end) {
        const struct node_now *n = node_at(p, a, p->at);
        uint64_t which;
        *ret_twin = p->nodes[p->at++].twin;
        if (!n)
            continue;
        arena_reset(&p->mem);
        if (p->filter) {
            filter_see(p->filter, n, p->view.at_ms, &p->kinds);
            n = view_node(p->filter, n, p->view.at_ms, &p->mem, &which);
        }
        if (n)
            return n;
    }
    return NULL;
}

static bool state_step(struct render_job *d, struct api *a, size_t bytes)
{
    struct picture *p = (struct picture *)d;
    size_t from = d->out.len, end = step_end(p);
    const struct node_now *n;
    bool twin;

    if (!p->begun)
        render_state_start(&d->out, &p->view);
    p->begun = true;
    while (d->out.len - from < bytes && !d->out.err && (n = next_node(p, a, end, &twin))) {
        if (p->any)
            buf_addc(&d->out, ',');
        p->any = true;
        render_node(&d->out, &p->view, n);
    }
    if (p->at < p->n && !d->out.err)
        return false;
    char words[FILTER_SAID] = "";
    if (p->filter)
        filter_describe(p->filter, &p->kinds, words);
    render_state_end(&d->out, words);
    return true;
}

static bool snapshot_step(struct render_job *d, struct api *a, size_t bytes)
{
    struct picture *p = (struct picture *)d;
    size_t from = d->out.len;

    if (!p->begun)
        buf_adds(&d->out, "retry: 2000\nevent: snapshot\ndata: ");
    bool done = state_step(d, a, bytes);
    if (done)
        buf_addc(&d->out, '\n'); /* the other output of the state ends with a newline */
    if (d->out.len > from && !d->out.err && gzip_piece(str_n(d->out.p + from, d->out.len - from), &d->piece) < 0)
        d->out.err = -EIO;
    return done || d->out.err;
}

void draw_list_begin(struct buf *out, const struct view *v)
{
    struct json j = json_on(out);

    buf_adds(out, "retry: 2000\nevent: begin\ndata: ");
    json_obj(&j, NULL);
    json_int(&j, "at", v->at_ms);
    json_bool(&j, "demo", v->demo);
    json_cstr(&j, "muster", MUSTER_VERSION);
    json_some(&j, "notice", v->notice);
    json_some(&j, "currency", v->currency);
    json_end_obj(&j);
    buf_adds(out, "\n\n");
}

void draw_list_node(struct buf *out, const struct view *v, const struct node_now *n)
{
    buf_adds(out, "event: node\ndata: ");
    render_node(out, v, n);
    buf_adds(out, "\n\n");
}

void draw_list_end(struct buf *out)
{
    buf_adds(out, "event: whole\ndata: {}\n\n");
}

static bool list_step(struct render_job *d, struct api *a, size_t bytes)
{
    struct picture *p = (struct picture *)d;
    size_t from = d->out.len, end = step_end(p);
    const struct node_now *n;
    bool twin;

    if (!p->begun)
        draw_list_begin(&d->out, &p->view);
    p->begun = true;
    while (d->out.len - from < bytes && !d->out.err && (n = next_node(p, a, end, &twin)))
        draw_list_node(&d->out, &p->view, n);
    bool done = p->at == p->n;
    if (done)
        draw_list_end(&d->out);
    if (d->out.len > from && !d->out.err && gzip_piece(str_n(d->out.p + from, d->out.len - from), &d->piece) < 0)
        d->out.err = -EIO;
    return done || d->out.err;
}

/* False while there are more nodes to count. */
static bool tally_step(struct picture *p, struct api *a)
{
    size_t end = step_end(p);
    const struct node_now *n;
    bool twin;

    while ((n = next_node(p, a, end, &twin)))
        tally_add(&p->tally, &p->view, n);
    return p->at == p->n;
}

static bool text_step(struct render_job *d, struct api *a, size_t bytes)
{
    struct picture *p = (struct picture *)d;
    size_t from = d->out.len, end = step_end(p);
    struct view v = p->view;
    const struct node_now *n;
    bool twin;

    if (!p->begun)
        p->page(&d->out, &v, &p->term);
    p->begun = p->term.rest = true;
    v.nodes = &n;
    v.n = 1;
    while (d->out.len - from < bytes && (n = next_node(p, a, end, &twin)))
        p->page(&d->out, &v, &p->term);
    return p->at == p->n;
}

/* The first part of a page covers all nodes. */
static bool text_tally_step(struct render_job *d, struct api *a, UNUSED size_t bytes)
{
    struct picture *p = (struct picture *)d;

    if (!tally_step(p, a))
        return false;
    if (p->filter)
        filter_describe(p->filter, &p->kinds, p->words);
    p->view.words = p->words[0] ? p->words : NULL;
    p->term.all = &p->tally;
    p->at = 0;
    d->step = text_step;
    return false;
}

static bool summary_step(struct render_job *d, struct api *a, UNUSED size_t bytes)
{
    struct picture *p = (struct picture *)d;
    char words[FILTER_SAID] = "";

    if (!tally_step(p, a))
        return false;
    if (p->filter)
        filter_describe(p->filter, &p->kinds, words);
    struct view v = p->view;
    v.words = words[0] ? words : NULL;
    render_summary(&d->out, &v, &p->tally);
    return true;
}

/* Each family walks all nodes, in their current state. */
static bool metrics_step(struct render_job *d, struct api *a, size_t bytes)
{
    struct picture *p = (struct picture *)d;
    const struct node_now *n;
    size_t from = d->out.len, end = step_end(p);
    bool twin;

    if (!p->begun) { /* first: OpenMetrics ends with # EOF */
        if (p->own)
            self_metrics(a->hub, &d->out, p->openmetrics);
        prom_start(p->prom, &d->out);
    }
    p->begun = true;
    while (d->out.len - from < bytes && (n = next_node(p, a, end, &twin)))
        prom_add_node(p->prom, &d->out, n, twin);
    if (p->at < p->n)
        return false;
    p->at = 0;
    return !prom_next_family(p->prom, &d->out);
}

static struct picture *picture_new(const struct view *v, struct filter *f, step_fn *draw)
{
    struct picture *p = NEW(struct picture, .d = {.end = picture_end, .step = draw}, .draw = draw, .view = *v,
                            .notice = mem_str(v->notice), .filter = f, .n = v->n);

    p->d.out = BUF_INIT(DRAW_MAX);
    p->view.notice = p->notice;
    p->view.nodes = NULL;
    p->view.n = 0;
    if (f) {
        p->view.filter = filter_text(f);
        p->d.step = count_step;
    }
    p->nodes = mem_zero(MAX(v->n, 1u), sizeof(*p->nodes));
    for (size_t i = 0; i < v->n; i++) {
        mem_copy_str(p->nodes[i].key, sizeof(p->nodes[i].key), v->nodes[i]->key);
        p->nodes[i].twin = prom_is_duplicate(v->nodes, v->n, i);
    }
    return p;
}

struct render_job *draw_state(const struct view *v, struct filter *f)
{
    return &picture_new(v, f, state_step)->d;
}

struct render_job *draw_snapshot(const struct view *v, struct filter *f, bool list)
{
    struct picture *p = picture_new(v, f, list ? list_step : snapshot_step);

    p->d.piece = BUF_INIT(DRAW_MAX);
    p->lent = true;
    return &p->d;
}

struct render_job *draw_text(const struct view *v, struct filter *f, render_term_fn *page, const struct term *t)
{
    struct picture *p = picture_new(v, f, t->answer ? text_tally_step : text_step);

    p->page = page;
    p->term = *t;
    return &p->d;
}

struct render_job *draw_summary(const struct view *v, struct filter *f)
{
    return &picture_new(v, f, summary_step)->d;
}

struct render_job *draw_metrics(const struct view *v, struct filter *f, bool openmetrics, bool own)
{
    struct picture *p = picture_new(v, f, metrics_step);

    p->d.step = metrics_step; /* no number of devices in metrics */
    p->openmetrics = openmetrics;
    p->own = own;
    p->prom = prom_new(openmetrics, v->at_ms);
    return &p->d;
}
