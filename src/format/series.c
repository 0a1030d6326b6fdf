/* series.c: history as JSON and CSV, series by series, so that none but the one at hand is in memory. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "format/render.h"
#include "format/words.h"

static void column(struct buf *out, const struct series *s)
{
    buf_addc(out, '[');
    for (size_t i = 0; i < s->n; i++) {
        char *start = buf_room(out, FIXED_MAX + 1), *at = start;
        if (!at)
            return;
        if (i)
            *at++ = ',';
        if (s->v[i] == SERIES_NONE) {
            at = stpcpy(at, "null");
        } else {
            at = fixed_put(at, s->v[i], s->per);
        }
        buf_took(out, (size_t)(at - start));
    }
    buf_addc(out, ']');
}

void render_series_json_start(struct buf *out, const struct series_frame *f)
{
    struct json j = json_on(out);

    json_obj(&j, NULL);
    json_int(&j, "from", f->from_ms);
    json_int(&j, "to", f->to_ms);
    json_int(&j, "step", f->step_ms);
    json_cstr(&j, "tier", f->tier);
    json_arr(&j, "series");
}

void render_series_json(struct buf *out, const struct series *s)
{
    struct json j = json_on(out);

    j.comma = out->len > 0 && out->p[out->len - 1] != '[';
    json_obj(&j, NULL);
    if (s->devices == 0) {
        json_cstr(&j, "device", s->device && s->device[0] ? s->device : NULL);
        json_cstr(&j, "node", s->node);
        json_cstr(&j, "node_id", s->node_id);
        if (s->index >= 0)
            json_int(&j, "index", s->index);
        else
            json_none(&j, "index");
        if (s->mig >= 0)
            json_int(&j, "mig", s->mig);
    } else if (s->user) {
        json_cstr(&j, "user", s->user[0] ? s->user : NULL);
        json_uint(&j, "devices", s->devices);
    } else { /* of a group */
        json_cstr(&j, "node", s->node);
        json_cstr(&j, "node_id", s->node_id);
        json_uint(&j, "devices", s->devices);
    }
    if (s->model)
        json_cstr(&j, "model", s->model);
    json_cstr(&j, "metric", s->metric);
    json_cstr(&j, "unit", s->unit);
    json_cstr(&j, "agg", s->agg);
    json_raw(&j, "v", str_n("", 0));
    column(out, s);
    json_end_obj(&j);
}

void render_series_json_end(struct buf *out, const struct series_frame *f)
{
    buf_addc(out, ']');
    if (f->filled)
        buf_addf(out, ",\"filled\":\"%s\"", f->filled);
    if (f->damaged)
        buf_addf(out, ",\"damaged\":%u", f->damaged);
    if (f->missing[0]) {
        struct json j = {.out = out};
        buf_adds(out, ",\"missing\":");
        json_cstr(&j, NULL, f->missing);
    }
    buf_adds(out, "}\n");
}

void render_series_csv_start(struct buf *out, const struct series_frame *f)
{
    buf_addf(out, "time,node,gpu,device,model,%smetric,agg,unit,value\r\n", f->users ? "user," : "");
}

static void add_cell(struct buf *out, const char *s)
{
    csv_text(out, s ? s : "");
    buf_addc(out, ',');
}

void render_series_csv(struct buf *out, const struct series_frame *f, const struct series *s)
{
    AUTO_BUF middle = BUF_INIT(8192);
    char when[32];

    buf_addc(&middle, ',');
    add_cell(&middle, s->node);
    if (s->index >= 0)
        buf_addi(&middle, s->index);
    if (s->index >= 0 && s->mig >= 0)
        buf_addf(&middle, ".%d", (int)s->mig);
    buf_addc(&middle, ',');
    add_cell(&middle, s->device);
    add_cell(&middle, s->model);
    if (f->users)
        add_cell(&middle, s->user);
    add_cell(&middle, s->metric);
    buf_addf(&middle, "%s,%s,", s->agg, s->unit);
    for (size_t i = 0; i < s->n && out->err == 0; i++) {
        buf_adds(out, clock_iso(f->from_ms + (int64_t)i * f->step_ms, when));
        buf_addstr(out, buf_str(&middle));
        if (s->v[i] != SERIES_NONE)
            buf_fixed(out, s->v[i], s->per);
        buf_adds(out, "\r\n");
    }
}
