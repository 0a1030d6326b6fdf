/* totals.c: keeps counters of persons and teams from falling, and writes them for the store and for Prometheus. */
#include "usage/totals.h"

#include <errno.h>

#include "base/buf.h"
#include "base/order.h"
#include "format/export.h"

#define VERSION 1

enum {
    NUMBERS = 0
#define SUM(...) +1
#include "model/usage.def"
};

void totals_fini(struct totals *t)
{
    free(t->v);
    lookup_fini(&t->by_name);
    *t = (struct totals){0};
}

static struct total *total_of(struct totals *t, enum total_of of, const char *name)
{
    uint64_t hash = lookup_hash(name);
    size_t at = 0, i;

    while ((i = lookup_next_place(&t->by_name, hash, &at)) != SIZE_MAX)
        if (t->v[i].of == of && strcmp(t->v[i].name, name) == 0)
            return &t->v[i];
    if (t->n >= TOTALS_MOST || strlen(name) >= TOTAL_NAME || strchr(name, '\n'))
        return NULL;
    VEC_ROOM(t->v, t->n, t->cap);
    t->v[t->n] = (struct total){.of = of};
    mem_copy_str(t->v[t->n].name, TOTAL_NAME, name);
    lookup_add_place(&t->by_name, hash, t->n);
    return &t->v[t->n++];
}

void totals_copy(struct totals *to, const struct totals *from)
{
    totals_fini(to);
    to->since_ms = from->since_ms;
    to->newest_ms = from->newest_ms;
    to->older_ms = from->older_ms;
    for (size_t i = 0; i < from->n; i++) {
        struct total *x = total_of(to, from->v[i].of, from->v[i].name);
        if (x)
            *x = from->v[i];
    }
}

void totals_begin(struct totals *t, bool older)
{
    for (size_t i = 0; i < t->n; i++) {
        t->v[i].part[TOTAL_NEWEST] = (struct usage_sum){0};
        if (older)
            t->v[i].part[TOTAL_OLDER] = (struct usage_sum){0};
    }
}

void totals_add(struct totals *t, enum total_of of, const char *name, const struct usage_sum *s, enum total_part part)
{
    struct total *x = total_of(t, of, name);

    if (x)
        usage_add(&x->part[part], s);
}

void totals_settle(struct totals *t)
{
    for (size_t i = 0; i < t->n; i++) {
        struct usage_sum all = {0}, *told = &t->v[i].told;
        for (size_t k = 0; k < TOTAL_PARTS; k++)
            usage_add(&all, &t->v[i].part[k]);
#define SUM(field, ...) told->field = MAX(told->field, all.field);
#include "model/usage.def"
    }
}

/* ---- for the store ---- */

void totals_write(const struct totals *t, struct buf *out)
{
    buf_addf(out, "%d %lld %d\n", VERSION, (long long)t->since_ms, NUMBERS);
    for (size_t i = 0; i < t->n; i++) {
        const struct total *x = &t->v[i];
        buf_addi(out, x->of);
#define SUM(field, ...) buf_addf(out, " %lld %lld", (long long)x->part[TOTAL_BEFORE].field, (long long)x->told.field);
#include "model/usage.def"
        buf_addf(out, " %s\n", x->name);
    }
}

static bool read_number(struct str *rest, int64_t *ret)
{
    struct str word;

    return str_word(rest, &word) && str_int(word, ret) && *ret >= 0;
}

/* Reads the next of `left` pairs; 0 after the last. */
static bool read_pair(struct str *rest, int64_t *left, int64_t *before, int64_t *told)
{
    *before = *told = 0;
    return --*left < 0 || (read_number(rest, before) && read_number(rest, told));
}

static bool read_total(struct str line, int64_t numbers, struct totals *t)
{
    struct total x = {0};
    int64_t of, left = numbers, before, told;
    char name[TOTAL_NAME];

    if (!read_number(&line, &of) || of >= TOTAL_KINDS)
        return false;
#define SUM(field, ...)                                                                                                \
    if (!read_pair(&line, &left, &x.part[TOTAL_BEFORE].field, &x.told.field))                                          \
        return false;
#include "model/usage.def"
    while (left > 0) /* of a newer hub */
        if (!read_pair(&line, &left, &before, &told))
            return false;
    if (line.len < 2 || line.len > TOTAL_NAME || line.p[0] != ' ' || memchr(line.p, 0, line.len))
        return false;
    memcpy(name, line.p + 1, line.len - 1);
    name[line.len - 1] = 0;
    struct total *to = total_of(t, (enum total_of)of, name);
    if (!to)
        return false;
    to->part[TOTAL_BEFORE] = x.part[TOTAL_BEFORE];
    to->told = x.told;
    return true;
}

int totals_read(struct str text, struct totals *ret)
{
    struct totals t = {0};
    struct str line;
    int64_t version = 0, numbers = 0;
    bool good = str_line(&text, &line) && read_number(&line, &version) && version == VERSION &&
                read_number(&line, &t.since_ms) && read_number(&line, &numbers) && numbers <= 64;

    while (good && str_line(&text, &line))
        good = read_total(line, numbers, &t);
    if (!good) {
        totals_fini(&t);
        return -EBADMSG;
    }
    *ret = t;
    return 0;
}

/* ---- for Prometheus ---- */

static const char *const words[TOTAL_KINDS] = {"person", "team"};

struct family {
    const struct totals *t;
    struct buf *out;
    bool openmetrics;
};

/* One number of all of one kind. of, field: where they are in a struct usage_sum; of SIZE_MAX: it is always known. */
static void write_family(const struct family *f, enum total_of kind, const char *name, const char *unit, size_t field,
                         size_t of)
{
    const char *total = f->openmetrics ? "" : "_total";
    bool first = true;

    for (size_t i = 0; i < f->t->n; i++) {
        const struct total *x = &f->t->v[i];
        const char *told = (const char *)&x->told;
        int64_t v, known = 1;
        memcpy(&v, told + field, sizeof(v));
        if (of != SIZE_MAX)
            memcpy(&known, told + of, sizeof(known));
        if (x->of != kind || known <= 0)
            continue;
        if (first)
            buf_addf(f->out,
                     "# TYPE muster_%s_%s_%s%s counter\n# HELP muster_%s_%s_%s%s %s counted of a %s: %s, as "
                     "docs/usage.md says\n",
                     words[kind], name, unit, total, words[kind], name, unit, total,
                     strcmp(unit, "joules") == 0 ? "energy" : "GPU time", words[kind], name);
        first = false;
        buf_addf(f->out, "muster_%s_%s_%s_total{", words[kind], name, unit);
        prom_label(f->out, words[kind], x->name);
        buf_addf(f->out, "} %lld.%03d\n", (long long)(v / 1000), (int)(v % 1000));
    }
}

void totals_prom(const struct totals *t, struct buf *out, bool openmetrics)
{
    struct family f = {t, out, openmetrics};

#define FAMILY(field, name, unit, of)                                                                                  \
    for (int kind = 0; kind < TOTAL_KINDS; kind++)                                                                     \
        write_family(&f, (enum total_of)kind, name, unit, offsetof(struct usage_sum, field), of);
#define FAMILY_MS(field, name, of)                 FAMILY(field, name, "seconds", of)
#define FAMILY_MJ(field, name, of)                 FAMILY(field, name, "joules", of)
#define FAMILY_MIB_S(...)                          /* bandwidth is not a counter here */
#define SUM(field, unit, name, ...)                FAMILY_##unit(field, name, SIZE_MAX)
#define SOME(field, unit, name, title, weight, of) FAMILY_##unit(field, name, offsetof(struct usage_sum, of))
#include "model/usage.def"
}
