/* days.c: reads rows of wandb.db as run-days. A run's rows follow each other, so its text is kept once. */
#include "wandb/days.h"

#include <errno.h>
#include <jansson.h>

_Static_assert((int)RUN_UTIL == (int)WANDB_UTIL && (int)RUN_MEM == (int)WANDB_MEM, "told by the same bits");

struct making {
    const struct runs_available_query *ask;
    struct runs *to;
    struct err *err;
    const char *team, *project, *id, *host, *user; /* of the row before */
    char *tags;
    bool ignored;
};

bool wandb_tagged(const char *tags, const char *const *wanted, size_t n)
{
    json_auto_t *list = tags && tags[0] && n ? json_loads(tags, 0, NULL) : NULL;
    json_t *tag;
    bool found = false;
    size_t i;

    json_array_foreach (list, i, tag)
        for (size_t k = 0; k < n && json_is_string(tag) && !found; k++)
            found = str_eq_nocase(str_of(json_string_value(tag)), wanted[k]);
    return found;
}

/* s, or the same text where it was just kept. */
static const char *keep(struct making *k, const char **last, const char *s)
{
    if (!*last || strcmp(*last, s) != 0)
        *last = arena_str(&k->to->arena, s);
    return *last;
}

static const char *some(struct making *k, const char **last, const char *s)
{
    return s && s[0] ? keep(k, last, s) : NULL;
}

static int take(void *arg, const struct wandb_run *run, const struct wandb_day *d)
{
    struct making *k = arg;
    struct runs *to = k->to;
    const struct runs_available_query *ask = k->ask;

    if (to->n % 1024 == 0 && ask->stop && ask->stop(ask->arg))
        return err_set(k->err, -ECANCELED, "it took too long");
    if (to->n == WANDB_DAYS_MAX)
        return err_set(k->err, -E2BIG, "W&B has more than %d days of runs in that period: request a shorter one",
                       WANDB_DAYS_MAX);
    if (!k->tags || strcmp(k->tags, d->tags) != 0) {
        free(k->tags);
        k->tags = mem_str(d->tags);
        k->ignored = wandb_tagged(d->tags, ask->ignore_tags, ask->n_ignore_tags);
    }
    VEC_ROOM(to->v, to->n, to->cap);
    to->v[to->n++] = (struct run_day){.day = d->day,
                                      .minutes = d->minutes,
                                      .gpus = MAX(d->gpus, 0),
                                      .cpus = MAX(d->cpus, 0),
                                      .have = d->have,
                                      .util_avg = d->util_avg,
                                      .util_max = d->util_max,
                                      .mem_avg = d->mem_avg,
                                      .mem_max = d->mem_max,
                                      .team = keep(k, &k->team, run->team),
                                      .project = keep(k, &k->project, run->project),
                                      .run_id = keep(k, &k->id, run->id),
                                      .host = some(k, &k->host, d->host),
                                      .user = some(k, &k->user, run->user),
                                      .ignored = k->ignored,
                                      .from_ms = d->created_ms,
                                      .until_ms = MAX(d->heartbeat_ms, run->heartbeat_ms)};
    return 0;
}

/* ---- known days ---- */

struct span_taking {
    struct arena *text;
    struct known_spans *to;
};

/* Spans that touch become one. */
static int take_span(void *arg, const struct wandb_span *s)
{
    const struct span_taking *x = arg;
    struct known_spans *to = x->to;
    struct known_span *last = to->n ? &to->v[to->n - 1] : NULL;

    if (last && strcmp(last->team, s->team) == 0 && strcmp(last->project, s->project) == 0 && s->from <= last->to + 1)
        last->to = MAX(last->to, s->to);
    else
        VEC_ADD(to->v, to->n, to->cap,
                (struct known_span){arena_str(x->text, s->team), arena_str(x->text, s->project), s->from, s->to});
    return 0;
}

int wandb_days(struct wandb_store *s, const struct runs_available_query *ask, struct runs *ret, struct err *err)
{
    struct making k = {.ask = ask, .to = ret, .err = err};
    struct wandb_query rows = {.from = ask->from, .to = ask->to, .order = WANDB_BY_RUN};

    *ret = (struct runs){.known.told = true};
    int64_t r = wandb_days_each(s, &rows, take, &k, err);
    free(k.tags);
    if (r >= 0)
        r = wandb_known_each(s, false, take_span, &(struct span_taking){&ret->arena, &ret->known.days}, err);
    if (r >= 0)
        r = wandb_known_each(s, true, take_span, &(struct span_taking){&ret->arena, &ret->known.stale}, err);
    return (int)MIN(r, 0);
}

/* Returns 1 if open, 0 if there is no store. */
static int open_in(const char *dir, struct wandb_store **ret, struct err *err)
{
    int r = dir ? wandb_store_open(ret, dir, false, err) : -ENOENT;
    return r == -ENOENT ? 0 : r < 0 ? r : 1;
}

int wandb_source(const char *dir, struct runs_available *ret, struct err *err)
{
    struct runs_available told = {0};
    AUTO_WANDB_STORE *s = NULL;
    struct wandb_pull last;
    int r = open_in(dir, &s, err);

    if (r > 0) {
        mem_copy_str(told.zone, sizeof(told.zone), wandb_store_zone(s));
        told.any = told.zone[0] != '\0';
        r = wandb_pull_last(s, &last, err);
        told.pulled_ms = r > 0 ? last.begun_ms : 0;
    }
    if (r >= 0)
        *ret = told;
    return MIN(r, 0);
}

int wandb_days_in(const char *dir, const struct runs_available_query *ask, struct runs *ret, struct err *err)
{
    AUTO_WANDB_STORE *s = NULL;
    int r = open_in(dir, &s, err);

    *ret = (struct runs){0};
    return r > 0 ? wandb_days(s, ask, ret, err) : r;
}

const struct runs_source wandb_runs = {wandb_source, wandb_days_in};
