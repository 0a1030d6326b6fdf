/* cmd_peaks.c: `muster peaks`: the highest value of a metric per GPU, out of the files of Dask workers. */
#include <errno.h>
#include <math.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "cli/progress.h"
#include "dask/peaks.h"
#include "format/render.h"

#define OUT_MAX (1u << 30)

struct peaks_conf {
    char *metric;
    struct opt_list workers;
    bool per_job, json, csv;
};

static const struct opt peaks_opts[] = {
    OPT(peaks_conf, metric, 'm', OPT_STR, "compute-util", "NAME", "column of the files, also a custom one"),
    OPT(peaks_conf, workers, 'w', OPT_LIST, NULL, "N,N...", "only these workers, by the number in the file name"),
    OPT(peaks_conf, per_job, 'j', OPT_BOOL, NULL, NULL, "print values per job"),
    OPT(peaks_conf, json, 0, OPT_BOOL, NULL, NULL,
        "print JSON: worker number, with --per-job job number, then a list per GPU"),
    OPT(peaks_conf, csv, 0, OPT_BOOL, NULL, NULL, "print CSV"),
    {0},
};
const struct opt_cmd peaks_help = {
    .name = "muster peaks",
    .summary = "print the highest values per GPU from the files of Dask workers",
    .args = "DIR",
    .about = "DIR contains files of muster.dask or dask-metrics, worker_0.csv and so on; the number in the name is the "
             "worker's. It may also be one such file. Files of any length are read as a stream. A missing value does "
             "not count as 0.",
    .examples = "muster peaks out --metric total-mem  # each worker, each GPU\n"
                "muster peaks out --metric compute-util --workers 0,8 --per-job --json",
    .opts = peaks_opts,
    .conf_size = sizeof(struct peaks_conf),
};

/* ---- which workers ---- */

static int unknown_worker(const struct worker_files *all, const char *what)
{
    AUTO_BUF there = BUF_INIT(300);
    for (size_t i = 0; i < all->n && !there.err; i++)
        buf_addf(&there, "%s%lld", i ? ", " : "", (long long)all->v[i].number);
    return cli_fail(&peaks_help, EXIT_USAGE, "there is no worker '%.40s'; there are %s%s", what,
                    there.p ? there.p : "none", there.err ? " ..." : "");
}

/* Keeps only the requested files, in the order of numbers. Returns -1, or an exit code. */
static int choose(const struct peaks_conf *conf, struct worker_files *all)
{
    AUTO_FREE bool *wanted = mem_zero(all->n + 1, sizeof(*wanted));
    size_t n = 0;
    for (size_t i = 0; i < conf->workers.n; i++) {
        struct str rest = str_of(conf->workers.v[i]), one;
        while (str_cut(&rest, ',', &one)) {
            int64_t number = -1;
            size_t k = all->n;
            AUTO_FREE char *text = mem_strn(str_trim(one).p, str_trim(one).len);
            if (str_int(str_of(text), &number))
                k = FIRST(all->n, x, all->v[x].number == number);
            if (k == all->n)
                return unknown_worker(all, text);
            wanted[k] = true;
        }
    }
    for (size_t i = 0; i < all->n; i++)
        if (wanted[i] || !conf->workers.n) {
            struct worker_file keep = all->v[i];
            all->v[i] = all->v[n];
            all->v[n++] = keep;
        }
    for (size_t i = n; i < all->n; i++)
        free(all->v[i].path);
    all->n = n;
    return -1;
}

/* ---- showing ---- */

/* Whole numbers as such, as the old tool had nothing else; others as short as they can be. */
static void add_number(struct buf *b, double v)
{
    char text[40];
    if (isnan(v)) {
        buf_adds(b, "null");
    } else if (v == floor(v) && fabs(v) < 9007199254740992.0) {
        buf_addi(b, (int64_t)v);
    } else {
        for (int digits = 15; digits <= 17; digits++) {
            snprintf(text, sizeof(text), "%.*g", digits, v);
            if (strtod(text, NULL) == v)
                break;
        }
        buf_adds(b, text);
    }
}

static void add_list(struct buf *b, const struct peaks_job *j)
{
    buf_addc(b, '[');
    for (size_t i = 0; i < j->n; i++) {
        buf_adds(b, i ? ", " : "");
        add_number(b, j->v[i]);
    }
    buf_addc(b, ']');
}

static void show_json(struct buf *out, const struct worker_files *w, const struct peaks *p, bool per_job)
{
    buf_addc(out, '{');
    for (size_t i = 0; i < w->n; i++) {
        buf_addf(out, "%s\n \"%lld\": ", i ? "," : "", (long long)w->v[i].number);
        if (!per_job) {
            add_list(out, p[i].n ? &p[i].v[0] : &(struct peaks_job){0});
            continue;
        }
        buf_addc(out, '{');
        for (size_t k = 0; k < p[i].n; k++) {
            buf_adds(out, k ? ",\n  " : "\n  ");
            json_escape(out, str_of(p[i].v[k].job));
            buf_adds(out, ": ");
            add_list(out, &p[i].v[k]);
        }
        buf_addc(out, '}');
    }
    buf_adds(out, "\n}\n");
}

struct sheet {
    struct rows rows;
    struct column_spec *cols;
    char (*names)[24];
    size_t before; /* columns before those of GPUs */
};

static void sheet_init(struct sheet *s, size_t gpus, bool per_job, bool named)
{
    static const struct column_spec worker = {"worker", "WORKER", CELL_TEXT, .right = true, .weight = 1000},
                                    name = {"name", "NAME", CELL_TEXT, .weight = 100},
                                    job = {"job", "JOB", CELL_TEXT, .right = true, .weight = 900};
    size_t n = 0;
    s->before = 1u + named + per_job;
    s->cols = mem_zero(gpus + s->before, sizeof(*s->cols));
    s->names = mem_zero(gpus + 1, sizeof(*s->names));
    s->cols[n++] = worker;
    if (named)
        s->cols[n++] = name;
    if (per_job)
        s->cols[n++] = job;
    for (size_t i = 0; i < gpus; i++) {
        snprintf(s->names[i], sizeof(s->names[i]), "gpu%zu", i);
        s->cols[n++] = (struct column_spec){s->names[i], s->names[i], CELL_TEXT, .right = true, .weight = 500};
    }
    rows_init(&s->rows, s->cols, n);
}

static void show_rows(struct buf *out, const struct peaks_conf *conf, const struct worker_files *w,
                      const struct peaks *p)
{
    AUTO_FREE struct samples_about *about = mem_zero(w->n + 1, sizeof(*about));
    struct sheet s;
    char unit[32];
    size_t gpus = 0;
    bool named = false;
    for (size_t i = 0; i < w->n; i++) {
        samples_about(w->v[i].path, &about[i]);
        named = named || about[i].name[0];
        for (size_t k = 0; k < p[i].n; k++)
            gpus = MAX(gpus, p[i].v[k].n);
    }
    sheet_init(&s, gpus, conf->per_job, named);
    for (size_t i = 0; i < w->n; i++) {
        samples_unit(w->v[i].path, conf->metric, unit);
        for (size_t k = 0; k < p[i].n; k++) {
            struct cell *row = rows_add(&s.rows);
            char number[24];
            snprintf(number, sizeof(number), "%lld", (long long)w->v[i].number);
            cell_text(&row[0], str_of(number));
            if (named)
                cell_text(&row[1], str_of(about[i].name));
            if (conf->per_job)
                cell_text(&row[s.before - 1], str_of(p[i].v[k].job));
            for (size_t g = 0; g < p[i].v[k].n; g++) {
                AUTO_BUF b = BUF_INIT(64);
                if (isnan(p[i].v[k].v[g]))
                    continue;
                if (conf->csv || strcmp(unit, "%") == 0 || !unit[0])
                    add_number(&b, p[i].v[k].v[g]);
                else
                    render_amount(&b, unit, p[i].v[k].v[g]);
                cell_text(&row[s.before + g], buf_str(&b));
            }
        }
    }
    if (conf->csv)
        render_rows_csv(out, &s.rows);
    else
        render_rows_text(out, &s.rows, &(struct term){.width = 0, .colour = cli_colour()});
    rows_fini(&s.rows);
    FREE_ALL(s.cols, s.names);
}

/* ---- all of it ---- */

struct watch {
    struct progress bar;
    int64_t before; /* bytes of the files before this one */
};

static void on_bytes(void *arg, int64_t bytes)
{
    struct watch *w = arg;
    progress_at(&w->bar, w->before + bytes);
}

static int peaks(const struct peaks_conf *conf, const struct worker_files *w)
{
    AUTO_FREE struct peaks *p = mem_zero(w->n + 1, sizeof(*p));
    AUTO_BUF out = BUF_INIT(OUT_MAX);
    struct watch watch = {0};
    struct err err = {0};
    int64_t total = 0;
    bool rows = false, any = false;
    int r = 0;

    for (size_t i = 0; i < w->n; i++)
        total += w->v[i].bytes;
    progress_start(&watch.bar, "peaks", "bytes", total, false);
    for (size_t i = 0; i < w->n && r == 0; i++) {
        r = peaks_of(w->v[i].path, conf->metric, conf->per_job, on_bytes, &watch, &p[i], &err);
        watch.before += w->v[i].bytes;
        rows = rows || p[i].n;
        any = any || peaks_any(&p[i]);
    }
    progress_end(&watch.bar);
    if (r == 0 && rows && !any)
        r = err_set(&err, -EINVAL, "'%.60s' has no numbers, so there is no highest", conf->metric);
    if (r < 0)
        r = cli_fail(&peaks_help, err.code == -ENOENT ? EXIT_USAGE : EXIT_REACH, "%s", err.msg);
    else {
        if (conf->json)
            show_json(&out, w, p, conf->per_job);
        else
            show_rows(&out, conf, w, p);
        r = cli_print(&peaks_help, &out);
    }
    for (size_t i = 0; i < w->n; i++)
        peaks_fini(&p[i]);
    return r;
}

int cmd_peaks(struct cmd_call *c)
{
    const struct peaks_conf *conf = c->conf;
    struct worker_files w = {0};

    if (c->argc != 1)
        return err_set(&c->err, -EINVAL, "expected one folder: muster peaks DIR");
    if (conf->json && conf->csv)
        return err_set(&c->err, -EINVAL, "--json and --csv exclude each other");
    int r = worker_files_find(c->argv[0], &w, &c->err);
    if (r < 0)
        r = cli_fail(&peaks_help, EXIT_REACH, "%s", c->err.msg);
    else if ((r = choose(conf, &w)) < 0)
        r = peaks(conf, &w);
    worker_files_fini(&w);
    return r;
}
