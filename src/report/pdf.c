/* pdf.c: a report as PDF: a chart and a table for each company. */
#include "base/mem.h"
#include "draw/paper.h"
#include "report/write.h"

#define CHART_POINTS 220.0

/* Hours of rows [from, end), which come newest first, as bars below a line of what was assigned; of both sources W&B's
 * as bars, and what agents saw as a line. */
static void company_chart(struct paper *p, const struct report_doc *d, size_t from, size_t end, const struct zone *z)
{
    const struct report *r = d->r;
    size_t n = end - from;
    AUTO_FREE int64_t *at_ms = mem_zero(n, sizeof(*at_ms));
    AUTO_FREE double *used = mem_zero(n, sizeof(*used)), *assigned = mem_zero(n, sizeof(*assigned));

    for (size_t i = 0; i < n; i++) {
        const struct report_row *row = &r->rows[end - 1 - i];
        at_ms[i] = zone_date_ms(z, row->day);
        used[i] = (double)(d->seen ? row->uncapped : row->total) / 10;
        assigned[i] = (double)(d->seen ? d->seen->rows[end - 1 - i].uncapped : row->assigned) / 10;
    }
    const struct plot_series series[] =
        {{.name = d->seen ? "W&B" : "used", .y = used, .colour = 1},
         {.name = d->seen ? "held" : "assigned", .y = assigned, .colour = -1, .line = true}};
    struct plot plot = {.kind = PLOT_BARS,
                        .n = n,
                        .at_ms = at_ms,
                        .zone = z,
                        .y = {.unit = "GPU-hours"},
                        .n_series = ARRAY_LEN(series),
                        .series = series,
                        .height = CHART_POINTS};
    paper_plot(p, &plot);
}

/* One bar per company: its rate, or of a summary its hours by project. */
static void companies_chart(struct paper *p, const struct report *r)
{
    bool summary = r->period == REPORT_SUMMARY;
    AUTO_FREE const char **labels = mem_zero(r->n + 1, sizeof(*labels));
    AUTO_FREE double *y = mem_zero(r->n + 1, sizeof(*y));
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++) {
        const char *company = summary ? r->projects[i].company : r->rows[i].company;
        if (!n || strcmp(labels[n - 1], company) != 0)
            labels[n++] = company;
        y[n - 1] += summary ? (double)r->projects[i].total / 100 : (double)r->rows[i].rate / 10;
    }
    const struct plot_series series = {.name = summary ? "used" : "utilization rate", .y = y, .colour = 1};
    struct plot plot = {.kind = PLOT_BARS,
                        .n = n,
                        .labels = labels,
                        .y = {.unit = summary ? "GPU-hours" : "%", .max = summary ? 0 : 100},
                        .n_series = 1,
                        .series = &series,
                        .height = CHART_POINTS};
    if (n)
        paper_plot(p, &plot);
}

/* Rows [from, end) of t without its first skip columns: borrowed, of the same cells. */
static void table_part(struct paper *p, const struct rows *t, size_t from, size_t end, size_t skip)
{
    size_t n_cols = t->n_cols - skip;
    struct rows part = {.cols = t->cols + skip, .n_cols = n_cols, .n = end - from};

    part.cells = mem_zero(part.n * n_cols + 1, sizeof(*part.cells));
    for (size_t i = 0; i < part.n; i++)
        memcpy(part.cells + i * n_cols, t->cells + (from + i) * t->n_cols + skip, n_cols * sizeof(*part.cells));
    paper_rows(p, &part, 0);
    free(part.cells);
}

int report_pdf(struct buf *out, const struct report_doc *d, const struct report_style *look, struct err *err)
{
    const struct report *r = d->r;
    AUTO_BUF sub = BUF_INIT(256), notes = BUF_INIT(4096);
    AUTO_REPORT_TABLE t = {0};
    struct paper *p;
    char made[32], now[24];

    snprintf(made, sizeof(made), "made %.*s", ZONE_TO_MINUTE, zone_text(look->zone, look->now_ms, now));
    struct paper_conf conf = {.title = report_title(d), .foot = made, .at_ms = look->now_ms, .landscape = true};
    int code = look->headings == HEADINGS_JA ? plot_can_write("合計時間稼働率平均最大利用年月日週開始企業名", err) : 0;
    if (code >= 0)
        code = paper_open(&conf, out, &p, err);
    if (code < 0)
        return code;
    report_subtitle(&sub, d, look);
    report_remarks(&notes, d);
    report_cells(d, NAMING_FULL, look, &t);
    paper_heading(p, report_title(d), 1);
    paper_text(p, sub.p);
    if (notes.len)
        paper_text(p, notes.p);
    if (!report_has_periods(d)) {
        if (!d->claims)
            companies_chart(p, r);
        table_part(p, &t.rows, 0, t.rows.n, 0);
    }
    for (size_t i = 0, end; report_has_periods(d) && i < r->n; i = end) {
        end = report_company_end(r, i);
        if (i)
            paper_break(p);
        paper_heading(p, r->rows[i].company, 2);
        company_chart(p, d, i, end, look->zone);
        table_part(p, &t.rows, i, end, 1);
    }
    return paper_close(p, err);
}
