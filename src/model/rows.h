/* rows.h: a flat table of typed cells, for lists that become text, CSV or JSON. Owns everything in it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum cell_type { CELL_TEXT, CELL_INT, CELL_FIXED, CELL_BOOL };

struct column_spec {
    const char *name;  /* json and csv */
    const char *title; /* screen */
    enum cell_type type;
    int64_t per; /* CELL_FIXED: stored per base */
    bool right;  /* align right on screens */
    int weight;  /* columns with the smallest weight are dropped first on a narrow screen */
};

struct cell {
    bool absent;
    int64_t i;
    char *json_text; /* CELL_TEXT: the value */
    char *screen;    /* text on screens, if different; NULL: derived */
    int ansi;        /* SGR colour, 0 none */
};

struct rows {
    const struct column_spec *cols;
    size_t n_cols, n, cap;
    struct cell *cells;         /* n * n_cols */
    struct column_spec *picked; /* cols, after rows_pick */
};

#define AUTO_ROWS    __attribute__((cleanup(rows_fini))) struct rows
#define ROWS_OF(own) ((struct rows){.cols = (own), .n_cols = sizeof(own) / sizeof((own)[0])})
void rows_init(struct rows *r, const struct column_spec *cols, size_t n_cols);
struct cell *rows_add(struct rows *r); /* a new row, all absent: n_cols cells */
void cell_text(struct cell *c, struct str s);
void cell_some_text(struct cell *c, const char *s); /* empty: it stays absent */
void cell_int(struct cell *c, int64_t v);
void cell_screen(struct cell *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Selects columns, in this order, each once. Returns -ENOENT with a message in err that lists the columns; r is then
 * unchanged. */
int rows_pick(struct rows *r, char *const *names, size_t n, struct err *err);
void rows_fini(struct rows *r);
