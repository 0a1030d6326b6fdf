/*
 * draw.h: renders the current state of very many nodes in steps over several event loop iterations
 * (hub/render_queue.h). Each node is rendered as it is at its step, so the parts differ slightly in time. A node
 * removed meanwhile is omitted.
 */
#pragma once

#include "format/render.h"
#include "hub/api.h"
#include "model/now.h"

#define DRAW_NODES 200 /* fewer are rendered in one step; no step renders more */

/* All copy what they need of v. They take ownership of f (may be NULL), except draw_snapshot. */
struct render_job *draw_state(const struct view *v, struct filter *f);
/* The first event of a stream, also compressed. Borrows f until the last step. list: in the form of draw_list_*. */
struct render_job *draw_snapshot(const struct view *v, struct filter *f, bool list);
/* The same for a following hub: one event per node between two others, so that it never needs the whole at one time. */
void draw_list_begin(struct buf *out, const struct view *v);
void draw_list_node(struct buf *out, const struct view *v, const struct node_now *n);
void draw_list_end(struct buf *out);
/* A text page, made of all parts in term.h (render.h). */
struct render_job *draw_text(const struct view *v, struct filter *f, render_term_fn *page, const struct term *t);
struct render_job *draw_summary(const struct view *v, struct filter *f);
/* own: include the hub's own series. */
struct render_job *draw_metrics(const struct view *v, struct filter *f, bool openmetrics, bool own);
