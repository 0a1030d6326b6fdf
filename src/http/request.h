/* request.h: one HTTP request as the server read it. What the program knows of who asks is its own (who, memo). */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct asker;
struct json_t;
struct kept_request;
struct reply;
struct route;

enum method { METHOD_GET = 1, METHOD_HEAD = 2, METHOD_POST = 4, METHOD_PUT = 8, METHOD_PATCH = 16, METHOD_DELETE = 32 };
#define METHODS 6
extern const char *const method_words[METHODS]; /* by bit: "GET", ... */

struct param {
    struct str name, value; /* decoded */
};

#define QUERY_MAX 32

/* Called once, with the reply to a request, also when that comes late or the client has left. */
struct trail {
    void (*end)(struct trail *t, const struct reply *rp);
};

struct request {
    enum method method;
    struct str path; /* decoded, without the query */
    size_t n_query;
    struct param query[QUERY_MAX];
    struct str body;
    struct str tail; /* what the route's "{x}" matched */
    char peer[64];   /* address, after proxy rules */
    bool loopback;   /* from this machine, for words alone: it gives no rights */
    bool tls;
    const char *back; /* a form, else NULL: where the browser is sent back to when its write is durable; lasting */
    struct str (*header)(const struct request *rq, const char *name);   /* empty: absent */
    size_t (*header_count)(const struct request *rq, const char *name); /* NULL: each at most once */
    void *conn; /* the server's handle: pass it back for late replies and streams */
    /* instead of conn: a request of the program's own; late replies go here. Empties what it is given. */
    void (*take)(void *arg, struct reply *rp);
    void *take_arg;
    int64_t now_ms; /* when its head arrived */
    /* the program's: */
    const struct route *route; /* what is asked for; NULL: it is not known yet */
    struct asker *who;         /* httpd_ops.who_size bytes, zeroed for each request */
    void *memo;                /* httpd_ops.memo_size bytes, zeroed for each connection; NULL: none is kept */
    struct trail *trail;       /* NULL: none. A late reply has it then; of a copy (kept) it is the first request's */
    struct kept_request *kept; /* a copy that waited for something, with what it waited for; NULL: as it came */
};
/*
 * Method word and target ("/a%20b?c=d") into rq. Decoded text goes to scratch, which must be as long as the target.
 * 0 or -EINVAL with a sentence: bad escapes, control characters, more than QUERY_MAX parameters.
 */
int request_target(struct request *rq, struct str target, char *scratch, struct err *err);
/* A form's body (application/x-www-form-urlencoded): at most QUERY_MAX fields; scratch as long as the body. Control
 * characters are blanks. */
int request_form(struct str body, char *scratch, struct param ret[QUERY_MAX], size_t *ret_n, struct err *err);
int method_of(struct str word);                                       /* enum method, or -1 */
struct str request_query(const struct request *rq, const char *name); /* empty: absent */
bool request_flag(const struct request *rq, const char *name);        /* present and not "false"/"0" */
int64_t request_int(const struct request *rq, const char *name, int64_t def, int64_t min, int64_t max);

/* A body that is one JSON object, the caller's. NULL: rp has a 400 that says what is wrong with it. */
struct json_t *read_object(const struct request *rq, struct reply *rp);
