/* report_rows.c: the names of columns, and what a cell shows. */
#include "report/report_rows.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/zone.h"

const char *const headings_words[HEADINGS_COUNT + 1] = {"en", "ja", NULL};

static const struct heading company = {"company", "Company", "COMPANY", "企業名", CELL_TEXT, 0, 100};
static const struct heading when[] = {
    [REPORT_DAILY] = {"date", "Date", "DATE", "日付", CELL_TEXT, 0, 95},
    [REPORT_WEEKLY] = {"week_start", "Week start", "WEEK OF", "週開始日", CELL_TEXT, 0, 95},
    [REPORT_MONTHLY] = {"month", "Month", "MONTH", "年月", CELL_TEXT, 0, 95},
};
static const struct heading numbers[] = {
    {"total_gpu_hour", "Total GPU hours (h)", "HOURS", "合計GPU使用時間(h)", CELL_FIXED, 10, 90},
    {"utilization_rate", "GPU utilization rate (%)", "RATE%", "GPU稼働率(%)", CELL_FIXED, 10, 89},
    {"average_performance", "Average GPU performance (%)", "PERF%", "平均GPUパフォーマンス率(%)", CELL_FIXED, 10, 80},
    {"max_performance", "Maximum GPU performance (%)", "MAX%", "最大GPUパフォーマンス率(%)", CELL_FIXED, 10, 60},
    {"average_memory", "Average GPU memory utilization (%)", "MEM%", "平均GPUメモリ利用率(%)", CELL_FIXED, 10, 70},
    {"max_memory", "Maximum GPU memory utilization (%)", "MAXMEM%", "最大GPUメモリ利用率(%)", CELL_FIXED, 10, 50},
    {"n_runs", "n_runs", "RUNS", NULL, CELL_INT, 0, 85},
    {"assigned_gpu_node", "assigned_gpu_node", "NODES", NULL, CELL_INT, 0, 75},
    {"assigned_gpu_hour", "assigned_gpu_hour", "ASSIGNED", NULL, CELL_FIXED, 10, 65},
    {"_total_gpu_hour", "_total_gpu_hour", "UNCAPPED", NULL, CELL_FIXED, 10, 40},
    {"total_metrics_hour", "total_metrics_hour", "MEASURED", NULL, CELL_FIXED, 10, 30},
};
const struct heading report_works[WORK_KINDS][2] = {
    /* where a row has such hours */
    [WORK_EFFECTIVE] = {{"effective_gpu_hour", "Effective GPU hours (h)", "EFFECTIVE", "実効GPU時間(h)", CELL_FIXED, 10,
                         88},
                        {"effective_measured_hour", "GPU hours with work measured (h)", "OF", "実働率の測定時間(h)",
                         CELL_FIXED, 10, 35}},
    [WORK_TENSOR] = {{"tensor_gpu_hour", "Tensor GPU hours (h)", "TENSOR", "テンソルGPU時間(h)", CELL_FIXED, 10, 78},
                     {"tensor_measured_hour", "GPU hours with tensor activity measured (h)", "OF",
                      "テンソル稼働率の測定時間(h)", CELL_FIXED, 10, 34}},
};
static const struct heading note = {"note", "Note", "NOTE", "備考", CELL_TEXT, 0, 99}; /* where a row has one */
static const struct heading summary[] = {
    {"company_name", "company_name", "COMPANY", NULL, CELL_TEXT, 0, 100},
    {"project", "project", "PROJECT", NULL, CELL_TEXT, 0, 95},
    {"total_hours", "Total hours", "HOURS", NULL, CELL_FIXED, 100, 90},
    {"total_runs", "Total runs", "RUNS", NULL, CELL_INT, 0, 85},
    {"master_node_runs", "master_node_runs", "MASTER", NULL, CELL_INT, 0, 60},
    {"overlap_runs", "overlap_runs", "OVERLAP", NULL, CELL_INT, 0, 80},
    {"ignore_runs", "ignore_runs", "IGNORED", NULL, CELL_INT, 0, 50},
};

_Static_assert(2 + ARRAY_LEN(numbers) + WORK_COLUMNS + 1 <= REPORT_COLUMNS && ARRAY_LEN(summary) + 1 <= REPORT_COLUMNS,
               "they fit: whose and when before them, a note behind");

/* What people read in English of columns that are called as a program would, or at length. Files for programs keep
 * those names. */
static const struct {
    const char *name, *words;
} in_words[] = {
    {"n_runs", "Runs"},
    {"assigned_gpu_node", "Assigned nodes"},
    {"assigned_gpu_hour", "Assigned GPU hours (h)"},
    {"_total_gpu_hour", "GPU hours, uncapped (h)"},
    {"total_metrics_hour", "Measured hours (h)"},
    {"company_name", "Company"},
    {"project", "Project"},
    {"master_node_runs", "Runs with 9 GPUs or more"},
    {"overlap_runs", "Overlapping runs"},
    {"ignore_runs", "Ignored runs"},
    {"gpu_count", "GPUs"},
    {"GPU hours with work measured (h)", "Work measured (h)"},
    {"GPU hours with tensor activity measured (h)", "Tensor measured (h)"},
    {"Work measured (h)", "of (h)"}, /* run by run, where there is little room */
    {"Tensor measured (h)", "of (h)"},
};

static const char *words_of(const char *name)
{
    size_t i = FIRST(ARRAY_LEN(in_words), k, strcmp(in_words[k].name, name) == 0);
    return i < ARRAY_LEN(in_words) ? in_words[i].words : name;
}

static void add_column(struct report_table *t, const struct heading *h, enum naming naming, enum headings lang)
{
    const char *full = lang == HEADINGS_JA && h->ja ? h->ja : h->en;
    const char *shown = naming == NAMING_SHORT && lang == HEADINGS_EN ? h->shorter
                        : lang == HEADINGS_EN                         ? words_of(full)
                                                                      : full;

    t->cols[t->rows.n_cols++] = (struct column_spec){.name = naming == NAMING_KEY ? h->key : full,
                                                     .title = shown,
                                                     .type = h->type,
                                                     .per = h->per,
                                                     .right = h->type != CELL_TEXT,
                                                     .weight = h->weight};
}

void report_columns(struct report_table *t, const struct heading *h, size_t n, enum naming naming, enum headings lang)
{
    for (size_t i = 0; i < n; i++)
        add_column(t, &h[i], naming, lang);
}

void report_lead(struct report_table *t, enum report_period period, enum naming naming, enum headings lang)
{
    rows_init(&t->rows, t->cols, 0);
    add_column(t, &company, naming, lang);
    if (period != REPORT_OVERALL)
        add_column(t, &when[period], naming, lang);
}

/* Numbers have all their decimals on screens; programs get them without zeros at the end. */
void report_number(struct cell *c, const struct column_spec *col, int64_t v)
{
    int64_t size = v < 0 ? -v : v;

    cell_int(c, v);
    if (col->type == CELL_FIXED)
        cell_screen(c, "%s%lld.%0*lld", v < 0 ? "-" : "", (long long)(size / col->per), col->per == 100 ? 2 : 1,
                    (long long)(size % col->per));
}

size_t report_lead_cells(struct cell *c, enum report_period period, const char *name, int32_t day)
{
    char text[16];

    cell_text(&c[0], str_of(name));
    if (period == REPORT_OVERALL)
        return 1;
    date_text(day, text);
    cell_text(&c[1], str_n(text, period == REPORT_MONTHLY ? 7 : strlen(text)));
    return 2;
}

static const struct report_gap *gap_of(const struct report *r, size_t i)
{
    return r->period == REPORT_SUMMARY ? &r->projects[i].gap : &r->rows[i].gap;
}

bool report_noted(const struct report_gap *g)
{
    return g->unknown || g->stale;
}

static bool none_known(const struct report_gap *g)
{
    return report_noted(g) && g->unknown + g->stale_days == g->days;
}

bool report_unknown(const struct report_row *r)
{
    return none_known(&r->gap) && !r->runs;
}

void report_has_work(const struct report *r, bool ret[WORK_KINDS])
{
    for (size_t w = 0; w < WORK_KINDS; w++)
        ret[w] = r->rows && ANY(r->n, i, r->rows[i].work[w].of);
}

void report_work_columns(struct report_table *t, const struct heading h[WORK_KINDS][2], const bool has[WORK_KINDS],
                         enum naming naming, enum headings lang)
{
    for (size_t w = 0; w < WORK_KINDS; w++)
        if (has[w])
            report_columns(t, h[w], 2, naming, lang);
}

void report_work_cells(const struct report_table *t, const bool has[WORK_KINDS], struct cell *row, size_t at,
                       const struct work_hours work[WORK_KINDS])
{
    for (size_t w = 0; w < WORK_KINDS; w++) {
        if (has[w] && work[w].of) {
            report_number(&row[at], &t->cols[at], work[w].hours);
            report_number(&row[at + 1], &t->cols[at + 1], work[w].of);
        }
        at += has[w] ? 2 : 0;
    }
}

void report_note_column(struct report_table *t, const struct report *r, enum naming naming, enum headings lang)
{
    if (ANY(r->n, i, report_noted(gap_of(r, i))))
        report_columns(t, &note, 1, naming, lang);
}

void report_note(const struct rows *t, struct cell *row, const struct report_gap *g)
{
    AUTO_BUF text = BUF_INIT(128);
    char day[16];

    if (g->stale)
        buf_addf(&text, "stale since %s%s", date_text(g->stale, day), g->unknown ? ", " : "");
    if (g->unknown && g->unknown == g->days)
        buf_adds(&text, "not pulled");
    else if (g->unknown)
        buf_addf(&text, "%d of %d days not pulled", g->unknown, g->days);
    if (text.len)
        cell_text(&row[t->n_cols - 1], buf_str(&text));
}

static void add_row(struct report_table *t, enum report_period period, const bool has[WORK_KINDS],
                    const struct report_row *r)
{
    enum { NODES = 7, ASSIGNED };
    const int64_t v[] = {r->total, r->rate,  r->util_avg, r->util_max, r->mem_avg, r->mem_max,
                         r->runs,  r->nodes, r->assigned, r->uncapped, r->metrics};
    struct cell *c = rows_add(&t->rows);
    size_t at = report_lead_cells(c, period, r->company, r->day);

    for (size_t i = 0; i < ARRAY_LEN(v); i++, at++)
        if (i == NODES || i == ASSIGNED || !report_unknown(r))
            report_number(&c[at], &t->cols[at], v[i]);
    report_work_cells(t, has, c, at, r->work);
    report_note(&t->rows, c, &r->gap);
}

static void add_project(struct report_table *t, const struct summary_row *p)
{
    const int64_t v[] = {p->total, p->runs, p->master_runs, p->overlap_runs, p->ignored_runs};
    struct cell *c = rows_add(&t->rows);

    cell_text(&c[0], str_of(p->company));
    if (p->project)
        cell_text(&c[1], str_of(p->project));
    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        if (p->project || !none_known(&p->gap))
            report_number(&c[2 + i], &t->cols[2 + i], v[i]);
    report_note(&t->rows, c, &p->gap);
}

void report_table(const struct report *r, enum naming naming, enum headings lang, struct report_table *ret)
{
    bool has[WORK_KINDS];

    report_has_work(r, has);
    if (r->period == REPORT_SUMMARY) {
        rows_init(&ret->rows, ret->cols, 0);
        report_columns(ret, summary, ARRAY_LEN(summary), naming, lang);
    } else {
        report_lead(ret, r->period, naming, lang);
        report_columns(ret, numbers, ARRAY_LEN(numbers), naming, lang);
        report_work_columns(ret, report_works, has, naming, lang);
    }
    report_note_column(ret, r, naming, lang);
    for (size_t i = 0; i < r->n; i++)
        if (r->period == REPORT_SUMMARY)
            add_project(ret, &r->projects[i]);
        else
            add_row(ret, r->period, has, &r->rows[i]);
}

void report_table_fini(struct report_table *t)
{
    rows_fini(&t->rows);
}

static void left(struct buf *out, int64_t gpu_minutes, const char *what)
{
    if (gpu_minutes)
        buf_addf(out, "%lld.%lld GPU-hours %s and are in no row.\n", (long long)((gpu_minutes + 3) / 6 / 10),
                 (long long)((gpu_minutes + 3) / 6 % 10), what);
}

int32_t report_known_to(const struct known *k)
{
    int32_t last = INT32_MIN;

    for (size_t i = 0; k && i < k->days.n; i++)
        last = MAX(last, k->days.v[i].to);
    return last;
}

void report_notes(struct buf *out, const struct report *r)
{
    char text[16];
    int32_t last = report_known_to(r->known);

    if (last > INT32_MIN && last < r->to)
        buf_addf(out, "There is no data after %s: later days are not pulled.\n", date_text(last, text));
    if (r->month_left_out)
        buf_addf(out, "%.7s is not over and not listed: ask for partial months to see it.\n",
                 date_text(report_month(r->to), text));
    left(out, r->no_company, "were of nobody who belongs to a company");
    left(out, r->unassigned, "ran on days on which their company had no nodes");
    left(out, r->not_counted, "are not counted by their tags or projects");
}
