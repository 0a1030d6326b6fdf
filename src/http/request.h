/* request.h: one HTTP request as the server read it. The program owns the data about the client (who, memo). */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct asker;
struct json_t;
struct cached_request;
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
    char detail[100]; /* what the handler added: trail_add */
};

struct request {
    enum method method;
    struct str path; /* decoded, without the query */
    size_t n_query;
    struct param query[QUERY_MAX];
    struct str body;
    struct str tail; /* the part that matched "{x}" of the route */
    char peer[64];   /* address, after proxy rules */
    bool loopback;   /* from this machine, for texts only: it gives no rights */
    bool tls;
    const char *back; /* of a form: the page to redirect to when its write is durable; else NULL; never freed */
    struct str (*header)(const struct request *rq, const char *name);   /* empty: absent */
    size_t (*header_count)(const struct request *rq, const char *name); /* NULL: each at most once */
    void *conn; /* the server's handle, for late replies and streams */
    /* in place of conn: an internal request; late replies go here. Empties its reply. */
    void (*take)(void *arg, struct reply *rp);
    void *take_arg;
    int64_t now_ms; /* when its head arrived */
    /* owned by the program: */
    const struct route *route;   /* NULL: not matched yet */
    struct asker *who;           /* httpd_ops.who_size bytes, zeroed for each request */
    void *memo;                  /* httpd_ops.memo_size bytes, zeroed for each connection; NULL: none */
    struct trail *trail;         /* NULL: none. A late reply takes it over; in a parked copy it is the original
                                  * request's */
    struct cached_request *kept; /* a parked copy, with the record it waited for; NULL: the original */
};
/*
 * Parses method word and target ("/a%20b?c=d") into rq. Decoded text goes to scratch, which must be as long as the
 * target. Returns 0, or -EINVAL with a message in err: bad escapes, control characters, more than QUERY_MAX parameters.
 */
int request_target(struct request *rq, struct str target, char *scratch, struct err *err);
/* Parses a form's body (application/x-www-form-urlencoded): at most QUERY_MAX fields; scratch as long as the body.
 * Control characters become spaces. */
int request_form(struct str body, char *scratch, struct param ret[QUERY_MAX], size_t *ret_n, struct err *err);
/* Adds a word about what the request changes: one of ours, nothing that the client wrote. t may be NULL. */
void trail_add(struct trail *t, const char *word);
int method_of(struct str word);                                       /* enum method, or -1 */
struct str request_query(const struct request *rq, const char *name); /* empty: absent */
bool request_by_tls(const struct request *rq);                        /* to this server, or to a proxy in front */
bool request_flag(const struct request *rq, const char *name);        /* present and not "false"/"0" */
int64_t request_int(const struct request *rq, const char *name, int64_t def, int64_t min, int64_t max);

/* A body that is one JSON object; the caller frees it. NULL: rp has a 400 with the reason. */
struct json_t *read_object(const struct request *rq, struct reply *rp);
