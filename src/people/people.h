/*
 * people.h: identity mapping. Logins on nodes belong to persons. Persons are in teams, projects and companies for a
 * period of days. Companies have nodes and a number of assigned nodes, which changes by day.
 *
 * N1 A struct people is immutable once built, so any thread may read it; a new one replaces it.
 * N2 A login without a mapping is a person of that name, in no group.
 * N3 Returned names live as long as the struct, or are the caller's own.
 * N4 Records store the login. The person is looked up on reading, so new settings also change past data.
 * N5 No logging, no blocking on a name service, no clock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct people;
struct people *people_empty(void);                 /* without any mapping; the caller unrefs it */
struct people *people_ref(const struct people *c); /* adds a reference; thread-safe; NULL returns NULL */
bool people_knows(const struct people *c);         /* false for an empty struct */
void people_unref(struct people *c);               /* the last unref frees it; accepts NULL */

/* ---- persons ---- */

/*
 * The person with this login (uid -1: unknown) on a node (name or key; NULL: any). Returns "" for logins to ignore,
 * such as root; an empty login stays "". Never NULL. All functions here accept NULL for an empty struct.
 */
const char *people_person(const struct people *c, const char *node, const char *login, int64_t uid);
/* Whether this login must be ignored. An empty login is unknown, which is different. */
bool people_ignored(const struct people *c, const char *node, const char *login, int64_t uid);

/* Data of a person besides the name; NULL if none. */
struct person {
    const char *name;                /* the unique name of this person: short, like a login */
    const char *full, *mail, *slack; /* "Kim Doe"; NULL: not set */
    const char *tell;                /* comma-separated rules to notify them about; "": none; NULL: all */
};
/* Whether to notify this person about findings of this rule. True for unknown persons. */
bool people_wants(const struct people *c, const char *person, const char *rule);
const struct person *people_find(const struct people *c, const char *person);
const struct person *people_persons(const struct people *c, size_t *n); /* persons in the settings, by name */

/* ---- groups ---- */

enum group_kind { GROUP_TEAM, GROUP_PROJECT, GROUP_COMPANY, GROUP_KINDS };
extern const char *const group_words[GROUP_KINDS]; /* "team", "project", "company" */

/*
 * Groups of this kind that the person was in at at_ms, by name: writes at most max names to ret and returns the total
 * number. A person is in a company as a member, or through one of its teams.
 */
size_t people_groups(const struct people *c, enum group_kind kind, const char *person, int64_t at_ms, const char **ret,
                     size_t max);
bool people_in(const struct people *c, enum group_kind kind, const char *group, const char *person, int64_t at_ms);
const char *const *people_group_names(const struct people *c, enum group_kind kind, size_t *n); /* all, by name */
/*
 * Time of the next change of any group after at_ms; the results are the same until then. INT64_MAX: no change. A sum
 * over months needs one lookup per period, not one per hour.
 */
int64_t people_next_change(const struct people *c, int64_t at_ms);
/* Unix groups named in sections, for the caller that reads them from the system. */
const char *const *people_unix_groups(const struct people *c, size_t *n);

/* ---- companies ---- */

struct company_step {
    int32_t day;   /* days since 1970-01-01: from this day on ... */
    int32_t nodes; /* ... this many nodes are assigned; 0 ends it */
};

struct company {
    const char *name;
    size_t n_teams;
    const char *const *teams; /* in configured order; may be W&B entities instead of teams */
    size_t n_steps;
    const struct company_step *steps; /* by day, each day once */
    int32_t gpus_per_node;            /* default: 8 */
    const char *ignore_project;       /* shell pattern of projects that do not count; NULL: none */
    const char *include_project;      /* only these count, and ignore_project is not used; NULL: all */
    bool world_size;                  /* `distributed_learning` of an old W&B configuration */
};
const struct company *people_companies(const struct people *c, size_t *n); /* by name; NULL if none */
const struct company *people_company(const struct people *c, const char *name);
/* The company a node belonged to at at_ms, by the patterns of its `nodes`; the first by name. NULL if none. */
const char *people_company_of_node(const struct people *c, const char *node, int64_t at_ms);

/* Tags of W&B runs that do not count: `ignore_tags` in the dashboard's config.yaml. */
const char *const *people_ignore_tags(const struct people *c, size_t *n);

/* Nodes assigned on a day: the last step on or before it; 0 before the first. */
int32_t company_nodes_on(const struct company *co, int32_t day);
/* Whether a project counts: matches include_project if set, else does not match ignore_project. */
bool company_counts(const struct company *co, const char *project);

/* Nodes assigned to a team, as to a company, to check whether they are used. */
struct allotment {
    const char *team;
    size_t n_steps;
    const struct company_step *steps; /* by day, each day once */
    int32_t gpus_per_node;            /* default: 8 */
};
const struct allotment *people_allotments(const struct people *c, size_t *n); /* by team; NULL if none */
int32_t allotment_nodes_on(const struct allotment *a, int32_t day);

/* First day with an assignment, and the day after the last (INT32_MAX: no end). Returns false without steps. */
bool company_period(const struct company *co, int32_t *first, int32_t *end);
