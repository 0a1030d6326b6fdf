/* feature.c: the walks over the list of features. */
#include "hub/feature.h"

#include <string.h>

static int prepare_each(void *const *self, const struct hub_conf *conf, struct features_next *ret, struct err *err)
{
    int r = 0;
    for (size_t i = 0; features[i] && r == 0; i++)
        if (features[i]->prepare)
            r = features[i]->prepare(self ? self[i] : NULL, conf, &ret->v[i], err);
    return r;
}

int features_check(const struct hub_conf *conf, struct err *err)
{
    struct features_next n = {0};
    int r = prepare_each(NULL, conf, &n, err);
    features_drop(&n);
    return r;
}

void features_open(struct features *f, struct hub *h)
{
    for (; features[f->n_open]; f->n_open++)
        if (features[f->n_open]->open)
            f->self[f->n_open] = features[f->n_open]->open(h);
}

int features_prepare(struct features *f, const struct hub_conf *conf, struct features_next *ret, struct err *err)
{
    return prepare_each(f->self, conf, ret, err);
}

void features_drop(struct features_next *n)
{
    for (size_t i = 0; features[i]; i++)
        if (features[i]->drop)
            features[i]->drop(n->v[i]);
    memset(n, 0, sizeof(*n));
}

void features_take(struct features *f, struct features_next *n)
{
    for (size_t i = 0; i < f->n_open; i++)
        if (features[i]->take)
            features[i]->take(f->self[i], n->v[i]);
    memset(n, 0, sizeof(*n));
}

int features_load(struct features *f, struct err *err)
{
    int r = 0;
    for (size_t i = 0; i < f->n_open && r >= 0; i++)
        if (features[i]->load)
            r = features[i]->load(f->self[i], err);
    return r;
}

void features_tick(struct features *f, int64_t now_ms)
{
    for (size_t i = 0; i < f->n_open; i++)
        if (features[i]->tick)
            features[i]->tick(f->self[i], now_ms);
}

void features_stop(struct features *f)
{
    for (size_t i = f->n_open; i-- > 0;)
        if (features[i]->stop)
            features[i]->stop(f->self[i]);
}

void features_close(struct features *f)
{
    for (; f->n_open > 0; f->n_open--)
        if (features[f->n_open - 1]->close)
            features[f->n_open - 1]->close(f->self[f->n_open - 1]);
}
