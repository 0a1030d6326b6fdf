/*
 * logged.h: a run of our own at W&B: it starts, has files and tables, and ends. Pure, like artifact.h. Each part is an
 * errand, and the caller runs them in this order: begin; files, and the artifacts of tables; finish; tag.
 *
 * G1 The id is derived from the run's name and content: the same tables are always the same run, and a retry continues
 *    the run of the first try.
 * G2 A run gets the tag of the newest only when it is complete.
 */
#pragma once

#include "wandb_push/artifact.h"
#include "wandb_push/tables.h"

#define LOGGED_ID 8

struct logged {
    /* set by the caller, borrowed */
    const char *entity, *project;
    const char *name, *job_type; /* "Tables_2026-11-14", "update-table" */
    const char *tag;             /* NULL if none */
    const char *latest;          /* the tag that logged_tag adds */
    const struct table_set *set; /* NULL: it has no tables */
    const char *config;          /* JSON as W&B has it: {"end":{"value":"2026-11-14"}} */
    const char *salt;            /* of the id; NULL if none */
    int64_t at_ms;               /* when it is logged */

    /* found out */
    char id[LOGGED_ID + 1];
    char *storage_id; /* after its start */
    bool there;       /* set by the caller if it has the tag of the newest: it is complete */
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

struct wandb_job logged_begin(struct logged *l);
struct wandb_job logged_files(struct logged *l); /* the run's own copies of its tables */
struct wandb_job logged_finish(struct logged *l);
struct wandb_job logged_tag(struct logged *l);
/* The artifact errands of l->artifacts[0 .. l->set->n) run between begin and finish. */
