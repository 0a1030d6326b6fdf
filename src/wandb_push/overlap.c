/* overlap.c: finds overlapping runs company by company, and formats the result as text. */
#include "wandb_push/overlap.h"

#include <errno.h>

#include "base/buf.h"
#include "base/order.h"
#include "report/overlap.h"
#include "wandb/days.h"
#include "wandb_pull/graphql.h"

struct finding {
    const struct wandb_config *c;
    const char *company;
    struct overlaps *to;
    struct err *err;
    const struct company *last; /* of the team before, which is mostly the same */
    const char *team, *tags;
    bool ignored; /* by these tags */
};

/* Days of one run follow each other. */
static bool same_run(const struct overlap *o, const struct wandb_run *r)
{
    return strcmp(o->id, r->id) == 0 && strcmp(o->project, r->project) == 0 && strcmp(o->team, r->team) == 0;
}

/* Selects runs by the days that the summary counts, so that both find the same overlaps. */
static int take(void *arg, const struct wandb_run *r, const struct wandb_day *d)
{
    struct finding *f = arg;
    struct overlaps *o = f->to;
    struct overlap *last = o->n ? &o->v[o->n - 1] : NULL;
    int64_t until_ms = MAX(d->heartbeat_ms, r->heartbeat_ms);

    if (!f->team || strcmp(f->team, r->team) != 0) {
        f->team = arena_str(&o->arena, r->team);
        f->last = wandb_config_company(f->c, r->team);
    }
    if (!f->last || (f->company && strcmp(f->company, f->last->name) != 0) || company_nodes_on(f->last, d->day) <= 0 ||
        !company_counts(f->last, r->project))
        return 0;
    if (!f->tags || strcmp(f->tags, d->tags) != 0) {
        f->tags = arena_str(&o->arena, d->tags);
        f->ignored = wandb_tagged(d->tags, f->c->ignore_tags, f->c->n_ignore_tags);
    }
    if (last && same_run(last, r)) {
        last->host = last->host[0] ? last->host : arena_str(&o->arena, d->host);
        last->from_ms = MIN(last->from_ms, d->created_ms);
        last->until_ms = MAX(last->until_ms, until_ms);
        last->ignored |= f->ignored;
        return 0;
    }
    if (o->n == OVERLAP_RUNS_MAX)
        return err_set(f->err, -E2BIG, "more than %d runs in that period: request a shorter one", OVERLAP_RUNS_MAX);
    VEC_ROOM(o->v, o->n, o->cap);
    o->v[o->n++] = (struct overlap){.company = f->last,
                                    .team = f->team,
                                    .project = arena_str(&o->arena, r->project),
                                    .id = arena_str(&o->arena, r->id),
                                    .host = arena_str(&o->arena, d->host),
                                    .state = arena_str(&o->arena, r->state),
                                    .from_ms = d->created_ms,
                                    .until_ms = until_ms,
                                    .ignored = f->ignored};
    return 0;
}

COMPARE(by_company, struct overlap,
        strcmp(x->company->name, y->company->name) ?: strcmp(x->team, y->team) ?: strcmp(x->project, y->project)
            ?: strcmp(x->id, y->id))

/* The runs of one company, [from, to): drops runs without overlap, and moves the others to `keep_at`. */
static size_t of_company(struct overlaps *o, size_t from, size_t to, size_t keep_at)
{
    size_t n = to - from, kept = 0;
    AUTO_FREE struct overlap_run *runs = mem_zero(n, sizeof(*runs));
    AUTO_FREE struct overlap *found = mem_zero(n, sizeof(*found));

    for (size_t i = 0; i < n; i++)
        runs[i] = (struct overlap_run){.host = o->v[from + i].host,
                                       .from_ms = o->v[from + i].from_ms,
                                       .until_ms = o->v[from + i].until_ms,
                                       .of = i};
    size_t groups = overlap_find(runs, n);
    for (size_t i = 0; i < n; i++) /* by host and start: groups without devices are contiguous */
        if (runs[i].group) {
            found[kept] = o->v[from + runs[i].of];
            found[kept].late = runs[i].late;
            found[kept++].group = o->groups + runs[i].group;
        }
    if (kept)
        memcpy(o->v + keep_at, found, kept * sizeof(*found));
    o->groups += groups;
    return keep_at + kept;
}

int overlaps_find(struct wandb_store *s, const struct wandb_config *c, const char *company, int32_t from, int32_t to,
                  struct overlaps *ret, struct err *err)
{
    struct wandb_query ask = {.from = from, .to = to, .order = WANDB_BY_RUN};
    struct finding f = {.c = c, .company = company, .to = ret, .err = err};
    size_t kept = 0;

    *ret = (struct overlaps){0};
    int64_t r = wandb_days_each(s, &ask, take, &f, err);
    if (r < 0)
        return (int)r;
    for (size_t i = 0; i < ret->n; i++)
        if (!ret->v[i].ignored)
            ret->v[kept++] = ret->v[i];
    ret->n = kept;
    kept = 0;
    SORT(ret->v, ret->n, by_company);
    for (size_t i = 0, next; i < ret->n; i = next) {
        next = i + FIRST(ret->n - i, e, ret->v[i + e].company != ret->v[i].company);
        kept = of_company(ret, i, next, kept);
    }
    ret->n = kept;
    return 0;
}

void overlaps_fini(struct overlaps *o)
{
    if (!o)
        return;
    free(o->v);
    arena_fini(&o->arena);
    *o = (struct overlaps){0};
}

/* ---- text ---- */

void overlap_url(struct buf *out, const char *base_url, const struct overlap *run)
{
    struct str base = str_of(base_url);

    while (str_ends(base, "/"))
        base.len--;
    buf_addstr(out, str_eq(base, WANDB_BASE_URL) ? STR("https://wandb.ai") : base);
    url_add_part(out, run->team);
    url_add_part(out, run->project);
    buf_adds(out, "/runs");
    url_add_part(out, run->id);
    buf_adds(out, "/overview");
}

size_t overlaps_text(struct buf *out, const struct overlaps *o, size_t at, const struct zone *zone,
                     const char *base_url)
{
    size_t end = at, late = 0;
    char from[24], until[24];

    for (; end < o->n && o->v[end].company == o->v[at].company; end++)
        late += o->v[end].late;
    buf_addf(out, "%zu %s of %s began on a host while another was there", late, late == 1 ? "run" : "runs",
             o->v[at].company->name);
    for (size_t i = at; i < end && i < at + OVERLAP_SHOWN; i++) {
        const struct overlap *r = &o->v[i];
        if (i == at || r->group != o->v[i - 1].group)
            buf_addf(out, "\non %s:", r->host);
        buf_addf(out, "\n  %.*s to %.*s ", ZONE_TO_MINUTE, zone_text(zone, r->from_ms, from), ZONE_TO_MINUTE,
                 zone_text(zone, r->until_ms, until));
        overlap_url(out, base_url, r);
    }
    if (end - at > OVERLAP_SHOWN)
        buf_addf(out, "\nand %zu more: muster wandb overlap", end - at - OVERLAP_SHOWN);
    return end;
}

void overlaps_teams(struct buf *out, const struct overlaps *o)
{
    AUTO_FREE const char **teams = mem_zero(o->n, sizeof(*teams));

    for (size_t i = 0; i < o->n; i++)
        teams[i] = o->v[i].team;
    SORT(teams, o->n, order_texts);
    for (size_t i = 0; i < o->n; i++)
        if (i == 0 || strcmp(teams[i], teams[i - 1]) != 0)
            buf_addf(out, "%s%s", out->len ? "\n" : "", teams[i]);
}
