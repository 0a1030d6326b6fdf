/*
 * found.h: nodes that a source of names found: a bounded list, and the pure readers of what sources say.
 *
 * F1 A list has at most FOUND_MAX nodes and FOUND_TEXT_MAX bytes of names; past that it is `full` and no answer at all.
 * F2 A name or address that no host can have is left out and counted, and the rest stays. F3 Settled, a list is sorted
 * by name and has each name once; labels of its other mentions are added to the first by address and port.
 */
#pragma once

#include "base/err.h"
#include "base/mem.h"
#include "model/labels.h"

#define FOUND_MAX      8192
#define FOUND_TEXT_MAX (64u << 20)

struct found {
    const char *name, *address; /* never empty; the same where the source knows no address */
    const char *user;           /* NULL: not said */
    int port;                   /* 0: not said */
    char *labels;               /* model/labels.h; NULL: none; owned */
};

struct found_list {
    struct found *v;
    size_t n, cap;
    size_t skipped; /* F2 */
    bool full;      /* F1 */
    struct arena text;
};
#define AUTO_FOUND __attribute__((cleanup(found_list_fini))) struct found_list

/* NULL: left out. What is returned is good until the next add. address may be empty. port: 0 or below is none. */
struct found *found_list_add(struct found_list *l, struct str name, struct str address, int64_t port);
void found_list_settle(struct found_list *l);
bool found_list_same(const struct found_list *a, const struct found_list *b); /* both settled */
void found_list_fini(struct found_list *l);

/* ---- readers: text of others -> list (added to, not settled). 0, or -EBADMSG with a sentence ---- */

/* /v1/catalog/service/NAME and /v1/health/service/NAME, whichever it is. */
int found_consul(struct found_list *l, struct str json, struct err *err);
/* Prometheus: [{"targets": ["host:port"], "labels": {...}}]; labels that begin with __ are left out. */
int found_sd_json(struct found_list *l, struct str json, struct err *err);
int found_sd_yaml(struct found_list *l, struct str yaml, struct err *err);
/* Lines of `sinfo -h -N -o "%N %G %t"`: nodes that have a gpu among their gres. */
int found_sinfo(struct found_list *l, struct str text, struct err *err);
/* The names of Host lines that are no patterns. include (may be NULL) is called for each word of an Include line. */
void found_ssh_config(struct found_list *l, struct str text, void (*include)(void *arg, struct str path), void *arg);
/* A DNS answer to a question for SRV records, as it came. Target "." is none. */
int found_srv(struct found_list *l, const uint8_t *answer, size_t n, struct err *err);
