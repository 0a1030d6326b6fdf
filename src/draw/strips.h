/* strips.h: series of a history as charts, one per metric above each other, as PNG, SVG or PDF. */
#pragma once

#include "draw/plot.h"
#include "model/series.h"

#define STRIPS_MAX 8 /* metrics; what is beyond is left out */

struct strips;
struct strips *strips_new(void);
void strips_free(struct strips *s);
void strips_start(struct strips *s, const struct series_frame *f); /* also once more: what there was is dropped */
void strips_add(struct strips *s, const struct series *one);       /* copied */
/* Above the charts: a title, with which metrics of which node follow; or, with lines below it, the title alone. */
struct strips_head {
    const char *title, *lines;
};
/* Fails as plot_draw_stack does; -ENOENT too where there is no series. zone NULL: UTC. */
int strips_draw(const struct strips *s, const struct strips_head *head, const struct zone *zone,
                enum plot_format format, struct buf *ret, struct err *err);
