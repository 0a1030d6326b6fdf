/* picture.h: a run as a picture: the text of its page, above charts of its GPUs. Thread-safe. */
#pragma once

#include "draw/plot.h"
#include "jobs/verdict.h"

#define PICTURE_GPUS 16 /* shown as lines; the text has the number of the others */

struct run_picture {
    const char *title, *lines; /* what it is; what it did, what to do about it */
    const char *const *nodes;  /* what the nodes of its first PICTURE_GPUS GPUs are called */
    const struct zone *zone;   /* NULL: UTC */
    enum plot_format format;
};
/* Onto the end of ret. -ENOENT: nothing is stored of its time; -ECANCELED; as plot_draw_stack does. */
int run_picture_draw(const struct past_source *past, const struct run_verdict *v, const struct run_picture *p,
                     struct buf *ret, struct err *err);
