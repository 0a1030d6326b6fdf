/*
 * compare.h: what W&B says of runs against what agents saw on the machines they name. W&B's GPU count and duration are
 * what a run says of itself; here it is joined to processes and jobs by host, person and time.
 *
 * C1 Hosts are the same when their names are, in any case of letters, or up to the first dot where one of them has no
 * more. C2 The person is W&B's user as people/ knows logins, where somebody of that name was seen or is told of; else
 * whoever held the most on that host meanwhile. C3 A GPU counts for one run at a time: runs of a person on a host share
 * what was held there by the GPUs they claim, and none gets more than it claims. C4 A run that claims more than its
 * person had on its host gets, beyond that, GPUs the same person held on other nodes and no run there claims: those are
 * the other nodes of a run of which only the first one logs. C5 The same input gives the same rows; work is bounded,
 * and it stops when told to.
 */
#pragma once

#include "report/runs.h"

enum claim_reason {
    WHY_AGREES,
    WHY_IDLE,       /* the GPUs were held and hardly worked */
    WHY_FEWER,      /* fewer GPUs than claimed */
    WHY_SHORTER,    /* held for a shorter time */
    WHY_SHARED,     /* other runs of the same person claim the same GPUs */
    WHY_NO_PROCESS, /* nobody held anything there then */
    WHY_OTHERS,     /* only others did */
    WHY_NO_HOST,    /* no node has that name, or none was told */
    WHY_COUNT
};
extern const char *const claim_why_words[WHY_COUNT]; /* "agrees", "idle", "fewer GPUs", ... */

/* One run of W&B within the days asked for. Text is borrowed. */
struct claim {
    const struct company *company;
    const char *team, *project, *id;
    const char *host, *user; /* NULL: not told */
    const char *person;      /* whose processes it was joined to; NULL: nobody's */
    int32_t gpus;
    int64_t from_ms, until_ms; /* of the whole run */
    int64_t claimed;           /* GPU-minutes */
    int64_t held_ms;           /* GPU-milliseconds of processes and jobs behind it: at most what it claims */
    int64_t measured_ms;       /* of held_ms: with a utilisation */
    int64_t busy_ms;           /* of measured_ms: utilisation times time */
    struct claim_work {
        int64_t ms, of_ms; /* GPU-milliseconds times work, and of how many of held_ms it is known; of_ms 0: of none */
    } work[WORK_KINDS];
    enum claim_reason why;
    int64_t page; /* the job of ours it was, for /run/ID; 0: none is known (pages.h) */
};

struct comparison {
    size_t n;
    struct claim *v; /* by company, team, project, run */
};

#define COMPARE_SHARES_MAX 8000000

/*
 * said: W&B's run-days (those that are ignored, of no company, of projects or days that do not count are left out, as
 * in the tables); seen: agents' runs with spans, as `ask` gave them; ask->history NULL: busy_ms and work stay 0. ret is
 * ended with comparison_fini; its text is of said, seen and the people.
 */
int compare_runs(const struct runs_query *ask, const struct runs *seen, const struct run_day *said, size_t n,
                 struct comparison *ret, struct err *err);
void comparison_fini(struct comparison *c);
