/*
 * source.h: what a source of node names is: one const struct source_ops per kind.
 *
 * O1 on_list gets the whole list: settled (found.h), good until it returns. It comes when the list has changed (the
 * first one always comes), when looking begins to fail or fails for another reason, and when it works again; never from
 * inside source_open. O2 error: a sentence, and v is the last good list (n 0: there was none yet); nothing that was
 * known is lost because somebody does not answer. O3 Looking waits on the loop, never in it; only small local files are
 * read at once. What fails is tried again after 1 s, then twice as long each time up to a minute.
 * O4 on_list must not close its source.
 */
#pragma once

#include <event2/event.h>

#include "net/http.h"
#include "relay/found.h"

struct source;
typedef void source_list_fn(void *arg, struct source *s, const struct found *v, size_t n, const char *error);

struct source_conf {
    const char *what;                  /* what to look at, in the words of the kind: an address, a file, a name */
    const char *only;                  /* patterns with commas between; names that fit none are left out. NULL: all */
    const char *user;                  /* for nodes that come without; NULL: none */
    const char *token;                 /* consul: X-Consul-Token; http_sd: Authorization: Bearer. NULL: none */
    const char *ca_file, *pin, *proxy; /* as in http.h */
    const char *program;               /* sinfo; NULL: from PATH */
    int64_t every_ms;                  /* between looks; 0: the kind's own */
};

struct source_ops {
    const char *name;
    bool service_port; /* found.port is the announced service's, not sshd's */
    bool http;         /* it asks over HTTP: its open makes call and header, which need not be closed */
    int64_t every_ms;
    size_t size; /* of its struct, which begins with a struct source; it comes zeroed. 0: that alone */
    int (*open)(struct source *s, struct event_base *loop, struct http *http, const struct source_conf *conf,
                struct err *err);    /* NULL: nothing is to be done; -EINVAL: as if it had never been */
    void (*look)(struct source *s);  /* ends, now or later, in source_give or source_fail */
    void (*close)(struct source *s); /* what open made; NULL: nothing */
};
extern const struct source_ops source_consul, source_file_sd, source_http_sd, source_ssh_config, source_sinfo,
    source_dns_srv;
extern const struct source_ops *const sources[]; /* NULL-ended */

/* "consul:http://...", "file_sd:/etc/x.json": the kind, and what follows it in *ret. NULL: no kind is called so. */
const struct source_ops *source_kind(const char *spec, const char **ret);

/* http may be NULL for kinds that do not need it (-EINVAL then for the others). Copies what it keeps of conf. */
int source_open(struct source **ret, const struct source_ops *ops, struct event_base *loop, struct http *http,
                const struct source_conf *conf, source_list_fn *on_list, void *arg, struct err *err);
void source_close(struct source *s);

struct source {
    const struct source_ops *ops;
    source_list_fn *on_list;
    void *arg;
    char *what, *only, *user;
    int64_t every_ms;
    struct timer *timer; /* when it looks again */
    struct http_call *call;
    char *header; /* that lets it in; NULL: none */
    struct found_list last;
    bool given; /* last is an answer */
    unsigned failed;
    char error[320];
    char note[160]; /* beside a list that came: names that were left out, a token that sees only a part. "": nothing */
};

/* ---- for the kinds ---- */
/* Takes l; arms the next look. note: a sentence to stand beside it, or NULL. */
void source_give(struct source *s, struct found_list *l, const char *note);
void source_fail(struct source *s, const char *why); /* arms the next look */
/* One or the other: r below 0 with err's words, or the list. */
void source_end(struct source *s, struct found_list *l, int r, const struct err *err);
/* What an HTTP answer that is no list says, in one line. */
void source_http_fail(struct source *s, const struct http_result *r, const char *whom);
