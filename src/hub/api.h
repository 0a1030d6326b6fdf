/*
 * api.h: HTTP routes: parse, authorise, query, render. A route works on requests and replies, not sockets. It calls
 * functions of the hub (hub.h) and of its feature by name.
 *
 * A1 The route table says which roles may call a route. The hub checks this before it reads a body.
 * A2 Reading is open if configured. Otherwise it needs a token of a reader, member or admin, from any address. If
 *    read_from names addresses, reading also needs one of those, never instead. Every write needs a token.
 * A3 A foreign Host is refused before any other check; a write with a foreign Origin too.
 * A4 Nothing here logs.
 */
#pragma once

#include "http/reply.h"
#include "http/request.h"
#include "http/web.h"
#include "model/fact.h"
#include "model/now.h"
#include "model/token.h"

struct api;
struct people;
struct filter;
struct hub;
struct live;
struct past_source;
struct book;
struct view;
struct zone;

/* The last token that a connection sent, and its hash: agents send the same one every second. Stored per request. */
struct token_memo {
    char text[64], id[20];
    uint8_t hash[32];
};

/* The client's identity and rights: set by api_admit. */
struct asker {
    enum role role;
    struct token token; /* id empty: no token, or a user named by the proxy */
    bool by_cookie;
    bool looked;                 /* the token was not in memory and was fetched from the store */
    bool can_read;               /* an internal request: its user may read */
    const struct people *people; /* to resolve `mine`; owned by the api */
};

/* The filter parameter of a request, owned by the caller; NULL: none. False: rp has a 400 that names the column. `mine`
 * is the token's person, or without a token the person in the parameter me. */
bool request_filter(const struct request *rq, struct reply *rp, struct filter **ret);

/* The uuid of a GPU named by uuid or by NODE:N; an unknown uuid is returned as it is. False: rp has a 404, because
 * there is no such node or it has no such GPU. (now/) */
bool device_named(const struct api *a, struct str word, struct reply *rp, struct str *ret);

/* False: this word, or one word of a comma-separated list, names a node or device of a followed hub. rp then has a 403
 * with the hub to use instead. (now/) */
bool names_are_local(const struct api *a, struct str words, struct reply *rp);

/*
 * A query of the history. It may take long, so a worker thread runs it. The route makes it, with copies of all it
 * needs. run fills rp and must not use api or live.
 */
struct async_query {
    void (*run)(struct async_query *k, const struct past_source *past, struct reply *rp);
    void (*end)(struct async_query *k); /* frees k; on the loop */
    int64_t limit_ms;                   /* time limit; 0: half a minute */
    bool costly; /* seconds of CPU time, as for a picture: it has its own workers, and each address runs one at a
                  * time */
    /* Set by settle (hub.h) instead of a reply: a worker runs it to make the reply. */
    void (*then_run)(struct async_query *k, const struct past_source *past, struct reply *rp);
};
/*
 * A response about all nodes that is too long for one event loop iteration: the hub renders it in pieces. The route
 * makes it, with copies of all it needs, because nodes come and go meanwhile. Each step finds its earlier output in
 * out, or an empty out if that was already sent.
 */
struct render_job {
    bool (*step)(struct render_job *d, struct api *a, size_t bytes); /* appends about this many bytes to out; true:
                                                                      * complete */
    void (*end)(struct render_job *d);                               /* frees d */
    struct buf out;
    struct buf piece; /* of a stream: the compressed out (cache.h) */
};
/* Sets an error response from err's code (-ECANCELED: out of time) and message, as a problem document. */
void reply_failed(struct reply *rp, int code, const struct err *err);

/* The parts of the hub that routes read, and the hub itself. Text is borrowed. */
struct api {
    struct live *live;
    struct cache *cache;
    struct answers *answers;       /* cached responses about history; NULL: no cache */
    struct roster *roster;         /* names of nodes, for queries of history */
    struct source_status *sources; /* data from relays about their sources */
    struct people *people;         /* identity mapping; NULL: none. Code on a worker holds its own reference */
    struct page_made {
        struct blob *blob; /* index.html as rendered for name; NULL: not yet */
        uint64_t name, hash;
    } pages[WEB_LANGUAGES];
    bool demo, show_cmd, read_open; /* read_open: reading needs no token */
    const char *version, *name;     /* the cluster's name on screens */
    const char *about;              /* a line for the page; NULL: none */
    const char *colours;            /* source of the colour limits of the page; NULL: its own */
    const char *agent_path;         /* the agent binary to hand out; NULL: none */
    const char *pin;                /* of a certificate that the hub made; NULL: none */
    const char *address;            /* URL where other machines reach it; NULL: not set */
    const char *own_name;           /* of this machine */
    const char *const *host_names;  /* patterns */
    size_t n_host_names;
    const char *proxy_header; /* header with the user's name, trusted from these addresses only; NULL: off */
    const char *const *proxies, *const *admins;
    size_t n_proxies, n_admins;
    const char *const *read_from; /* only these addresses may read; n 0: all */
    size_t n_read_from;
    uint32_t nonce;     /* of this start: versions restart at 0 with the next */
    int64_t watched_ms; /* when a client last read the state: api_watched */
    struct scraping {   /* clients that poll the metrics */
        int64_t last_ms, until_ms;
    } scraping;
    struct hub *hub;
    int vesta_page_hosts; /* number of hosts on a page=N */
    enum time_form vesta_time_form;
    const char *vesta_table_title, *vesta_table_about; /* of its table page; about NULL: no text */
    const char *vesta_token; /* token that vesta's senders must send; NULL: none configured, they are refused */
    struct book *book;
    const struct zone *zone; /* of times without a zone */
    /* Functions that later features provide to earlier ones; they register them in open. */
    bool (*request_user_check)(struct api *a, struct request *rq,
                               struct reply *rp);                    /* sets rq->who; false: rp has a 401 */
    struct trail *(*audit)(struct api *a, const struct request *rq); /* starts an entry of the audit log */
    enum reply_mode (*get_state_at)(struct api *a, struct request *rq, struct reply *rp); /* the state with at= */
    enum reply_mode (*get_spans)(struct api *a, struct request *rq, struct reply *rp);    /* processes with from= */
    enum reply_mode (*get_states_past)(struct api *a, struct request *rq, struct reply *rp, const struct view *v);
};

#define API_WATCHED_MS  30000
#define API_SCRAPING_MS 120000
/* A client read the state in the last API_WATCHED_MS. */
static inline bool api_watched(const struct api *a, int64_t now_ms)
{
    int64_t age_ms = now_ms - a->watched_ms;

    return age_ms >= 0 && age_ms < API_WATCHED_MS;
}
/* Notes a request for metrics. A client that polls counts as present for two intervals, up to two minutes. */
static inline void api_scrape(struct scraping *s, int64_t now_ms)
{
    int64_t every_ms = now_ms - s->last_ms;

    if (every_ms > 0 && every_ms < API_SCRAPING_MS)
        s->until_ms = MAX(s->until_ms, now_ms + MIN(2 * every_ms, API_SCRAPING_MS)); /* there may be several clients */
    s->last_ms = now_ms;
}
static inline bool api_scraped(const struct scraping *s, int64_t now_ms)
{
    return now_ms >= s->last_ms && now_ms < s->until_ms;
}

struct route {
    int methods;
    const char *path; /* "/api/v1/state"; "/states/{host}/"; "{x}" matches one segment, "{x*}" several */
    enum role need;   /* NONE: reading; AGENT: agent or enroll; MEMBER: member or admin; ADMIN: admin */
    bool open;        /* needs no token here (healthz, install, login; vesta's routes have their own) */
    bool any;         /* open to all clients, with any token or none; a token that is sent must be valid */
    bool agents;      /* agents have the rights of members here */
    bool write;       /* changes state: Origin is checked, and the audit log gets an entry */
    bool no_audit;    /* a write without an audit entry: data of machines, or a call that changes nothing by itself */
    bool reads;       /* a write whose response has what readers see: read_from applies to it */
    bool sites;       /* accepts nodes of followed hubs; else node, device and the path may not name one */
    const char *summary;
    const char *params; /* "node: key or name; at: time", for openapi; NULL: none */
    size_t max_body;
    bool (*gate)(struct api *a, struct request *rq, struct reply *rp); /* the path's own check, before a body is read */
    enum reply_mode (*handle)(struct api *a, struct request *rq, struct reply *rp);
};
/* The routes of all features (feature.h), in the order of the list; NULL at the end. openapi.json and tests loop over
 * it. */
const struct route *const *routes_all(void);

/* Finds the route, checks Host and Origin, and authorises the client. True: continue; false: rp has the response. */
bool api_admit(struct api *a, struct request *rq, struct reply *rp);
/* The same for an internal request on behalf of a user, with role, token and can_read already set. It has no Host,
 * Origin or token to check. */
bool api_admit_inside(struct api *a, struct request *rq, struct reply *rp);
/* Runs an admitted request (calls api_admit if it was not called before). */
enum reply_mode api_handle(struct api *a, struct request *rq, struct reply *rp);
