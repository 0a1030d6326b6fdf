/* cmd_run.c: `muster run`: the verdict of a run, as on its page; and `muster compare`: two runs next to each other. */
#include <errno.h>
#include <math.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "cli/cli.h"
#include "cli/listing.h"
#include "draw/plot.h"
#include "format/words.h"
#include "jobs/cmd_run_more.h"

#define LIMIT_MS 60000

struct run_conf {
    struct client_conf client;
    bool json;
    char *output;
};

static const struct opt run_opts[] = {
    CLIENT_OPTS(run_conf, client),
    OPT(run_conf, json, 0, OPT_BOOL, NULL, NULL, "print JSON"),
    OPT(run_conf, output, 'o', OPT_PATH, NULL, "FILE", "picture to write: run.png, run.svg, run.pdf or run.jpg"),
    {0},
};
static const struct opt compare_opts[] = {
    CLIENT_OPTS(run_conf, client),
    OPT(run_conf, json, 0, OPT_BOOL, NULL, NULL, "print JSON"),
    {0},
};
const struct opt_cmd run_help = {
    .name = "muster run",
    .summary = "show a run: activity of its GPUs, resources, cost and advice",
    .args = "ID",
    .about = "`muster runs` lists the IDs. A value that a GPU does not measure is marked as missing, not as 0 "
             "(docs/jobs.md). On a terminal it draws charts of the GPUs during the run. Exit status 1: run not found.",
    .examples = "muster run 3f9a6c1be2d07a55\n"
                "muster run 3f9a6c1be2d07a55 -o run.png",
    .opts = run_opts,
    .conf_size = sizeof(struct run_conf),
    .no = (const int[]){ENOENT, 0},
};
const struct opt_cmd compare_help = {
    .name = "muster compare",
    .summary = "compare two runs",
    .args = "RUN RUN",
    .about = "Each RUN is an ID of `muster runs`. Differences are those of the second run to the first. Exit status 1: "
             "a run is not found.",
    .examples = "muster compare 3f9a6c1be2d07a55 71bb03d2a96c4e10",
    .opts = compare_opts,
    .conf_size = sizeof(struct run_conf),
    .no = (const int[]){ENOENT, 0},
};

/* ---- numbers ---- */

enum amount { AS_SHARE, AS_BYTES, AS_WATTS, AS_DEGREES, AS_CORES, AS_TFLOPS, AS_ENERGY, AS_MONEY, AS_SPAN };
static const struct {
    const char *key, *label;
    enum amount as;
} lines[] = {{"seconds", "time", AS_SPAN},
             {"active", "active", AS_SHARE},
             {"waited", "waited", AS_SHARE},
             {"tensor_peak", "of the tensor peak", AS_SHARE},
             {"work", "efficiency", AS_SHARE},
             {"sm", "SM active", AS_SHARE},
             {"fp32", "fp32 active", AS_SHARE},
             {"dram", "memory bandwidth", AS_SHARE},
             {"flops", "TFLOP/s as bf16, a GPU, -12 to +35 %", AS_TFLOPS},
             {"util", "utilisation", AS_SHARE},
             {"clock", "clock, share of maximum", AS_SHARE},
             {"memory_peak", "peak memory per GPU", AS_BYTES},
             {"memory_total", "total memory per GPU", AS_BYTES},
             {"host_cpu", "host CPU cores per GPU", AS_CORES},
             {"host_cpu_top", "busiest process, cores", AS_CORES},
             {"power", "power per GPU", AS_WATTS},
             {"power_peak", "peak power", AS_WATTS},
             {"temperature_peak", "peak temperature", AS_DEGREES},
             {"energy", "energy", AS_ENERGY},
             {"cost", "cost", AS_MONEY}};

/* NAN: not measured. */
static double number_of(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static void put_amount(struct buf *out, enum amount as, double v, const char *currency)
{
    char span[24];
    if (isnan(v))
        buf_adds(out, "-");
    else if (as == AS_SHARE)
        buf_addf(out, "%.0f %%", v * 100);
    else if (as == AS_BYTES)
        buf_addf(out, "%.1f GiB", v / (double)(1 << 30));
    else if (as == AS_WATTS)
        buf_addf(out, "%.0f W", v);
    else if (as == AS_DEGREES)
        buf_addf(out, "%.0f C", v);
    else if (as == AS_CORES)
        buf_addf(out, "%.1f", v);
    else if (as == AS_TFLOPS)
        buf_addf(out, "%.0f", v);
    else if (as == AS_ENERGY)
        energy_human(out, v);
    else if (as == AS_MONEY)
        buf_addf(out, "%.2f %s", v, currency);
    else
        buf_adds(out, clock_span((int64_t)(v * 1000), span));
}

/* Of shares points; of others how many times as much. */
static void put_difference(struct buf *out, enum amount as, double a, double b)
{
    if (isnan(a) || isnan(b))
        return;
    if (as == AS_SHARE)
        buf_addf(out, "%+.0f points", round(b * 100) - round(a * 100));
    else if (a > 0)
        buf_addf(out, "%+.0f %%", (b / a - 1) * 100);
}

/* ---- one run ---- */

static int verdict_path(const char *id, struct buf *ret, struct err *err)
{
    if (!id[0] || strlen(id) > 64 || strspn(id, "0123456789abcdefABCDEF") != strlen(id))
        return err_set(err, -EINVAL, "'%.64s' is not a run ID: expected 16 hex digits; `muster runs` lists them", id);
    return buf_addf(ret, "/api/v1/jobs/%s/verdict", id);
}

static int ask_verdict(const struct run_conf *conf, const char *id, json_t **ret, struct buf *raw, struct err *err)
{
    AUTO_BUF path = BUF_INIT(4096);
    struct client_conf client = conf->client;
    client.limit_ms = LIMIT_MS;
    int r = verdict_path(id, &path, err);
    return r < 0 ? r : client_request_object(&client, "GET", path.p, str_n("", 0), ret, raw, err);
}

static int save_picture(const struct run_conf *conf, const char *id, struct err *err)
{
    AUTO_BUF path = BUF_INIT(4096), picture = {0};
    const char *dot = strrchr(conf->output, '.');
    size_t format = FIRST(PLOT_FORMATS, i, dot && strcmp(dot + 1, plot_words[i]) == 0);
    if (format == PLOT_FORMATS)
        return err_set(err, -EINVAL, "-o '%.200s': expected a name that ends with .png, .svg, .pdf or .jpg",
                       conf->output);
    int r = verdict_path(id, &path, err);
    client_param(&path, "format", plot_words[format]);
    r = r < 0 ? r : client_get(&conf->client, LIMIT_MS, &path, &picture, err);
    return r < 0 ? r : cli_save(&run_help, conf->output, true, &picture);
}

static void put_places(struct buf *out, const json_t *v)
{
    const json_t *devices = json_object_get(v, "devices");
    const char *before = "";
    size_t i;
    json_t *d;
    json_array_foreach (devices, i, d) {
        const char *node = text_of(d, "node");
        if (strcmp(node, before) != 0)
            buf_addf(out, "%s%s:", i ? " " : "", node);
        else
            buf_addc(out, ',');
        if (json_is_integer(json_object_get(d, "gpu")))
            buf_addf(out, "%lld", (long long)int_of(d, "gpu"));
        else
            buf_addc(out, '?');
        before = node;
    }
}

static void put_head(struct buf *out, const json_t *v)
{
    const json_t *job = json_object_get(v, "job");
    const char *person = text_of(job, "person"), *command = text_of(json_object_get(job, "attributes"), "command");
    char from[32], to[32];
    bool ended = strcmp(text_of(job, "state"), "ended") == 0;
    buf_addf(out, "%s\n%s, %s%s%s, %.*s", text_of(v, "sentence"), text_of(job, "name"), text_of(job, "kind"),
             person[0] ? ", " : "", person, LOCAL_TO_MINUTE, local_time(int_of(v, "from"), from));
    if (ended)
        buf_addf(out, " to %.*s", LOCAL_TO_MINUTE, local_time(int_of(v, "to"), to));
    else
        buf_addf(out, ", %s", text_of(job, "state"));
    buf_adds(out, "\n");
    put_places(out, v);
    buf_adds(out, "\n");
    if (command[0])
        buf_addf(out, "%s\n", command);
}

static void put_advice(struct buf *out, const json_t *v)
{
    const json_t *advice = json_object_get(v, "advice");
    size_t i, of = json_array_size(json_object_get(v, "devices"));
    json_t *a;
    char span[24];
    json_array_foreach (advice, i, a) {
        int64_t ms = (int64_t)(number_of(a, "seconds") * 1000);
        buf_addf(out, "\n%s: %s", text_of(a, "rule"), text_of(a, "title"));
        buf_addf(out, ", for %s", clock_span(ms, span));
        if (of > 1)
            buf_addf(out, " on %zu of %zu GPUs", json_array_size(json_object_get(a, "devices")), of);
        buf_addf(out, "\n  %s\n  %s\n", text_of(a, "evidence"), text_of(a, "remedy"));
    }
    if (!i && json_is_true(json_object_get(v, "rules")))
        buf_adds(out, "\nNo problems found.\n");
    if (text_of(v, "rules_why")[0])
        buf_addf(out, "\n%s\n", text_of(v, "rules_why"));
}

static void put_needs(struct buf *out, const json_t *v)
{
    double peak = number_of(v, "memory_peak"), total = number_of(v, "memory_total");
    buf_addc(out, '\n');
    if (!isnan(peak) && !isnan(total)) {
        buf_adds(out, "memory: peak ");
        put_amount(out, AS_BYTES, peak, "");
        buf_adds(out, " of ");
        put_amount(out, AS_BYTES, total, "");
        buf_adds(out, " on a GPU, ");
        put_amount(out, AS_BYTES, MAX(total - peak, 0), "");
        buf_adds(out, " unused\n");
    }
    if (!isnan(number_of(v, "host_cpu")))
        buf_addf(out, "host: %.1f cores per GPU, busiest process %.1f on average, %.1f at most\n",
                 number_of(v, "host_cpu"), number_of(v, "host_cpu_top"), number_of(v, "host_cpu_peak"));
}

enum { C_GPU, C_MODEL, C_ACTIVE, C_PEAK, C_WORK, C_FLOPS, C_UTIL, C_MEMORY, C_CPU, C_POWER, C_ENERGY };
static const struct column_spec columns[] = {
    [C_GPU] = {"", "GPU", CELL_TEXT, .weight = 100},
    [C_MODEL] = {"", "MODEL", CELL_TEXT, .weight = 20},
    [C_ACTIVE] = {"", "ACTIVE", CELL_TEXT, .right = true, .weight = 95},
    [C_PEAK] = {"", "TENSOR", CELL_TEXT, .right = true, .weight = 90},
    [C_WORK] = {"", "EFF", CELL_TEXT, .right = true, .weight = 85},
    [C_FLOPS] = {"", "TFLOP/S", CELL_TEXT, .right = true, .weight = 60},
    [C_UTIL] = {"", "UTIL", CELL_TEXT, .right = true, .weight = 40},
    [C_MEMORY] = {"", "MEMORY", CELL_TEXT, .right = true, .weight = 80},
    [C_CPU] = {"", "CPU", CELL_TEXT, .right = true, .weight = 50},
    [C_POWER] = {"", "POWER", CELL_TEXT, .right = true, .weight = 45},
    [C_ENERGY] = {"", "ENERGY", CELL_TEXT, .right = true, .weight = 70},
};

static void put_cell(struct cell *c, const json_t *row, const char *key, enum amount as)
{
    AUTO_BUF b = BUF_INIT(64);
    put_amount(&b, as, number_of(row, key), "");
    cell_text(c, buf_str(&b));
}

static void fill_gpu(struct cell *c, json_t *row, const struct listing_at *at)
{
    static const struct {
        int to;
        const char *key;
        enum amount as;
    } cells[] = {{C_ACTIVE, "active", AS_SHARE}, {C_PEAK, "tensor_peak", AS_SHARE}, {C_WORK, "work", AS_SHARE},
                 {C_FLOPS, "flops", AS_TFLOPS},  {C_UTIL, "util", AS_SHARE},        {C_MEMORY, "memory_peak", AS_BYTES},
                 {C_CPU, "host_cpu", AS_CORES},  {C_POWER, "power", AS_WATTS},      {C_ENERGY, "energy", AS_ENERGY}};
    char name[160];
    (void)at;
    if (json_is_integer(json_object_get(row, "gpu")))
        snprintf(name, sizeof(name), "%s:%lld", text_of(row, "node"), (long long)int_of(row, "gpu"));
    else
        snprintf(name, sizeof(name), "%s", text_of(row, "device"));
    cell_text(&c[C_GPU], str_of(name));
    cell_text(&c[C_MODEL], str_of(text_of(row, "model")));
    for (size_t i = 0; i < ARRAY_LEN(cells); i++)
        put_cell(&c[cells[i].to], row, cells[i].key, cells[i].as);
}

int cmd_run(struct cmd_call *c)
{
    const struct run_conf *conf = c->conf;
    json_auto_t *v = NULL;
    AUTO_BUF raw = {0}, out = BUF_INIT(4u << 20);
    if (c->argc != 1)
        return err_set(&c->err, -EINVAL, "which run? Example: muster run 3f9a6c1be2d07a55; `muster runs` lists them");
    if (conf->output)
        return save_picture(conf, c->argv[0], &c->err);
    int r = ask_verdict(conf, c->argv[0], &v, &raw, &c->err);
    if (r < 0)
        return r;
    if (conf->json)
        return cli_print_json(&run_help, &raw);
    put_head(&out, v);
    put_advice(&out, v);
    put_needs(&out, v);
    if (isatty(STDOUT_FILENO))
        run_charts_put(&conf->client, v, cli_width(80), &out);
    struct hub_listing l = {LISTING(run_help, columns, fill_gpu, NULL), .member = "devices"};
    if (json_array_size(json_object_get(v, "devices")) > 0) {
        buf_addc(&out, '\n');
        if (listing_put(&l, v, false, &out) < 0)
            return err_set(&c->err, -EREMOTEIO, "the hub sent an unexpected response");
        run_processes_put(&conf->client, v, &out);
    }
    buf_addf(&out, "\n%s/run/%s\n", client_url(&conf->client), text_of(json_object_get(v, "job"), "id"));
    return cli_print(&run_help, &out);
}

/* ---- two of them ---- */

static bool has_rule(const json_t *v, const char *rule)
{
    const json_t *advice = json_object_get(v, "advice");
    size_t i;
    json_t *a;
    json_array_foreach (advice, i, a)
        if (strcmp(text_of(a, "rule"), rule) == 0)
            return true;
    return false;
}

static void put_rules(struct buf *out, json_t *const v[2])
{
    static const char *const only[] = {"only the first", "only the second"};
    for (int k = 0; k < 2; k++) {
        const json_t *advice = json_object_get(v[k], "advice");
        size_t i;
        json_t *a;
        json_array_foreach (advice, i, a) {
            bool both = has_rule(v[!k], text_of(a, "rule"));
            if (!both || k == 0)
                buf_addf(out, "%s: %s: %s\n", both ? "both" : only[k], text_of(a, "rule"), text_of(a, "title"));
        }
    }
}

static const struct column_spec sides[] = {{"", "", CELL_TEXT, .weight = 100},
                                           {"", "FIRST", CELL_TEXT, .right = true, .weight = 90},
                                           {"", "SECOND", CELL_TEXT, .right = true, .weight = 90},
                                           {"", "DIFFERENCE", CELL_TEXT, .right = true, .weight = 80}};

static void put_sides(struct buf *out, json_t *const v[2])
{
    AUTO_ROWS rows = ROWS_OF(sides);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        double a = number_of(v[0], lines[i].key), b = number_of(v[1], lines[i].key);
        struct buf text[3] = {BUF_INIT(64), BUF_INIT(64), BUF_INIT(64)};
        if (isnan(a) && isnan(b))
            continue;
        put_amount(&text[0], lines[i].as, a, text_of(v[0], "currency"));
        put_amount(&text[1], lines[i].as, b, text_of(v[1], "currency"));
        put_difference(&text[2], lines[i].as, a, b);
        struct cell *c = rows_add(&rows);
        cell_text(&c[0], str_of(lines[i].label));
        for (int k = 0; k < 3; k++)
            if (text[k].len)
                cell_text(&c[k + 1], buf_str(&text[k]));
        for (int k = 0; k < 3; k++)
            buf_fini(&text[k]);
    }
    render_rows_text(out, &rows, &(struct term){.width = cli_width(0), .colour = cli_colour()});
}

int cmd_compare(struct cmd_call *c)
{
    const struct run_conf *conf = c->conf;
    json_t *v[2] = {NULL, NULL};
    AUTO_BUF out = BUF_INIT(1u << 20);
    struct buf raw[2] = {{0}, {0}};
    int r = 0;
    if (c->argc != 2)
        return err_set(&c->err, -EINVAL, "which two runs? Example: muster compare 3f9a6c1be2d07a55 71bb03d2a96c4e10");
    for (int k = 0; k < 2 && r >= 0; k++)
        r = ask_verdict(conf, c->argv[k], &v[k], &raw[k], &c->err);
    if (r >= 0 && conf->json) {
        buf_addf(&out, "[%.*s,%.*s]\n", STR_ARG(str_trim(buf_str(&raw[0]))), STR_ARG(str_trim(buf_str(&raw[1]))));
        r = cli_print_json(&compare_help, &out);
    } else if (r >= 0) {
        for (int k = 0; k < 2; k++)
            buf_addf(&out, "%s  %s: %s\n", k ? "second" : "first ", text_of(json_object_get(v[k], "job"), "name"),
                     text_of(v[k], "sentence"));
        buf_addc(&out, '\n');
        put_sides(&out, v);
        put_rules(&out, v);
        r = cli_print(&compare_help, &out);
    }
    for (int k = 0; k < 2; k++) {
        json_decref(v[k]);
        buf_fini(&raw[k]);
    }
    return r;
}
