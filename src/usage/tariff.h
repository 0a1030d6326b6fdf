/* tariff.h: the price of a GPU-hour by model, and the CO2 of a kilowatt-hour. */
#pragma once

#include "base/err.h"
#include "base/mem.h"

struct tariff_price {
    char *model;   /* part of a name, case-insensitive; or a pattern */
    int64_t micro; /* millionths per hour */
};
struct tariff {
    size_t n;
    struct tariff_price *v; /* the first match counts */
    char currency[16];
    int64_t co2_mg; /* per kWh; -1: not configured */
};

/* "H200=2.50", several; co2: grams per kWh as text, "": not configured. Call tariff_fini() also on failure. */
int tariff_parse(char *const *prices, size_t n, const char *currency, const char *co2, struct tariff *ret,
                 struct err *err);
void tariff_copy(struct tariff *to, const struct tariff *from);
void tariff_fini(struct tariff *t);
bool model_fits(const char *pattern, const char *model);         /* part of its name, case-insensitive, or a pattern */
int64_t tariff_price(const struct tariff *t, const char *model); /* -1: none */
