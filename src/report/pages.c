/* pages.c: finds the run of ours that a run of W&B was: on its host, at its time, of its person where several were. */
#include "report/pages.h"

#include "base/order.h"
#include "jobs/auto.h"

struct local_runs {
    const char *node, *person;
    int64_t id, from_ms, until_ms;
    bool wandb; /* made of a run of W&B: of that one, and no other's */
};

struct gathering {
    struct arena mem;
    struct local_runs *v;
    size_t n, cap;
    int64_t now_ms;
};

static void take_job(void *arg, const struct job_fact *j)
{
    struct gathering *g = arg;
    bool wandb = strcmp(j->owner, JOB_OWNER_WANDB) == 0;
    if ((j->parent && !wandb) || !j->node[0] || auto_joined(j))
        return;
    VEC_ADD(g->v, g->n, g->cap,
            (struct local_runs){arena_str(&g->mem, j->node), arena_str(&g->mem, j->person), j->id, j->start_ms,
                                j->end_ms ? j->end_ms : g->now_ms, wandb});
}

COMPARE(by_node, struct local_runs, strcmp(x->node, y->node) ?: ORDER(x->from_ms, y->from_ms) ?: ORDER(x->id, y->id))

bool pages_host(const char *a, const char *b)
{
    size_t x = strcspn(a, "."), y = strcspn(b, ".");
    return str_eq_nocase(str_of(a), b) || ((!a[x] || !b[y]) && x == y && strncasecmp(a, b, x) == 0);
}

static int64_t find_page(const struct gathering *g, const struct runs_query *ask, const struct claim *c,
                         const char *node)
{
    size_t first = COUNT_BEFORE(g->n, i, strcmp(g->v[i].node, node) < 0);
    int64_t best = 0, most_ms = 0, own = job_wandb_id(c->team, c->project, c->id);
    bool its = false;
    for (size_t i = first; i < g->n && strcmp(g->v[i].node, node) == 0; i++) {
        const struct local_runs *o = &g->v[i];
        if (o->id == own)
            return own;
        int64_t both = MIN(o->until_ms, c->until_ms) - MAX(o->from_ms, c->from_ms);
        bool same = c->person && strcmp(people_person(ask->people, node, o->person, -1), c->person) == 0;
        if (o->wandb || both <= 0 || (its && !same) || (its == same && both <= most_ms))
            continue;
        best = o->id;
        most_ms = both;
        its = same;
    }
    return best;
}

int claims_pages(const struct runs_query *ask, struct comparison *c, struct err *err)
{
    struct gathering g = {.now_ms = ask->now_ms};
    int64_t from_ms = INT64_MAX, to_ms = 0;
    for (size_t i = 0; i < c->n; i++) {
        from_ms = MIN(from_ms, c->v[i].from_ms);
        to_ms = MAX(to_ms, c->v[i].until_ms + 1);
    }
    struct job_query jobs = {.from_ms = from_ms,
                             .to_ms = to_ms,
                             .limit = RUNS_JOBS_MAX,
                             .stop = ask->past->stop,
                             .stop_arg = ask->past->stop_arg};
    int r = c->n ? past_each(ask->past, EACH_JOB(&jobs, take_job, &g), err) : 0;
    SORT(g.v, g.n, by_node);
    for (size_t i = 0; r >= 0 && i < c->n; i++) {
        const struct runs_node *n =
            c->v[i].host ? FIND(ask->nodes, ask->n_nodes, e, pages_host(e->name, c->v[i].host)) : NULL;
        c->v[i].page = n ? find_page(&g, ask, &c->v[i], n->key) : 0;
    }
    free(g.v);
    arena_fini(&g.mem);
    return MIN(r, 0);
}
