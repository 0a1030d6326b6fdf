/*
 * api.h: HTTP routes: parse, authorise, query, render. Knows requests and replies, not sockets: hub/ serves them, and
 * passes in what api must start but not know (taking a batch in, writing to the store).
 */
#ifndef API_API_H
#define API_API_H

#include "auth/auth.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/fact.h"

struct live;

enum method { METHOD_GET = 1, METHOD_POST = 2, METHOD_PUT = 4, METHOD_PATCH = 8, METHOD_DELETE = 16, METHOD_HEAD = 32 };

struct param {
    struct str name, value; /* decoded */
};

struct request {
    enum method method;
    struct str path; /* decoded, without the query */
    size_t n_query;
    struct param query[32];
    struct str body;
    struct str tail; /* what the route's trailing "*" or "{id}" matched */
    char peer[64];   /* address, after proxy rules */
    bool loopback, tls;
    struct str (*header)(const struct request *rq, const char *name); /* empty: absent */
    void *conn; /* the server's handle: pass it back for late replies and streams */
    /* who asks, settled before the handler runs */
    enum role role;
    struct token token; /* role != NONE through a token or cookie */
    int64_t now_ms;
};
struct str request_query(const struct request *rq, const char *name); /* empty: absent */
bool request_flag(const struct request *rq, const char *name);        /* present and not "false"/"0" */

enum reply_how {
    REPLY_NOW,    /* send status and body */
    REPLY_LATER,  /* the hub answers through rq->conn */
    REPLY_STREAM, /* server-sent events follow */
};
struct reply {
    int status;       /* 200 unless set */
    const char *type; /* NULL: application/json */
    struct buf body;
    char etag[48];
    char location[256], cookie[256], cache[64];
    char extra[64]; /* one more header line "Name: value", or empty */
    bool no_gzip;
};
/* RFC 9457 problem JSON with a sentence a person can act on. Returns REPLY_NOW. */
enum reply_how reply_problem(struct reply *rp, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* What hub/ lends. */
struct api {
    struct live *live;
    bool demo, show_cmd, read_open; /* reading without a token: on loopback always, elsewhere if read_open */
    const char *version, *name;     /* the cluster's name on screens */
    const char *agent_path;         /* the agent binary to hand out; NULL: none */
    void *hub;
    enum reply_how (*take_batches)(void *hub, struct request *rq, struct reply *rp);
    enum reply_how (*stream)(void *hub, struct request *rq, struct reply *rp);
    /* vesta senders */
    int (*vesta_register)(void *hub, struct request *rq, struct str host_name, char id[40], char name[NAME_MAX_LEN],
                          struct err *err);
    int (*vesta_update)(void *hub, struct request *rq, struct str id, struct err *err);
    const char *(*vesta_token)(void *hub); /* what senders must give; NULL: none configured, registering is refused */
    /* administration */
    int (*node_admin)(void *hub, const char *key_or_name, const char *rename, int retired, int maintenance,
                      struct err *err); /* -1: leave */
    int (*login)(void *hub, struct str token, int64_t now_ms, char cookie[256], struct token *ret, struct err *err);
    int (*events)(void *hub, const struct request *rq, struct buf *out, struct err *err); /* JSON array */
    bool (*ready)(void *hub, char why[160]);
};

struct route {
    int methods;
    const char *path; /* "/api/v1/state"; "/states/{host}/"; "{x}" matches one segment */
    enum role need;   /* ROLE_NONE: reading (open or any token, as configured); ROLE_AGENT: agent or enroll; ROLE_ADMIN:
                         admin; … */
    bool open;        /* no authorisation at all (healthz, install) */
    const char *summary;
    const char *params; /* "node: key or name; at: time", for openapi */
    size_t max_body;
    enum reply_how (*handle)(struct api *a, struct request *rq, struct reply *rp);
};
extern const struct route routes[]; /* ends with path NULL; the one table: openapi.json and docs loop over it */

/* Find, authorise, run. Never logs. */
enum reply_how api_handle(struct api *a, struct request *rq, struct reply *rp);
void reply_fini(struct reply *rp);

#endif
