/*
 * export_read.c: lines of an export become records again. The formats have a file each: export_json.c, export_csv.c,
 * export_om.c. Numbers stay text until they are exact integers. Every error has its column.
 */
#include "format/export_read.h"

#include <errno.h>

#include "base/mem.h"
#include "base/order.h"

struct export_reader *export_reader_new(int64_t (*per)(void *arg, const char *node, const char *metric), void *arg)
{
    return NEW(struct export_reader, .per = per, .arg = arg, .scratch = BUF_INIT(2ull * EXPORT_LINE_MAX + 4096),
               .head = BUF_INIT(EXPORT_LINE_MAX));
}

void export_reader_free(struct export_reader *r)
{
    if (!r)
        return;
    buf_fini(&r->scratch);
    buf_fini(&r->head);
    FREE_ALL(r->at_ms, r->v, r->nodes, r->customs);
    free(r);
}

bool export_complete(const struct export_reader *r)
{
    return r->complete;
}

/* ---- what the formats share ---- */

int export_fail(struct cursor *c, size_t at, const char *what)
{
    c->at = at;
    return err_set(c->err, -EINVAL, "%s", what);
}

void export_room(struct export_reader *r, size_t n)
{
    if (n <= r->cap)
        return;
    r->cap = MAX(n, r->cap * 2);
    r->at_ms = mem_grow(r->at_ms, r->cap, sizeof(*r->at_ms));
    r->v = mem_grow(r->v, r->cap, sizeof(*r->v));
}

int64_t export_per(const struct export_reader *r, const char *node, const char *metric)
{
    int m = metric_by_name(str_of(metric));

    return m >= 0 ? metrics[m].per : r->per && metric[0] ? r->per(r->arg, node, metric) : 0;
}

int export_sample(const struct export_reader *r, int64_t per, struct export_record *ret)
{
    *ret = (struct export_record){.kind = REC_SAMPLES,
                                  .node = r->node,
                                  .name = r->name,
                                  .device = r->device,
                                  .metric = r->metric,
                                  .per = per,
                                  .n = 1,
                                  .at_ms = r->at_ms,
                                  .v = r->v};
    return 1;
}

int export_unit(const char *word)
{
    return WHICH(UNIT_COUNT, i, strcmp(unit_names[i], word) == 0);
}

/* ---- any of them ---- */

int export_line(struct export_reader *r, struct str line, struct export_record *ret, size_t *ret_column,
                struct err *err)
{
    struct cursor c = {r, line, 0, err};
    int code;

    *ret_column = 1;
    if (line.len && line.p[line.len - 1] == '\r')
        c.all.len--;
    if (c.all.len == 0)
        return 0;
    if (c.all.len > EXPORT_LINE_MAX)
        return err_set(err, -EINVAL, "a line of more than %u bytes", EXPORT_LINE_MAX);
    if (r->shape == SHAPE_UNKNOWN) {
        r->shape = str_starts(c.all, "{\"muster_export\":") ? SHAPE_JSONL
                   : str_starts(c.all, "kind,node,device,") ? SHAPE_CSV
                   : str_starts(c.all, "# ")                ? SHAPE_OM
                                                            : SHAPE_UNKNOWN;
        if (r->shape == SHAPE_UNKNOWN)
            return err_set(err, -EINVAL, "this is not an export of muster's: neither JSON lines, CSV nor OpenMetrics");
    }
    if (r->shape != SHAPE_OM)
        r->complete = true;
    code = r->shape == SHAPE_JSONL ? read_json(&c, ret) : r->shape == SHAPE_CSV ? read_csv(&c, ret) : read_om(&c, ret);
    if (code < 0)
        *ret_column = MIN(c.at, c.all.len) + 1;
    return code;
}
