/*
 * ytree.h: YAML text as a tree, each value with its place in the text. Bounded: 1 MiB of text, YTREE_DEPTH levels,
 * YTREE_NODES values, no anchors, aliases or tags, one document. In muster only: the lean agent does without.
 */
#pragma once

#include "base/err.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/str.h"

#define YTREE_TEXT  (1u << 20)
#define YTREE_DEPTH 8
#define YTREE_NODES 200000

enum ynode_kind { YNODE_TEXT, YNODE_LIST, YNODE_MAP };

struct ynode {
    enum ynode_kind kind;
    bool null;             /* a text: written as nothing, ~ or null */
    uint32_t line, column; /* from 1 */
    size_t from, to;       /* its place in the text, in bytes; may end with spaces and comments */
    struct str text;
    size_t n;                     /* of a list or a map */
    const struct ynode *keys, *v; /* a map's keys, and the values of a map or a list */
};

struct ytree {
    struct arena arena;
    const struct ynode *root; /* NULL if there are only comments */
    const char *path;         /* the caller's: name of the text in errors */
};
#define AUTO_YTREE __attribute__((cleanup(ytree_fini))) struct ytree

struct ytree_params {
    const char *path;
    uint32_t line; /* the number of the text's first line, less one */
    /* keep only these keys of the outermost map, and skip all others; NULL: all */
    const char *const *only; /* NULL-terminated */
};
/* Returns 0, or -EINVAL or -EMSGSIZE with "path:line:column: message". Free ret with ytree_fini() in all cases. */
int ytree_read(struct str text, const struct ytree_params *ask, struct ytree *ret, struct err *err);
/*
 * The same for a section of muster.yaml; without a section there is no root. what: a description of the expected map,
 * used as "expected <what>" with -EINVAL; NULL: any kind of value.
 */
int ytree_section(const struct opt_section *s, const char *what, struct ytree *ret, struct err *err);
void ytree_fini(struct ytree *t);

/* Returns -EINVAL with "path:line:column: " before the message. */
int ytree_fail(const struct ytree *t, const struct ynode *at, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The same for callers with a struct that has the tree as t and the error as err. */
#define yfail(rd, at, ...) ytree_fail((rd)->t, at, (rd)->err, __VA_ARGS__)
const struct ynode *ynode_get(const struct ynode *map, const char *key); /* NULL: not there, or no map */
