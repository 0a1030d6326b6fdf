/* match.c: compares the time of a run of W&B with that of jobs. */
#include "wandb/match.h"

#include <strings.h>

#include "base/mem.h"
#include "base/order.h"
#include "base/str.h"
#include "jobs/auto.h"

#define LEAST_MS 60000
#define MOSTLY   4 / 5 /* of the one and of the other: the same time */

static int64_t end_of(const struct match_params *ask, const struct job_fact *j)
{
    return j->end_ms ? j->end_ms : MAX(ask->now_ms, j->start_ms);
}

static int64_t both_ms(const struct match_params *ask, const struct job_fact *j)
{
    return MIN(end_of(ask, j), ask->until_ms) - MAX(j->start_ms, ask->from_ms);
}

static bool fits(const struct match_params *ask, const struct job_fact *j)
{
    bool ours = j->devices[0] && !auto_joined(j) && strcmp(j->owner, JOB_OWNER_WANDB) != 0;
    return ours &&
           both_ms(ask, j) >= MAX((ask->until_ms - ask->from_ms) / 2, MIN(LEAST_MS, ask->until_ms - ask->from_ms));
}

static bool same_time(const struct match_params *ask, const struct job_fact *j)
{
    int64_t both = both_ms(ask, j);
    return both >= (end_of(ask, j) - j->start_ms) * MOSTLY && both >= (ask->until_ms - ask->from_ms) * MOSTLY;
}

static bool is_its(const struct match_params *ask, const struct job_fact *j)
{
    const char *who = ask->person_of(ask->arg, j);
    return ask->person && ask->person[0] && who && strcasecmp(who, ask->person) == 0;
}

static bool has_as_many(const struct match_params *ask, const struct job_fact *j)
{
    int gpus = 1;
    for (const char *p = j->devices; *p; p++)
        gpus += *p == ',';
    return gpus == ask->gpus;
}

static bool is_better(const struct match_params *ask, const struct job_fact *j, const struct job_fact *than)
{
    bool x = has_as_many(ask, j), y = has_as_many(ask, than);
    int64_t more = both_ms(ask, j) - both_ms(ask, than);
    return more ? more > 0 : x != y ? x : j->id < than->id;
}

const struct job_fact *match_job(const struct match_params *ask, struct job_fact *const *jobs, size_t n)
{
    bool its = ANY(n, i, fits(ask, jobs[i]) && is_its(ask, jobs[i]));
    const struct job_fact *best = NULL;
    size_t first = FIRST(n, i, fits(ask, jobs[i]));
    bool several =
        !its && first < n && ANY(n, i, fits(ask, jobs[i]) && strcmp(jobs[i]->person, jobs[first]->person) != 0);
    for (size_t i = 0; i < n; i++) {
        const struct job_fact *j = jobs[i];
        if (!fits(ask, j) || (its && !is_its(ask, j)) || (several && !same_time(ask, j)))
            continue;
        if (several && best && strcmp(best->person, j->person) != 0)
            return NULL;
        best = !best || is_better(ask, j, best) ? j : best;
    }
    return best;
}

bool match_replaces(const struct match_params *ask, const struct job_fact *j, bool parts)
{
    return strcmp(j->kind, AUTO_KIND) == 0 && j->end_ms && !j->parent && !parts &&
           both_ms(ask, j) >= (j->end_ms - j->start_ms) * MOSTLY;
}
