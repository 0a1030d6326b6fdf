/* listing.h: prints rows of a hub's response as a table. */
#pragma once

#include <jansson.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "format/render.h"

struct zone;

/* Context of a row. */
struct listing_at {
    const json_t *answer;
    int64_t at_ms;           /* time of the response, else now */
    const struct zone *zone; /* this machine's */
};

struct hub_listing {
    const struct opt_cmd *help;
    const char *path;                  /* requested path; NULL: too long */
    const char *member;                /* of the response, with the rows; NULL: the response itself */
    const struct column_spec *columns; /* a cell is the row's member of this name, if it has that type */
    size_t n_columns;
    void (*fill)(struct cell *c, json_t *row, const struct listing_at *at); /* fills the other cells; may be NULL */
    int (*order)(const void *x, const void *y);                             /* of json_t *; NULL: unchanged */
    int width;                                                              /* without a terminal; 0: unlimited */
    bool plain;                                                             /* without colours */
    const char *none; /* message if there are no rows; NULL: titles only */
    bool no;          /* no rows is an error, EXIT_NO */
};

/* Initializer: the help of its command, columns, fill function, message for no rows. */
#define LISTING(of, cols, row, nothing)                                                                                \
    .help = &(of), .columns = (cols), .n_columns = ARRAY_LEN(cols), .fill = (row), .none = (nothing)

/* Appends the rows of a response to out, or the message for no rows. Returns the number of rows, or -EREMOTEIO if the
 * member is missing. */
int listing_put(const struct hub_listing *l, json_t *answer, bool csv, struct buf *out);

enum list_format {
    LIST_TABLE,
    LIST_CSV,  /* the same columns */
    LIST_JSON, /* the unchanged response */
    LIST_SENT, /* the same for a response that is not JSON */
};
/* Returns the exit code, or -errno with a message in err. ret (may be NULL): a JSON response, owned by the caller. */
int listing_fetch(const struct hub_listing *l, const struct client_conf *conf, enum list_format how, json_t **ret,
                  struct err *err);

/* Members of an object: "" or 0 if missing. */
const char *text_of(const json_t *o, const char *key);
int64_t int_of(const json_t *o, const char *key);
