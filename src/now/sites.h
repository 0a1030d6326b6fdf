/*
 * sites.h: nodes of other hubs that this hub follows, in addition to its own in the live state.
 *
 * G1 Only screens see them: live_shown and live_any return them; live_nodes, live_find and live_find_device do not. So
 *    they are not counted, reported, booked or stored.
 * G2 The name, key and device uuids of each node start with its site: "munich/dgx1".
 * G3 A site that does not respond is stale: its nodes stay, with the reason and the time.
 */
#pragma once

#include "base/err.h"
#include "base/lookup.h"
#include "now/live.h"

#define SITES_MAX      64
#define SITE_NODES_MAX 50000 /* per site */

struct site {
    char name[SITE_NAME_MAX];
    char *url;       /* URL of its page */
    size_t n;        /* nodes */
    uint64_t list;   /* number of lists of its nodes started */
    int64_t away_ms; /* not responding since; 0: it responds */
    char why[160];
};

struct site *site_open(struct live *l, const char *name, const char *url);
void site_close(struct live *l, struct site *s); /* also removes its nodes */
/* Adds or updates a node, named by G2; takes ownership of its contents. Returns false if there are too many; the
 * caller keeps n then. */
bool site_put(struct live *l, struct site *s, struct node_now *n);
void site_removed(struct live *l, const char *key);
void site_begin(struct site *s);               /* starts a complete list; the site responds */
void site_end(struct live *l, struct site *s); /* list is complete: removes nodes not on it */
/* Marks the site as not responding (G3). since_ms: its last response. */
void site_away(struct live *l, struct site *s, int64_t since_ms, const char *why);

/* The site of the node or device named by this word, from the part before the first slash; NULL if none. */
const struct site *site_of(struct live *l, struct str word);
/* Returns -EPERM with a message in err that names the right hub if the word belongs to a site, else 0. */
int site_refuse(struct live *l, struct str word, struct err *err);

/* internal to live; initialise with zeros */
struct guest;
struct sites {
    size_t n_sites, n, cap;
    struct site *v[SITES_MAX];
    struct guest **nodes; /* in no order */
    struct lookup by_key, by_name;
    bool unsorted;
};
struct node_now *sites_find(const struct sites *s, const char *key_or_name);
void sites_list(const struct sites *s, const struct node_now **to); /* writes n nodes */
void sites_call(struct live *l);                                    /* applies changed model names */
void sites_fini(struct live *l);
/* live.c's: */
struct sites *live_sites(struct live *l);
void live_guest_changed(struct live *l, struct node_now *n); /* NULL: a node was removed */
void live_guest_call(const struct live *l, struct node_now *n);
