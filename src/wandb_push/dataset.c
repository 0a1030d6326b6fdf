/*
 * dataset.c: reading all_runs_data.csv. Bytes are gathered until a record is whole; each record is read by itself, so
 * that a bad one is a line of its own and nothing else.
 */
#include "wandb_push/dataset.h"

#include <errno.h>

#include "base/clock.h"
#include "base/csv.h"
#include "base/mem.h"
#include "report/report.h"
#include "wandb_pull/fold.h"
#include "wandb_pull/rule.h"
#include "wandb_push/dataset_columns.h"

#define MINUTES_MAX 1500 /* the longest day there is has 25 hours */
/* What is written is read back, or nothing could be pushed any more: as much as rules and samples may give. */
#define COUNT_MAX    RULE_GPUS_MAX
#define PERCENT_MOST (FOLD_PERCENT_MAX * PERCENT_ONE)

/* Where in a record the bytes are: a quote opens a cell only at its beginning. */
enum at { AT_CELL, AT_PLAIN, AT_QUOTED, AT_QUOTE };

struct dataset {
    const struct zone *zone;
    struct dataset_take take;
    struct buf pending; /* of the record that is not whole yet */
    struct csv csv;
    enum at at;
    uint64_t line, lines; /* where the record began; ended so far */
    uint64_t rows, bad;
    bool begun;
    int column[C_COUNT]; /* of each that we know: where it is; -1: nowhere */
    int n_columns;
    struct buf text; /* of the row's names, terminated */
    int failed;
};

struct dataset *dataset_new(const struct zone *zone, const struct dataset_take *take)
{
    struct dataset *d = mem_zero(1, sizeof(*d));

    d->zone = zone;
    d->take = *take;
    d->pending = BUF_INIT(CSV_RECORD_MAX + 1);
    d->text = BUF_INIT((size_t)2 * CSV_RECORD_MAX);
    csv_init(&d->csv, str_of(""));
    return d;
}

void dataset_free(struct dataset *d)
{
    if (!d)
        return;
    buf_fini(&d->pending);
    buf_fini(&d->text);
    csv_fini(&d->csv);
    free(d);
}

uint64_t dataset_rows(const struct dataset *d)
{
    return d->rows;
}

uint64_t dataset_bad(const struct dataset *d)
{
    return d->bad;
}

/* ---- cells ---- */

/* A null, as polars, pandas and JSON people write it. */
static bool is_null(struct str s)
{
    return s.len == 0 || str_eq_nocase(s, "nan") || str_eq_nocase(s, "null") || str_eq_nocase(s, "none");
}

struct row_in {
    struct dataset *d;
    const struct str *cells;
    const char *why; /* NULL: all is well so far */
    char room[120];
};

static struct str get(const struct row_in *x, enum dataset_column c)
{
    return x->d->column[c] < 0 ? str_of("") : str_trim(x->cells[x->d->column[c]]);
}

static void wrong(struct row_in *x, enum dataset_column c, const char *expected)
{
    struct str s = get(x, c);

    if (x->why)
        return;
    snprintf(x->room, sizeof(x->room), "%s is '%.*s'; expected %s", dataset_column_words[c],
             (int)MIN(s.len, (size_t)40), s.p, expected);
    x->why = x->room;
}

/* Tags are JSON, which leaves some control characters as they are. */
static bool is_utf8(struct str s)
{
    uint32_t c = 1;
    size_t n = 0;

    while (s.len && c && (n = str_utf8(s, &c)))
        s = str_n(s.p + n, s.len - n);
    return s.len == 0 && c;
}

/* A name or a text, kept until the row is given away. An offset, since the buffer may move. */
static size_t text(struct row_in *x, enum dataset_column c, size_t max, bool must)
{
    struct str s = x->d->column[c] < 0 ? str_of("") : x->cells[x->d->column[c]]; /* blanks are part of it */
    size_t at = x->d->text.len;

    if (must && s.len == 0)
        wrong(x, c, "a name");
    else if (s.len > max)
        wrong(x, c, "less");
    else if (c == C_tags ? !is_utf8(s) : !str_utf8_ok(s))
        wrong(x, c, "letters");
    buf_addstr(&x->d->text, s.len > max ? str_of("") : s);
    buf_addc(&x->d->text, 0);
    return at;
}

static int64_t moment(struct row_in *x, enum dataset_column c)
{
    struct str s = get(x, c);
    char iso[48];
    int64_t ms;
    struct civil civil;

    if (is_null(s))
        return 0;
    if (s.len < 19 || s.len + 2 > sizeof(iso)) {
        wrong(x, c, "a time");
        return 0;
    }
    memcpy(iso, s.p, s.len);
    iso[s.len] = 0;
    bool local = !strpbrk(iso + 10, "Zz+-");
    if (local)
        iso[s.len++] = 'Z';
    if (iso[4] != '-' || clock_parse(iso, s.len, &ms) < 0 || ms <= 0) {
        wrong(x, c, "a time");
        return 0;
    }
    if (!local)
        return ms;
    date_civil((int32_t)(ms / 86400000), &civil);
    civil.hour = (int)(ms / 3600000 % 24);
    civil.minute = (int)(ms / 60000 % 60);
    civil.second = (int)(ms / 1000 % 60);
    return zone_moment(x->d->zone, &civil) + ms % 1000;
}

static int32_t count(struct row_in *x, enum dataset_column c)
{
    struct str s = get(x, c);
    int64_t v;

    if (is_null(s))
        return -1;
    if (!str_fixed(s, 1000, &v) || v < 0 || v % 1000 || v / 1000 > COUNT_MAX) {
        wrong(x, c, "a whole number");
        return -1;
    }
    return (int32_t)(v / 1000);
}

/* An average and its maximum are there or not there together. */
static void percents(struct row_in *x, enum dataset_column avg, enum dataset_column max, int64_t *ret_avg,
                     int64_t *ret_max)
{
    struct str a = get(x, avg), m = get(x, max);

    if (is_null(a) && is_null(m))
        return;
    if (!str_fixed(a, PERCENT_ONE, ret_avg) || *ret_avg < 0 || *ret_avg > PERCENT_MOST)
        wrong(x, avg, "a percentage");
    if (!str_fixed(m, PERCENT_ONE, ret_max) || *ret_max < 0 || *ret_max > PERCENT_MOST)
        wrong(x, max, "a percentage");
}

static int32_t date(struct row_in *x)
{
    struct str s = get(x, C_date);
    int32_t day = 0;

    if (s.len > 10 && (s.p[10] == 'T' || s.p[10] == ' ')) /* a date that somebody took for a time */
        s.len = 10;
    if (!date_parse(s, &day))
        wrong(x, C_date, "a date");
    return day;
}

static int32_t minutes(struct row_in *x)
{
    int64_t v = 0; /* 1e-9 minutes */

    if (!str_fixed(get(x, C_duration_hour), 60 * 1000000000ll, &v) || v < 0 || v > MINUTES_MAX * 1000000000ll) {
        wrong(x, C_duration_hour, "the hours of a day");
        return 0;
    }
    return (int32_t)((v + 500000000) / 1000000000);
}

static enum wandb_exists exists(struct row_in *x)
{
    struct str s = get(x, C_run_exists);

    if (is_null(s))
        return WANDB_NOT_TOLD;
    for (int i = WANDB_EXISTS; i < WANDB_EXISTS_COUNT; i++)
        if (str_eq_nocase(s, wandb_exists_words[i]))
            return (enum wandb_exists)i;
    wrong(x, C_run_exists, "exists, deleted or error");
    return WANDB_NOT_TOLD;
}

/* ---- records ---- */

static void bad(struct dataset *d, const char *why)
{
    d->bad++;
    if (d->take.bad)
        d->take.bad(d->take.arg, d->line, why);
}

static int take_row(struct dataset *d, const struct str *cells, struct err *err)
{
    struct row_in x = {.d = d, .cells = cells};
    struct dataset_row row = {.line = d->line};
    struct wandb_day *day = &row.day;

    buf_reset(&d->text);
    size_t team = text(&x, C_company_name, WANDB_NAME_MAX, true);
    size_t project = text(&x, C_project, WANDB_NAME_MAX, true);
    size_t id = text(&x, C_run_id, WANDB_NAME_MAX, true);
    size_t state = text(&x, C_state, WANDB_NAME_MAX, false);
    size_t host = text(&x, C_host_name, WANDB_NAME_MAX, false);
    size_t tags = text(&x, C_tags, WANDB_TEXT_MAX, false);
    day->day = date(&x);
    day->minutes = minutes(&x);
    day->gpus = count(&x, C_gpu_count);
    day->cpus = count(&x, C_cpu_count);
    day->created_ms = moment(&x, C_created_at);
    day->heartbeat_ms = moment(&x, C_updated_at);
    day->logged_ms = moment(&x, C_logged_at);
    percents(&x, C_average_gpu_utilization, C_max_gpu_utilization, &day->util_avg, &day->util_max);
    percents(&x, C_average_gpu_memory, C_max_gpu_memory, &day->mem_avg, &day->mem_max);
    day->have = (is_null(get(&x, C_average_gpu_utilization)) ? 0 : WANDB_UTIL) |
                (is_null(get(&x, C_average_gpu_memory)) ? 0 : WANDB_MEM);
    row.run.exists = exists(&x);
    if (x.why) {
        bad(d, x.why);
        return 0;
    }
    const char *p = d->text.p;
    row.run.team = p + team;
    row.run.project = p + project;
    row.run.id = p + id;
    row.run.state = day->state = p + state;
    row.run.host = day->host = p + host;
    row.run.tags = day->tags = p + tags;
    row.run.gpus = day->gpus;
    row.run.cpus = day->cpus;
    row.run.created_ms = day->created_ms;
    row.run.heartbeat_ms = day->heartbeat_ms;
    row.run.logged_ms = day->logged_ms;
    d->rows++;
    return d->take.row(d->take.arg, &row, err);
}

static int take_head(struct dataset *d, const struct str *cells, int n, struct err *err)
{
    if (n > DATASET_COLUMNS_MAX)
        return err_set(err, -EINVAL, "it has more than %d columns, and is no dataset of runs", DATASET_COLUMNS_MAX);
    for (int c = 0; c < C_COUNT; c++) {
        d->column[c] = -1;
        for (int i = 0; i < n; i++)
            if (str_eq(str_trim(cells[i]), dataset_column_words[c])) {
                if (d->column[c] >= 0)
                    return err_set(err, -EINVAL, "line %llu names column '%s' twice", (unsigned long long)d->line,
                                   dataset_column_words[c]);
                d->column[c] = i;
            }
        if (d->column[c] < 0 && dataset_column_needed(c))
            return err_set(err, -EINVAL, "line %llu, the columns' names, has no '%s': this is no dataset of runs",
                           (unsigned long long)d->line, dataset_column_words[c]);
    }
    d->n_columns = n;
    d->begun = true;
    return 0;
}

static int take_record(struct dataset *d, struct str record, struct err *err)
{
    struct str cells[DATASET_COLUMNS_MAX];
    struct err why = {0};

    if (!d->begun)
        str_skip(&record, "\xef\xbb\xbf");
    d->csv.rest = record;
    d->csv.lines = d->line - 1;
    int n = csv_next(&d->csv, cells, DATASET_COLUMNS_MAX, &why);
    if (n == 0)
        return 0; /* an empty line */
    if (n < 0 && !d->begun)
        return err_set(err, n, "%s", why.msg);
    if (!d->begun)
        return take_head(d, cells, n, err);
    if (n < 0) {
        struct str s = str_of(why.msg); /* the line is told beside */
        int colon = str_find(s, ": ");
        bad(d, why.msg + (colon < 0 ? 0 : colon + 2));
        return 0;
    }
    if (n != d->n_columns) {
        snprintf(why.msg, sizeof(why.msg), "it has %d columns where the first line has %d", n, d->n_columns);
        bad(d, why.msg);
        return 0;
    }
    return take_row(d, cells, err);
}

/* How many of these bytes belong to the record; *ret_whole: it ends with them. */
static size_t record_end(struct dataset *d, struct str s, bool *ret_whole)
{
    *ret_whole = false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];
        d->lines += c == '\n';
        switch (d->at) {
        case AT_QUOTED:
            d->at = c == '"' ? AT_QUOTE : AT_QUOTED;
            continue;
        case AT_QUOTE: /* a second one, or the cell is over */
            if (c == '"') {
                d->at = AT_QUOTED;
                continue;
            }
            break;
        case AT_CELL:
            if (c == '"') {
                d->at = AT_QUOTED;
                continue;
            }
            break;
        case AT_PLAIN:
            break;
        }
        d->at = c == ',' ? AT_CELL : AT_PLAIN;
        if (c == '\n') {
            d->at = AT_CELL;
            *ret_whole = true;
            return i + 1;
        }
    }
    return s.len;
}

int dataset_feed(struct dataset *d, struct str piece, struct err *err)
{
    while (d->failed == 0 && piece.len) {
        bool whole;
        if (d->pending.len == 0)
            d->line = d->lines + 1;
        size_t n = record_end(d, piece, &whole);
        struct str record = str_n(piece.p, n);
        if (d->pending.len || !whole) {
            if (d->pending.len + n > CSV_RECORD_MAX) {
                d->failed = err_set(err, -EINVAL, "line %llu: the record is longer than %u bytes; is a quote missing?",
                                    (unsigned long long)d->line, CSV_RECORD_MAX);
                return d->failed;
            }
            buf_addstr(&d->pending, record);
            record = buf_str(&d->pending);
        }
        if (whole) {
            d->failed = take_record(d, record, err);
            buf_reset(&d->pending);
        }
        piece = str_n(piece.p + n, piece.len - n);
    }
    return d->failed;
}

int dataset_end(struct dataset *d, struct err *err)
{
    if (d->failed == 0 && d->pending.len) {
        d->failed = take_record(d, buf_str(&d->pending), err);
        buf_reset(&d->pending);
    }
    if (d->failed == 0 && !d->begun)
        d->failed = err_set(err, -EINVAL, "it is empty: there is not even a line of columns' names");
    return d->failed;
}
