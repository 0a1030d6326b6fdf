/*
 * draw.h: the newest state of very many nodes as an answer that is made in pieces, over several turns of the loop
 * (hub/easel.h). Each node is shown as it is when its turn comes, the whole as of one moment or a little later; one
 * that goes meanwhile is left out.
 */
#pragma once

#include "format/render.h"
#include "hub/api.h"
#include "model/now.h"

#define DRAW_NODES 200 /* fewer are rendered in one go; no step looks at more */

/* All copy what they need of v; f may be NULL and is the drawing's from now on, but for a snapshot's. */
struct drawing *draw_state(const struct view *v, struct filter *f);
/* The first event of a stream, compressed as well. f is lent, for as long as there are steps. list: as draw_list_. */
struct drawing *draw_snapshot(const struct view *v, struct filter *f, bool list);
/* The same for a hub that follows: an event for each node between two, so that it never needs the whole at once. */
void draw_list_begin(struct buf *out, const struct view *v);
void draw_list_node(struct buf *out, const struct view *v, const struct node_now *n);
void draw_list_end(struct buf *out);
/* A page of text: all as of term.h's parts (render.h). */
struct drawing *draw_text(const struct view *v, struct filter *f, render_term_fn *page, const struct term *t);
struct drawing *draw_summary(const struct view *v, struct filter *f);
/* own: with the series of the hub itself. */
struct drawing *draw_metrics(const struct view *v, struct filter *f, bool openmetrics, bool own);
