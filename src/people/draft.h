/*
 * draft.h: internal to people/: a struct people under construction, as lists that only grow, in input order.
 * Duplicates are merged or refused when the lists are sorted at the end: no list is searched while it grows.
 */
#pragma once

#include "parse/ytree.h"
#include "people/people_body.h"
#include "people/people_build.h"

#define GROUP_MAX 127 /* bytes of a group's name */

struct draft_rules {
    size_t n, cap;
    struct draft_rule {
        struct login_rule r;
        const struct ynode *at; /* NULL: not from a section */
        size_t order;
    } * v;
};

struct draft_group {
    const char *name;
    size_t n, cap;
    struct member *v;
};

struct draft_groups {
    size_t n, cap;
    struct draft_group *v;
};

struct draft_steps {
    size_t n, cap;
    struct company_step *v;
};

struct draft_allotment {
    struct allotment a;
    struct draft_steps steps;
};

struct draft_company {
    struct company co;
    size_t cap_teams;
    const char **teams;
    struct draft_steps steps;
    struct draft_group lands; /* patterns of nodes */
    const struct ynode *at;
    const struct ytree *tree;
};

struct draft {
    struct people *c; /* result */
    const struct people_src *src;
    struct ytree people, teams, projects, companies, wandb; /* kept until the end: the lists refer to them */
    size_t n_persons, cap_persons, n_companies, cap_companies, n_wanted, cap_wanted, n_tags, cap_tags, n_allotments,
        cap_allotments;
    struct person *persons;
    struct draft_rules logins, patterns, uids, aliases;
    struct draft_groups groups[GROUP_KINDS];
    struct draft_company *companies_told;
    struct draft_allotment *allotments;
    const char **wanted; /* Unix groups named in sections */
    const char **tags;   /* W&B tags of runs that do not count */
    struct err *err;
};

const char *draft_keep(struct draft *d, struct str s);         /* a copy with the lifetime of the people */
struct person *draft_person(struct draft *d, struct str name); /* valid until the next call */
struct draft_group *draft_group(struct draft *d, enum group_kind kind, const char *name); /* likewise */
void draft_join(struct draft_group *g, const char *name, int64_t from_ms, int64_t until_ms);
void draft_join_unix(struct draft *d, struct draft_group *g, const char *unix_group); /* as far as the group was read */
void draft_rule(struct draft_rules *r, const char *login, const char *node, const char *person, const struct ynode *at);

int draft_sections(struct draft *d); /* people_read.c */
int draft_aliases(struct draft *d, struct str text, const char *path);
