/* last_minute.c: sums of ten seconds each, in a ring. */
#include "now/last_minute.h"

void last_minute_add(struct last_minute *m, int64_t at_ms, int64_t v)
{
    int64_t from_ms = at_ms - at_ms % MINUTE_PART_MS;
    size_t i = (size_t)(at_ms / MINUTE_PART_MS) % MINUTE_PARTS;

    if (at_ms <= m->at_ms)
        return;
    m->at_ms = at_ms;
    if (m->parts[i].from_ms != from_ms || !m->parts[i].n)
        m->parts[i] = (struct last_minute_part){.from_ms = from_ms};
    m->parts[i].sum += v;
    m->parts[i].n++;
}

int64_t last_minute_mean(const struct last_minute *m)
{
    int64_t sum = 0, n = 0;

    for (size_t i = 0; i < MINUTE_PARTS; i++)
        if (m->at_ms - m->parts[i].from_ms < MINUTE_PARTS * MINUTE_PART_MS) {
            sum += m->parts[i].sum;
            n += m->parts[i].n;
        }
    return n ? (sum + n / 2) / n : 0;
}
