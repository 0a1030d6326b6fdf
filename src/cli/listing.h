/* listing.h: rows of a hub's answer as a table on standard output. */
#pragma once

#include <jansson.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "format/render.h"

struct zone;

/* What a row is read with. */
struct listing_at {
    const json_t *answer;
    int64_t at_ms;           /* as of when the hub answered, else now */
    const struct zone *zone; /* this machine's */
};

struct hub_listing {
    const struct opt_cmd *help;
    const char *path;                  /* what is asked; NULL: it is too long */
    const char *member;                /* of the answer, which has the rows; NULL: the answer itself */
    const struct column_spec *columns; /* a cell is the row's member by that name, if it is of that type */
    size_t n_columns;
    void (*fill)(struct cell *c, json_t *row, const struct listing_at *at); /* the other cells; NULL: there are none */
    int (*order)(const void *x, const void *y);                             /* of json_t *; NULL: as they come */
    int width;        /* where there is no terminal; 0: without end */
    bool plain;       /* never with colours */
    const char *none; /* what is said when there is no row; NULL: the titles stand alone */
    bool no;          /* that is an error, EXIT_NO */
};

/* For an initializer: the help of its command, columns, what fills the others, what is said of none. */
#define LISTING(of, cols, row, nothing)                                                                                \
    .help = &(of), .columns = (cols), .n_columns = ARRAY_LEN(cols), .fill = (row), .none = (nothing)

/* The rows of an answer onto out, or none's sentence. How many; -EREMOTEIO where the answer has no such member. */
int listing_put(const struct hub_listing *l, json_t *answer, bool csv, struct buf *out);

enum list_how {
    LIST_TABLE,
    LIST_CSV,  /* of the same columns */
    LIST_JSON, /* what the hub says, as it is */
    LIST_SENT, /* the same of what is not JSON */
};
/* The exit code, or -errno with a sentence. ret (may be NULL): the answer where that is JSON, the caller's. */
int listing_ask(const struct hub_listing *l, const struct client_conf *conf, enum list_how how, json_t **ret,
                struct err *err);

/* Members of an object: "" and 0 where there is none. */
const char *text_of(const json_t *o, const char *key);
int64_t int_of(const json_t *o, const char *key);
