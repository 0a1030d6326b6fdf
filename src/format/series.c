/* series.c: history as JSON and CSV, series by series, so that none but the one at hand is in memory. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/digits.h"
#include "base/json.h"
#include "format/render.h"
#include "format/words.h"

static char *value_at(char *at, const struct series *s, size_t i, int places)
{
    if (i)
        *at++ = ',';
    if (s->v[i] == SERIES_NONE)
        return stpcpy(at, "null");
    return places >= 0 ? decimal_put(at, s->v[i], (unsigned)places) : fixed_put(at, s->v[i], s->per);
}

#define AT_ONCE 32 /* values for which room is made */

static void column(struct buf *out, const struct series *s)
{
    int places = fixed_places(s->per);

    buf_addc(out, '[');
    if (!buf_room(out, 2 * s->n)) /* which they take at least */
        return;
    for (size_t i = 0; i < s->n;) {
        char *start = buf_room(out, (size_t)AT_ONCE * (FIXED_MAX + 1)), *at = start;
        if (!at)
            return;
        for (size_t end = MIN(s->n, i + AT_ONCE); i < end; i++)
            at = value_at(at, s, i, places);
        buf_appended(out, (size_t)(at - start));
    }
    buf_addc(out, ']');
}

void render_series_json_start(struct series_json *w, const struct series_frame *f)
{
    struct json j = json_on(w->out);

    *w = (struct series_json){.out = w->out};
    json_obj(&j, NULL);
    json_int(&j, "from", f->from_ms);
    json_int(&j, "to", f->to_ms);
    json_int(&j, "step", f->step_ms);
    json_cstr(&j, "tier", f->tier);
    json_arr(&j, "series");
}

/* Up to the comma before its metric. */
static void json_whose(struct json *j, const struct series *s)
{
    json_obj(j, NULL);
    if (s->devices == 0) {
        json_cstr(j, "device", s->device && s->device[0] ? s->device : NULL);
        json_cstr(j, "node", s->node);
        json_cstr(j, "node_id", s->node_id);
        if (s->index >= 0)
            json_int(j, "index", s->index);
        else
            json_none(j, "index");
        if (s->mig >= 0)
            json_int(j, "mig", s->mig);
    } else if (s->user) {
        json_cstr(j, "user", s->user[0] ? s->user : NULL);
        json_uint(j, "devices", s->devices);
    } else { /* of a group */
        json_cstr(j, "node", s->node);
        json_cstr(j, "node_id", s->node_id);
        json_uint(j, "devices", s->devices);
    }
    if (s->model)
        json_cstr(j, "model", s->model);
}

void render_series_owner(struct buf *out, const struct series *s)
{
    struct json j = json_on(out);

    json_whose(&j, s);
}

static bool same_whose(const struct series *a, const struct series *b)
{
    return a->node_id == b->node_id && a->node == b->node && a->device == b->device && a->index == b->index &&
           a->mig == b->mig && a->user == b->user && a->model == b->model && a->devices == b->devices;
}

/* A text of the answer, once more. */
static void add_again(struct buf *out, struct series_text t)
{
    char *to = buf_room(out, t.len);

    if (!to)
        return;
    memcpy(to, out->p + t.at, t.len);
    buf_appended(out, t.len);
}

void render_series_json(struct series_json *w, const struct series *s)
{
    struct buf *out = w->out;
    struct json j = json_on(out);
    size_t begin = out->len;
    struct series_what *what = &w->what[((uintptr_t)s->metric / 8 ^ (uintptr_t)s->agg / 8) % ARRAY_LEN(w->what)];

    j.comma = out->len > 0 && out->p[out->len - 1] != '[';
    if (s->whose.p) {
        if (j.comma)
            buf_addc(out, ',');
        buf_addstr(out, s->whose);
    } else if (j.comma && w->whose.len && same_whose(&w->last, s)) {
        add_again(out, w->whose);
    } else {
        json_whose(&j, s);
        bool comma = begin < out->len && out->p[begin] == ',';
        w->whose = (struct series_text){begin, comma ? out->len - begin : 0};
        w->last = *s;
    }
    if (what->text.len && what->metric == s->metric && what->unit == s->unit && what->agg == s->agg) {
        add_again(out, what->text);
    } else {
        begin = out->len;
        j.comma = true;
        json_cstr(&j, "metric", s->metric);
        json_cstr(&j, "unit", s->unit);
        json_cstr(&j, "agg", s->agg);
        json_raw(&j, "v", str_n("", 0));
        *what = (struct series_what){s->metric, s->unit, s->agg, {begin, out->len - begin}};
    }
    column(out, s);
    buf_addc(out, '}');
}

void render_series_json_end(struct series_json *w, const struct series_frame *f)
{
    struct buf *out = w->out;

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
