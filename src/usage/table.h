/* table.h: usage as JSON, rows for text and CSV, and a page. */
#pragma once

#include "draw/plot.h"
#include "model/rows.h"
#include "model/usage.h"

struct buf;

/* Text below the heading of a document, if anything was measured. */
#define USAGE_EFFECTIVE                                                                                                \
    "Effective: hours times efficiency, the share of its peak that the busiest part reached; tensor: hours times the " \
    "share of time that its tensor "                                                                                   \
    "pipes worked. 3 of 5 h: 5 were measured."

void render_usage_json(struct buf *out, const struct usage_table *t);
void render_usage_csv(struct buf *out, const struct usage_table *t); /* in seconds and joules */
/* For a screen: hours, kWh, and a last row with the total, without empty columns. Free with rows_fini(). */
void usage_rows(const struct usage_table *t, struct rows *ret);
/* One HTML file that needs nothing else. title: the cluster's name. */
void render_usage_html(struct buf *out, const struct usage_table *t, const char *title);
/* A chart; and a document with a chart and the table. Errors are those of plot_draw and paper_close. */
int render_usage_plot(struct buf *out, const struct usage_table *t, const char *title, enum plot_format format,
                      struct err *err);
int render_usage_pdf(struct buf *out, const struct usage_table *t, const char *title, int64_t now_ms, struct err *err);
