/*
 * people.h: who is who. Logins on nodes are persons; persons are in teams, projects and companies, from a day to a day;
 * companies have nodes and a number of them assigned, which changes by the day.
 *
 * N1 A struct people never changes once it is built, so any thread may read it; a new one replaces it. N2 A login that
 * nothing is said about is a person of that name, in no group. N3 Names it returns live as long as it does, or are the
 * caller's own. N4 Records keep the login; a person is looked up when asked, so new settings change the past too. N5
 * Nothing here logs, blocks on a name service, or reads a clock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct people;
struct people *people_empty(void);                 /* knows nobody; the caller unrefs it */
struct people *people_ref(const struct people *c); /* one more owner, on any thread; NULL stays NULL */
bool people_knows(const struct people *c);         /* anything at all: false for an empty one */
void people_unref(struct people *c);               /* the last one frees it; accepts NULL */

/* ---- persons ---- */

/*
 * The person who logs in as `login` (uid -1: unknown) on a node (its name or its key; NULL: any). "": to be ignored, as
 * told of root and the like; an empty login stays "". Never NULL. Every function here takes NULL for an empty one.
 */
const char *people_person(const struct people *c, const char *node, const char *login, int64_t uid);
/* Is this login one that is to be ignored? An empty login is not known, which is something else. */
bool people_ignored(const struct people *c, const char *node, const char *login, int64_t uid);

/* What is known of a person beside the name; NULL where nothing is. */
struct person {
    const char *name;                /* the one name this person has here: a short one, as a login */
    const char *full, *mail, *slack; /* "Kim Doe"; NULL: not told */
    const char *tell;                /* of which rules they are told, commas between; "": of none; NULL: of all */
};
/* Is that person to be told of what this rule finds? Who is not known is. */
bool people_wants(const struct people *c, const char *person, const char *rule);
const struct person *people_find(const struct people *c, const char *person);
const struct person *people_persons(const struct people *c, size_t *n); /* those told of, by name */

/* ---- groups ---- */

enum group_kind { GROUP_TEAM, GROUP_PROJECT, GROUP_COMPANY, GROUP_KINDS };
extern const char *const group_words[GROUP_KINDS]; /* "team", "project", "company" */

/*
 * Groups of that kind the person was in at at_ms, by name: at most max names into ret, and how many there are. A
 * person is in a company through a team of it, or as a member of it.
 */
size_t people_groups(const struct people *c, enum group_kind kind, const char *person, int64_t at_ms, const char **ret,
                     size_t max);
bool people_in(const struct people *c, enum group_kind kind, const char *group, const char *person, int64_t at_ms);
const char *const *people_group_names(const struct people *c, enum group_kind kind, size_t *n); /* all, by name */
/*
 * When the groups of anybody change next after at_ms: between two answers they are the same. INT64_MAX: never again.
 * So a sum over months asks once per stretch, not once per hour.
 */
int64_t people_next_change(const struct people *c, int64_t at_ms);
/* Unix groups that sections name, for whoever asks the system for them. */
const char *const *people_unix_groups(const struct people *c, size_t *n);

/* ---- companies ---- */

struct company_step {
    int32_t day;   /* days since 1970-01-01: from this day on ... */
    int32_t nodes; /* ... this many nodes are assigned; 0 ends it */
};

struct company {
    const char *name;
    size_t n_teams;
    const char *const *teams; /* as told, in that order; need not be teams of ours (W&B entities) */
    size_t n_steps;
    const struct company_step *steps; /* by day, each day once */
    int32_t gpus_per_node;            /* 8 unless told */
    const char *ignore_project;       /* shell pattern of projects that do not count; NULL: none */
    const char *include_project;      /* only these count, and ignore_project is not asked; NULL: all */
    bool world_size;                  /* `distributed_learning` of an old W&B configuration */
};
const struct company *people_companies(const struct people *c, size_t *n); /* by name; NULL when there are none */
const struct company *people_company(const struct people *c, const char *name);
/* The company a node belonged to at at_ms, by the patterns of its `nodes`; the first by name. NULL: none. */
const char *people_company_of_node(const struct people *c, const char *node, int64_t at_ms);

/* Tags of W&B's runs that say a run is not ours, as the dashboard's config.yaml has them: `ignore_tags`. */
const char *const *people_ignore_tags(const struct people *c, size_t *n);

/* Nodes assigned on a day: the last step on or before it; 0 before the first. */
int32_t company_nodes_on(const struct company *co, int32_t day);
/* Do its patterns let a project count? include_project where there is one, else not ignore_project. NULL: none. */
bool company_counts(const struct company *co, const char *project);

/* What is assigned to a team: as to a company, for who wants to know whether it is used. */
struct allotment {
    const char *team;
    size_t n_steps;
    const struct company_step *steps; /* by day, each day once */
    int32_t gpus_per_node;            /* 8 unless told */
};
const struct allotment *people_allotments(const struct people *c, size_t *n); /* by team; NULL when there are none */
int32_t allotment_nodes_on(const struct allotment *a, int32_t day);

/* First day with an assignment, and the day after the last (INT32_MAX: it goes on). False: there is no step. */
bool company_period(const struct company *co, int32_t *first, int32_t *end);
