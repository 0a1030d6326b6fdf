/* compact_merge.c: merges chunks and makes hours out of minutes, each step in one transaction. */
#include "store/compact_merge.h"

#include <errno.h>

#include "base/mem.h"

#define MERGE_BYTES (64 << 20)

struct gathered {
    struct chunk_row *rows;
    struct str *bytes;
    size_t n, cap, cap_bytes, total;
    int below;     /* only chunks below this level */
    bool unsummed; /* only chunks that are not in hours */
    bool alike;    /* only chunks with the same summed flag as the first */
    uint32_t harmed;
};

static void gathered_fini(struct gathered *g)
{
    for (size_t i = 0; i < g->n; i++)
        free((char *)g->bytes[i].p);
    free(g->bytes);
    free(g->rows);
}

static int gather_chunk(void *arg, const struct chunk_row *row)
{
    struct gathered *g = arg;

    if (row->level >= g->below || (g->unsummed && row->summed) ||
        (g->alike && g->n && row->summed != g->rows[0].summed))
        return 0;
    if (!g->unsummed && !chunk_whole(row->bytes, row->tier)) { /* M2 */
        g->harmed += row->level < CHUNK_FINAL;
        return 0;
    }
    if (g->n && g->total + row->bytes.len > MERGE_BYTES)
        return -E2BIG;
    VEC_ROOM(g->rows, g->n, g->cap);
    if (g->n == g->cap_bytes) {
        g->cap_bytes = g->cap;
        g->bytes = mem_grow(g->bytes, g->cap_bytes, sizeof(*g->bytes));
    }
    g->rows[g->n] = *row;
    g->bytes[g->n++] = str_n(mem_strn(row->bytes.p, row->bytes.len), row->bytes.len);
    g->total += row->bytes.len;
    return 0;
}

static int64_t newest_log(const struct gathered *g)
{
    int64_t log = 0;

    for (size_t i = 0; i < g->n; i++)
        log = MAX(log, g->rows[i].log);
    return log;
}

static int replace_chunks(struct chunks *db, const struct gathered *g, const struct chunk_row *merged)
{
    int r = chunks_begin(db, true);

    if (r == 0)
        r = chunks_put(db, merged);
    for (size_t i = 0; i < g->n && r == 0; i++)
        r = chunks_drop(db, g->rows[i].id, g->rows[i].summed);
    return chunks_end(db, r, NULL);
}

/* hours NULL: they cannot be made. */
static int put_hours(struct chunks *db, const struct gathered *g, const struct chunk_row *hours)
{
    int r = chunks_begin(db, true);

    if (r == 0 && hours)
        r = chunks_put(db, hours);
    for (size_t i = 0; i < g->n && r == 0; i++)
        r = chunks_set_summed(db, g->rows[i].id);
    return chunks_end(db, r, NULL);
}

/* M3 */
static int sum_group(struct chunks *db, struct chunk_writer *w, const struct chunk_group *q)
{
    uint32_t harmed = 0; /* already counted when minutes are merged */
    int r = -E2BIG;

    while (r == -E2BIG) { /* too much for one chunk: repeat for the rest */
        struct gathered g = {.below = CHUNK_FINAL + 1, .unsummed = true};
        AUTO_BUF out = BUF_INIT(CHUNK_BYTES_MAX);
        struct table_chunk made;
        r = chunks_each(db, true, q->node, q->tier, q->bucket, gather_chunk, &g);
        if ((r == 0 || r == -E2BIG || r == -EUCLEAN) && g.n) {
            int hours = chunks_merge(w, q->tier, TIER_HOUR, g.bytes, g.n, &out, &made, &harmed);
            struct chunk_row row = {.node = q->node,
                                    .tier = TIER_HOUR,
                                    .bucket = floor_to(q->bucket, tier_bucket_ms(TIER_HOUR)),
                                    .log = newest_log(&g),
                                    .summed = true};
            if (hours == 0) {
                row.from_ms = made.from_ms;
                row.to_ms = made.to_ms;
                row.bytes = made.bytes;
            }
            int put = put_hours(db, &g, hours == 0 ? &row : NULL);
            r = put < 0 ? put : r;
        }
        gathered_fini(&g);
        chunks_tidy(db, false);
    }
    return r;
}

int merge_group(struct chunks *db, struct chunk_writer *w, const struct chunk_group *q, bool over, uint32_t *damaged)
{
    struct gathered g = {.below = over ? CHUNK_FINAL + 1 : q->merged >= MERGE_FRESH ? CHUNK_FINAL : 1, .alike = true};
    AUTO_BUF out = BUF_INIT(CHUNK_BYTES_MAX);
    struct table_chunk made;
    int r = over && q->tier == TIER_MINUTE ? sum_group(db, w, q) : 0;

    if (r == 0)
        r = chunks_each(db, true, q->node, q->tier, q->bucket, gather_chunk, &g);
    *damaged += over ? g.harmed : 0; /* only then, because a final bucket is merged once */
    chunk_thorough(w, over);
    if (r == 0 && g.n > 1)
        r = chunks_merge(w, q->tier, q->tier, g.bytes, g.n, &out, &made, damaged);
    chunk_thorough(w, false);
    if (r == 0 && g.n > 1) {
        struct chunk_row row = {.node = q->node,
                                .tier = q->tier,
                                .bucket = q->bucket,
                                .level = over ? CHUNK_FINAL : 1,
                                .from_ms = made.from_ms,
                                .to_ms = made.to_ms,
                                .log = newest_log(&g),
                                .summed = g.rows[0].summed,
                                .bytes = made.bytes};
        r = replace_chunks(db, &g, &row);
    }
    if ((r == 0 && (g.n <= 1 || g.harmed) && over) || r == -E2BIG)
        r = chunks_final(db, q->node, q->tier, q->bucket, over);
    gathered_fini(&g);
    chunks_tidy(db, false);
    return r;
}
