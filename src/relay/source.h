/*
 * source.h: a source of node names: one const struct source_ops per kind.
 *
 * O1 on_list gets the whole list: settled (found.h), valid during the call. It is called when the list has changed
 *    (always for the first list), and when a lookup starts to fail, fails for another reason, or works again. It is
 *    never called from inside source_open.
 * O2 error: a message; v is then the last good list (n 0 if none). No node is lost because a source does not respond.
 * O3 A lookup never blocks the loop; only small local files are read synchronously. A failed lookup is retried after 1
 *    s, then with doubled delays up to a minute.
 * O4 on_list must not close its source.
 */
#pragma once

#include <event2/event.h>

#include "net/http.h"
#include "relay/found.h"

struct source;
typedef void source_list_fn(void *arg, struct source *s, const struct found *v, size_t n, const char *error);

struct source_conf {
    const char *what;                  /* where to look, depending on the kind: an address, a file, a name */
    const char *only;                  /* comma-separated patterns; names that match none are skipped. NULL: all */
    const char *user;                  /* for nodes without a user; NULL if none */
    const char *token;                 /* consul: X-Consul-Token; http_sd: Authorization: Bearer. NULL if none */
    const char *ca_file, *pin, *proxy; /* as in http.h */
    const char *program;               /* sinfo; NULL: from PATH */
    int64_t every_ms;                  /* interval of lookups; 0: the kind's default */
};

struct source_ops {
    const char *name;
    bool service_port; /* found.port is the announced service's, not sshd's */
    bool http;         /* it uses HTTP: its open makes call and header, which need not be closed */
    int64_t every_ms;
    size_t size; /* of its struct, which starts with a struct source and is zeroed; 0: only that */
    int (*open)(struct source *s, struct event_base *loop, struct http *http, const struct source_conf *conf,
                struct err *err);    /* NULL if there is nothing to do; -EINVAL undoes source_open */
    void (*look)(struct source *s);  /* ends, now or later, with source_give or source_fail */
    void (*close)(struct source *s); /* closes what open made; NULL if nothing */
};
extern const struct source_ops source_consul, source_file_sd, source_http_sd, source_ssh_config, source_sinfo,
    source_dns_srv;
extern const struct source_ops *const sources[]; /* NULL-terminated */

/*
 * Parses "consul:http://...", "file_sd:/etc/x.json": returns the kind, and the rest in *ret. NULL if there is no such
 * kind.
 */
const struct source_ops *source_kind(const char *spec, const char **ret);

/* http may be NULL for kinds that do not need it (the others return -EINVAL then). Copies what it needs of conf. */
int source_open(struct source **ret, const struct source_ops *ops, struct event_base *loop, struct http *http,
                const struct source_conf *conf, source_list_fn *on_list, void *arg, struct err *err);
void source_close(struct source *s);

struct source {
    const struct source_ops *ops;
    source_list_fn *on_list;
    void *arg;
    char *what, *only, *user;
    int64_t every_ms;
    struct timer *timer; /* for the next lookup */
    struct http_call *call;
    char *header; /* for authentication; NULL if none */
    struct found_list last;
    bool given; /* last is valid */
    unsigned failed;
    char error[320];
    char note[160]; /* note for a received list: names were skipped, a token sees only a part. "" if none */
};

/* ---- for the kinds ---- */
/* Takes ownership of l; schedules the next lookup. note: a message to show with the list, or NULL. */
void source_give(struct source *s, struct found_list *l, const char *note);
void source_fail(struct source *s, const char *why); /* schedules the next lookup */
/* Calls source_fail with err's message if r is below 0, else source_give. */
void source_end(struct source *s, struct found_list *l, int r, const struct err *err);
/* Fails with an HTTP reply that is not a list, as one line. */
void source_http_fail(struct source *s, const struct http_result *r, const char *whom);
