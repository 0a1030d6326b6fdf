/* tariff.c: reads the list of models and prices. */
#include "usage/tariff.h"

#include <errno.h>

#include "base/order.h"
#include "base/str.h"

static int parse_price(struct str s, struct tariff_price *ret, struct err *err)
{
    int eq = str_rfind(s, "=");
    struct str model = str_trim(str_n(s.p, eq > 0 ? (size_t)eq : 0));
    int64_t micro = -1;

    if (!model.len || !str_fixed(str_trim(str_n(s.p + eq + 1, s.len - (size_t)eq - 1)), 1000000, &micro) || micro < 0 ||
        micro > 1000000000000ll)
        return err_set(err, -EINVAL, "usage.price '%.*s' is not a model and its price per hour, as H200=2.50",
                       (int)MIN(s.len, 80u), s.p);
    *ret = (struct tariff_price){mem_strn(model.p, model.len), micro};
    return 0;
}

int tariff_parse(char *const *prices, size_t n, const char *currency, const char *co2, struct tariff *ret,
                 struct err *err)
{
    int64_t mg = -1;

    *ret = (struct tariff){.v = mem_zero(n + 1, sizeof(*ret->v)), .co2_mg = -1};
    for (size_t i = 0; i < n; i++) {
        int r = parse_price(str_of(prices[i]), &ret->v[i], err);
        if (r < 0)
            return r;
        ret->n++;
    }
    if (currency && !mem_copy_str(ret->currency, sizeof(ret->currency), currency))
        return err_set(err, -EINVAL, "usage.currency '%.40s' is too long: write EUR", currency);
    if (co2 && co2[0] && (!str_fixed(str_of(co2), 1000, &mg) || mg < 0 || mg > 100000000))
        return err_set(err, -EINVAL, "usage.co2 '%.40s' is not a number of grams per kWh", co2);
    ret->co2_mg = mg;
    return 0;
}

void tariff_copy(struct tariff *to, const struct tariff *from)
{
    *to = *from;
    to->v = mem_zero(from->n + 1, sizeof(*to->v));
    for (size_t i = 0; i < from->n; i++)
        to->v[i] = (struct tariff_price){mem_str(from->v[i].model), from->v[i].micro};
}

void tariff_fini(struct tariff *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->v[i].model);
    free(t->v);
    *t = (struct tariff){.co2_mg = -1};
}

bool model_fits(const char *pattern, const char *model)
{
    return strpbrk(pattern, "*?[") ? str_glob(str_of(pattern), str_of(model)) : strcasestr(model, pattern) != NULL;
}

int64_t tariff_price(const struct tariff *t, const char *model)
{
    const struct tariff_price *p = FIND(t->v, t->n, e, model_fits(e->model, model));

    return p ? p->micro : -1;
}
