/*
 * logged.h: a run of our own at W&B: it begins, has files and tables, and ends. Pure, as artifact.h is: each part is an
 * errand, and whoever runs them keeps the order: begin; files, and the artifacts of tables; finish; tag.
 *
 * G1 The id follows from what the run is called and has, so the same tables are the same run however often they are
 * pushed, and a second try goes on with the run of the first. G2 A run has the tag of the newest only when all of it is
 * there.
 */
#pragma once

#include "wandb_push/artifact.h"
#include "wandb_push/tables.h"

#define LOGGED_ID 8

struct logged {
    /* told, and borrowed */
    const char *entity, *project;
    const char *name, *job_type; /* "Tables_2026-11-14", "update-table" */
    const char *tag;             /* NULL: none */
    const char *latest;          /* the tag that logged_tag adds */
    const struct table_set *set; /* NULL: it has no tables */
    const char *config;          /* JSON as W&B has it: {"end":{"value":"2026-11-14"}} */
    const char *salt;            /* of the id; NULL: none */
    int64_t at_ms;               /* when it is logged */

    /* found out */
    char id[LOGGED_ID + 1];
    char *storage_id; /* after it began */
    bool there;       /* set by whoever found it with the tag of the newest: all of it is there */
    struct artifact artifacts[TABLES_MAX];
    char *names[TABLES_MAX]; /* of these, and of their files */
    char *files[TABLES_MAX];
    char *paths[TABLES_MAX]; /* of the run's own files */
    char *sums[TABLES_MAX];  /* SHA-256 of these */
    char *urls[TABLES_MAX], **headers;
    size_t at;    /* step of the errand that runs */
    bool tagging; /* that of logged_tag */
    struct buf text, path;
};

void logged_init(struct logged *l);
void logged_fini(struct logged *l);
#define AUTO_LOGGED __attribute__((cleanup(logged_fini))) struct logged

struct errand logged_begin(struct logged *l);
struct errand logged_files(struct logged *l); /* the run's own copies of its tables */
struct errand logged_finish(struct logged *l);
struct errand logged_tag(struct logged *l);
/* With the artifact errands of l->artifacts[0 .. l->set->n) between begin and finish. */
