/* export_csv.c: rows of seven columns; all but samples have a JSON object in the last. */
#include "format/export_read.h"

#include <errno.h>

#include "base/clock.h"
#include "base/mem.h"

static int cell(struct cursor *c, struct str *ret)
{
    struct buf *to = &c->r->scratch;
    size_t from = to->len;

    if (peek(c) != '"') {
        while (c->at < c->all.len && peek(c) != ',')
            buf_addc(to, c->all.p[c->at++]);
    } else {
        for (c->at++;; c->at++) {
            if (c->at >= c->all.len)
                return export_fail(c, c->at, "a quote is missing");
            if (peek(c) == '"') {
                if (c->at + 1 >= c->all.len || c->all.p[c->at + 1] != '"')
                    break;
                c->at++;
            }
            buf_addc(to, peek(c));
        }
        c->at++;
        if (c->at < c->all.len && peek(c) != ',')
            return export_fail(c, c->at, "expected a comma behind the quote");
    }
    *ret = str_n(to->p + from, to->len - from);
    if (ret->len && ret->p[0] == '\'') /* the mark that keeps a spreadsheet from taking it for a formula */
        *ret = str_n(ret->p + 1, ret->len - 1);
    return 0;
}

static int copy_cell(struct cursor *c, struct str s, size_t column, const char *what, char *out, size_t size)
{
    if (s.len >= size || !str_utf8_ok(s)) {
        c->at = column;
        return err_set(c->err, -EINVAL, "%s: expected text of at most %zu bytes, without control characters", what,
                       size - 1);
    }
    memcpy(out, s.p, s.len);
    out[s.len] = 0;
    return 0;
}

static int csv_sample(struct cursor *c, const struct str *v, const size_t *column, struct export_record *ret)
{
    struct export_reader *r = c->r;

    if (copy_cell(c, v[1], column[1], "node", r->node, sizeof(r->node)) < 0 ||
        copy_cell(c, v[2], column[2], "device", r->device, sizeof(r->device)) < 0 ||
        copy_cell(c, v[4], column[4], "metric", r->metric, sizeof(r->metric)) < 0)
        return -EINVAL;
    if (!name_ok(v[1], NODE_KEY_MAX - 1))
        return export_fail(c, column[1], "node: expected a node's key");
    if (v[2].len && !name_ok(v[2], UUID_MAX - 1))
        return export_fail(c, column[2], "device: expected a device's uuid");
    export_room(r, 1);
    if (clock_parse(v[3].p, v[3].len, r->at_ms) < 0 || *r->at_ms <= 0 || *r->at_ms >= TIME_END_MS)
        return export_fail(c, column[3], "time: expected one as 2026-11-15T10:00:00.000Z");
    int64_t per = export_per(r, r->node, r->metric);
    if (per <= 0)
        return export_fail(c, column[4], "metric: not one that muster knows, and no record before declares it");
    if (!str_fixed(v[5], per, r->v))
        return export_fail(c, column[5], "value: expected a number");
    return export_sample(r, per, ret);
}

int read_csv(struct cursor *c, struct export_record *ret)
{
    struct export_reader *r = c->r;
    struct str v[CSV_COLUMNS];
    size_t column[CSV_COLUMNS], n = 0;

    buf_reset(&r->scratch);
    if (!buf_room(&r->scratch, c->all.len + 16))
        return export_fail(c, 0, "the line is too long");
    while (n < CSV_COLUMNS) {
        column[n] = c->at;
        if (cell(c, &v[n]) < 0)
            return -EINVAL;
        n++;
        if (c->at >= c->all.len)
            break;
        c->at++;
        if (n == CSV_COLUMNS)
            return export_fail(c, c->at - 1, "more than seven columns");
    }
    if (n < CSV_COLUMNS)
        return export_fail(c, c->all.len, "expected seven columns: kind,node,device,time,metric,value,detail");
    if (str_eq(v[0], "kind"))
        return 0;
    if (str_eq(v[0], record_words[REC_SAMPLES]))
        return csv_sample(c, v, column, ret);
    AUTO_FREE char *detail = mem_strn(v[6].p, v[6].len); /* the scratch is needed for what is in it */
    struct cursor in = {r, str_n(detail, v[6].len), 0, c->err};
    int code = export_object(&in, ret);
    if (code < 0)
        c->at = column[6] + in.at;
    else if (ret->kind == REC_SAMPLES)
        return export_fail(c, column[0], "kind: samples have no detail");
    return code;
}
