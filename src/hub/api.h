/*
 * api.h: HTTP routes: parse, authorise, query, render. A route knows requests and replies, not sockets, and calls
 * what it asks by its name: the hub's own (hub.h) or its feature's.
 *
 * A1 Who may call what is a column of the route table and is settled before a body is read. A2 Reading is open if
 * configured, else it takes a reader's, member's or admin's token, from wherever one asks; where read_from names
 * addresses, reading takes one of those as well, never instead. Every write needs a token.
 * A3 A foreign Host is refused before anything else is looked at; a write with a foreign Origin too. A4 Nothing here
 * logs.
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

/* The token a connection sent last and its hash: agents send the same every second. A request's memo. */
struct token_memo {
    char text[64], id[20];
    uint8_t hash[32];
};

/* Who asks: settled by api_admit. */
struct asker {
    enum role role;
    struct token token; /* id empty: nobody, or a person the proxy names */
    bool by_cookie;
    bool looked;                 /* its token was not known, and was looked for in the store */
    bool may_read;               /* a request of the hub's own: whoever is behind it may read */
    const struct people *people; /* to know whom `mine` speaks of; the api's */
};

/* The filter a request asks for, the caller's; NULL: none. False: rp has a 400 that names the column. `mine` is the
 * token's person, or without one whom the parameter me names. */
bool request_filter(const struct request *rq, struct reply *rp, struct filter **ret);

/* The uuid of a GPU that is named by it or by NODE:N; one that is not known now stays as it is. False: rp has a 404,
 * for there is no such node, or it has no such GPU. (now/) */
bool device_named(const struct api *a, struct str word, struct reply *rp, struct str *ret);

/* False: this word, or one of several with commas between, names a node or a device of a hub that this one only
 * follows; rp has a 403 that says where to go instead. (now/) */
bool words_are_ours(const struct api *a, struct str words, struct reply *rp);

/*
 * A question about the past: it may take long, so the hub answers it beside its loop. Made by a route, with copies of
 * all it needs; run fills rp, and may neither touch api nor live.
 */
struct past_ask {
    void (*run)(struct past_ask *k, const struct past_source *past, struct reply *rp);
    void (*end)(struct past_ask *k); /* frees k; on the loop */
    int64_t limit_ms;                /* it is stopped then; 0: after half a minute */
    bool costly; /* seconds of a processor, as a picture: it has workers of its own, and each address one at a time */
    /* Set by settle (hub.h) instead of an answer: this makes it, on a worker again. */
    void (*then_run)(struct past_ask *k, const struct past_source *past, struct reply *rp);
};
/*
 * An answer about all nodes that is too long for one turn of the loop: the hub has it drawn piece by piece. Made by a
 * route, with copies of all it needs, for nodes come and go meanwhile. Each step finds what it wrote before still in
 * out, or, where that was sent already, an empty out.
 */
struct drawing {
    bool (*step)(struct drawing *d, struct api *a, size_t bytes); /* about so many more onto out; true: that is all */
    void (*end)(struct drawing *d);                               /* frees d */
    struct buf out;
    struct buf piece; /* of a stream: out, compressed (cache.h) */
};
/* An answer that could not be given: err's code (-ECANCELED: out of time) and sentence as a problem. */
void reply_failed(struct reply *rp, int code, const struct err *err);

/* What routes read of the hub, and the hub itself. Text is borrowed. */
struct api {
    struct live *live;
    struct cache *cache;
    struct answers *answers;      /* about history, kept; NULL: none are */
    struct roster *roster;        /* names of nodes, for questions about history */
    struct sources_said *sources; /* what relays say of theirs */
    struct people *people; /* who is who; NULL: nobody is told of. What runs on a worker takes a reference of its own */
    struct page_made {
        struct blob *blob; /* index.html as rendered for name; NULL: not yet */
        uint64_t name, hash;
    } pages[WEB_LANGUAGES];
    bool demo, show_cmd, read_open; /* read_open: reading takes no token */
    const char *version, *name;     /* the cluster's name on screens */
    const char *about;              /* a line for the page; NULL: none */
    const char *colours;            /* by whose limits the page colours; NULL: its own */
    const char *agent_path;         /* the agent binary to hand out; NULL: none */
    const char *pin;                /* of a certificate we made ourselves; NULL: none */
    const char *address;            /* where other machines reach it; NULL: not set */
    const char *own_name;           /* of this machine */
    const char *const *host_names;  /* patterns */
    size_t n_host_names;
    const char *proxy_header; /* the user's name, believed from these addresses; NULL: off */
    const char *const *proxies, *const *admins;
    size_t n_proxies, n_admins;
    const char *const *read_from; /* reading is for these addresses alone; n 0: for all */
    size_t n_read_from;
    uint32_t nonce;     /* of this start: versions count from 0 again after the next */
    int64_t watched_ms; /* when somebody last looked at the state: api_watched */
    struct scraping {   /* somebody asks for metrics again and again */
        int64_t last_ms, until_ms;
    } scraping;
    struct hub *hub;
    int vesta_page_hosts; /* how many a page=N has */
    enum time_form vesta_time_form;
    const char *vesta_table_title, *vesta_table_about; /* of its table page; about NULL: nothing */
    const char *vesta_token; /* what vesta's senders must give; NULL: none configured, they are refused */
    struct book *book;
    const struct zone *zone; /* of times that name none */
    /* What later features do for earlier ones; they register when they open. */
    bool (*who_asks)(struct api *a, struct request *rq, struct reply *rp); /* into rq->who; false: rp has a 401 */
    struct trail *(*audit)(struct api *a, const struct request *rq);       /* begins an entry of the audit log */
    enum reply_how (*get_state_at)(struct api *a, struct request *rq, struct reply *rp); /* the state with at= */
    enum reply_how (*get_spans)(struct api *a, struct request *rq, struct reply *rp);    /* processes with from= */
    enum reply_how (*get_states_past)(struct api *a, struct request *rq, struct reply *rp, const struct view *v);
};

#define API_WATCHED_MS  30000
#define API_SCRAPING_MS 120000
/* Somebody looked at the state lately. */
static inline bool api_watched(const struct api *a, int64_t now_ms)
{
    int64_t age_ms = now_ms - a->watched_ms;

    return age_ms >= 0 && age_ms < API_WATCHED_MS;
}
/* Metrics are asked for: who does so again is there for as long as two times of that, up to two minutes. */
static inline void api_scrape(struct scraping *s, int64_t now_ms)
{
    int64_t every_ms = now_ms - s->last_ms;

    if (every_ms > 0 && every_ms < API_SCRAPING_MS)
        s->until_ms = MAX(s->until_ms, now_ms + MIN(2 * every_ms, API_SCRAPING_MS)); /* there may be several */
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
    bool open;        /* no token asked for here (healthz, install, login; vesta's have their own) */
    bool any;         /* whoever asks, with any token or none; one that is given must be good */
    bool agents;      /* where a member may, an agent may too */
    bool write;       /* changes something: Origin is checked, and it is an entry of the audit log */
    bool no_audit;    /* a write that is no entry: machines' data, or one that changes nothing by itself */
    bool sites;       /* knows the nodes of followed hubs; else node, device and the path may not name one */
    const char *summary;
    const char *params; /* "node: key or name; at: time", for openapi; NULL: none */
    size_t max_body;
    bool (*gate)(struct api *a, struct request *rq, struct reply *rp); /* the path's own check, before a body is read */
    enum reply_how (*handle)(struct api *a, struct request *rq, struct reply *rp);
};
/* What every feature answers (feature.h), in the order of the list; NULL at the end. openapi.json and tests loop over
 * it. */
const struct route *const *routes_all(void);

/* Find the route, check Host and Origin, settle who asks and whether they may. True: go on; false: rp has the answer.
 */
bool api_admit(struct api *a, struct request *rq, struct reply *rp);
/* The same for a request of the hub's own in the name of somebody, whose role, token and may_read are set: there is no
 * Host, Origin or token to look at. */
bool api_admit_inside(struct api *a, struct request *rq, struct reply *rp);
/* Run what was admitted (api_admit is called here if it was not before). */
enum reply_how api_handle(struct api *a, struct request *rq, struct reply *rp);
