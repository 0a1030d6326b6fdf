/* plot_marks.h: what stands between a chart's axes, and the frame that says where. For plot.c. */
#pragma once

#include "draw/pen.h"
#include "draw/plot.h"
#include "draw/scale.h"

#define MARGIN    12.0
#define TEXT      9.0  /* size of small letters */
#define LEAD      13.0 /* from line to line of them */
#define LABEL_MAX 90.0 /* points of a name under a slot, turned */

struct plot_frame {
    const struct plot *p;
    const struct zone *zone; /* never NULL */
    struct zone *utc;
    size_t n_series; /* that are drawn */
    double width, height;
    double left, right, top, bottom; /* of the field between the axes */
    struct scale x, y;
    bool empty;          /* not one value is known */
    bool timed;          /* x is a time axis; else there are slots */
    bool dated;          /* slots are periods of a calendar */
    bool turned;         /* their names stand aslant */
    size_t thin;         /* one of so many slots has a name */
    double slot, widest; /* width of one, and of the widest name */
    int64_t step_ms;
};

/* Everything but top and bottom, which need to know what stands above and below. */
void frame_init(struct plot_frame *f, const struct plot *p, double width, double height);
void frame_foot(struct plot_frame *f, double below); /* sets bottom; below: points of text under the axis' own */
void frame_fini(struct plot_frame *f);
double frame_y(const struct plot_frame *f, double v);
double frame_time(const struct plot_frame *f, double at_ms);
double frame_slot(const struct plot_frame *f, size_t i); /* its middle */
void slot_tick(const struct plot_frame *f, size_t i, struct tick *ret);
uint32_t series_colour(const struct plot *p, size_t i);

void plot_marks(struct pen *pen, const struct plot_frame *f);
