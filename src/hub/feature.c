/* feature.c: opens, prepares, loads, ticks, stops and closes all features, in the order of the list or in reverse. */
#include "hub/feature.h"

#include <string.h>

#include "base/order.h"

static int prepare_each(void *const *self, const struct hub_conf *conf, struct features_next *ret, struct err *err)
{
    const struct feature *const *list = ret->list;
    int r = 0;
    for (size_t i = 0; list[i] && r == 0; i++)
        if (list[i]->prepare)
            r = list[i]->prepare(self ? self[i] : NULL, conf, &ret->v[i], err);
    return r;
}

int features_check(const struct hub_conf *conf, struct err *err)
{
    struct features_next n = {.list = features};
    int r = prepare_each(NULL, conf, &n, err);
    features_drop(&n);
    return r;
}

int features_join(const struct feature *const *list, struct hub *h, const struct hub_conf *conf,
                  struct store_conf *store, struct err *err)
{
    int r = 0;
    for (; *list && r == 0; list++)
        if ((*list)->join)
            r = (*list)->join(h, conf, store, err);
    return r;
}

void features_open(struct features *f, const struct feature *const *list, struct hub *h)
{
    f->list = list;
    for (; list[f->n_open]; f->n_open++)
        f->self[f->n_open] = list[f->n_open]->open ? list[f->n_open]->open(h) : (void *)h;
}

void *feature_self(const struct features *f, const struct feature *of)
{
    size_t i = FIRST(f->n_open, k, f->list[k] == of);
    return i < f->n_open ? f->self[i] : NULL;
}

int features_prepare(struct features *f, const struct hub_conf *conf, struct features_next *ret, struct err *err)
{
    ret->list = f->list;
    return prepare_each(f->self, conf, ret, err);
}

void features_drop(struct features_next *n)
{
    for (size_t i = 0; n->list && n->list[i]; i++)
        if (n->list[i]->drop)
            n->list[i]->drop(n->v[i]);
    memset(n, 0, sizeof(*n));
}

void features_take(struct features *f, struct features_next *n)
{
    for (size_t i = 0; i < f->n_open; i++)
        if (f->list[i]->take)
            f->list[i]->take(f->self[i], n->v[i]);
    memset(n, 0, sizeof(*n));
}

int features_load(struct features *f, struct err *err)
{
    int r = 0;
    for (size_t i = 0; i < f->n_open && r >= 0; i++)
        if (f->list[i]->load)
            r = f->list[i]->load(f->self[i], err);
    return r;
}

/* Called for each batch of an agent: a feature without an event handler costs a table lookup. */
void features_dispatch(const struct features *f, const struct hub_event *n)
{
    for (size_t i = 0; i < f->n_open; i++)
        if (f->list[i]->hear)
            f->list[i]->hear(f->self[i], n);
}

void features_tick(struct features *f, int64_t now_ms)
{
    for (size_t i = 0; i < f->n_open; i++)
        if (f->list[i]->tick)
            f->list[i]->tick(f->self[i], now_ms);
}

void features_status(const struct features *f, struct status *s)
{
    for (size_t i = 0; i < f->n_open; i++)
        if (f->list[i]->status)
            f->list[i]->status(f->self[i], s);
}

void features_stop(struct features *f)
{
    for (size_t i = f->n_open; i-- > 0;)
        if (f->list[i]->stop)
            f->list[i]->stop(f->self[i]);
}

void features_close(struct features *f)
{
    while (f->n_open > 0) {
        size_t i = --f->n_open; /* it receives no more calls */
        if (f->list[i]->close)
            f->list[i]->close(f->self[i]);
    }
}
