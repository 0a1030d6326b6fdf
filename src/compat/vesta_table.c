/* vesta_table.c: vesta's table page: which GPUs each host has and how full they are, as it stood when it was asked for.
 */
#include "base/buf.h"
#include "draw/html.h"
#include "format/render.h"
#include "format/words.h"

#define MIB ((int64_t)1 << 20)

static void put_mib(struct buf *out, const struct sample *s, enum metric m)
{
    if (sample_has(s, m))
        buf_addf(out, "%lld", (long long)(s->v[m] / MIB));
    else
        buf_adds(out, "-");
}

static void put_host(struct buf *out, const struct node_now *n)
{
    AUTO_BUF status = BUF_INIT(512);

    html_between(out, "<tbody><tr><th colspan=3>", node_shown(n), " (");
    html_between(out, "", n->address[0] ? n->address : "-", ")</th></tr>\n");
    if (node_is_dark(n)) {
        node_sentence(&status, n);
        html_between(out, "<tr><td colspan=3>", buf_str(&status).p, "</td></tr>\n");
    } else {
        buf_adds(out, "<tr><th>GPU ID</th><th>GPU Name</th><th>Memory Usage</th></tr>\n");
    }
    for (size_t i = 0; i < n->n_devices && !node_is_dark(n); i++) {
        const struct device_now *d = &n->devices[i];
        buf_addf(out, "<tr><td>%d", (int)d->fact.index);
        html_between(out, "</td><td>", device_shown(d), "</td><td>");
        put_mib(out, &d->now, M_mem_used);
        buf_adds(out, " / ");
        put_mib(out, &d->now, M_mem_total);
        buf_adds(out, " MiB</td></tr>\n");
    }
    buf_adds(out, "</tbody>\n");
}

void render_vesta_table(struct buf *out, const struct view *v, const char *title, const char *about)
{
    char when[32];

    html_between(out,
                 "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport "
                 "content=\"width=device-width\"><title>",
                 title,
                 "</title><style>body{font:15px system-ui,sans-serif;margin:2em auto;max-width:50em;padding:0 1em;"
                 "color-scheme:light dark}table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.2em "
                 ".6em}tr :last-child:not([colspan]){text-align:right}th[colspan]{padding-top:1.5em;font-size:1.1em}"
                 "td{border-top:1px solid #8886}small{font-weight:400;margin-left:1em}</style>\n"
                 "<nav><a href=\"/\">Main</a> · Table</nav>\n<h1>");
    html_cstr(out, title);
    if (about)
        html_between(out, "<small>", about, "</small>");
    buf_addf(out, "</h1>\n<p>last update: %s</p>\n<table>\n",
             time_as(v->at_ms, v->time_form ? v->time_form : TIME_YMD, when));
    for (size_t i = 0; i < v->n && !out->err; i++)
        put_host(out, v->nodes[i]);
    buf_adds(out, "</table></html>\n");
}
