/*
 * fold.c: aggregates samples. It has its own scanner, which reads decimal text exactly. A JSON library would make
 * doubles of it, and a tree of a hundred values to keep two of them.
 */
#include "wandb_pull/fold.h"

#include <errno.h>

#include "base/mem.h"
#include "base/order.h"
#include "report/report.h"
#include "wandb_pull/scan.h"

#define KEY_MAX   512        /* bytes of a key with escapes; longer keys are ignored */
#define SECOND_NS 1000000000 /* _timestamp is read to the nanosecond */

enum family { FAMILY_UTIL, FAMILY_MEM, FAMILIES };

struct heap {
    __int128 sum;
    uint64_t n;
    int64_t max;
};

struct fold {
    const struct zone *zone;
    int32_t from, to;
    int32_t lo, hi; /* days touched since the reset; lo > hi if none */
    size_t samples;
    int64_t day_ms, next_ms; /* the day of the last sample, so that the zone is queried once a day */
    int32_t day;
    struct heap (*days)[FAMILIES];
};

struct fold *fold_new(const struct zone *zone, int32_t from, int32_t to)
{
    if (from > to || (int64_t)to - from >= FOLD_DAYS_MAX)
        return NULL;
    struct fold *f = NEW(struct fold, .zone = zone, .from = from, .to = to, .lo = to, .hi = from - 1, .day_ms = 1);
    f->days = mem_zero((size_t)(to - from) + 1, sizeof(*f->days));
    return f;
}

void fold_free(struct fold *f)
{
    if (f)
        free(f->days);
    free(f);
}

void fold_reset(struct fold *f)
{
    if (f->lo <= f->hi)
        memset(f->days[f->lo - f->from], 0, (size_t)(f->hi - f->lo + 1) * sizeof(*f->days));
    f->lo = f->to;
    f->hi = f->from - 1;
    f->samples = 0;
}

/* ---- keys ---- */

/*
 * Copies a key without its escapes into out. Escaped characters outside ASCII become '?', which no key of ours
 * contains.
 */
static struct str unescape(struct str key, char out[KEY_MAX])
{
    size_t n = 0;
    if (key.len > KEY_MAX)
        return STR("");
    for (size_t i = 0; i < key.len; i++) {
        char c = key.p[i];
        if (c == '\\' && i + 1 < key.len) {
            c = key.p[++i];
            uint64_t code;
            if (c == 'u') {
                bool ok = i + 4 < key.len && str_hex(str_n(key.p + i + 1, 4), &code) && code < 128;
                c = ok ? (char)code : '?';
                i = MIN(i + 4, key.len - 1);
            } else if (c != '"' && c != '\\' && c != '/') {
                c = '?';
            }
        }
        out[n++] = c;
    }
    return str_n(out, n);
}

/* system.gpu.<digits>.gpu or .memory, with or without /l:LABEL; or -1. */
static int family_of(struct str key)
{
    if (!str_skip(&key, "system.gpu."))
        return -1;
    size_t digits = FIRST(key.len, i, key.p[i] < '0' || key.p[i] > '9');
    if (!digits)
        return -1;
    key = str_drop(key, digits);
    int family = str_skip(&key, ".gpu") ? FAMILY_UTIL : str_skip(&key, ".memory") ? FAMILY_MEM : -1;
    if (family < 0 || !key.len)
        return family;
    return str_skip(&key, "/l:") && key.len ? family : -1;
}

/* ---- samples ---- */

struct sample {
    bool timed;
    int64_t at_ms;
    struct heap heaps[FAMILIES];
};

static void heap_join(struct heap *to, const struct heap *h)
{
    if (!h->n)
        return;
    to->max = to->n ? MAX(to->max, h->max) : h->max;
    to->sum += h->sum;
    to->n += h->n;
}

static void sample_take(struct sample *s, struct str key, struct str text)
{
    int family;
    int64_t v;
    if (str_eq(key, "_timestamp")) {
        s->timed = str_fixed(text, SECOND_NS, &v) && v >= 0;
        s->at_ms = s->timed ? v / 1000000 : 0; /* not rounded: the last instant of a day belongs to that day */
    } else if ((family = family_of(key)) >= 0 && str_fixed(text, PERCENT_ONE, &v) && v >= 0 &&
               v <= FOLD_PERCENT_MAX * PERCENT_ONE) {
        heap_join(&s->heaps[family], &(struct heap){.sum = v, .n = 1, .max = v});
    }
}

static bool sample_read(struct str event, struct sample *ret)
{
    struct scan s = {event.p, event.p + event.len};
    char room[KEY_MAX];
    struct str key, text;
    bool escaped;

    if (!scan_accept(&s, '{'))
        return false;
    if (!scan_accept(&s, '}')) {
        do {
            if (!scan_string(&s, &key, &escaped) || !scan_accept(&s, ':') || !scan_value(&s, &text))
                return false;
            if (text.len)
                sample_take(ret, escaped ? unescape(key, room) : key, text);
        } while (scan_accept(&s, ','));
        if (!scan_accept(&s, '}'))
            return false;
    }
    scan_blanks(&s);
    return s.p == s.end;
}

static int32_t day_of(struct fold *f, int64_t at_ms)
{
    if (at_ms < f->day_ms || at_ms >= f->next_ms) {
        f->day = zone_date(f->zone, at_ms);
        f->day_ms = zone_date_ms(f->zone, f->day);
        f->next_ms = zone_date_ms(f->zone, f->day + 1);
    }
    return f->day;
}

int fold_add(struct fold *f, struct str event)
{
    struct sample s = {0};
    if (event.len > FOLD_EVENT_MAX)
        return -EMSGSIZE;
    if (!sample_read(event, &s))
        return -EBADMSG;
    f->samples++;
    if (!s.timed || !(s.heaps[FAMILY_UTIL].n || s.heaps[FAMILY_MEM].n))
        return 0;
    int32_t day = day_of(f, s.at_ms);
    if (day < f->from || day > f->to)
        return 0;
    for (int k = 0; k < FAMILIES; k++)
        heap_join(&f->days[day - f->from][k], &s.heaps[k]);
    f->lo = MIN(f->lo, day);
    f->hi = MAX(f->hi, day);
    return 0;
}

/* ---- days ---- */

static int64_t mean(const struct heap *h)
{
    return (int64_t)((2 * h->sum + h->n) / (2 * (__int128)h->n)); /* nothing is below zero */
}

bool fold_any(const struct fold *f)
{
    return f->samples > 1 && f->lo <= f->hi;
}

bool fold_get(const struct fold *f, int32_t day, struct wandb_day *ret)
{
    if (!fold_any(f) || day < f->lo || day > f->hi)
        return false;
    const struct heap *util = &f->days[day - f->from][FAMILY_UTIL], *mem = &f->days[day - f->from][FAMILY_MEM];
    if (util->n) {
        ret->have |= WANDB_UTIL;
        ret->util_avg = mean(util);
        ret->util_max = util->max;
    }
    if (mem->n) {
        ret->have |= WANDB_MEM;
        ret->mem_avg = mean(mem);
        ret->mem_max = mem->max;
    }
    return util->n || mem->n;
}
