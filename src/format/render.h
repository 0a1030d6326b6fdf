/* render.h: views and rows -> text, JSON, CSV, Prometheus. Pure: bytes onto a buf, which must be checked for err
 * once at the end. */
#pragma once

#include "base/err.h"

#include "model/now.h"
#include "model/rows.h"
#include "model/series.h"

/* JSON of the HTTP API. */
void render_state(struct buf *out, const struct view *v);
/* The same in parts, for nodes that come one by one: start, then render_node for each with a comma between, end. */
void render_state_start(struct buf *out, const struct view *v);
void render_state_end(struct buf *out, const char *words);                         /* the view's, known only now */
void render_node(struct buf *out, const struct view *v, const struct node_now *n); /* one element of "nodes" */

void render_summary(struct buf *out, const struct view *v, const struct tally *t); /* v as tally_add has it */

/* What screens must know beforehand: metrics, states, events, as JSON; name: the cluster's. */
/* about: a line for the page; colours: by whose limits it colours, a word for it. NULL: none, its own. brief: without
 * what each metric is in a sentence. */
void render_facts(struct buf *out, const char *name, const char *about, const char *colours, bool brief);

void render_prom(struct buf *out, const struct view *v, bool openmetrics);
/*
 * The same in parts, for very many nodes: prom_start, then for each family all nodes and prom_next_family, which
 * returns false after the last family. The first family also collects which metrics are declared at run time. twin:
 * another node has the same name; nodes are sorted by name.
 */
struct prom;
struct prom *prom_new(bool openmetrics, int64_t at_ms);
bool prom_is_duplicate(const struct node_now *const *nodes, size_t n, size_t i);
void prom_start(const struct prom *p, struct buf *out);
void prom_add_node(struct prom *p, struct buf *out, const struct node_now *n, bool twin);
bool prom_next_family(struct prom *p, struct buf *out);
void prom_free(struct prom *p); /* accepts NULL */

/* For terminals. width: columns, of which frames take at least 80 (rows: 0 is no limit); colour: SGR sequences; ascii:
 * nothing but ASCII of our own; answer: what is free, in a line above the frame. all: counts for that line; NULL: of
 * the view. rest: the lines of the view's nodes only, behind those of others. */
struct term {
    int width;
    bool colour, ascii, answer, rest;
    const struct tally *all;
};
typedef void render_term_fn(struct buf *out, const struct view *v, const struct term *t);
/* vesta's /?term=true, /?term=true&detail=true and /gpu_table?term=true with our name in the first line. At width 80
 * the layout is vesta's to the column; from 89 on there is a state, from 97 on users. */
void render_term_summary(struct buf *out, const struct view *v, const struct term *t);
void render_term_detail(struct buf *out, const struct view *v, const struct term *t);
void render_term_table(struct buf *out, const struct view *v, const struct term *t);
/* What vesta's Slack bot answered to HOSTS and ALL: names, a line each; hosts, alive or dead, with the processes on
 * their GPUs. */
void render_term_names(struct buf *out, const struct view *v, const struct term *t);
void render_term_tree(struct buf *out, const struct view *v, const struct term *t);

void render_rows_text(struct buf *out, const struct rows *r, const struct term *t);
/* The same; kept: for each column, whether there was room for it. */
void render_rows_fit(struct buf *out, const struct rows *r, const struct term *t, bool *kept);
void render_rows_csv(struct buf *out,
                     const struct rows *r); /* RFC 4180; cells that a spreadsheet would run are prefixed with ' */
void render_rows_csv_on(struct buf *out, const struct rows *r); /* more of them: without the line of names */
void render_rows_json(struct buf *out, const struct rows *r);   /* an array of objects */

/* History: start, each, end; one after the other onto the same out. JSON has a column of numbers per series, with null
 * for a gap; CSV a row per series and moment, with an empty value for a gap. */
struct series_text { /* of what is in out already */
    size_t at, len;
};
struct series_json { /* out is the caller's, all else zero at first. In one answer the same pointer is the same text */
    struct buf *out;
    struct series last;       /* the one that whose is of */
    struct series_text whose; /* with the comma before it; len 0: none yet */
    struct series_what {
        const char *metric, *unit, *agg;
        struct series_text text;
    } what[64];
};
void render_series_json_start(struct series_json *w, const struct series_frame *f);
void render_series_json(struct series_json *w, const struct series *s); /* one element of "series" */
void render_series_owner(struct buf *out, const struct series *s);      /* what is ready then as s->whose */
void render_series_json_end(struct series_json *w, const struct series_frame *f);
void render_series_csv_start(struct buf *out, const struct series_frame *f);
void render_series_csv(struct buf *out, const struct series_frame *f, const struct series *s);

/* One series as a picture of dots on a terminal. v: NAN is a gap. */
struct chart {
    const char *title, *unit; /* unit as in JSON: "ratio", "bytes", … */
    int64_t from_ms, step_ms;
    size_t n;
    const double *v;
    bool elapsed; /* from_ms counts from a beginning */
};
size_t chart_points(int width); /* how many a chart of so many columns can show */
void render_chart(struct buf *out, const struct chart *c, int width, int height); /* braille, with axes */
void render_spark(struct buf *out, const struct chart *c, int width); /* one line of ▁▂▃▄▅▆▇█, no title */
void render_amount(struct buf *out, const char *unit, double v);      /* "98 %", "79.1 GiB", "612 W" */

/* vesta's table page, HTML. about: a line below the title; NULL: none. */
void render_vesta_table(struct buf *out, const struct view *v, const char *title, const char *about);
/* vesta's JSON. */
void render_vesta_states(struct buf *out, const struct view *v);
/* One host with several moments, oldest first: a member of what stands between braces. at_ms: its newest, 0 for never.
 */
void render_vesta_past(struct buf *out, const struct view *v, const char *name, const char *address, const char *status,
                       int64_t at_ms, const struct node_now *entries, size_t n);
void render_vesta_member(struct buf *out, const struct view *v, const struct node_now *n,
                         bool alone); /* of one that is at hand */
/* What is to be shown of it is not at hand, but kept: it has not been heard for long, or its history was imported. */
bool vesta_needs_history(const struct node_now *n, bool alone);
const char *vesta_status(const struct node_now *n); /* "running", "down", "waiting for re-uplink" */
void render_vesta_host(struct buf *out, const struct view *v, const struct node_now *n);

/* Reading back what render_state wrote: the command line's view of a hub. */
struct read_state {
    struct node_now *nodes;
    size_t n, of; /* of: how many devices a filter chose from; 0 when there was none */
    bool demo;
    int64_t at_ms;
    char notice[NOTICE_MAX]; /* the view's, "" when there is none */
    char currency[16];
    char words[FILTER_SAID];
};
int state_parse(struct str json, struct read_state *ret, struct err *err);
/* One element of "nodes", by itself, as of at_ms of the hub's clock. guest: of a hub that this one follows, on any
 * thread: names that are shown are not its (names.h), and a state that is not known here is unknown. */
int node_parse(struct str json, int64_t at_ms, bool guest, struct node_now *ret, struct err *err);
void read_state_fini(struct read_state *s);
