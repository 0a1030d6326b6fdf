/*
 * board_html.c: the board as one file of HTML. Its style and its few lines of script stand in it, and its own policy
 * allows just these two, by their hashes: whatever a host or a user is called, nothing of it can run. The script only
 * says how old the page is; without it the page is complete, and reloads itself all the same.
 */
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/order.h"
#include "compat/board.h"
#include "compat/board_style.h"
#include "draw/html.h"

static const struct {
    const char *class, *word;
} marks[] = {[BOARD_FREE] = {"free", "free"}, [BOARD_TAKEN] = {"taken", "in use"}, [BOARD_UNKNOWN] = {"unknown", "?"}};

static void percent(struct buf *out, int64_t v)
{
    if (v < 0)
        buf_adds(out, "<td class=\"num dim\">–");
    else
        buf_addf(out, "<td class=\"num\">%d&nbsp;%%", (int)v);
}

static double gib(int64_t bytes)
{
    return (double)bytes / (double)((int64_t)1 << 30);
}

static void memory(struct buf *out, const struct board_gpu *g)
{
    if (g->mem_used < 0) {
        buf_adds(out, "<td class=\"num dim\">–");
        return;
    }
    buf_addf(out, "<td class=\"num\">%.1f", gib(g->mem_used));
    if (g->mem_total > 0)
        buf_addf(out, "<span class=\"dim\"> / %.0f</span>", gib(g->mem_total));
}

/* What hovering, focus or a tap shows. */
static void tip(struct buf *out, const struct board_gpu *g, const char *id)
{
    buf_addf(out, "<span class=\"tip\" role=\"tooltip\" id=\"%s\"><b>", id);
    html_between(out, "", g->users[0] ? g->users : g->mark == BOARD_FREE ? "nobody on it" : "no user known", "</b>");
    if (g->why[0])
        html_between(out, "<br>", g->why, "");
    if (g->mem_used >= 0) {
        buf_addf(out, "<br>Memory used: %.1f", gib(g->mem_used));
        if (g->mem_total > 0)
            buf_addf(out, " of %.1f", gib(g->mem_total));
        buf_adds(out, " GiB");
    }
    if (g->load_mem >= 0)
        buf_addf(out, "<br>Memory controller: %d&nbsp;%%", (int)g->load_mem);
    html_between(out, "<br><span class=\"dim\">", g->name, "<br>");
    html_between(out, "", g->uuid, "</span></span>");
}

static void row(struct buf *out, const struct board_gpu *g, bool with_memory, size_t host, size_t gpu)
{
    char id[48];

    snprintf(id, sizeof(id), "t%zu-%zu", host, gpu);
    buf_addf(out, "<tr class=\"%s\" tabindex=\"0\" aria-describedby=\"%s\"><th scope=\"row\">%s<td>%s",
             marks[g->mark].class, id, g->label, marks[g->mark].word);
    percent(out, g->load);
    percent(out, g->load_mem);
    if (with_memory)
        memory(out, g);
    tip(out, g, id);
    buf_adds(out, "\n");
}

/* The GPUs' common name, "several models" or "". */
static const char *model(const struct board_host *h)
{
    const char *name = h->n ? h->v[0].name : "";

    return ANY(h->n, i, strcmp(h->v[i].name, name) != 0) ? "several models" : name;
}

static size_t count(const struct board_host *h, enum board_mark mark)
{
    size_t n = 0;

    for (size_t i = 0; i < h->n; i++)
        n += h->v[i].mark == mark;
    return n;
}

/* Nothing is known of any of its GPUs. */
static bool dark(const struct board_host *h)
{
    return count(h, BOARD_UNKNOWN) == h->n;
}

/* Not so where it was read and the driver tells no use (MIG, old cards). */
static bool unread(const struct board_host *h)
{
    return dark(h) && h->why[0];
}

static void card(struct buf *out, const struct board_host *h, bool with_memory, size_t at)
{
    html_between(out, "<section><h2>", h->name, "</h2>");
    if (h->n) {
        if (dark(h))
            buf_addf(out, "<p class=\"dim\">%zu GPU%s · ", h->n, h->n == 1 ? "" : "s");
        else
            buf_addf(out, "<p class=\"dim\">%zu of %zu free · ", count(h, BOARD_FREE), h->n);
        html_between(out, "", model(h), "</p>");
    }
    if (h->why[0])
        html_between(out, "<p class=\"why\">", h->why, "</p>");
    if (h->n && !unread(h)) {
        buf_addf(out,
                 "\n<table><thead><tr><th scope=\"col\">#ID<th scope=\"col\">State<th scope=\"col\" "
                 "class=\"num\">Compute load<th scope=\"col\" class=\"num\">Memory controller%s<tbody>\n",
                 with_memory ? "<th scope=\"col\" class=\"num\">Memory used, GiB" : "");
        for (size_t i = 0; i < h->n; i++)
            row(out, &h->v[i], with_memory, at, i);
        buf_adds(out, "</table>");
    }
    buf_adds(out, "</section>\n");
}

static void update(struct buf *out, const struct board *b)
{
    time_t t = (time_t)(b->at_ms / 1000);
    struct tm tm = {0};
    char iso[32], local[64];

    if (!localtime_r(&t, &tm))
        gmtime_r(&t, &tm);
    strftime(local, sizeof(local), "%Y-%m-%d %H:%M:%S %Z", &tm);
    buf_addf(out, "<p>Last update: <time datetime=\"%s\">%s</time><span id=\"age\"></span></p>\n",
             clock_iso(b->at_ms, iso), local);
}

static void head(struct buf *out, const struct board_page *p)
{
    buf_addf(out,
             "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '" BOARD_STYLE_HASH
             "'; script-src '" BOARD_SCRIPT_HASH "'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
             "<meta http-equiv=\"refresh\" content=\"%d\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
             "<meta name=\"generator\" content=\"muster\">\n<link rel=\"icon\" href=\"data:,\">\n<title>",
             (int)p->refresh_s);
    html_between(out, "", p->title, "</title>\n<style>" BOARD_STYLE "</style>\n");
}

void board_html(struct buf *out, const struct board *b, const struct board_page *p)
{
    bool with_memory = false;
    size_t gpus = 0, n_free = 0, n_unread = 0;

    for (size_t i = 0; i < b->n; i++) {
        gpus += unread(&b->v[i]) ? 0 : b->v[i].n;
        n_free += count(&b->v[i], BOARD_FREE);
        n_unread += unread(&b->v[i]);
        for (size_t k = 0; k < b->v[i].n; k++)
            with_memory = with_memory || b->v[i].v[k].mem_used >= 0;
    }
    head(out, p);
    html_between(out, "<header><h1>", p->title, "</h1>\n");
    buf_addf(out, "<p><b>%zu of %zu</b> GPUs on %zu host%s are free.", n_free, gpus, b->n - n_unread,
             b->n - n_unread == 1 ? "" : "s");
    if (n_unread)
        buf_addf(out, " %zu host%s cannot be read.", n_unread, n_unread == 1 ? "" : "s");
    buf_adds(out, "</p>\n");
    if (b->demo)
        buf_adds(out, "<p class=\"warn\">DEMO: a recorded cluster, not real machines</p>\n");
    if (b->notice[0])
        html_between(out, "<p class=\"warn\">", b->notice, "</p>\n");
    buf_addf(out, "<p class=\"warn\" id=\"old\" data-after=\"%d\" hidden></p>\n</header>\n<main>\n", (int)p->stale_s);
    for (size_t i = 0; i < b->n && out->err == 0; i++)
        card(out, &b->v[i], with_memory, i);
    if (!b->n)
        buf_adds(out, "<p>There are no hosts here yet.</p>\n");
    buf_adds(out, "</main>\n<footer>");
    update(out, b);
    buf_addf(out,
             "<p class=\"dim\">Red: load of 5&nbsp;%% or more, memory controller above 2&nbsp;%%, or somebody is on "
             "it%s. Point at a row, or tap it, for the users.</p>\n",
             with_memory ? " or holds its memory" : "");
    if (!with_memory && gpus)
        buf_adds(out,
                 "<p class=\"dim\">Memory controller: the share of time it worked, not how much memory is in use; that "
                 "is not in load_data.csv.</p>\n");
    buf_adds(out, "</footer>\n<script>" BOARD_SCRIPT "</script>\n</html>\n");
}
