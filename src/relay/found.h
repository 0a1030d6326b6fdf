/*
 * found.h: nodes found by a source: a bounded list, and pure readers of the formats of sources.
 *
 * F1 A list has at most FOUND_MAX nodes and FOUND_TEXT_MAX bytes of names. A longer list is `full` and is not used at
 *    all.
 * F2 A name or address that no host can have is skipped and counted; the rest stays.
 * F3 A settled list is sorted by name and has each name once. Labels of duplicates are added to the first by address
 *    and port.
 */
#pragma once

#include "base/err.h"
#include "base/mem.h"
#include "model/labels.h"

#define FOUND_MAX      8192
#define FOUND_TEXT_MAX (64u << 20)

struct found {
    const char *name, *address; /* never empty; the same where the source knows no address */
    const char *user;           /* NULL if not given */
    int port;                   /* 0 if not given */
    char *labels;               /* model/labels.h; NULL if none; owned */
};

struct found_list {
    struct found *v;
    size_t n, cap;
    size_t skipped; /* F2 */
    bool full;      /* F1 */
    struct arena text;
};
#define AUTO_FOUND __attribute__((cleanup(found_list_fini))) struct found_list

/*
 * Returns NULL if the node was skipped; otherwise valid until the next add. address may be empty. port: 0 or below if
 * none.
 */
struct found *found_list_add(struct found_list *l, struct str name, struct str address, int64_t port);
void found_list_settle(struct found_list *l);
bool found_list_same(const struct found_list *a, const struct found_list *b); /* both settled */
void found_list_fini(struct found_list *l);

/* ---- readers: add nodes of a text to the list, unsettled. They return 0, or -EBADMSG with a message in err ---- */

/* /v1/catalog/service/NAME and /v1/health/service/NAME, whichever it is. */
int found_consul(struct found_list *l, struct str json, struct err *err);
/* Prometheus: [{"targets": ["host:port"], "labels": {...}}]; labels that start with __ are skipped. */
int found_sd_json(struct found_list *l, struct str json, struct err *err);
int found_sd_yaml(struct found_list *l, struct str yaml, struct err *err);
/* Lines of `sinfo -h -N -o "%N %G %t"`: nodes that have a gpu among their gres. */
int found_sinfo(struct found_list *l, struct str text, struct err *err);
/* The names of Host lines that are no patterns. include (may be NULL) is called for each word of an Include line. */
void found_ssh_config(struct found_list *l, struct str text, void (*include)(void *arg, struct str path), void *arg);
/* An unparsed DNS reply to an SRV query. Target "." means none. */
int found_srv(struct found_list *l, const uint8_t *answer, size_t n, struct err *err);
