/* mem_usage.c: vectors by time and node, searched from end to end. */
#include "store/mem_usage.h"

#include <errno.h>

#include "store/usage_code.h"

void ram_usage_fini(struct ram_usage *u)
{
    struct ram_spans *both[] = {&u->hours, &u->days};

    for (size_t k = 0; k < ARRAY_LEN(both); k++) {
        for (size_t i = 0; i < both[k]->n; i++)
            buf_fini(&both[k]->v[i].bytes);
        free(both[k]->v);
    }
    free(u->marks);
}

static void spans_drop(struct ram_spans *l, size_t i)
{
    buf_fini(&l->v[i].bytes);
    memmove(&l->v[i], &l->v[i + 1], (l->n - i - 1) * sizeof(*l->v));
    l->n--;
}

/* By time, node, and for days zone. */
static int span_order(const struct ram_span *s, const char *node, const char *zone, int64_t at_ms)
{
    int c = (s->at_ms > at_ms) - (s->at_ms < at_ms);

    c = c ? c : strcmp(s->node, node);
    return c ? c : strcmp(s->zone, zone);
}

static void spans_put(struct ram_spans *l, const char *node, const char *zone, const struct usage_span *s)
{
    struct usage_names names = usage_text_names(NULL);
    size_t i = l->n;

    while (i > 0 && span_order(&l->v[i - 1], node, zone, s->at_ms) >= 0)
        i--;
    if (i < l->n && span_order(&l->v[i], node, zone, s->at_ms) == 0)
        spans_drop(l, i);
    if (!s->n)
        return;
    VEC_ROOM(l->v, l->n, l->cap);
    memmove(&l->v[i + 1], &l->v[i], (l->n - i) * sizeof(*l->v));
    l->n++;
    l->v[i] = (struct ram_span){.at_ms = s->at_ms, .end_ms = s->end_ms, .bytes = BUF_INIT(USAGE_BYTES_MAX)};
    mem_copy_str(l->v[i].node, sizeof(l->v[i].node), node);
    mem_copy_str(l->v[i].zone, sizeof(l->v[i].zone), zone);
    usage_encode(s, &names, &l->v[i].bytes);
}

static int span_get(const struct ram_span *r, const struct usage_names *names, struct arena *mem,
                    struct usage_span *ret)
{
    struct rd in = rd_of(r->bytes.p, r->bytes.len);

    *ret = (struct usage_span){.at_ms = r->at_ms, .end_ms = r->end_ms};
    return usage_decode(&in, names, mem, ret);
}

static void put_day(struct ram_usage *u, const char *node, const char *zone, const struct usage_day *day)
{
    AUTO_ARENA mem = {0};
    struct usage_names names = usage_text_names(&mem);
    struct usage_sum_up sum = {.mem = &mem};
    int64_t end_ms = day->from_ms;

    for (size_t i = 0; i < u->hours.n; i++) {
        struct ram_span *r = &u->hours.v[i];
        struct usage_span s;
        if (r->at_ms < day->from_ms || r->at_ms >= day->to_ms || strcmp(r->node, node) != 0 ||
            span_get(r, &names, &mem, &s) < 0)
            continue;
        usage_sum_add(&sum, &s);
        end_ms = r->end_ms;
    }
    struct usage_span s = usage_sum_span(&sum, day->from_ms, end_ms);
    spans_put(&u->days, node, zone, &s);
}

void ram_usage_put(struct ram_usage *u, const struct usage_put *p)
{
    for (size_t i = 0; i < p->n; i++) {
        spans_put(&u->hours, p->node, "", &p->hours[i]);
        for (size_t k = u->n_marks; p->marks && p->marks[i] && k-- > 0;)
            if (u->marks[k].at_ms == p->hours[i].at_ms && u->marks[k].seq <= p->marks[i] &&
                strcmp(u->marks[k].node, p->node) == 0)
                u->marks[k] = u->marks[--u->n_marks];
    }
    for (size_t i = 0; i < p->n_days; i++)
        put_day(u, p->node, p->zone, &p->days[i]);
}

void ram_usage_mark(struct ram_usage *u, const char *node, int64_t at_ms, int64_t seq)
{
    for (size_t i = 0; i < u->n_marks; i++)
        if (u->marks[i].at_ms == at_ms && strcmp(u->marks[i].node, node) == 0) {
            u->marks[i].seq = MAX(u->marks[i].seq, seq);
            if (seq == 0)
                u->marks[i] = u->marks[--u->n_marks];
            return;
        }
    if (seq == 0)
        return;
    VEC_ROOM(u->marks, u->n_marks, u->cap_marks);
    struct ram_mark *m = &u->marks[u->n_marks++];
    *m = (struct ram_mark){.at_ms = at_ms, .seq = seq};
    mem_copy_str(m->node, sizeof(m->node), node);
}

void ram_usage_move(struct ram_usage *u, const char *from, const char *to)
{
    struct ram_spans *both[] = {&u->hours, &u->days};

    for (size_t k = 0; k < ARRAY_LEN(both); k++)
        for (size_t i = both[k]->n; i-- > 0;) {
            bool there = false;
            if (strcmp(both[k]->v[i].node, from) != 0)
                continue;
            for (size_t j = 0; j < both[k]->n; j++)
                there |= span_order(&both[k]->v[j], to, both[k]->v[i].zone, both[k]->v[i].at_ms) == 0;
            if (there)
                spans_drop(both[k], i);
            else
                mem_copy_str(both[k]->v[i].node, sizeof(both[k]->v[i].node), to);
        }
    for (size_t i = 0; i < u->n_marks; i++)
        if (strcmp(u->marks[i].node, from) == 0)
            mem_copy_str(u->marks[i].node, sizeof(u->marks[i].node), to);
}

struct pool { /* one pointer per name */
    struct arena *mem;
    const char **v;
    size_t n, cap;
};

static const char *pool_get(void *arg, struct rd *in)
{
    struct pool *p = arg;
    struct str s = rd_text(in, 256);

    for (size_t i = 0; i < p->n; i++)
        if (str_eq(s, p->v[i]))
            return p->v[i];
    if (in->bad)
        return NULL;
    VEC_ROOM(p->v, p->n, p->cap);
    return p->v[p->n++] = arena_strn(p->mem, s.p, s.len);
}

static const char *pool_name(struct pool *p, const char *text)
{
    AUTO_BUF b = BUF_INIT(1024);

    buf_text(&b, str_of(text));
    struct rd in = rd_of(b.p, b.len);
    return pool_get(p, &in);
}

int ram_usage_ask(struct ram_usage *u, const struct usage_ask *ask,
                  int (*each)(void *arg, const char *node, const struct usage_span *span), void *arg, struct err *err)
{
    AUTO_ARENA text = {0};
    AUTO_ARENA mem = {0};
    struct pool pool = {.mem = &text};
    struct usage_names names = {NULL, pool_get, &pool};
    int64_t at_ms = ask->from_ms;
    int code = 0;

    for (size_t k = 0; k < 2 * ask->n_days + 1 && code == 0; k++) { /* hours, days, hours ... */
        bool days = k % 2;
        const struct usage_day *d = k < 2 * ask->n_days ? &ask->days[k / 2] : NULL;
        struct ram_spans *from = days ? &u->days : &u->hours;
        int64_t to_ms = !d ? ask->to_ms : days ? d->to_ms : d->from_ms;
        for (size_t i = 0; i < from->n && code == 0; i++) {
            struct ram_span *r = &from->v[i];
            struct usage_span s;
            if (r->at_ms < at_ms || r->at_ms >= to_ms || (ask->node && strcmp(ask->node, r->node) != 0) ||
                (days && strcmp(r->zone, ask->zone) != 0))
                continue;
            arena_reset(&mem);
            if (span_get(r, &names, &mem, &s) == 0)
                code = ask->stop && ask->stop(ask->stop_arg) ? err_set(err, -ECANCELED, "stopped")
                                                             : each(arg, pool_name(&pool, r->node), &s);
        }
        at_ms = to_ms;
    }
    free(pool.v);
    return code;
}

void ram_usage_reach(struct ram_usage *u, void (*each)(void *arg, const char *node, int64_t first_ms, int64_t last_ms),
                     void *arg)
{
    for (size_t i = 0; i < u->hours.n; i++) { /* by time: the first of a node tells of all */
        int64_t last_ms = u->hours.v[i].at_ms;
        bool first = true;
        for (size_t k = 0; k < i; k++)
            first &= strcmp(u->hours.v[k].node, u->hours.v[i].node) != 0;
        for (size_t k = i; first && k < u->hours.n; k++)
            if (strcmp(u->hours.v[k].node, u->hours.v[i].node) == 0)
                last_ms = u->hours.v[k].at_ms;
        if (first)
            each(arg, u->hours.v[i].node, u->hours.v[i].at_ms, last_ms);
    }
}
