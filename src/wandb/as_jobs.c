/* as_jobs.c: a worker reads the pulled runs and the jobs of each run's node; the loop puts the resulting jobs. */
#include "wandb/as_jobs.h"

#include <errno.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/lookup.h"
#include "base/order.h"
#include "base/rand.h"
#include "base/workers.h"
#include "hub/peer_hubs.h"
#include "hub/record_fetch.h"
#include "jobs/auto.h"
#include "now/live.h"
#include "people/people.h"
#include "report/pages.h"
#include "wandb/match.h"
#include "wandb/store.h"

#define LOOK_MS    300000  /* interval of the check for new pulls */
#define AGAIN_MS   3600000 /* retry interval for runs without a match */
#define LOGGED_MS  (35 * DAY_MS)
#define RECENT_MS  (2 * DAY_MS)
#define RUNS_MOST  100000
#define READ_LIMIT 60000
#define CHUNK      32 /* runs whose nodes' jobs are read in one batch */
#define JOBS_MOST  1000
#define LEADS_MOST 8
#define PAGES      "https://wandb.ai"
#define API        "https://api.wandb.ai"

struct claimed { /* a run of W&B on a node of ours; text is the pass's */
    const char *team, *project, *id, *name, *host, *user, *state;
    int64_t from_ms, until_ms;
    int32_t gpus;
    size_t node;
};
struct place { /* a node */
    const char *key, *name;
};
struct found {
    struct job_fact *job, *old;    /* the new state (NULL: nothing to put), and the stored one (NULL if none) */
    int64_t replaces, replaced_ms; /* the run that it replaces, and when that started */
};
struct ingest_request { /* an unlabelled run that was replaced in this pass */
    int64_t run, by;
};

struct pass {
    struct work_job job; /* first */
    struct chunk {
        struct record_fetch read; /* first */
        struct pass *p;
    } chunk;
    struct wandb_jobs *x;
    char base[256];
    int64_t now_ms;
    struct people *people;
    struct arena mem;
    struct place *places;
    struct claimed *v;
    struct ingest_request *taken; /* the store may not return it yet */
    struct lookup by_run;         /* indexes into taken */
    size_t n_places, cap_places, n, cap, n_taken, cap_taken, at, n_now;
    uint64_t seen;
    struct err err;
    int code;
    struct found found[CHUNK];
};

struct wandb_jobs {
    struct hub *h;
    struct pass *pass;
    int64_t looked_ms, done_ms; /* monotonic */
    uint64_t seen;              /* state of the pulled runs when all of them were checked */
    bool failed;
};

/* ---- pulled runs, on a worker ---- */

static uint64_t mix(uint64_t seen, const void *p, size_t n)
{
    return seen * 31 + fnv64(p, n);
}

static int take_run(void *arg, const struct wandb_run *r)
{
    struct pass *p = arg;
    size_t node = FIRST(p->n_places, i, pages_host(p->places[i].name, r->host));
    int64_t until_ms = MAX(r->heartbeat_ms, r->created_ms + MINUTE_MS);
    if (node == p->n_places || r->created_ms <= 0 || p->n == RUNS_MOST)
        return 0;
    p->seen = mix(p->seen, r->id, strlen(r->id));
    p->seen = mix(p->seen, r->state, strlen(r->state));
    p->seen = mix(p->seen, &until_ms, sizeof(until_ms));
    struct claimed c = {arena_str(&p->mem, r->team),
                        arena_str(&p->mem, r->project),
                        arena_str(&p->mem, r->id),
                        arena_str(&p->mem, r->display[0] ? r->display : r->id),
                        arena_str(&p->mem, r->host),
                        arena_str(&p->mem, r->user),
                        arena_str(&p->mem, r->state),
                        r->created_ms,
                        until_ms,
                        r->gpus,
                        node};
    VEC_ADD(p->v, p->n, p->cap, c);
    return 0;
}

static void gather(struct work_job *j)
{
    struct pass *p = (struct pass *)j;
    AUTO_WANDB_STORE *s = NULL;
    int64_t r = wandb_store_open(&s, p->x->h->place, false, &p->err);
    if (r == 0)
        r = wandb_logged_each(s, p->now_ms - LOGGED_MS, take_run, p, &p->err);
    p->code = r == -ENOENT ? 0 : (int)MIN(r, 0);
}

/* ---- the jobs of their nodes, on the record reader's thread ---- */

struct node_jobs {
    struct job_fact *v[JOBS_MOST];
    size_t n;
};

static void take_job(void *arg, const struct job_fact *j)
{
    struct node_jobs *f = arg;
    if (f->n < JOBS_MOST)
        f->v[f->n++] = job_copy(j);
}

static void free_jobs(struct node_jobs *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->v[i]);
    f->n = 0;
}

static const char *person_of(void *arg, const struct job_fact *j)
{
    const struct pass *p = arg;
    return j->person[0] ? people_person(p->people, j->node, j->person, -1) : NULL;
}

static char *attrs_of(const struct pass *p, const struct claimed *c)
{
    AUTO_BUF out = BUF_INIT(JOB_ATTRS_MAX), path = BUF_INIT(1024), url = BUF_INIT(2048);
    struct json j = json_on(&out);
    buf_addf(&path, "%s/%s/%s", c->team, c->project, c->id);
    buf_addf(&url, "%s/%s/%s/runs/%s", p->base, c->team, c->project, c->id);
    json_obj(&j, NULL);
    json_cstr(&j, "wandb", path.p);
    if (!url.err)
        json_cstr(&j, "url", url.p);
    json_some(&j, "state", c->state);
    json_end_obj(&j);
    return mem_str(out.err ? "" : out.p);
}

static int has_parts(struct store *s, const struct job_fact *j, bool *ret, struct err *err)
{
    struct node_jobs f = {0};
    int r = store_each(s, EACH_JOB(&((struct job_query){.parent = j->id, .kind = AUTO_KIND, .limit = 1}), take_job, &f),
                       err);
    *ret = f.n > 0;
    free_jobs(&f);
    return MIN(r, 0);
}

static const struct ingest_request *find_taken(const struct pass *p, int64_t run)
{
    size_t at = 0;
    for (size_t i; (i = lookup_next_place(&p->by_run, (uint64_t)run, &at)) != SIZE_MAX;)
        if (p->taken[i].run == run)
            return &p->taken[i];
    return NULL;
}

static void note_taken(struct pass *p, int64_t run, int64_t by)
{
    lookup_add_place(&p->by_run, (uint64_t)run, p->n_taken);
    VEC_ADD(p->taken, p->n_taken, p->cap_taken, (struct ingest_request){run, by});
}

static int make_job(struct pass *p, const struct claimed *c, struct store *s, struct found *to, struct err *err)
{
    struct match_params ask = {.from_ms = c->from_ms,
                               .until_ms = c->until_ms,
                               .now_ms = p->now_ms,
                               .gpus = c->gpus,
                               .person =
                                   c->user[0] ? people_person(p->people, p->places[c->node].key, c->user, -1) : NULL,
                               .person_of = person_of,
                               .arg = p};
    AUTO_FREE struct node_jobs *f = mem_zero(1, sizeof(*f));
    struct job_query jobs = {.from_ms = c->from_ms,
                             .to_ms = c->until_ms,
                             .node = p->places[c->node].key,
                             .limit = JOBS_MOST};
    if (ask.person && !ask.person[0])
        ask.person = c->user;
    int r = store_each(s, EACH_JOB(&jobs, take_job, f), err);
    const struct job_fact *m = r >= 0 ? match_job(&ask, f->v, f->n) : NULL;
    bool parts = false;
    if (m && strcmp(m->kind, AUTO_KIND) == 0 && m->end_ms)
        r = has_parts(s, m, &parts, err);
    if (m && r >= 0) {
        const struct ingest_request *t = find_taken(p, m->id);
        bool alone = !t && match_replaces(&ask, m, parts);
        struct job_fact j = *m;
        AUTO_FREE char *attrs = attrs_of(p, c);
        j.id = job_wandb_id(c->team, c->project, c->id);
        j.parent = alone ? 0 : t ? t->by : m->parent ? m->parent : m->id;
        j.start_ms = c->from_ms;
        j.end_ms = c->until_ms;
        j.name = c->name;
        j.kind = JOB_OWNER_WANDB;
        j.owner = JOB_OWNER_WANDB;
        j.attrs = attrs;
        to->job = job_copy(&j);
        to->replaces = alone ? m->id : 0;
        to->replaced_ms = m->start_ms;
        if (alone)
            note_taken(p, m->id, j.id);
    }
    free_jobs(f);
    return MIN(r, 0);
}

/* The run that a job is a part of now, following its parents; 0: the job itself. *ret_ours: it is not from W&B. */
static int find_lead(struct store *s, const struct job_fact *part, int64_t *ret, bool *ret_ours, struct err *err)
{
    int64_t id = part->parent;
    int r = 1;
    *ret_ours = true;
    for (int i = 0; i < LEADS_MOST && id && r == 1; i++) {
        AUTO_FREE struct job_fact *j = NULL;
        *ret = id;
        r = store_get(s, GET_JOB(id, &j), err);
        *ret_ours = !j || strcmp(j->owner, JOB_OWNER_WANDB) != 0;
        id = j ? auto_joined(j) : 0;
        if (id == part->id) {
            *ret = 0;
            *ret_ours = false;
            break;
        }
    }
    return MIN(r, 0);
}

/*
 * Checks a job that exists already. A part of an unlabelled run may be that run itself: at first both were in progress,
 * or less was known about them. So it is matched like a new one. A job that replaced a run, or is a part of such a job,
 * stays.
 */
static int look_again(struct pass *p, const struct claimed *c, struct store *s, struct found *to, struct err *err)
{
    struct job_fact j = *to->old;
    bool ours = false;
    int r = j.parent ? find_lead(s, to->old, &j.parent, &ours, err) : 0;
    if (r >= 0 && ours)
        r = make_job(p, c, s, to, err);
    if (r < 0 || to->job)
        return r;
    AUTO_FREE char *attrs = attrs_of(p, c);
    j.end_ms = c->until_ms;
    j.name = c->name;
    j.attrs = attrs;
    to->job = job_copy(&j);
    return 0;
}

static int look_at_run(struct pass *p, const struct claimed *c, struct store *s, struct found *to, struct err *err)
{
    int r = store_get(s, GET_JOB(job_wandb_id(c->team, c->project, c->id), &to->old), err);
    return r < 0 ? r : to->old ? look_again(p, c, s, to, err) : make_job(p, c, s, to, err);
}

static int read_chunk(struct record_fetch *read, struct store *s, struct err *err)
{
    struct pass *p = ((struct chunk *)read)->p;
    int r = 0;
    for (size_t i = 0; i < p->n_now && r >= 0; i++)
        r = look_at_run(p, &p->v[p->at + i], s, &p->found[i], err);
    return r;
}

/* ---- puts ---- */

static void end_pass(struct pass *p, bool whole)
{
    struct wandb_jobs *x = p->x;
    x->pass = NULL;
    if (whole) {
        x->seen = p->seen;
        x->done_ms = clock_mono_ms();
    }
    people_unref(p->people);
    arena_fini(&p->mem);
    lookup_fini(&p->by_run);
    FREE_ALL(p->places, p->v, p->taken, p);
}

static void stored(void *arg, int result)
{
    struct wandb_jobs *x = arg;
    if (result < 0 && result != -ESTALE)
        x->failed = true; /* check all of them again */
}

static void free_found(struct found *f)
{
    FREE_ALL(f->job, f->old);
    *f = (struct found){0};
}

/*
 * For an existing job, the run is put first, then the job stops being a part. find_lead handles an interruption in
 * between.
 */
static void put_found(struct wandb_jobs *x, const struct found *f)
{
    char attrs[AUTO_JOINED_LEN];
    struct job_change c;
    if (f->job && !f->old)
        hub_put_once(x->h, STORE_JOB, f->job, 1, stored, x);
    if (f->job && f->replaces) {
        struct job_change leads = auto_leads_to(f->replaces, f->replaced_ms, f->job->id, attrs);
        hub_put_once(x->h, STORE_JOB_CHANGE, &leads, 1, stored, x);
    }
    if (f->job && f->old && job_difference(f->old, f->job, &c))
        hub_put_once(x->h, STORE_JOB_CHANGE, &c, 1, stored, x);
}

static void next_chunk(struct pass *p);

static void chunk_read(struct record_fetch *read)
{
    struct pass *p = ((struct chunk *)read)->p;
    bool on = read->code >= 0 && hub_leads(p->x->h);
    for (size_t i = 0; i < p->n_now; i++) {
        if (on)
            put_found(p->x, &p->found[i]);
        free_found(&p->found[i]);
    }
    p->at += p->n_now;
    if (on && p->at < p->n)
        next_chunk(p);
    else
        end_pass(p, on);
}

static void next_chunk(struct pass *p)
{
    p->n_now = MIN(p->n - p->at, (size_t)CHUNK);
    p->chunk = (struct chunk){{.read = read_chunk, .done = chunk_read}, p};
    if (record_fetch(p->x->h, &p->chunk.read, NULL) < 0)
        end_pass(p, false);
}

static void gathered(struct work_job *j)
{
    struct pass *p = (struct pass *)j;
    struct wandb_jobs *x = p->x;
    bool due = x->failed || p->seen != x->seen, again = clock_mono_ms() - x->done_ms >= AGAIN_MS;
    if (j->ran && p->code < 0 && log_ratelimit(x->h, "wandb", clock_wall_ms()))
        log_warn("wandb", "what was pulled cannot be read: %s", p->err.msg);
    if (!j->ran || p->code < 0 || !p->n || !(due || again)) {
        end_pass(p, false);
        return;
    }
    size_t kept = 0;
    for (size_t i = 0; i < p->n; i++)
        if (due || p->v[i].until_ms >= p->now_ms - RECENT_MS)
            p->v[kept++] = p->v[i];
    p->n = kept;
    x->failed = false;
    if (p->n)
        next_chunk(p);
    else
        end_pass(p, true);
}

/* ---- */

static void take_places(struct pass *p, struct live *l)
{
    size_t n;
    const struct node_now *const *v = live_nodes(l, true, &n);
    for (size_t i = 0; i < n; i++)
        VEC_ADD(p->places, p->n_places, p->cap_places,
                (struct place){arena_str(&p->mem, v[i]->key), arena_str(&p->mem, v[i]->name)});
}

void wandb_jobs_tick(struct wandb_jobs *x, const char *base_url)
{
    int64_t mono_ms = clock_mono_ms();
    if (x->pass || !hub_leads(x->h) || (x->looked_ms && mono_ms - x->looked_ms < LOOK_MS))
        return;
    struct pass *p = NEW(struct pass, .job = {.run = gather, .done = gathered}, .x = x, .now_ms = clock_wall_ms(),
                         .people = people_ref(x->h->api.people));
    x->looked_ms = mono_ms;
    mem_copy_str(p->base, sizeof(p->base), base_url && strcmp(base_url, API) != 0 ? base_url : PAGES);
    take_places(p, x->h->live);
    if (work_add(x->h->work, &p->job, READ_LIMIT) < 0)
        end_pass(p, false);
    else
        x->pass = p;
}

void wandb_jobs_due(struct wandb_jobs *x)
{
    x->looked_ms = 0;
}

struct wandb_jobs *wandb_jobs_new(struct hub *h)
{
    return NEW(struct wandb_jobs, .h = h);
}

void wandb_jobs_free(struct wandb_jobs *x)
{
    free(x);
}
