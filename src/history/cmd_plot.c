/* cmd_plot.c: `muster plot`: the samples of a Dask worker's file, or a hub's history, as lines or boxes. */
#include <errno.h>
#include <math.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/lines.h"
#include "cli/progress.h"
#include "dask/job.h"
#include "history/cmd_picture.h"

#define POINTS   "1500" /* requested from a hub: more than a picture can show */
#define INCH     72.0
#define INCH_MAX 200
#define OUT_MAX  (256u << 20)

struct plot_conf {
    struct client_conf client;
    char *job, *device, *from, *to, *step, *agg, *group, *fold, *filter, *zone, *width, *height, *output;
    struct opt_list metrics;
    int64_t freq, last;
};

static const struct opt plot_opts[] = {
    OPT(plot_conf, job, 'j', OPT_STR, NULL, "N", "of a file: only this job", .default_text = "the whole file"),
    OPT(plot_conf, metrics, 'm', OPT_LIST, NULL, "A,B...", "charts: columns of the file or metrics of the hub",
        .default_text = "compute-util or util"),
    OPT(plot_conf, freq, 0, OPT_INT, "15", "N", "boxes: number of samples of all GPUs per box", .min = 1,
        .max = 1000000, .verbs = "boxes"),
    OPT(plot_conf, width, 0, OPT_STR, NULL, "INCHES", "width of the picture; on a terminal: in columns",
        .default_text = "10"),
    OPT(plot_conf, height, 0, OPT_STR, NULL, "INCHES", "height of the picture; on a terminal: lines of a chart",
        .default_text = "3.6 per metric"),
    OPT(plot_conf, output, 'o', OPT_PATH, "-", "FILE",
        "output: a .png, .jpg, .svg or .pdf file; -: dots on the terminal"),
    OPT(plot_conf, device, 'd', OPT_STR, NULL, "DEVICE",
        "history of a hub instead of a file: a UUID, node:index, a node, or a pattern"),
    OPT(plot_conf, last, 'n', OPT_DURATION, "1h", "TIME", "hub: length of the period before now", .min = 1000,
        .max = 36525ll * 86400000),
    OPT(plot_conf, from, 0, OPT_STR, NULL, "WHEN", "hub: start, as in `muster history`"),
    OPT(plot_conf, to, 0, OPT_STR, NULL, "WHEN", "hub: end"),
    OPT(plot_conf, step, 's', OPT_STR, NULL, "TIME", "hub: time per value"),
    OPT(plot_conf, agg, 'a', OPT_STR, NULL, "HOW", "hub: value per step: avg, min, max, ..."),
    OPT(plot_conf, group, 'g', OPT_STR, NULL, "BY",
        "hub: one line per node, model, user, person, team, or one for all"),
    OPT(plot_conf, fold, 0, OPT_STR, NULL, "HOW", "hub: value of a group: mean, sum, min or max of its devices"),
    OPT(plot_conf, filter, 'f', OPT_STR, NULL, "FILTER", "hub: only devices that match now"),
    OPT(plot_conf, zone, 'z', OPT_STR, NULL, "ZONE", "hub: time zone", .default_text = "the system's"),
    CLIENT_OPTS(plot_conf, client),
    {0},
};
const struct opt_cmd plot_help = {
    .name = "muster plot",
    .summary = "draw samples of a Dask worker, or the history of a hub, as lines or boxes",
    .args = "[lines|boxes] [FILE]",
    .about =
        "FILE is the CSV file of a worker, from muster.dask or dask-metrics. Lines: a chart per metric, a line per "
        "GPU. "
        "Boxes: --freq samples of all GPUs per box, with quartiles, whiskers up to the last value within 1.5 times "
        "their distance, and outliers as diamonds. With --device it draws the history of a hub.",
    .examples = "muster plot boxes out/worker_0.csv --job 3 --metrics compute-util,total-mem -o job3.pdf\n"
                "muster plot lines out/worker_0.csv --job 3  # on the terminal\n"
                "muster plot --hub http://hub:8765 --device dgx1 --metrics util,power --last 1d -o dgx1.svg",
    .opts = plot_opts,
    .verb = "lines",
    .conf_size = sizeof(struct plot_conf),
};

/* ---- options ---- */

struct sheet {
    struct picture p;
    enum plot_format format;
    bool term;
    int columns, lines;
    size_t n_metrics;
    char **metrics;
};

static int read_metrics(const struct plot_conf *conf, const char *otherwise, struct sheet *s)
{
    struct opt_list one = {(char *[]){(char *)otherwise}, 1};
    const struct opt_list *l = conf->metrics.n ? &conf->metrics : &one;
    s->metrics = mem_zero(PLOT_STACK_MAX + 1, sizeof(*s->metrics));
    for (size_t i = 0; i < l->n; i++) {
        struct str rest = str_of(l->v[i]), name;
        while (str_cut(&rest, ',', &name)) {
            name = str_trim(name);
            if (!name.len)
                continue;
            if (s->n_metrics == PLOT_STACK_MAX)
                return cli_fail(&plot_help, EXIT_USAGE, "--metrics: more than %d of them", PLOT_STACK_MAX);
            s->metrics[s->n_metrics++] = mem_strn(name.p, name.len);
        }
    }
    return s->n_metrics ? -1 : cli_fail(&plot_help, EXIT_USAGE, "--metrics: expected a name");
}

/* Inches, or columns and lines; 0 if not set. */
static int read_size(const char *flag, const char *text, bool term, double *ret)
{
    int64_t milli = 0;
    if (text && (!str_fixed(str_of(text), 1000, &milli) || milli <= 0 || milli > (term ? 1000 : INCH_MAX) * 1000ll))
        return cli_fail(&plot_help, EXIT_USAGE, "%s '%.20s': expected %s", flag, text,
                        term ? "a number up to 1000" : "inches, at most 200");
    *ret = (double)milli / 1000;
    return -1;
}

static int read_output(const struct plot_conf *conf, struct sheet *s)
{
    const char *dot = strrchr(conf->output, '.');
    double width = 0, height = 0;
    s->term = strcmp(conf->output, "-") == 0;
    size_t f = FIRST(PLOT_FORMATS, i, s->term || (dot && str_eq_nocase(str_of(dot + 1), plot_words[i])));
    if (f == PLOT_FORMATS)
        return cli_fail(&plot_help, EXIT_USAGE,
                        "-o '%.200s': expected a name that ends with .png, .jpg, .svg or .pdf, or -", conf->output);
    s->format = (enum plot_format)f;
    int r = read_size("--width", conf->width, s->term, &width);
    if (r < 0)
        r = read_size("--height", conf->height, s->term, &height);
    s->columns = width > 0 ? (int)width : cli_width(80);
    s->lines = height > 0 ? (int)height : 8;
    s->p.width = (width > 0 ? width : 10) * INCH;
    s->p.height = (height > 0 ? height : 3.6 * (double)s->n_metrics) * INCH;
    return r;
}

static int finish(const struct plot_conf *conf, const struct sheet *s)
{
    AUTO_BUF out = BUF_INIT(OUT_MAX);
    struct err err = {0};
    if (s->term) {
        picture_term(&s->p, s->columns, s->lines, &out);
        return cli_print(&plot_help, &out);
    }
    if (picture_draw(&s->p, s->format, &out, &err) < 0)
        return cli_fail(&plot_help, EXIT_REACH, "%s", err.msg);
    return cli_save(&plot_help, conf->output, true, &out);
}

/* ---- a file ---- */

static void on_bytes(void *arg, int64_t bytes)
{
    progress_at(arg, bytes);
}

/* "GPU 0", ... for the most GPUs that any metric has. */
static const char **gpu_names(const struct dask_job *j, char (**ret_text)[24])
{
    size_t most = 0;
    for (size_t m = 0; m < j->n_metrics; m++)
        most = MAX(most, j->metrics[m].gpus);
    const char **names = mem_zero(most + 1, sizeof(*names));
    *ret_text = mem_zero(most + 1, sizeof(**ret_text));
    for (size_t g = 0; g < most; g++) {
        snprintf((*ret_text)[g], sizeof(**ret_text), "GPU %u", (unsigned)g);
        names[g] = (*ret_text)[g];
    }
    return names;
}

static int draw_job(const struct plot_conf *conf, struct sheet *s, const char *path, const struct dask_job *j)
{
    AUTO_FREE int64_t *at_ms = mem_zero(j->n, sizeof(*at_ms));
    char(*text)[24];
    const char **names = gpu_names(j, &text), *slash = strrchr(path, '/');
    struct samples_about about;
    samples_about(path, &about);
    for (size_t i = 0; i < j->n; i++)
        at_ms[i] = (int64_t)llround(fmax(-1e12, fmin(1e12, j->t[i])) * 1000);
    AUTO_FREE char *title =
        mem_fmt("%.100s%s%.40s", slash ? slash + 1 : path, conf->job ? ", job " : "", conf->job ? conf->job : "");
    AUTO_FREE char *subtitle = mem_fmt("%zu samples%s%s%s%s", j->n, about.name[0] ? ", worker " : "", about.name,
                                       about.host[0] ? ", host " : "", about.host);
    s->p.title = title;
    s->p.subtitle = subtitle;
    s->p.n = j->n;
    s->p.seconds = j->t;
    s->p.at_ms = at_ms;
    s->p.n_panels = j->n_metrics;
    for (size_t m = 0; m < j->n_metrics; m++)
        s->p.panels[m] =
            (struct panel){j->metrics[m].name, j->metrics[m].unit, j->metrics[m].gpus, j->metrics[m].v, names};
    int r = finish(conf, s);
    free(names);
    free(text);
    return r;
}

static int plot_file(const struct plot_conf *conf, struct sheet *s, const char *path)
{
    struct progress bar;
    struct dask_job j = {0};
    struct worker_files one = {0};
    struct err err = {0};
    int r = worker_files_find(path, &one, &err);
    if (r < 0)
        return cli_fail(&plot_help, EXIT_REACH, "%s", err.msg);
    if (r == 0 && (one.n != 1 || strcmp(one.v[0].path, path) != 0))
        r = err_set(&err, -EISDIR, "'%s' is a folder: choose one of its files, as '%s'", path, one.v[0].path);
    if (r == 0) {
        progress_start(&bar, "plot", "bytes", one.v[0].bytes, false);
        r = job_read(path, conf->job, (const char *const *)s->metrics, s->n_metrics, on_bytes, &bar, &j, &err);
        progress_end(&bar);
    }
    worker_files_fini(&one);
    if (r < 0)
        return cli_fail(&plot_help, err.code == -ENOENT || err.code == -EISDIR ? EXIT_USAGE : EXIT_REACH, "%s",
                        err.msg);
    r = draw_job(conf, s, path, &j);
    job_fini(&j);
    return r;
}

/* ---- a hub ---- */

static int ask_hub(const struct plot_conf *conf, const struct sheet *s, struct buf *ret, struct err *err)
{
    AUTO_BUF path = BUF_INIT(65536);
    char text[32];
    uint32_t damaged;
    buf_adds(&path, "/api/v1/history");
    client_param(&path, "device", conf->device);
    for (size_t i = 0; i < s->n_metrics; i++)
        client_param(&path, "metric", s->metrics[i]);
    snprintf(text, sizeof(text), "%lld", (long long)(clock_wall_ms() - conf->last));
    client_param(&path, "from", conf->from ? conf->from : text);
    client_options(&path, plot_opts, conf, "to step agg group fold filter");
    client_param(&path, "points", POINTS);
    int r = client_get_history(&conf->client, &path, ret, &damaged, err);
    if (r == 0 && damaged)
        cli_fail(&plot_help, 0, CLIENT_DAMAGED, damaged);
    return r;
}

/* Draws the series of each metric together, in the order of the metrics on the command line. */
static int draw_lines(const struct plot_conf *conf, struct sheet *s, const struct lines *l)
{
    size_t n = l->v[0].chart.n, at = 0;
    AUTO_FREE int64_t *at_ms = mem_zero(n + 1, sizeof(*at_ms));
    AUTO_FREE double **v = mem_zero(l->n, sizeof(*v));
    AUTO_FREE const char **names = mem_zero(l->n, sizeof(*names));
    AUTO_FREE char *title = mem_fmt("History of %.200s", strcmp(conf->device, "*") == 0 ? "all GPUs" : conf->device);
    for (size_t i = 0; i < n; i++)
        at_ms[i] = l->from_ms + (int64_t)i * l->step_ms;
    for (size_t m = 0; m < s->n_metrics; m++) {
        struct panel *p = &s->p.panels[s->p.n_panels];
        *p = (struct panel){.name = s->metrics[m], .unit = "", .v = v + at, .names = names + at};
        for (size_t i = 0; i < l->n; i++)
            if (strcmp(l->v[i].metric, s->metrics[m]) == 0) {
                v[at] = l->v[i].v;
                names[at++] = l->v[i].title;
                p->unit = l->v[i].chart.unit;
                p->n_series++;
            }
        s->p.n_panels += p->n_series > 0;
    }
    s->p.title = title;
    s->p.n = n;
    s->p.at_ms = at_ms;
    return finish(conf, s);
}

static int plot_hub(const struct plot_conf *conf, struct sheet *s)
{
    AUTO_BUF answer = {0};
    struct zone *zone = NULL;
    struct lines l = {0};
    struct err err = {0};
    if (zone_load(conf->zone, &zone, &err) < 0)
        return cli_fail(&plot_help, EXIT_USAGE, "%s", err.msg);
    s->p.zone = zone;
    int r = ask_hub(conf, s, &answer, &err);
    if (r < 0)
        r = cli_fail(&plot_help, r == -EINVAL ? EXIT_USAGE : EXIT_REACH, "%s", err.msg);
    else if (!lines_parse(&answer, true, &l))
        r = cli_fail(&plot_help, EXIT_REACH, "'%s' sent an unexpected response; is it a muster hub?",
                     client_url(&conf->client));
    else if (!l.n || !l.v[0].chart.n)
        r = cli_fail(&plot_help, EXIT_NO, "no data for this period");
    else
        r = draw_lines(conf, s, &l);
    lines_fini(&l);
    zone_free(zone);
    return r;
}

int cmd_plot(struct cmd_call *c)
{
    const struct plot_conf *conf = c->conf;
    struct sheet s = {0};
    bool kind = c->argc > 0 && (!strcmp(c->argv[0], "lines") || !strcmp(c->argv[0], "boxes"));
    int n = c->argc - kind, r;

    s.p.boxes = kind && c->argv[0][0] == 'b';
    s.p.freq = (size_t)conf->freq;
    if (n != (conf->device ? 0 : 1))
        return err_set(&c->err, -EINVAL,
                       conf->device ? "a file and --device exclude each other"
                                    : "expected lines or boxes and a file, or --device");
    r = read_metrics(conf, conf->device ? "util" : "compute-util", &s);
    if (r < 0)
        r = read_output(conf, &s);
    if (r < 0)
        r = conf->device ? plot_hub(conf, &s) : plot_file(conf, &s, c->argv[kind]);
    for (size_t i = 0; i < s.n_metrics; i++)
        free(s.metrics[i]);
    free(s.metrics);
    return r;
}
