/*
 * sites.h: nodes of other hubs that this one follows, beside its own in the live state.
 *
 * G1 Only screens see them: live_shown and live_any do, live_nodes, live_find and live_find_device do not. So nothing
 * is counted, told, booked or kept of them. G2 Each has its site before its name, its key and the uuids of its devices:
 * "munich/dgx1". G3 A site that does not answer is stale, not gone: its nodes stay, and say since when and why.
 */
#pragma once

#include "base/err.h"
#include "base/lookup.h"
#include "now/live.h"

#define SITES_MAX      64
#define SITE_NODES_MAX 50000 /* of one */

struct site {
    char name[SITE_NAME_MAX];
    char *url;       /* where people find its page */
    size_t n;        /* nodes */
    uint64_t list;   /* how many lists of its nodes have begun */
    int64_t away_ms; /* it does not answer since; 0: it does */
    char why[160];
};

struct site *site_open(struct live *l, const char *name, const char *url);
void site_close(struct live *l, struct site *s); /* its nodes go, too */
/* News of a node, named by G2; its contents are taken. False: there are too many, n is the caller's still. */
bool site_put(struct live *l, struct site *s, struct node_now *n);
void site_gone(struct live *l, const char *key);
void site_begin(struct site *s);               /* what is put from now on is a list of all it has; it answers */
void site_end(struct live *l, struct site *s); /* the list is complete: who is not on it is gone */
/* It does not answer. since_ms: when it last did. A word of both: G3. */
void site_away(struct live *l, struct site *s, int64_t since_ms, const char *why);

/* The site whose node or device this word names, by what stands before the first slash; NULL: none. */
const struct site *site_of(struct live *l, struct str word);
/* -EPERM, with a sentence that says where that is done instead, when it is a site's; 0: it is not. */
int site_refuse(struct live *l, struct str word, struct err *err);

/* live's own part; zero-initialise. */
struct guest;
struct sites {
    size_t n_sites, n, cap;
    struct site *v[SITES_MAX];
    struct guest **nodes; /* in no order */
    struct lookup by_key, by_name;
    bool unsorted;
};
struct node_now *sites_find(const struct sites *s, const char *key_or_name);
void sites_list(const struct sites *s, const struct node_now **to); /* n of them */
void sites_call(struct live *l);                                    /* what models are called is another now */
void sites_fini(struct live *l);
/* live.c's: */
struct sites *live_sites(struct live *l);
void live_guest_changed(struct live *l, struct node_now *n); /* NULL: one has gone */
void live_guest_call(const struct live *l, struct node_now *n);
