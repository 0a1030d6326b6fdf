/* lines.c: parses the JSON of /api/v1/history to series, and draws them on a terminal. */
#include "cli/lines.h"

#include <jansson.h>
#include <math.h>

#include "base/buf.h"
#include "base/mem.h"
#include "cli/client.h"
#include "model/metric.h"

#define CHARTS 4 /* more series get a line each */

void lines_fini(struct lines *l)
{
    for (size_t i = 0; i < l->n; i++)
        FREE_ALL(l->v[i].title, l->v[i].metric, l->v[i].v);
    free(l->v);
}

static char *title_of(const json_t *s, bool one_agg)
{
    const char *node = json_string_value(json_object_get(s, "node"));
    const char *metric = json_string_value(json_object_get(s, "metric"));
    const char *agg = json_string_value(json_object_get(s, "agg"));
    const char *model = json_string_value(json_object_get(s, "model"));
    json_t *user = json_object_get(s, "user");
    json_t *index = json_object_get(s, "index"), *mig = json_object_get(s, "mig");
    AUTO_BUF b = BUF_INIT(1024);

    const char *who = json_is_string(user) ? json_string_value(user) : user ? "(unknown)" : NULL;
    buf_adds(&b, who ? who : node ? node : model ? model : "all");
    if (json_is_integer(index))
        buf_addf(&b, ":%d", (int)json_integer_value(index));
    if (json_is_integer(mig))
        buf_addf(&b, ".%d", (int)json_integer_value(mig));
    buf_addf(&b, " %s", metric ? metric_label(metric) : "?");
    if (agg && !one_agg)
        buf_addf(&b, " %s", agg);
    return buf_take(&b);
}

bool lines_parse(const struct buf *text, bool one_agg, struct lines *ret)
{
    json_auto_t *o = client_json(buf_str(text));
    json_t *series = json_object_get(o, "series"), *s;
    struct lines l = {.from_ms = json_integer_value(json_object_get(o, "from")),
                      .step_ms = json_integer_value(json_object_get(o, "step"))};
    bool ok = json_is_array(series) && l.step_ms > 0 && l.from_ms >= 0;
    size_t i, k;

    l.v = mem_zero(json_array_size(series) + 1, sizeof(*l.v));
    json_array_foreach (series, i, s) {
        json_t *v = json_object_get(s, "v"), *one;
        const char *unit = json_string_value(json_object_get(s, "unit"));
        struct line *to = &l.v[l.n++];
        const char *metric = json_string_value(json_object_get(s, "metric"));
        to->title = title_of(s, one_agg);
        to->metric = mem_str(metric ? metric : "?");
        to->v = mem_zero(json_array_size(v) + 1, sizeof(*to->v));
        json_array_foreach (v, k, one)
            to->v[k] = json_is_number(one) ? json_number_value(one) : NAN;
        static const char *const units[] = {"",        "ratio", "bytes",     "bytes_per_second",
                                            "celsius", "watts", "joules",    "hertz",
                                            "seconds", "mask",  "teraflops", "per_second"};
        to->chart = (struct chart){.title = to->title, .unit = "", .n = json_array_size(v), .v = to->v};
        for (size_t u = 0; unit && u < ARRAY_LEN(units); u++)
            if (strcmp(unit, units[u]) == 0)
                to->chart.unit = units[u];
        to->chart.from_ms = l.from_ms;
        to->chart.step_ms = l.step_ms;
        ok = ok && json_is_array(v) && to->chart.n == l.v[0].chart.n;
    }
    if (!ok)
        lines_fini(&l);
    else
        *ret = l;
    return ok;
}

static void draw_sparks(struct buf *out, const struct lines *l, int width)
{
    int title = 8;

    for (size_t i = 0; i < l->n; i++)
        title = MAX(title, str_width(str_of(l->v[i].title)));
    title = MIN(title, width / 2);
    for (size_t i = 0; i < l->n; i++) {
        const struct chart *c = &l->v[i].chart;
        double last = NAN;
        for (size_t k = 0; k < c->n; k++)
            last = isnan(c->v[k]) ? last : c->v[k];
        buf_adds(out, c->title);
        int pad = title - str_width(str_of(c->title));
        buf_fill(out, ' ', (size_t)MAX(pad, 0) + 1);
        render_spark(out, c, width - title - 12);
        buf_addc(out, ' ');
        if (!isnan(last))
            render_amount(out, c->unit, last);
        buf_addc(out, '\n');
    }
}

void lines_draw(const struct lines *l, int width, int height, struct buf *out)
{
    if (l->n > CHARTS)
        draw_sparks(out, l, width);
    else
        for (size_t i = 0; i < l->n; i++)
            render_chart(out, &l->v[i].chart, width, height);
}
