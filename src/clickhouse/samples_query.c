/* samples_query.c: writes the SELECT and parses its result. */
#include "clickhouse/samples_query.h"

#include <errno.h>

#include "base/mem.h"
#include "base/order.h"
#include "model/metric.h"

#define KEY_MAX 512u /* of a name in a result */

static bool is_custom(const char *metric)
{
    return metric_by_name(str_of(metric)) < 0;
}

bool click_shape_of(struct click_shape *ret, enum click_table table, const struct archive_query *v, size_t n)
{
    *ret = (struct click_shape){.table = table};
    for (size_t i = 0; i < n; i++) {
        const struct bins_query *a = v[i].ask;
        ret->fields |= a->fields ? a->fields : BIN_ALL;
        for (size_t m = 0; m < a->n_metrics; m++)
            if (is_custom(a->metrics[m]) == (table == CLICK_CUSTOM) && ret->n_metrics < CLICK_METRICS &&
                !ANY(ret->n_metrics, k, strcmp(ret->metrics[k], a->metrics[m]) == 0))
                ret->metrics[ret->n_metrics++] = a->metrics[m];
    }
    return ret->n_metrics > 0;
}

/* ---- the statement ---- */

static void add_quoted(struct buf *out, const char *s)
{
    buf_addc(out, '\'');
    for (; *s; s++) {
        if (*s == '\'' || *s == '\\')
            buf_addc(out, '\\');
        buf_addc(out, *s);
    }
    buf_addc(out, '\'');
}

static void add_fields(struct buf *out, const char *value, unsigned fields)
{
    buf_addf(out, ", count(%s)", value);
    if (fields & BIN_SUM)
        buf_addf(out, ", sum(%s)", value);
    if (fields & BIN_MIN)
        buf_addf(out, ", min(%s)", value);
    if (fields & BIN_MAX)
        buf_addf(out, ", max(%s)", value);
    if (fields & BIN_LAST)
        buf_addf(out, ", argMax(%s, ts), maxIf(ts, isNotNull(%s))", value, value);
}

static bool is_whole(const struct archive_name *x)
{
    return x->after[0] == 0 && x->after[1] == 0 && x->upto[0] == INT64_MAX;
}

bool click_plain(const struct archive_query *k)
{
    return k->n_names == 1 && is_whole(&k->names[0]) && strcmp(k->names[0].node, k->ask->node) == 0;
}

/* Condition for rows of this sender in [after, upto]. */
static void add_stretch(struct buf *out, const struct archive_name *x)
{
    buf_adds(out, "(node = ");
    add_quoted(out, x->node);
    if (x->after[0] || x->after[1])
        buf_addf(out, " AND (log > %lld OR (log = %lld AND row > %lld))", (long long)x->after[0],
                 (long long)x->after[0], (long long)x->after[1]);
    if (x->upto[0] != INT64_MAX)
        buf_addf(out, " AND (log < %lld OR (log = %lld AND row <= %lld))", (long long)x->upto[0], (long long)x->upto[0],
                 (long long)x->upto[1]);
    buf_addc(out, ')');
}

static void add_nodes(struct buf *out, const struct archive_query *v, size_t n)
{
    bool first = true, plain = !ANY(n, i, !click_plain(&v[i]));

    buf_adds(out, plain ? "node IN (" : "(");
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < v[i].n_names; k++) {
            if (plain && i && strcmp(v[i].names[k].node, v[i - 1].names[k].node) == 0)
                continue; /* one condition covers its devices and the node itself */
            buf_adds(out, first ? "" : plain ? ", " : " OR ");
            first = false;
            if (plain)
                add_quoted(out, v[i].names[k].node);
            else
                add_stretch(out, &v[i].names[k]);
        }
    buf_adds(out, first ? "0)" : ")"); /* no names: matches nothing */
}

static void add_devices(struct buf *out, const struct archive_query *v, size_t n)
{
    bool first = true, itself = false;

    buf_adds(out, " AND dev IN (");
    for (size_t i = 0; i < n; i++)
        for (size_t d = 0; d < v[i].ask->n_devices; d++) {
            const char *dev = v[i].ask->devices[d];
            if (!*dev && itself)
                continue;
            itself |= !*dev;
            buf_adds(out, first ? "" : ", ");
            first = false;
            add_quoted(out, dev);
        }
    buf_adds(out, ")");
}

int click_select(struct buf *out, const struct click_place *p, const struct click_shape *s,
                 const struct archive_query *v, size_t n)
{
    const char *name = s->table == CLICK_CUSTOM ? "name, " : "";

    buf_addf(out, "SELECT node, dev, %sintDiv(ts, %lld) AS bin", name, (long long)v[0].ask->step_ms);
    for (size_t m = 0; m < s->n_metrics && s->table == CLICK_SAMPLE; m++)
        add_fields(out, s->metrics[m], s->fields);
    if (s->table == CLICK_CUSTOM)
        add_fields(out, "toNullable(value)", s->fields);
    buf_addf(out, " FROM %s.%s FINAL WHERE ts >= %lld AND ts < %lld AND ", p->database, click_tables[s->table],
             (long long)MAX(v[0].from_ms, 0), (long long)MAX(v[0].to_ms, 0));
    add_nodes(out, v, n);
    add_devices(out, v, n);
    for (size_t m = 0; m < s->n_metrics && s->table == CLICK_CUSTOM; m++) {
        buf_adds(out, m ? ", " : " AND name IN (");
        add_quoted(out, s->metrics[m]);
    }
    return buf_addf(out, "%s GROUP BY node, dev, %sbin FORMAT RowBinary", s->table == CLICK_CUSTOM ? ")" : "", name);
}

/* ---- the result ---- */

struct row_names { /* maps names in rows to queries */
    const char *name;
    size_t ask;
};
COMPARE(by_name, struct row_names, strcmp(x->name, y->name) ?: ORDER(x->ask, y->ask))

static int64_t read_nullable(struct rd *r)
{
    return rd_u8(r) ? 0 : (int64_t)rd_u64(r);
}

static void read_bin(struct rd *r, unsigned fields, struct part_bin *ret)
{
    *ret = (struct part_bin){.b.count = (uint32_t)rd_u64(r)};
    if (fields & BIN_SUM)
        ret->b.sum = read_nullable(r);
    if (fields & BIN_MIN)
        ret->b.min = read_nullable(r);
    if (fields & BIN_MAX)
        ret->b.max = read_nullable(r);
    if (fields & BIN_LAST) {
        ret->b.last = read_nullable(r);
        ret->last_ms = (int64_t)rd_u64(r);
    }
}

static bool name_before(const char *name, struct str s)
{
    return str_cmp(str_of(name), s) < 0;
}

struct answer_row {
    struct str node, dev, metric;
    uint64_t bin;
};

/* Passes a bin to every query that has this series. */
static void give_bin(const struct answer_row *row, const struct part_bin *p, const struct row_names *w, size_t n_w,
                     const struct archive_query *v, const struct archive_out *out)
{
    for (size_t i = COUNT_BEFORE(n_w, k, name_before(w[k].name, row->node)); i < n_w && str_eq(row->node, w[i].name);
         i++) {
        if (i && w[i].ask == w[i - 1].ask && strcmp(w[i].name, w[i - 1].name) == 0)
            continue; /* two stretches of one sender: the SELECT covers both */
        const struct bins_query *a = v[w[i].ask].ask;
        int64_t bin = (int64_t)(row->bin & INT64_MAX) - v[w[i].ask].from_ms / a->step_ms;
        size_t d = FIRST(a->n_devices, k, str_eq(row->dev, a->devices[k]));
        size_t m = FIRST(a->n_metrics, k, str_eq(row->metric, a->metrics[k]));
        if (d < a->n_devices && m < a->n_metrics && bin >= 0)
            out->each(out->arg, w[i].ask, d * a->n_metrics + m, (size_t)bin, p);
    }
}

int click_answer(struct str answer, const struct click_shape *s, const struct archive_query *v, size_t n,
                 const struct archive_out *out)
{
    struct rd r = rd_of(answer.p, answer.len);
    AUTO_FREE struct row_names *w = NULL;
    size_t n_w = 0, cap = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < v[i].n_names; k++)
            VEC_ADD(w, n_w, cap, (struct row_names){v[i].names[k].node, i});
    SORT(w, n_w, by_name);
    while (rd_left(&r)) {
        struct answer_row row = {0};
        row.node = rd_text(&r, KEY_MAX);
        row.dev = rd_text(&r, KEY_MAX);
        if (s->table == CLICK_CUSTOM)
            row.metric = rd_text(&r, KEY_MAX);
        row.bin = rd_u64(&r);
        for (size_t m = 0; m < (s->table == CLICK_CUSTOM ? 1 : s->n_metrics) && !r.bad; m++) {
            struct part_bin p;
            if (s->table == CLICK_SAMPLE)
                row.metric = str_of(s->metrics[m]);
            read_bin(&r, s->fields, &p);
            if (!r.bad && p.b.count)
                give_bin(&row, &p, w, n_w, v, out);
        }
    }
    return r.bad ? -EBADMSG : 0;
}
