/* render.h: views and rows -> text, JSON, CSV, Prometheus, HTML. Pure: bytes onto a buf, which must be checked for err
 * once at the end. */
#ifndef RENDER_RENDER_H
#define RENDER_RENDER_H

#include "base/err.h"

#include "model/now.h"
#include "model/rows.h"

/* JSON of the HTTP API. */
void render_state(struct buf *out, const struct view *v);
void render_node(struct buf *out, const struct view *v, const struct node_now *n); /* one element of "nodes" */

void render_prom(struct buf *out, const struct view *v, bool openmetrics);

/* For terminals. width: columns; colour: SGR sequences; ascii: no UTF-8 marks. */
struct term {
    int width;
    bool colour, ascii;
};
void render_term_summary(struct buf *out, const struct view *v,
                         const struct term *t); /* vesta's /?term=true, our name in the first line */
void render_term_detail(struct buf *out, const struct view *v, const struct term *t);
void render_term_table(struct buf *out, const struct view *v, const struct term *t); /* /gpu_table?term=true */
void render_html(struct buf *out, const struct view *v);                             /* the page without scripts */

void render_rows_text(struct buf *out, const struct rows *r, const struct term *t);
void render_rows_csv(struct buf *out,
                     const struct rows *r); /* RFC 4180; cells that a spreadsheet would run are prefixed with ' */
void render_rows_json(struct buf *out, const struct rows *r); /* an array of objects */

/* vesta's JSON. */
void render_vesta_states(struct buf *out, const struct view *v);
void render_vesta_host(struct buf *out, const struct view *v, const struct node_now *n);

/* Reading back what render_state wrote: the command line's view of a hub. nodes are the caller's, ended with
 * node_now_fini + free. */
int state_parse(struct str json, struct node_now **ret, size_t *ret_n, bool *ret_demo, int64_t *ret_at_ms,
                struct err *err);

#endif
