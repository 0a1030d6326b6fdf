/*
 * write.c: writes one report in each of its formats. Companies stand one after the other; where there is a row per day,
 * week or month, each has a table and a chart of its own.
 */
#include "report/write.h"

#include <errno.h>

#include "base/json.h"
#include "base/order.h"
#include "draw/mail.h"

#define REPORT_MAX (128u << 20)
#define RATE_FULL  1000 /* 100.0 % */

const char *const report_formats[REPORT_FORMATS + 1] = {"json", "csv", "table", "html", "pdf", NULL};

const char *const report_sources[SOURCE_AUTO + 1] = {"agents", "wandb", "both", NULL};

static const char *const sources[] = {[SOURCE_AGENTS] = "from agents",
                                      [SOURCE_WANDB] = "from Weights & Biases",
                                      [SOURCE_BOTH] = "Weights & Biases against agents"};

const char *report_title(const struct report_doc *d)
{
    static const char *const titles[REPORT_PERIODS] = {[REPORT_DAILY] = "GPU usage by day",
                                                       [REPORT_WEEKLY] = "GPU usage by week",
                                                       [REPORT_MONTHLY] = "GPU usage by month",
                                                       [REPORT_OVERALL] = "GPU usage",
                                                       [REPORT_SUMMARY] = "GPU usage by project"};
    return d->claims ? "GPU usage by run" : titles[d->r->period];
}

void report_subtitle(struct buf *out, const struct report_doc *d, const struct report_style *look)
{
    char from[16], to[16], pulled[24];
    int32_t last = report_known_to(d->r->known);

    buf_addf(out, "%s to %s, %s, %s", date_text(d->r->from, from), date_text(d->r->to, to), zone_name(look->zone),
             sources[d->source]);
    if (d->pulled_ms)
        buf_addf(out, " (as of %.*s)", ZONE_TO_MINUTE, zone_text(look->zone, d->pulled_ms, pulled));
    if (last > INT32_MIN)
        buf_addf(out, ", data up to %s", date_text(last, to));
}

/* Sentences below the table, a line each. */
void report_remarks(struct buf *out, const struct report_doc *d)
{
    for (int i = 0; d->seen && i < 2; i++) {
        AUTO_BUF notes = BUF_INIT(4096);
        struct str rest, line;
        report_notes(&notes, i ? d->seen : d->r);
        for (rest = buf_str(&notes); str_line(&rest, &line);)
            buf_addf(out, "%s: %.*s\n", i ? "Agents" : "W&B", STR_ARG(line));
    }
    if (d->claims)
        claims_notes(out, d->claims);
    else if (!d->seen)
        report_notes(out, d->r);
}

void report_cells(const struct report_doc *d, enum naming naming, const struct report_style *look,
                  struct report_table *ret)
{
    if (d->claims)
        claims_table(d->claims, look->zone, naming, look->headings, ret);
    else if (d->seen)
        compare_table(d->r, d->seen, naming, look->headings, ret);
    else
        report_table(d->r, naming, look->headings, ret);
}

/* ---- JSON, text ---- */

static void left_json(struct json *j, const char *key, int64_t gpu_minutes)
{
    json_fixed(j, key, (gpu_minutes * 10 + 3) / 6, 100);
}

static void left_out(struct json *j, const char *key, const struct report *r)
{
    json_obj(j, key); /* GPU-hours */
    left_json(j, "no_company", r->no_company);
    left_json(j, "unassigned", r->unassigned);
    left_json(j, "not_counted", r->not_counted);
    json_end_obj(j);
}

/* What people call the columns, by the names that rows have. */
static void headings_json(struct json *j, const struct report_doc *d, const struct report_style *look,
                          const struct report_table *keys)
{
    AUTO_REPORT_TABLE full = {0};

    report_cells(d, NAMING_FULL, look, &full);
    json_obj(j, "headings");
    for (size_t i = 0; i < keys->rows.n_cols; i++)
        json_cstr(j, keys->cols[i].name, full.cols[i].title);
    json_end_obj(j);
}

static void write_json(struct buf *out, const struct report_doc *d, const struct report_style *look)
{
    AUTO_REPORT_TABLE t = {0};
    struct json j = json_on(out);
    AUTO_BUF rows = BUF_INIT(REPORT_MAX), notes = BUF_INIT(4096);
    struct str rest, line;
    char day[16];

    report_cells(d, NAMING_KEY, look, &t);
    render_rows_json(&rows, &t.rows);
    report_remarks(&notes, d);
    json_obj(&j, NULL);
    json_cstr(&j, "period", report_words[d->claims ? REPORT_RUNS : (int)d->r->period]);
    json_cstr(&j, "from", date_text(d->r->from, day));
    json_cstr(&j, "to", date_text(d->r->to, day));
    json_cstr(&j, "zone", zone_name(look->zone));
    json_cstr(&j, "week_start", week_days[look->week_start]);
    json_cstr(&j, "source", report_sources[d->source]);
    if (d->pulled_ms)
        json_fixed(&j, "pulled", d->pulled_ms, 1000);
    if (report_known_to(d->r->known) > INT32_MIN)
        json_cstr(&j, "data_to", date_text(report_known_to(d->r->known), day));
    json_raw(&j, "rows", str_trim(buf_str(&rows)));
    headings_json(&j, d, look, &t);
    if (!d->claims)
        left_out(&j, "left_out", d->r);
    if (d->seen)
        left_out(&j, "seen_left_out", d->seen);
    json_arr(&j, "notes");
    for (rest = buf_str(&notes); str_line(&rest, &line);)
        json_str(&j, NULL, line);
    json_end_arr(&j);
    json_end_obj(&j);
    buf_addc(out, '\n');
    if (rows.err)
        out->err = rows.err;
}

static void write_table(struct buf *out, const struct report_doc *d, const struct report_style *look)
{
    AUTO_REPORT_TABLE t = {0};

    report_cells(d, NAMING_SHORT, look, &t);
    render_rows_text(out, &t.rows, &look->term);
    buf_addf(out, "\n%s, ", report_words[d->claims ? REPORT_RUNS : (int)d->r->period]);
    report_subtitle(out, d, look);
    buf_addc(out, '\n');
    report_remarks(out, d);
}

static void write_csv(struct buf *out, const struct report_doc *d, const struct report_style *look)
{
    AUTO_REPORT_TABLE t = {0};

    report_cells(d, NAMING_FULL, look, &t);
    render_rows_csv(out, &t.rows);
}

/* ---- company by company ---- */

bool report_has_periods(const struct report_doc *d)
{
    const struct report *r = d->r;
    return !d->claims && (r->period == REPORT_DAILY || r->period == REPORT_WEEKLY || r->period == REPORT_MONTHLY);
}

/* Where the rows of the company of row i end. */
size_t report_company_end(const struct report *r, size_t i)
{
    return i + FIRST(r->n - i, e, strcmp(r->rows[i + e].company, r->rows[i].company) != 0);
}

/* The column that has a bar. */
static size_t rate_column(const struct report_doc *d)
{
    if (d->claims || d->seen || d->r->period == REPORT_SUMMARY)
        return SIZE_MAX;
    return d->r->period == REPORT_OVERALL ? 2 : 3;
}

static void write_html(struct buf *out, const struct report_doc *d, const struct report_style *look)
{
    const struct report *r = d->r;
    AUTO_BUF sub = BUF_INIT(256), notes = BUF_INIT(4096);
    AUTO_REPORT_TABLE t = {0};

    report_subtitle(&sub, d, look);
    report_remarks(&notes, d);
    struct mail m = {report_title(d), sub.p, buf_str(&notes)};
    report_cells(d, NAMING_FULL, look, &t);
    mail_start(out, &m);
    struct mail_table table = {.rows = &t.rows, .n = t.rows.n, .bar = rate_column(d), .bar_full = RATE_FULL};
    if (!report_has_periods(d))
        mail_table(out, &table);
    for (size_t i = 0, end; report_has_periods(d) && i < r->n; i = end) {
        end = report_company_end(r, i);
        table.title = r->rows[i].company;
        table.first = i;
        table.n = end - i;
        table.skip = 1;
        mail_table(out, &table);
    }
    mail_end(out, &m);
}

/* ---- the whole ---- */

void report_write(struct reply *rp, const struct report_doc *d, const struct report_style *look)
{
    static const struct {
        const char *type;
        void (*write)(struct buf *out, const struct report_doc *d, const struct report_style *look);
    } formats[REPORT_FORMATS] = {[REPORT_JSON] = {NULL, write_json},
                                 [REPORT_CSV] = {"text/csv; charset=utf-8", write_csv},
                                 [REPORT_TABLE] = {"text/plain; charset=utf-8", write_table},
                                 [REPORT_HTML] = {"text/html; charset=utf-8", write_html},
                                 [REPORT_PDF] = {"application/pdf", NULL}};
    struct err err = {0};
    int code = 0;

    rp->body = BUF_INIT(REPORT_MAX);
    rp->type = formats[look->format].type;
    if (look->format == REPORT_PDF)
        code = report_pdf(&rp->body, d, look, &err);
    else
        formats[look->format].write(&rp->body, d, look);
    if (rp->body.err)
        reply_problem(rp, 413, "the report is larger than %u MiB: request a shorter period or one company",
                      REPORT_MAX >> 20);
    else if (code < 0)
        reply_problem(rp, code == -ENOENT ? 501 : 500, "the PDF cannot be made: %s", err.msg);
}
