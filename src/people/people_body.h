/*
 * people_body.h: internal to people/: the contents of a struct people. Everything is in its arena; lists are sorted
 * for searching.
 */
#pragma once

#include <stdatomic.h>

#include "base/mem.h"
#include "base/str.h"
#include "people/people.h"

#define PERSON_MAX 63 /* bytes of a person's name and of a login, as in process records */

/* Normalizes a name of aliases.csv: lower case, without '+'. Returns false if it is too long. */
bool alias_fold(struct str s, char out[PERSON_MAX + 1]);

/* A login, or a decimal uid, of a person; only on nodes of the pattern, if set. */
struct login_rule {
    const char *login; /* may be a pattern, in people.patterns */
    const char *node;  /* NULL: everywhere */
    const char *person;
};

struct rules {
    size_t n;
    struct login_rule *v; /* by login, those with a node first */
};

/* A membership in a group, or a node of a company, for a period. */
struct member {
    const char *name; /* a person; a pattern of nodes */
    int64_t from_ms, until_ms;
};

struct person_group {
    const char *name;
    size_t n;
    struct member *v; /* by name, then from_ms */
};

struct groups {
    size_t n;
    struct person_group *v; /* by name */
    const char **names;
};

struct people {
    atomic_uint refs;
    struct arena arena;
    size_t n_persons, n_companies, n_ignored, n_changes, n_wanted, n_tags, n_allotments;
    struct person *persons; /* by name */
    struct rules logins, patterns, uids, aliases;
    const char **ignored; /* patterns of logins */
    const char **wanted;  /* Unix groups that sections name, each once */
    const char **tags;    /* W&B tags of runs that do not count */
    struct groups groups[GROUP_KINDS];
    struct company *companies;    /* by name */
    struct allotment *allotments; /* by team */
    struct person_group *lands;   /* patterns of nodes, one group per company */
    int64_t *changes;             /* times of membership changes, ascending, unique */
};
