/*
 * report.h: what companies used of what was assigned to them: the tables of the W&B dashboard that lends nodes to
 * companies. Run-days, companies and dates in, tables out: nothing else is asked, so whoever has run-days (agents'
 * data, W&B) gets the same tables. docs/report.md says how each number is made and where the old ones differ.
 *
 * R1 Integers only: a number is rounded once, half away from zero, from the exact fraction. R2 A day counts for a
 * company when it lies in [from, to] and nodes are assigned on it; what ran on other days is in no table, and counted
 * as left out. R3 Hours above what was assigned are cut per day, before days are added up. R4 A company that was
 * assigned nodes has its rows whether anything ran or not. R5 What is not known is not 0: a row says how many of its
 * days were never pulled, and since when something could not be read.
 */
#pragma once

#include "base/err.h"
#include "people/people.h"

#define PERCENT_ONE 1000000000ll /* utilisation of a run-day counts 1e-9 % */

enum run_have { RUN_UTIL = 1, RUN_MEM = 2 };

/* What GPUs really did: GPU-hours times `work`, and times `tensor_active`. */
enum work_kind { WORK_EFFECTIVE, WORK_TENSOR, WORK_KINDS };

struct run_work {
    int64_t avg;     /* the mean, as utilisation */
    int64_t minutes; /* GPU-minutes of which there is one; 0: it is not known */
};

/* One run on one day. Text is borrowed. */
struct run_day {
    int32_t day;     /* days since 1970-01-01, in the zone of the report */
    int32_t minutes; /* of the day that it ran: run_minutes */
    int32_t gpus;    /* it had */
    unsigned have;   /* enum run_have: of the four below */
    int64_t util_avg, util_max, mem_avg, mem_max;
    struct run_work work[WORK_KINDS];
    const char *company;                        /* NULL: the one that has team */
    const char *team, *project, *run_id, *host; /* NULL: not known; run_id must be */
    bool ignored;              /* it has a tag that says it is not ours: counted in the summary alone */
    int64_t from_ms, until_ms; /* of the whole run: began, last heard of */
    uint64_t devices;          /* of its host, a bit each; 0: not known, taken for all */
    const char *user;          /* whose it is, as W&B says; NULL: not known */
    int32_t cpus;              /* it had, as W&B says; 0: not known */
};

/* How many of the instants from, from + 1 min, from + 2 min, ... <= until lie in [day_ms, next_ms): a run without
 * length has one, a run that spans the day has all of its minutes. */
int32_t run_minutes(int64_t from_ms, int64_t until_ms, int64_t day_ms, int64_t next_ms);

/* Days that are known of a team ("": of all), or on which one of its projects ("": any) could not be read. */
struct known_span {
    const char *team, *project;
    int32_t from, to;
};
struct known_spans {
    size_t n, cap;
    struct known_span *v;
};
struct known {
    bool told; /* else there is nothing to know */
    struct known_spans days, stale;
};

enum report_period { REPORT_DAILY, REPORT_WEEKLY, REPORT_MONTHLY, REPORT_OVERALL, REPORT_SUMMARY, REPORT_PERIODS };
#define REPORT_RUNS REPORT_PERIODS                         /* no table of these: W&B against agents, run by run */
extern const char *const report_words[REPORT_PERIODS + 2]; /* "daily", ..., "runs"; ends with NULL */

struct report_query {
    enum report_period period;
    const char *company;                            /* NULL: all */
    int32_t from, to;                               /* days, both counted */
    int week_start;                                 /* 0: Monday ... 6: Sunday, as base/zone.h has it */
    bool partial;                                   /* monthly: the month that is not over on `to`, too */
    int32_t (*day_minutes)(void *arg, int32_t day); /* how long a day is: other than 1440 twice a year; NULL: never */
    void *arg;
    const struct known *known; /* NULL: all days are */
};

/* Of the days of a row that have nodes: what is not known of them. */
struct report_gap {
    int32_t days;
    int32_t unknown;    /* what a team ran was never asked for, */
    int32_t stale_days; /* or something of it could not be read: each day is one of these at most */
    int32_t stale;      /* the day since when; 0: nothing */
};

struct work_hours {
    int64_t hours, of; /* GPU-hours times work, and of how many GPU-hours it is known; of 0: of none */
};

/* Units of 0.1 h and 0.1 % but where it says otherwise. */
struct report_row {
    const char *company;
    int32_t day;                                  /* the period begins; of overall: ask->from */
    int64_t total;                                /* used, at most what was assigned, day by day */
    int64_t rate;                                 /* total of assigned */
    int64_t util_avg, util_max, mem_avg, mem_max; /* 0 where nothing was measured: metrics is 0 then */
    int64_t runs;                                 /* distinct */
    int64_t nodes;                                /* daily: nodes; else node-days */
    int64_t assigned;
    int64_t uncapped;                   /* used */
    int64_t metrics;                    /* hours of runs with a utilisation */
    int64_t busy;                       /* of uncapped: utilisation times GPU-hours, where there is one */
    struct work_hours work[WORK_KINDS]; /* of uncapped */
    struct report_gap gap;
};

struct summary_row {
    const char *company, *project; /* project NULL: nothing ran */
    int64_t total;                 /* 0.01 GPU-hours */
    int64_t runs, master_runs /* with 9 GPUs or more */, overlap_runs, ignored_runs;
    struct report_gap gap;
};

struct report {
    enum report_period period;
    int32_t from, to;
    size_t n;
    struct report_row *rows;      /* company ascending, then newest first; NULL in a summary */
    struct summary_row *projects; /* company, then project, ascending; NULL but in a summary */
    bool month_left_out;          /* monthly: that of `to` is not over and not listed */
    /* GPU-minutes in [from, to] that are in no row */
    int64_t no_company;        /* no company has the run */
    int64_t unassigned;        /* its company had no nodes that day */
    int64_t not_counted;       /* a tag, or the company's patterns of projects, say so */
    const struct known *known; /* the question's */
};

#define REPORT_ROWS_MAX 2000000

/* Names in ret are borrowed from companies and runs. -E2BIG: more rows than REPORT_ROWS_MAX; -EINVAL: from is after to,
 * or no company is called so. */
int report_make(const struct report_query *ask, const struct company *companies, size_t n_companies,
                const struct run_day *runs, size_t n_runs, struct report *ret, struct err *err);
void report_fini(struct report *r);

/* The company of a run-day; NULL: none. companies in any order, the first that fits. */
const struct company *report_company(const struct company *companies, size_t n, const struct run_day *r);

/* Where the period of a day begins. */
int32_t report_week(int32_t day, int week_start);
int32_t report_month(int32_t day);
int32_t report_day_minutes(void *zone, int32_t day); /* for struct report_query; arg is the zone then */
