/*
 * tables.h: the report's tables in the format of W&B: the tables of each run, their keys, and the JSON of each. Pure:
 * run-days in, tables out.
 *
 * T1 Keys, headings, order of rows and rounding are the old tool's (docs/wandb.md).
 * T2 The same run-days make the same bytes.
 * T3 Numbers are exact decimals; hours and percents always have a decimal, like a Python float.
 */
#pragma once

#include "base/buf.h"
#include "report/report.h"
#include "report/report_rows.h"
#include "wandb_pull/config.h"

#define TABLE_ROWS_MAX  200000 /* W&B shows no more of an artifact ... */
#define TABLE_MEDIA_MAX 10000  /* ... nor of the run's copy: that one is cut */
#define TABLES_MAX      8      /* of a run */
#define TABLES_WEEK     6      /* weeks start on Sunday */
#define TABLES_WEEKS    4      /* of a short weekly table */
#define TABLES_OVERALL  "overall"

struct table {
    const char *key;  /* "company_daily_gpu_usage" */
    struct buf file;  /* <key>.table.json of the artifact */
    struct buf media; /* of the run's own files */
    size_t n_cols, n_rows;
};

/* The tables of one run. */
struct table_set {
    const char *tag; /* "overall", or the company's name (borrowed) */
    size_t n;
    struct table v[TABLES_MAX];
    bool warning; /* some tables are empty, and the run has a warning */
};

struct tables {
    size_t n;
    struct table_set *sets; /* overall first, then companies by name */
};

struct tables_params {
    const struct company *companies;
    size_t n_companies;
    const struct run_day *runs;
    size_t n_runs;
    int32_t from,
        to; /* the days pushed: companies without nodes on all of them are left out of the companies' tables */
    int32_t (*day_minutes)(void *arg, int32_t day); /* as in struct report_query */
    void *arg;
    const struct known *known;   /* as in struct report_query */
    bool partial;                /* monthly: the month that is not over, too */
    bool last_week;              /* summaries are of the last week that is over, not of that of the last day */
    const struct cpu_lent *cpus; /* as in struct wandb_config */
    size_t n_cpus;
};
/* Tables reach back to the first day any company had nodes. -E2BIG as report_make, or a table has too many rows. */
int tables_make(const struct tables_params *ask, struct tables *ret, struct err *err);
void tables_fini(struct tables *t);

/* Nodes are assigned on some day of [from, to]. */
bool tables_active(const struct company *co, int32_t from, int32_t to);
/* The last day up to `to` on which it has nodes. INT32_MIN if it never has. */
int32_t tables_last_day(const struct company *co, int32_t to);

/* One table of the first rows (0: of all). rows NULL: an empty one with the one column "column". */
int tables_write(const char *key, const struct rows *rows, size_t first, struct table *ret, struct err *err);
void table_fini(struct table *t);
