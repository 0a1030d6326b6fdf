/* cmd_run_more.c: fetches the history of a run's GPUs and their processes during the run, and shows both. */
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

/* Draws metric by metric, so that GPUs are aligned. Skips unknown values. Returns the number of charts. */
static size_t draw_known(const struct lines *l, const char *const *names, int width, struct buf *out)
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
    return known.n;
}

static int put_charts(const struct client_conf *client, const json_t *v, int width, struct buf *out, struct err *err)
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
    uint32_t damaged;
    int r = client_get_history(client, &path, &answer, &damaged, err);
    if (r < 0)
        return r == -ENOENT ? 0 : r; /* the hub does not know them any more */
    if (damaged)
        buf_addf(out, "charts: " CLIENT_DAMAGED "\n", damaged);
    if (!lines_parse(&answer, true, &l))
        return client_no_hub(client, err);
    if (draw_known(&l, names, width, out) && json_array_size(devices) > n)
        buf_addf(out, "charts of %zu of its %zu GPUs\n", n, json_array_size(devices));
    lines_fini(&l);
    return 0;
}

void run_charts_put(const struct client_conf *client, const json_t *v, int width, struct buf *out)
{
    struct err err = {0};
    if (put_charts(client, v, width, out, &err) < 0)
        buf_addf(out, "charts: %s\n", err.msg);
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

static bool is_on_its_gpus(const json_t *v, const json_t *span)
{
    const json_t *devices = json_object_get(v, "devices");
    const char *uuid = text_of(span, "device");
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
    cell_text(&c[C_FROM], str_n(local_time(from, when), LOCAL_TO_MINUTE));
    cell_some_text(&c[C_TIME], clock_span(MAX(to - from, 0), time));
    if (json_is_number(memory)) {
        AUTO_BUF b = BUF_INIT(64);
        render_amount(&b, "bytes", json_number_value(memory));
        cell_text(&c[C_MEMORY], buf_str(&b));
    }
}

/* Of one node, of the run's person, where it has one: that is a person of the hub's people or a login. */
static int add_node(const struct client_conf *client, const json_t *v, const char *node, json_t *its, struct err *err)
{
    static const char *const whose[] = {"person", "user"};
    const char *person = text_of(json_object_get(v, "job"), "person");
    size_t before = json_array_size(its);
    for (size_t k = 0; k < (person[0] ? ARRAY_LEN(whose) : 1) && json_array_size(its) == before; k++) {
        AUTO_BUF path = BUF_INIT(4096), raw = {0};
        json_auto_t *answer = NULL;
        size_t i;
        json_t *span;
        buf_adds(&path, "/api/v1/processes");
        client_param(&path, "node", node);
        client_param(&path, whose[k], person);
        add_moments(&path, v);
        buf_addf(&path, "&limit=%d", SPANS);
        int r = client_request_object(client, "GET", path.p, str_n("", 0), &answer, &raw, err);
        if (r < 0)
            return r == -ENOENT ? 0 : r; /* the hub does not know the node any more */
        json_array_foreach (json_object_get(answer, "spans"), i, span)
            if (is_on_its_gpus(v, span))
                json_array_append(its, span);
    }
    return 0;
}

/* Reads the first nodes, until one fails. Returns how many of how many it queried. */
static int read_processes(const struct client_conf *client, const json_t *v, json_t *its, size_t *ret_asked,
                          size_t *ret_of, struct err *err)
{
    const json_t *devices = json_object_get(v, "devices");
    AUTO_FREE const char **nodes = mem_zero(json_array_size(devices) + 1, sizeof(*nodes));
    size_t n = 0, k, i;
    json_t *d;
    int r = 0;
    json_array_foreach (devices, i, d)
        if (!ANY(n, j, strcmp(nodes[j], text_of(d, "node_id")) == 0))
            nodes[n++] = text_of(d, "node_id");
    for (k = 0; k < MIN(n, (size_t)NODES) && r >= 0; k++)
        r = add_node(client, v, nodes[k], its, err);
    *ret_asked = k;
    *ret_of = n;
    return r;
}

COMPARE(by_place, json_t *const,
        str_natural(text_of(*x, "node"), text_of(*y, "node")) ?: ORDER(int_of(*x, "index"), int_of(*y, "index"))
            ?: ORDER(int_of(*x, "first"), int_of(*y, "first")))

static void put_table(const json_t *v, const json_t *its, struct buf *out)
{
    AUTO_ROWS rows = ROWS_OF(columns);
    size_t n = json_array_size(its);
    AUTO_FREE json_t **spans = mem_zero(n + 1, sizeof(json_t *));
    for (size_t i = 0; i < n; i++)
        spans[i] = json_array_get(its, i);
    SORT(spans, n, by_place);
    for (size_t i = 0; i < MIN(n, (size_t)MANY); i++)
        add_process(&rows, v, spans[i]);
    render_rows_text(out, &rows, &(struct term){.width = cli_width(0), .colour = cli_colour()});
    if (n > MANY)
        buf_addf(out, "and %zu more\n", n - MANY);
}

void run_processes_put(const struct client_conf *client, const json_t *v, struct buf *out)
{
    json_auto_t *its = json_array();
    struct err err = {0};
    size_t asked, of;
    int r = read_processes(client, v, its, &asked, &of, &err);
    bool some = json_array_size(its) > 0;
    if (some || r < 0)
        buf_addc(out, '\n');
    if (some)
        put_table(v, its, out);
    if (r < 0)
        buf_addf(out, "processes: %s\n", err.msg);
    else if (some && asked < of)
        buf_addf(out, "processes of %zu of its %zu nodes\n", asked, of);
}
