/*
 * dataset.c: reads all_runs_data.csv. Bytes are collected until a record is complete. Each record is parsed separately,
 * so that a bad one does not affect others.
 */
#include "wandb_push/dataset.h"

#include <errno.h>

#include "base/csv.h"
#include "base/mem.h"
#include "base/order.h"
#include "report/report.h"
#include "wandb_pull/fold.h"
#include "wandb_pull/rule.h"
#include "wandb_push/dataset_columns.h"

#define MINUTES_MAX 1500 /* the longest day there is has 25 hours */
/* A file that was written must be readable again: these limits cover all values that rules and samples can produce. */
#define COUNT_MAX    RULE_GPUS_MAX
#define PERCENT_MOST (FOLD_PERCENT_MAX * PERCENT_ONE)

/* Position within a record: a quote opens a cell only at its start. */
enum at { AT_CELL, AT_PLAIN, AT_QUOTED, AT_QUOTE };

struct dataset {
    const struct zone *zone;
    struct dataset_take take;
    struct buf pending; /* of the incomplete record */
    struct csv csv;
    enum at at;
    uint64_t line, lines; /* start of the record; lines so far */
    bool begun;
    int column[DATASET_COLUMNS]; /* of each that we know: where it is; -1: nowhere */
    int n_columns;
    struct buf text; /* of the row's names, terminated */
    int failed;
};

struct dataset *dataset_new(const struct zone *zone, const struct dataset_take *take)
{
    struct dataset *d = NEW(struct dataset, .zone = zone, .take = *take, .pending = BUF_INIT(CSV_RECORD_MAX + 1),
                            .text = BUF_INIT((size_t)2 * CSV_RECORD_MAX));

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

/* A cell, whose column may be missing; spaces are part of the text. */
static struct str get_cell(const struct row_in *x, int c)
{
    return x->d->column[c] < 0 ? str_of("") : x->cells[x->d->column[c]];
}

static void wrong(struct row_in *x, int c, const char *expected)
{
    struct str s = str_trim(get_cell(x, c));

    if (x->why)
        return;
    snprintf(x->room, sizeof(x->room), "%s is '%.*s'; expected %s", dataset_columns[c].name,
             (int)MIN(s.len, (size_t)40), s.p, expected);
    x->why = x->room;
}

/* Tags are JSON, which leaves some control characters as they are. */
static bool is_utf8(struct str s)
{
    uint32_t c = 1;
    size_t n = 0;

    while (s.len && c && (n = str_utf8(s, &c)))
        s = str_drop(s, n);
    return s.len == 0 && c;
}

/* Valid until the row is passed on: the buffer holds the whole row. */
static const char *read_text(struct row_in *x, int c)
{
    enum dataset_kind kind = dataset_columns[c].kind;
    size_t max = kind == IS_TAGS ? WANDB_TEXT_MAX : WANDB_NAME_MAX;
    struct str s = get_cell(x, c);
    const char *at = x->d->text.p + x->d->text.len;

    if (kind == IS_NAME && s.len == 0)
        wrong(x, c, "a name");
    else if (s.len > max)
        wrong(x, c, "less");
    else if (kind == IS_TAGS ? !is_utf8(s) : !str_utf8_ok(s))
        wrong(x, c, "letters");
    buf_addstr(&x->d->text, s);
    buf_addc(&x->d->text, 0);
    return at;
}

static int64_t read_moment(struct row_in *x, int c, struct str s)
{
    int64_t ms;
    struct civil civil;

    if (is_null(s))
        return 0;
    if (!run_time(s, &ms) || ms <= 0) {
        wrong(x, c, "a time");
        return 0;
    }
    if (ANY(s.len - 10, i, memchr("Zz+-", s.p[10 + i], 4)))
        return ms; /* it names an offset */
    date_civil((int32_t)(ms / 86400000), &civil);
    civil.hour = (int)(ms / 3600000 % 24);
    civil.minute = (int)(ms / 60000 % 60);
    civil.second = (int)(ms / 1000 % 60);
    return zone_to_ms(x->d->zone, &civil) + ms % 1000;
}

static int32_t read_exists(struct row_in *x, int c, struct str s)
{
    if (is_null(s))
        return WANDB_NOT_TOLD;
    for (int32_t i = WANDB_EXISTS; i < WANDB_EXISTS_COUNT; i++)
        if (str_eq_nocase(s, wandb_exists_words[i]))
            return i;
    wrong(x, c, "exists, deleted or error");
    return WANDB_NOT_TOLD;
}

/* Which percentages are present. */
static int32_t find_have(const struct row_in *x)
{
    int32_t bits = 0;

    for (int c = 0; c < DATASET_COLUMNS; c++)
        if ((dataset_columns[c].kind == IS_UTIL || dataset_columns[c].kind == IS_MEM) &&
            !is_null(str_trim(get_cell(x, c))))
            bits |= dataset_columns[c].kind == IS_UTIL ? WANDB_UTIL : WANDB_MEM;
    return bits;
}

static void read_cell(struct row_in *x, int c, struct dataset_row *row)
{
    enum dataset_kind kind = dataset_columns[c].kind;
    void *at = (char *)row + dataset_columns[c].at;
    struct str s = str_trim(get_cell(x, c));
    int64_t v = 0;

    switch (kind) {
    case IS_DATE:
        if (s.len > 10 && (s.p[10] == 'T' || s.p[10] == ' ')) /* a date that another program extended to a time */
            s.len = 10;
        if (!date_parse(s, at))
            wrong(x, c, "a date");
        break;
    case IS_NAME:
    case IS_WORD:
    case IS_TAGS:
        *(const char **)at = read_text(x, c);
        break;
    case IS_TIME:
        *(int64_t *)at = read_moment(x, c, s);
        break;
    case IS_HOURS: /* 1e-9 minutes */
        if (!str_fixed(s, 60 * 1000000000ll, &v) || v < 0 || v > MINUTES_MAX * 1000000000ll)
            wrong(x, c, "the hours of a day");
        else
            *(int32_t *)at = (int32_t)((v + 500000000) / 1000000000);
        break;
    case IS_COUNT:
        if (!is_null(s) && (!str_fixed(s, 1000, &v) || v < 0 || v % 1000 || v / 1000 > COUNT_MAX))
            wrong(x, c, "a whole number");
        *(int32_t *)at = is_null(s) ? -1 : (int32_t)(v / 1000);
        break;
    case IS_UTIL:
    case IS_MEM:
        if (row->day.have & (kind == IS_UTIL ? WANDB_UTIL : WANDB_MEM) &&
            (!str_fixed(s, PERCENT_ONE, at) || *(int64_t *)at < 0 || *(int64_t *)at > PERCENT_MOST))
            wrong(x, c, "a percentage");
        break;
    case IS_EXISTS:
        *(int32_t *)at = read_exists(x, c, s);
        break;
    case IS_ZERO:
    case IS_FALSE:
        break;
    }
}

/* ---- records ---- */

static void tell_bad(struct dataset *d, const char *why)
{
    if (d->take.bad)
        d->take.bad(d->take.arg, d->line, why);
}

static int take_row(struct dataset *d, const struct str *cells, struct err *err)
{
    struct row_in x = {.d = d, .cells = cells};
    struct dataset_row row = {.line = d->line};
    size_t bytes = DATASET_COLUMNS;

    for (int i = 0; i < d->n_columns; i++)
        bytes += cells[i].len;
    buf_reset(&d->text);
    buf_room(&d->text, bytes); /* so that it does not move */
    row.day.have = find_have(&x);
    for (int c = 0; c < DATASET_COLUMNS; c++)
        read_cell(&x, c, &row);
    if (x.why) {
        tell_bad(d, x.why);
        return 0;
    }
    return d->take.row(d->take.arg, &row, err);
}

static int take_head(struct dataset *d, const struct str *cells, int n, struct err *err)
{
    if (n > DATASET_COLUMNS_MAX)
        return err_set(err, -EINVAL, "it has more than %d columns, and is no dataset of runs", DATASET_COLUMNS_MAX);
    for (int c = 0; c < DATASET_COLUMNS; c++) {
        enum dataset_kind kind = dataset_columns[c].kind;
        bool needed = kind == IS_DATE || kind == IS_NAME || kind == IS_HOURS; /* else a table is no dataset */
        d->column[c] = -1;
        for (int i = 0; i < n; i++)
            if (str_eq(str_trim(cells[i]), dataset_columns[c].name)) {
                if (d->column[c] >= 0)
                    return err_set(err, -EINVAL, "line %llu names column '%s' twice", (unsigned long long)d->line,
                                   dataset_columns[c].name);
                d->column[c] = i;
            }
        if (d->column[c] < 0 && needed)
            return err_set(err, -EINVAL, "line %llu, the columns' names, has no '%s': this is no dataset of runs",
                           (unsigned long long)d->line, dataset_columns[c].name);
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
        struct str s = str_of(why.msg); /* the line number is reported separately */
        int colon = str_find(s, ": ");
        tell_bad(d, why.msg + (colon < 0 ? 0 : colon + 2));
        return 0;
    }
    if (n != d->n_columns) {
        snprintf(why.msg, sizeof(why.msg), "it has %d columns where the first line has %d", n, d->n_columns);
        tell_bad(d, why.msg);
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
        if (d->at == AT_QUOTED || (c == '"' && d->at != AT_PLAIN)) { /* a second quote continues the cell */
            d->at = d->at == AT_QUOTED && c == '"' ? AT_QUOTE : AT_QUOTED;
            continue;
        }
        d->at = c == ',' || c == '\n' ? AT_CELL : AT_PLAIN;
        if (c == '\n') {
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
        piece = str_drop(piece, n);
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
