/* metric.h: the table of metrics.def, and text of a value. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/str.h"

struct buf;

enum metric {
#define METRIC(no, name, ...) M_##name,
#include "model/metrics.def"
    M_COUNT
};
_Static_assert(M_COUNT <= BITS_MAX, "raise BITS_MAX");

#define METRIC_CUSTOM 1000 /* ids from here up are declared at run time */

enum unit {
    UNIT_NONE,
    UNIT_RATIO,
    UNIT_BYTES,
    UNIT_BYTES_S,
    UNIT_CELSIUS,
    UNIT_WATTS,
    UNIT_JOULES,
    UNIT_HERTZ,
    UNIT_SECONDS,
    UNIT_MASK,
    UNIT_FLOPS, /* 10^12 a second */
    UNIT_COUNT
};
enum kind { KIND_GAUGE, KIND_COUNTER };
enum scope { SCOPE_DEVICE, SCOPE_NODE };

struct metric_info {
    uint16_t no; /* wire and disk number; not the enum's value */
    const char *name, *prom;
    enum unit unit;
    int64_t per; /* stored units per base unit */
    enum kind kind;
    enum scope scope;
    const char *label, *help; /* name on screens; explanation */
};
extern const struct metric_info metrics[M_COUNT];
extern const char *const unit_names[UNIT_COUNT]; /* "", "ratio", "bytes", "bytes_per_second", "celsius", ... */

int metric_by_name(struct str name);        /* enum metric, or -1 */
int metric_by_no(uint16_t no);              /* enum metric, or -1 */
const char *metric_label(const char *name); /* label for this name; the name itself for a metric declared at run time */

/* Values of one device (or node) at one time. Absent stays absent. */
struct sample {
    int64_t at_ms;
    struct bits have;
    int64_t v[M_COUNT];
};

static inline void sample_set(struct sample *s, enum metric m, int64_t v)
{
    s->v[m] = v;
    bits_set(&s->have, m);
}
static inline bool sample_has(const struct sample *s, enum metric m)
{
    return bits_has(&s->have, m);
}

/* Base unit as an exact decimal, for JSON, CSV and Prometheus. */
int metric_base(struct buf *out, enum metric m, int64_t v);
/* For screens, short, with unit: "98 %", "79.1 GiB", "612 W", "sw power cap, idle". */
int metric_human(struct buf *out, enum metric m, int64_t v);
/* "9.8 kWh", "83 Wh", "4.2 Wh" */
int energy_human(struct buf *out, double joules);

/* Words of a throttle mask, comma separated; "none" for 0. Unknown bits as hex. */
int throttle_words(struct buf *out, uint64_t mask);
const char *throttle_word(unsigned bit); /* NULL: no name for this and all higher bits */
