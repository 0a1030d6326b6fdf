/* baseline.c: adds up the last hours, the same hours of earlier weeks, and the last day, and compares them. */
#include "alert/baseline.h"

#include "alert/baseline_stats.h"
#include "base/buf.h"
#include "base/order.h"

#define LATE_MS   600000ll
#define HOURS     2   /* consecutive unusual hours before a finding */
#define FOUND_MAX 500 /* of one kind */

/* A user's usage per hour: [hour, newest first][0: that hour; i: the same hour i weeks earlier]. */
struct user {
    const char *kind, *name; /* "company", "acme"; "cluster", "" */
    int64_t used[HOURS][1 + USUAL_WEEKS];
};

struct studying {
    const struct usage_baseline_query *ask;
    struct usage_baseline *to;
    struct err *err;
    struct arena mem; /* of one sum */
    struct user *users;
    size_t n, cap;
    bool known[HOURS][1 + USUAL_WEEKS];
};

static int sum(struct studying *k, enum usage_by by, int64_t from_ms, int64_t to_ms, struct usage_table *ret)
{
    struct sums_query s = k->ask->sums;

    s.by = by;
    s.period = PERIOD_ALL;
    s.from_ms = from_ms;
    s.to_ms = to_ms;
    arena_fini(&k->mem);
    k->mem = (struct arena){0};
    return sums_run(&s, &k->mem, ret, k->err);
}

/* Was there anything, and were three quarters of it seen? */
static bool seen(const struct usage_table *t)
{
    int64_t wall_ms = usage_wall_ms(&t->total);

    return wall_ms > 0 && t->total.down_ms <= wall_ms / 4;
}

static struct user *user_of(struct studying *k, const char *kind, const char *name)
{
    struct user *u = FIND(k->users, k->n, e, strcmp(e->kind, kind) == 0 && strcmp(e->name, name) == 0);

    if (u)
        return u;
    VEC_ADD(k->users, k->n, k->cap, (struct user){.kind = kind, .name = arena_str(&k->to->mem, name)});
    return &k->users[k->n - 1];
}

static const char *const kinds[] = {[BY_TEAM] = "team", [BY_COMPANY] = "company"};

static int sum_hour(struct studying *k, size_t hour, size_t week, int64_t from_ms)
{
    static const enum usage_by bys[] = {BY_COMPANY, BY_TEAM};
    struct usage_table t;

    for (size_t i = 0; i < ARRAY_LEN(bys); i++) {
        int r = sum(k, bys[i], from_ms, from_ms + HOUR_MS, &t);
        if (r < 0)
            return r;
        k->known[hour][week] = seen(&t);
        for (size_t row = 0; row < t.n && k->known[hour][week]; row++)
            if (t.v[row].key)
                user_of(k, kinds[bys[i]], t.v[row].key)->used[hour][week] += t.v[row].s.held_ms * 1000 / HOUR_MS;
    }
    if (k->known[hour][week])
        user_of(k, "cluster", "")->used[hour][week] = t.total.s.held_ms * 1000 / HOUR_MS;
    return 0;
}

static void found(struct studying *k, enum usage_finding_kind kind, const char *of, const char *name, int64_t since_ms,
                  bool weak, const struct buf *text)
{
    struct usage_baseline *to = k->to;
    char subject[300];

    snprintf(subject, sizeof(subject), "%s%s%s", of, name[0] ? ":" : "", name);
    VEC_ADD(to->v, to->n, to->cap,
            (struct usage_finding){.kind = kind,
                                   .since_ms = since_ms,
                                   .weak = weak,
                                   .subject = arena_str(&to->mem, subject),
                                   .name = name[0] ? arena_str(&to->mem, name) : of,
                                   .text = arena_strn(&to->mem, text->p, text->len)});
}

static void judge(struct studying *k, const struct user *u)
{
    struct baseline_stats h[HOURS];
    char who[300];
    AUTO_BUF text = BUF_INIT(4096);
    int far[HOURS];

    for (size_t i = 0; i < HOURS; i++) {
        int64_t before[USUAL_WEEKS];
        for (size_t w = 0; w < USUAL_WEEKS; w++)
            before[w] = k->known[i][w + 1] ? u->used[i][w + 1] : USUAL_UNKNOWN;
        if (!k->known[i][0] || !baseline_stats_from(before, USUAL_WEEKS, &h[i]))
            return;
        far[i] = baseline_deviation(&h[i], u->used[i][0], false);
    }
    if (!baseline_deviation(&h[0], u->used[0][0], true))
        return;
    bool begins = far[0];
    for (size_t i = 1; i < HOURS; i++)
        begins = begins && far[i] == far[0];
    snprintf(who, sizeof(who), "%s%s%s", u->name[0] ? u->kind : "the cluster", u->name[0] ? " " : "", u->name);
    baseline_text(&text, who, &h[0], u->used[0][0], k->ask->sums.zone, k->ask->hour_ms);
    found(k, USAGE_UNUSUAL, u->kind, u->name, k->ask->hour_ms - (HOURS - 1) * HOUR_MS, !begins, &text);
}

static int usage_baseline_hours(struct studying *k)
{
    int r = 0;

    for (size_t i = 0; i < HOURS && r == 0; i++) {
        int64_t hour_ms = k->ask->hour_ms - (int64_t)i * HOUR_MS;
        for (size_t w = 0; w <= USUAL_WEEKS && r == 0; w++)
            r = sum_hour(k, i, w, w ? baseline_week_start_ms(k->ask->sums.zone, hour_ms, (int)w) : hour_ms);
    }
    size_t from = k->to->n;
    for (size_t i = 0; i < k->n && r == 0 && k->to->n - from < FOUND_MAX; i++)
        judge(k, &k->users[i]);
    return r;
}

/* Reports a user who used too little of their assignment on the day of t. */
static void judge_day(struct studying *k, const struct usage_table *t, const char *kind, const char *name, int64_t gpus)
{
    int32_t day = zone_date(k->ask->sums.zone, t->from_ms);
    int64_t assigned_ms = gpus * (t->to_ms - t->from_ms), used_ms = 0;
    AUTO_BUF text = BUF_INIT(4096);
    char who[300];

    for (size_t row = 0; row < t->n; row++)
        if (t->v[row].key && strcmp(t->v[row].key, name) == 0)
            used_ms += t->v[row].s.held_ms;
    if (!low_is(used_ms, assigned_ms))
        return;
    snprintf(who, sizeof(who), "%s %s", kind, name);
    low_text(&text, who, used_ms, assigned_ms, day);
    found(k, USAGE_LOW, kind, name, t->to_ms, false, &text);
}

/* Of the day before the one that the next hour is in. */
static int usage_baseline_day(struct studying *k)
{
    const struct zone *z = k->ask->sums.zone;
    int32_t day = zone_date(z, k->ask->hour_ms + HOUR_MS) - 1;
    int64_t from_ms = zone_date_ms(z, day), to_ms = zone_date_ms(z, day + 1);
    size_t n, n_teams, from = k->to->n;
    const struct company *co = people_companies(k->ask->sums.people, &n);
    const struct allotment *team = people_allotments(k->ask->sums.people, &n_teams);
    struct usage_table t;

    int r = n ? sum(k, BY_COMPANY, from_ms, to_ms, &t) : 0;
    for (size_t i = 0; i < n && r == 0 && seen(&t) && k->to->n - from < FOUND_MAX; i++)
        judge_day(k, &t, "company", co[i].name, (int64_t)company_nodes_on(&co[i], day) * co[i].gpus_per_node);
    if (r == 0 && n_teams)
        r = sum(k, BY_TEAM, from_ms, to_ms, &t);
    for (size_t i = 0; i < n_teams && r == 0 && seen(&t) && k->to->n - from < FOUND_MAX; i++)
        judge_day(k, &t, "team", team[i].team, (int64_t)allotment_nodes_on(&team[i], day) * team[i].gpus_per_node);
    return r;
}

int64_t usage_baseline_hour(const struct zone *z, int64_t now_ms)
{
    int64_t next_ms, end_ms = zone_period(z, PERIOD_HOUR, 0, now_ms - LATE_MS, &next_ms);

    return zone_period(z, PERIOD_HOUR, 0, end_ms - 1, &next_ms);
}

int usage_baseline_run(const struct usage_baseline_query *ask, struct usage_baseline *ret, struct err *err)
{
    struct studying k = {.ask = ask, .to = ret, .err = err};

    *ret = (struct usage_baseline){0};
    int r = ask->skip_day ? 0 : usage_baseline_day(&k);
    if (r == 0 && !ask->skip_hours)
        r = usage_baseline_hours(&k);
    arena_fini(&k.mem);
    free(k.users);
    return r;
}

void usage_baseline_fini(struct usage_baseline *s)
{
    arena_fini(&s->mem);
    free(s->v);
    *s = (struct usage_baseline){0};
}
