/* pick.c: finds metrics by name and devices by word. Nothing is read here but text and one reading's facts. */
#include "lib/pick.h"

#include <errno.h>

#include "base/mem.h"
#include "base/order.h"

/* dask-metrics' names; its CSV has the first three in this order, independent of the order of the request. */
static const struct picked classics[] = {
    {"total-mem", "bytes", M_mem_used, COLUMN_TAKEN, 1, false, 1},
    {"mem-util", "percent", M_mem_util, COLUMN_PERCENT, 1, false, 2},
    {"compute-util", "percent", M_util, COLUMN_PERCENT, 1, false, 3},
    {"mem-used-percent", "percent", M_mem_used, COLUMN_USED_PERCENT, 1, false, 0},
};
#define CLASSIC_DEFAULT "total-mem,mem-util,compute-util"

#define CLASSIC_ALWAYS "job,dag,timestamp" /* columns that are there anyway */

static int unknown(struct str word, struct err *err)
{
    const char *near = NULL;
    int best = -1, d;

    for (size_t i = 0; i < ARRAY_LEN(classics); i++)
        if ((d = str_near(word, str_of(classics[i].name))) >= 0 && (best < 0 || d < best)) {
            near = classics[i].name;
            best = d;
        }
    for (enum metric m = 0; m < M_COUNT; m++)
        if (metrics[m].scope == SCOPE_DEVICE && (d = str_near(word, str_of(metrics[m].name))) >= 0 &&
            (best < 0 || d < best)) {
            near = metrics[m].name;
            best = d;
        }
    return err_set(err, -EINVAL, "unknown metric '%.*s'%s%s%s", (int)MIN(word.len, 64u), word.p,
                   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static int find_column(struct str word, struct picked *ret, struct err *err)
{
    const struct picked *classic = FIND(classics, ARRAY_LEN(classics), c, str_eq(word, c->name));
    int m = metric_by_name(word);
    if (classic) {
        *ret = *classic;
        return 0;
    }
    if (m < 0)
        return unknown(word, err);
    if (metrics[m].scope != SCOPE_DEVICE)
        return err_set(err, -EINVAL, "metric '%s' is of the machine, not of a GPU: it is not sampled here",
                       metrics[m].name);
    *ret = (struct picked){.name = metrics[m].name,
                           .unit = unit_names[metrics[m].unit],
                           .m = (enum metric)m,
                           .per = metrics[m].per,
                           .slow = !collect_quick((enum metric)m)};
    return 0;
}

static void add_column(struct pick *p, struct picked c)
{
    size_t at = p->n;

    for (; c.rank && at > 0 && (!p->columns[at - 1].rank || p->columns[at - 1].rank > c.rank); at--)
        p->columns[at] = p->columns[at - 1];
    p->columns[at] = c;
    p->n++;
}

int pick_metrics(const char *list, struct pick *ret, struct err *err)
{
    struct pick p = {0};
    struct str rest = str_of(list && list[0] ? list : CLASSIC_DEFAULT), word;

    while (str_cut(&rest, ',', &word)) {
        struct picked c;
        word = str_trim(word);
        p.tasks |= str_eq(word, "tasks");
        if (!word.len || str_eq(word, "tasks") || str_listed(CLASSIC_ALWAYS, word))
            continue;
        int r = find_column(word, &c, err);
        if (r < 0)
            return r;
        if (ANY(p.n, i, !strcmp(p.columns[i].name, c.name)))
            continue;
        if (p.n == PICK_METRICS)
            return err_set(err, -EINVAL, "more than %d metrics", PICK_METRICS);
        add_column(&p, c);
        bits_set(&p.want, c.m);
        if (c.how == COLUMN_TAKEN)
            bits_set(&p.want, M_mem_reserved);
        if (c.how == COLUMN_USED_PERCENT)
            bits_set(&p.want, M_mem_total);
    }
    *ret = p;
    return 0;
}

bool pick_value(const struct picked *c, const struct sample *s, int64_t *ret)
{
    if (!sample_has(s, c->m))
        return false;
    int64_t v = s->v[c->m];
    if (c->how == COLUMN_TAKEN) { /* includes the driver's reserved memory, like the call that dask-metrics used */
        v += sample_has(s, M_mem_reserved) ? s->v[M_mem_reserved] : 0;
    } else if (c->how == COLUMN_PERCENT) {
        v /= 100; /* the driver's own whole number: metrics.def keeps 0.01 % */
    } else if (c->how == COLUMN_USED_PERCENT) {
        if (!sample_has(s, M_mem_total) || s->v[M_mem_total] <= 0 || v < 0 || v > INT64_MAX / 200)
            return false;
        v = (v * 200 + s->v[M_mem_total]) / (2 * s->v[M_mem_total]);
    }
    *ret = v;
    return true;
}

/* ---- devices ---- */

/*
 * Finds a device by an index, a uuid or its prefix (case-insensitive). MIG instances have no index. Returns -1 if not
 * found.
 */
static int find_device(const struct reading *r, struct str word)
{
    uint64_t index;
    bool number = str_uint(word, &index);

    for (size_t i = 0; i < r->n_devices; i++) {
        const struct device_fact *f = &r->devices[i].fact;
        if (number && f->mig < 0 && f->index >= 0 && (uint64_t)f->index == index)
            return (int)i;
        struct str head = str_n(f->uuid, MIN(word.len, strlen(f->uuid)));
        if (!number && word.len >= 5 && head.len == word.len && str_eq_str(head, word))
            return (int)i;
    }
    return -1;
}

/* As CUDA reads it: the list ends at the first thing that is not there. */
static void mark_visible(const struct reading *r, struct str visible, uint64_t most, bool *on)
{
    struct str word;
    int at;

    for (uint64_t n = 0; n < most && str_cut(&visible, ',', &word); n++) {
        if ((at = find_device(r, str_trim(word))) < 0)
            return;
        on[at] = true;
    }
}

int pick_devices(const struct reading *r, const char *list, const char *visible, size_t *ret, size_t max,
                 struct err *err)
{
    bool on[DEVICES_MAX] = {false};
    struct str rest = str_of(list && list[0] ? list : "all"), word;
    uint64_t most = UINT64_MAX;
    bool own = str_eq(rest, "own");

    if (r->n_devices > DEVICES_MAX)
        return err_set(err, -EINVAL, "more than %d GPUs", DEVICES_MAX);
    if (str_starts(rest, "own:")) {
        if (!str_uint(str_n(rest.p + 4, rest.len - 4), &most) || most == 0)
            return err_set(err, -EINVAL, "devices '%s': 'own:' wants a number from 1 up", list);
        own = true;
    }
    if (str_eq(rest, "all") || (own && !visible)) {
        for (size_t i = 0; i < r->n_devices && most > 0; i++) {
            on[i] = r->devices[i].fact.mig < 0; /* MIG instances are skipped */
            most -= on[i];
        }
    } else if (own) {
        mark_visible(r, str_of(visible), most, on);
    } else
        while (str_cut(&rest, ',', &word)) {
            word = str_trim(word);
            int at = find_device(r, word);
            if (at < 0)
                return err_set(err, -ENODEV, "there is no GPU '%.*s' among the %zu of this machine",
                               (int)MIN(word.len, 80u), word.p, r->n_devices);
            on[at] = true;
        }
    size_t n = 0;
    for (size_t i = 0; i < r->n_devices && n < max; i++)
        if (on[i])
            ret[n++] = i;
    if (n == 0 && own && visible)
        return err_set(err, -ENODEV, "CUDA_VISIBLE_DEVICES is '%.80s': that names no GPU of the %zu of this machine",
                       visible, r->n_devices);
    return n ? (int)n : err_set(err, -ENODEV, "no GPU found on this machine");
}
