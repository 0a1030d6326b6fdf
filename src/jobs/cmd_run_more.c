/* cmd_run_more.c: asks for the history of a run's GPUs in its time, and for who was on them, and shows both. */
#include "jobs/cmd_run_more.h"

#include <errno.h>
#include <math.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "cli/lines.h"
#include "cli/listing.h"
#include "format/words.h"

/* As the page has it (web/runs/view.js). */
enum { GPUS = 16, NODES = 8, MANY = 40, SPANS = 500, CHART_ROWS = 6 };
static const char *const measured[] = {"active", "work", "mem_used", "power"};
static const char *const not_measured[] = {"util", "mem_used", "power", "temp"};
_Static_assert(ARRAY_LEN(measured) == ARRAY_LEN(not_measured), "as many of each");

static void add_moments(struct buf *path, const json_t *v)
{
    char text[24];
    snprintf(text, sizeof(text), "%lld", (long long)int_of(v, "from"));
    client_param(path, "from", text);
    snprintf(text, sizeof(text), "%lld", (long long)int_of(v, "to"));
    client_param(path, "to", text);
}

/* ---- charts ---- */

/* Metric by metric, so that GPUs stand below each other. Where nothing is known there is nothing to draw. */
static void draw_known(const struct lines *l, const char *const *names, int width, struct buf *out)
{
    AUTO_FREE struct line *v = mem_zero(l->n + 1, sizeof(*v));
    struct lines known = {.v = v, .from_ms = l->from_ms, .step_ms = l->step_ms};
    for (size_t m = 0; m < ARRAY_LEN(measured); m++)
        for (size_t i = 0; i < l->n; i++)
            if (strcmp(l->v[i].metric, names[m]) == 0 && ANY(l->v[i].chart.n, k, !isnan(l->v[i].v[k])))
                v[known.n++] = l->v[i];
    if (known.n)
        buf_addc(out, '\n');
    lines_draw(&known, width, CHART_ROWS, out);
}

int run_charts_put(const struct client_conf *client, const json_t *v, int width, struct buf *out, struct err *err)
{
    const json_t *devices = json_object_get(v, "devices");
    const char *const *names = json_is_true(json_object_get(v, "measured")) ? measured : not_measured;
    AUTO_BUF path = BUF_INIT(65536), uuids = BUF_INIT(8192), answer = {0};
    struct lines l = {0};
    char points[24];
    size_t i, n = MIN(json_array_size(devices), (size_t)GPUS);
    for (i = 0; i < n; i++)
        buf_addf(&uuids, "%s%s", i ? "," : "", text_of(json_array_get(devices, i), "device"));
    if (!n)
        return 0;
    buf_adds(&path, "/api/v1/history");
    client_param(&path, "device", uuids.p);
    for (i = 0; i < ARRAY_LEN(measured); i++)
        client_param(&path, "metric", names[i]);
    add_moments(&path, v);
    snprintf(points, sizeof(points), "%zu", chart_points(width));
    client_param(&path, "points", points);
    int r = client_get(client, 0, &path, &answer, err);
    if (r < 0)
        return r == -ENOENT ? 0 : r; /* the hub does not know them any more */
    if (!lines_parse(&answer, true, &l))
        return client_no_hub(client, err);
    draw_known(&l, names, width, out);
    if (l.n && json_array_size(devices) > n)
        buf_addf(out, "charts of %zu of its %zu GPUs\n", n, json_array_size(devices));
    lines_fini(&l);
    return 0;
}

/* ---- processes ---- */

enum { C_PROGRAM, C_GPU, C_FROM, C_TIME, C_MEMORY };
static const struct column_spec columns[] = {
    [C_PROGRAM] = {"", "PROGRAM", CELL_TEXT, .weight = 100},
    [C_GPU] = {"", "GPU", CELL_TEXT, .weight = 95},
    [C_FROM] = {"", "FROM", CELL_TEXT, .weight = 70},
    [C_TIME] = {"", "TIME", CELL_TEXT, .right = true, .weight = 90},
    [C_MEMORY] = {"", "MEMORY", CELL_TEXT, .right = true, .weight = 80},
};

/* On a GPU of the run, of its person. */
static bool is_its(const json_t *v, const json_t *span)
{
    const json_t *devices = json_object_get(v, "devices");
    const char *person = text_of(json_object_get(v, "job"), "person"), *uuid = text_of(span, "device");
    if (person[0] && strcmp(text_of(span, "user"), person) != 0 && strcmp(text_of(span, "person"), person) != 0)
        return false;
    return ANY(json_array_size(devices), i, strcmp(text_of(json_array_get(devices, i), "device"), uuid) == 0);
}

static void add_process(struct rows *rows, const json_t *v, const json_t *span)
{
    char when[32], text[160], time[24];
    int64_t from = MAX(int_of(span, "first"), int_of(v, "from"));
    bool there = json_is_true(json_object_get(span, "there"));
    int64_t to = MIN(there ? clock_wall_ms() : int_of(span, "last"), int_of(v, "to"));
    const json_t *memory = json_object_get(span, "memory_max");
    struct cell *c = rows_add(rows);
    cell_some_text(&c[C_PROGRAM], text_of(span, "program"));
    if (json_is_integer(json_object_get(span, "index")))
        snprintf(text, sizeof(text), "%s:%lld", text_of(span, "node"), (long long)int_of(span, "index"));
    else
        snprintf(text, sizeof(text), "%s", text_of(span, "node"));
    cell_some_text(&c[C_GPU], text);
    cell_some_text(&c[C_FROM], local_time(from, false, when));
    cell_some_text(&c[C_TIME], clock_span(MAX(to - from, 0), time));
    if (json_is_number(memory)) {
        AUTO_BUF b = BUF_INIT(64);
        render_amount(&b, "bytes", json_number_value(memory));
        cell_text(&c[C_MEMORY], buf_str(&b));
    }
}

/* Of one node; how many there are that have no row. */
static int add_node(const struct client_conf *client, const json_t *v, const char *node, struct rows *rows,
                    size_t *left, struct err *err)
{
    AUTO_BUF path = BUF_INIT(4096), raw = {0};
    json_auto_t *answer = NULL;
    size_t i;
    json_t *span;
    buf_adds(&path, "/api/v1/processes");
    client_param(&path, "node", node);
    add_moments(&path, v);
    buf_addf(&path, "&limit=%d", SPANS);
    int r = client_ask_object(client, "GET", path.p, str_n("", 0), &answer, &raw, err);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    json_array_foreach (json_object_get(answer, "spans"), i, span)
        if (is_its(v, span) && rows->n < MANY)
            add_process(rows, v, span);
        else
            *left += is_its(v, span);
    return 0;
}

int run_processes_put(const struct client_conf *client, const json_t *v, struct buf *out, struct err *err)
{
    const json_t *devices = json_object_get(v, "devices");
    AUTO_ROWS rows = ROWS_OF(columns);
    const char *asked[NODES];
    size_t n = 0, left = 0, i;
    json_t *d;
    int r = 0;
    json_array_foreach (devices, i, d) {
        const char *node = text_of(d, "node_id");
        if (r < 0 || n == NODES || ANY(n, k, strcmp(asked[k], node) == 0))
            continue;
        asked[n++] = node;
        r = add_node(client, v, node, &rows, &left, err);
    }
    if (r < 0 || !rows.n)
        return r;
    buf_addc(out, '\n');
    render_rows_text(out, &rows, &(struct term){.width = cli_width(0), .colour = cli_colour()});
    if (left)
        buf_addf(out, "and %zu more\n", left);
    return 0;
}
