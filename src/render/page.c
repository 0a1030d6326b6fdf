/* page.c: the page without scripts: the answer, then every node a row and every GPU a cell. It loads nothing and asks
 * again by itself every five seconds. */
#include "render/render.h"

#include "base/clock.h"
#include "base/mem.h"
#include "render/words.h"

static const char style[] =
    ":root{color-scheme:light dark;--bg:#fff;--ink:#1f2328;--dim:#59636e;--line:#d1d9e0;--free:#1a7f4b;--held:#9a6700;"
    "--busy:#b3261e;--stale:#6e7781;--hung:#9c36b5;--lost:#9c36b5}"
    "@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--ink:#e6edf3;--dim:#9198a1;--line:#3d444d;--free:#3fb97c;"
    "--held:#e3b341;--busy:#ef6a60;--stale:#8b949e;--hung:#d38ae6;--lost:#d38ae6}}"
    "body{margin:0 auto;padding:16px;max-width:1400px;background:var(--bg);color:var(--ink);font:14px/20px "
    "system-ui,sans-serif;font-variant-numeric:tabular-nums}"
    "h1{font-size:20px;line-height:28px;margin:0}header p{margin:4px 0 12px;color:var(--dim)}header p "
    "span{margin-right:16px;white-space:nowrap}"
    ".demo{background:var(--held);color:var(--bg);padding:4px 12px;margin:0 0 12px;font-weight:600}"
    "section{border-top:1px solid var(--line);padding:8px 0;display:grid;grid-template-columns:minmax(120px,200px) 1fr "
    "90px;gap:8px}"
    "h2{font-size:14px;line-height:20px;margin:0;overflow-wrap:anywhere}small{color:var(--dim);font-size:12px}"
    "ul{list-style:none;margin:0;padding:0;display:grid;grid-template-columns:repeat(8,minmax(0,1fr));gap:4px 12px}"
    "li{white-space:nowrap;overflow:hidden;text-overflow:ellipsis}"
    ".age{text-align:right;white-space:nowrap;color:var(--dim);font-size:12px}svg{display:block;width:100%;height:4px;"
    "margin-top:2px;"
    "background:var(--line)}"
    ".free{color:var(--free)}.held{color:var(--held)}.busy{color:var(--busy)}.stale{color:var(--stale)}.hung{color:var("
    "--hung)}.lost{color:var(--lost);text-decoration:line-through}"
    "rect{fill:currentColor}a{color:inherit}@media(max-width:1000px){ul{grid-template-columns:repeat(4,minmax(0,1fr))}}"
    "@media(max-width:600px){section{grid-template-columns:1fr}.age{text-align:left}}"
    "@media(max-width:480px){ul{grid-template-columns:repeat(2,minmax(0,1fr))}}";

static void esc(struct buf *out, const char *s)
{
    for (; *s; s++) {
        size_t plain = strcspn(s, "&<>\"'");
        buf_add(out, s, plain);
        s += plain;
        if (!*s)
            return;
        buf_adds(out, *s == '&' ? "&amp;" : *s == '<' ? "&lt;" : *s == '>' ? "&gt;" : *s == '"' ? "&quot;" : "&#39;");
    }
}

static void put_human(struct buf *out, const struct device_now *d, enum metric m, const char *before)
{
    if (!sample_has(&d->now, m))
        return;
    buf_adds(out, before);
    metric_human(out, m, d->now.v[m]);
}

/* What hovering tells: the state in a sentence, who with what, then the rest of the numbers. */
static void put_title(struct buf *out, const struct device_now *d, int64_t now_ms)
{
    AUTO_BUF b = BUF_INIT(16384);
    char span[24];

    buf_addf(&b, "%d: %s\n", (int)d->fact.index, d->fact.name);
    device_sentence(&b, d, now_ms);
    if (d->state > DEV_BUSY)
        buf_adds(&b, "\nwhen last seen:");
    put_human(&b, d, M_util, "\nutilisation ");
    put_human(&b, d, M_mem_used, "\nmemory ");
    put_human(&b, d, M_mem_total, " of ");
    put_human(&b, d, M_power, "\npower ");
    put_human(&b, d, M_temp, "\ntemperature ");
    put_human(&b, d, M_throttle, "\nthrottling: ");
    for (size_t i = 0; i < d->n_procs && i < 16; i++) {
        const struct proc_now *p = &d->procs[i];
        buf_addf(&b, "\n%s %s (%d)", p->fact->user[0] ? p->fact->user : "?", p->fact->name, (int)p->fact->pid);
        if (p->mem >= 0) {
            buf_addc(&b, ' ');
            metric_human(&b, M_mem_used, p->mem);
        }
    }
    if (d->n_procs > 16)
        buf_addf(&b, "\nand %zu more", d->n_procs - 16);
    if (d->at_ms)
        buf_addf(&b, "\n%s old", clock_span(device_age_ms(d, now_ms), span));
    esc(out, b.p);
}

static void put_cell(struct buf *out, const struct view *v, const struct device_now *d)
{
    char who[160];

    buf_addf(out, "<li title=\"");
    put_title(out, d, v->at_ms);
    buf_addf(out, "\"><span class=%s>%s</span> ", dev_states[d->state].word, dev_states[d->state].mark);
    if (d->state == DEV_HELD || d->state == DEV_BUSY) {
        esc(out, holders(d, who).p);
        if (sample_has(&d->now, M_util))
            buf_addf(out, " %lld%%", (long long)(d->now.v[M_util] / 100));
        else
            buf_adds(out, " –");
    } else {
        buf_adds(out, dev_states[d->state].word);
    }
    if (d->state <= DEV_BUSY && sample_has(&d->now, M_mem_used) && sample_has(&d->now, M_mem_total) &&
        d->now.v[M_mem_total] > 0)
        buf_addf(out,
                 "<svg class=%s viewBox=\"0 0 100 4\" preserveAspectRatio=\"none\" aria-hidden=true><rect width=\"%d\" "
                 "height=\"4\"/></svg>",
                 dev_states[d->state].word,
                 (int)MAX(0, MIN(100, 100.0 * (double)d->now.v[M_mem_used] / (double)d->now.v[M_mem_total])));
    buf_adds(out, "</li>");
}

static void put_row(struct buf *out, const struct view *v, const struct node_now *n)
{
    AUTO_BUF b = BUF_INIT(512);
    char span[24];
    size_t gpus = 0;

    for (size_t i = 0; i < n->n_devices; i++)
        gpus += !n->devices[i].fact.parent[0];
    buf_adds(out, "<section><div><h2>");
    esc(out, n->name);
    buf_adds(out, "</h2><small>");
    esc(out, node_model(n));
    if (gpus > 1)
        buf_addf(out, " ×%zu", gpus);
    if (sample_has(&n->now, M_load1) && n->state == NODE_UP) {
        buf_addf(out, " · load %lld", (long long)(n->now.v[M_load1] / metrics[M_load1].per));
        if (n->fact.cpus > 0)
            buf_addf(out, "/%d", (int)n->fact.cpus);
    }
    buf_adds(out, "</small></div><div>");
    if (n->state != NODE_UP || n->reason[0] || n->clock_off_ms || !n->n_devices) {
        node_sentence(&b, n);
        if (!n->n_devices && !n->reason[0])
            buf_adds(&b, ", no GPUs seen yet");
        buf_addf(out, "<small class=%s>", n->state == NODE_HUNG ? "hung" : "stale");
        esc(out, b.p);
        buf_adds(out, "</small>");
    }
    if (n->n_devices) {
        buf_adds(out, "<ul>");
        for (size_t i = 0; i < n->n_devices; i++)
            if (!device_is_parent(n, &n->devices[i]))
                put_cell(out, v, &n->devices[i]);
        buf_adds(out, "</ul>");
    }
    buf_adds(out, "</div><div class=age>");
    if (n->at_ms)
        buf_addf(out, "%s ago", clock_span(MAX(0, v->at_ms - n->at_ms) / 1000 * 1000, span));
    else
        buf_adds(out, "never");
    buf_adds(out, "</div></section>\n");
}

void render_html(struct buf *out, const struct view *v)
{
    AUTO_BUF answer = BUF_INIT(4096);
    struct tally t;

    view_tally(v, &t);
    view_answer(v, &answer);
    buf_adds(out, "<!doctype html>\n<html lang=en><head><meta charset=utf-8><title>muster</title>"
                  "<meta name=viewport content=\"width=device-width,initial-scale=1\">"
                  "<meta http-equiv=refresh content=5><style>");
    buf_adds(out, style);
    buf_adds(out, "</style></head><body>\n");
    if (v->demo)
        buf_adds(out, "<p class=demo>DEMO: invented nodes and users, replayed measurements</p>\n");
    buf_adds(out, "<header><h1>");
    esc(out, answer.p ? answer.p : "");
    buf_adds(out, "</h1><p>");
    for (int i = 0; i < DEV_STATES; i++)
        if (t.by_state[i] || i <= DEV_BUSY)
            buf_addf(out, "<span class=%s title=\"%s\">%s %zu %s</span>", dev_states[i].word, dev_states[i].meaning,
                     dev_states[i].mark, t.by_state[i], dev_states[i].word);
    buf_addf(out, "<span>%zu node%s</span></p></header>\n<main>\n", t.nodes, t.nodes == 1 ? "" : "s");
    for (size_t i = 0; i < v->n && out->err == 0; i++)
        put_row(out, v, v->nodes[i]);
    if (!v->n)
        buf_adds(out,
                 "<p>Add one: make a token here with <code>muster token new --role enroll</code>, then run there "
                 "<code>curl -fsS http://HUB:8765/install | sh -s -- TOKEN</code>, with this hub's address.</p>\n");
    buf_adds(out, "</main>\n<footer><p><small>muster " MUSTER_VERSION " · <a href=\"/api/v1/state\">JSON</a> · <a "
                  "href=\"/metrics\">Prometheus</a> · <a href=\"/?term=true&amp;detail=true\">text</a></small></p>"
                  "</footer></body></html>\n");
}
