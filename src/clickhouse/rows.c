/* rows.c: converts the columns of a batch to rows, one per device and tick. */
#include "clickhouse/rows.h"

#include "base/mem.h"

static void heap_day(struct click_heap *h, int64_t at_ms)
{
    int64_t day = at_ms / 86400000;

    for (size_t i = h->n_days; i-- > 0;)
        if (h->days[i] == day)
            return;
    if (h->n_days == CLICK_DAYS) {
        VEC_ADD(h->ends, h->n_ends, h->cap_ends, h->bytes.len);
        h->n_days = 0;
    }
    h->days[h->n_days++] = day;
}

static void add_key(struct click_heap *h, const struct archive_batch *b, struct str dev, int64_t at_ms)
{
    struct buf *out = &h->bytes;

    heap_day(h, at_ms);
    if (!out->max)
        *out = BUF_INIT(CLICK_ROWS_BYTES);
    buf_text(out, str_of(b->node));
    buf_text(out, dev);
    buf_u64(out, (uint64_t)at_ms);
    buf_u64(out, b->b->key.run);
    buf_u64(out, b->b->key.number);
    buf_u64(out, (uint64_t)b->log);
    buf_u64(out, (uint64_t)b->row);
    h->n_rows++;
}

/* Adds the columns of one slot; of: by index in metrics.def. */
static void add_slot(struct click_rows *r, const struct archive_batch *b, struct str dev,
                     const struct column *const of[M_COUNT])
{
    struct click_heap *h = &r->heaps[CLICK_SAMPLE];

    for (size_t t = 0; t < b->b->n_ticks; t++) {
        int64_t at_ms = b->b->at_ms[t] + b->shift_ms;
        char row[M_COUNT * 9];
        size_t n = 0;
        bool any = false;
        for (int m = 0; m < M_COUNT; m++) {
            bool there = of[m] && column_has(of[m], t);
            row[n++] = !there;
            if (!there)
                continue;
            for (unsigned k = 0; k < 8; k++)
                row[n++] = (char)((uint64_t)of[m]->v[t] >> (8 * k) & 255);
            any = true;
        }
        if (!any || at_ms < 0)
            continue;
        add_key(h, b, dev, at_ms);
        buf_add(&h->bytes, row, n);
    }
}

static void add_custom(struct click_rows *r, const struct archive_batch *b, struct str dev, const struct column *c,
                       struct str name)
{
    struct click_heap *h = &r->heaps[CLICK_CUSTOM];

    for (size_t t = 0; t < b->b->n_ticks; t++) {
        int64_t at_ms = b->b->at_ms[t] + b->shift_ms;
        if (!column_has(c, t) || at_ms < 0)
            continue;
        add_key(h, b, dev, at_ms);
        buf_text(&h->bytes, name);
        buf_u64(&h->bytes, (uint64_t)c->v[t]);
    }
}

/* A metric number that this version does not know is used as the name. */
static struct str name_of(const struct archive_batch *b, const struct column *c, char room[24])
{
    if (c->metric >= METRIC_CUSTOM)
        return custom_name(b->facts, c->metric, room);
    snprintf(room, 24, "metric:%u", c->metric);
    return str_of(room);
}

void click_rows_add(struct click_rows *r, const struct archive_batch *b)
{
    const struct column *cols = b->b->columns;
    size_t n = b->b->n_columns;
    unsigned slots = 0;
    char room[24], room2[24];

    for (size_t i = 0; i < n; i++) {
        slots = MAX(slots, cols[i].slot + 1u);
        if (metric_by_no(cols[i].metric) < 0)
            add_custom(r, b, slot_name(b->facts, cols[i].slot, room), &cols[i], name_of(b, &cols[i], room2));
    }
    AUTO_FREE const struct column **of = mem_zero((size_t)slots * M_COUNT + 1, sizeof(*of));
    AUTO_FREE bool *known = mem_zero(slots + 1, sizeof(*known));
    for (size_t i = 0; i < n; i++) {
        int m = metric_by_no(cols[i].metric);
        if (m < 0)
            continue;
        of[(size_t)cols[i].slot * M_COUNT + (size_t)m] = &cols[i];
        known[cols[i].slot] = true;
    }
    for (unsigned s = 0; s < slots; s++)
        if (known[s])
            add_slot(r, b, slot_name(b->facts, s, room), &of[(size_t)s * M_COUNT]);
}

size_t click_rows_count(const struct click_rows *r)
{
    return r->heaps[CLICK_SAMPLE].n_rows + r->heaps[CLICK_CUSTOM].n_rows;
}

void click_rows_reset(struct click_rows *r)
{
    for (size_t t = 0; t < CLICK_TABLES; t++) {
        struct click_heap *h = &r->heaps[t];
        buf_reset(&h->bytes);
        h->n_rows = h->n_ends = h->n_days = 0;
    }
}

void click_rows_fini(struct click_rows *r)
{
    for (size_t t = 0; t < CLICK_TABLES; t++) {
        buf_fini(&r->heaps[t].bytes);
        free(r->heaps[t].ends);
    }
    *r = (struct click_rows){0};
}

bool click_heap_piece(const struct click_heap *h, size_t *at, struct str *ret)
{
    size_t from = *at ? (*at <= h->n_ends ? h->ends[*at - 1] : h->bytes.len) : 0;
    size_t end = *at < h->n_ends ? h->ends[*at] : h->bytes.len;

    if (*at > h->n_ends || from >= end)
        return false;
    *ret = str_n(h->bytes.p + from, end - from);
    ++*at;
    return true;
}
