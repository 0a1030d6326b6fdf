/* dataset_write.c: writing all_runs_data.csv and deleted_runs_data.csv as polars would: floats have a decimal, times
 * six digits of a second. */

#include "base/csv.h"
#include "base/json.h"
#include "base/mem.h"
#include "report/report.h"
#include "wandb_push/dataset_columns.h"

#define ROW_MAX (8 * WANDB_TEXT_MAX) /* three texts with every quote doubled, and room */

const char *const dataset_words[DATASET_SETS + 1] = {"18", "16", "old", NULL};

#define S18 (1u << DATASET_18)
#define S16 (1u << DATASET_16)
#define OLD (1u << DATASET_OLD)
const struct dataset_column dataset_columns[] = {
#define COLUMN(name, kind, field, sets) {#name, IS_##kind, offsetof(struct dataset_row, field), sets},
#include "wandb_push/dataset.def"
};

/* ---- cells ---- */

static void add_moment(struct buf *out, const struct zone *zone, int64_t at_ms)
{
    struct civil c;

    if (at_ms <= 0)
        return;
    zone_civil(zone, at_ms, &c);
    buf_addf(out, "%04d-%02d-%02dT%02d:%02d:%02d.%03d000", c.year, c.month, c.day, c.hour, c.minute, c.second,
             (int)(at_ms % 1000));
}

static void add_cell(struct buf *out, const struct dataset_column *c, const struct zone *zone,
                     const struct dataset_row *row)
{
    const void *at = (const char *)row + c->at;
    const char *const *word = at;
    const int64_t *number = at;
    const int32_t *count = at;
    char day[16];

    switch (c->kind) {
    case IS_DATE:
        buf_adds(out, date_text(*count, day));
        break;
    case IS_NAME:
    case IS_WORD:
    case IS_TAGS:
        csv_add(out, *word);
        break;
    case IS_TIME:
        add_moment(out, zone, *number);
        break;
    case IS_HOURS:
        buf_float(out, ((int64_t)*count * 1000000000 + 30) / 60, 1000000000);
        break;
    case IS_COUNT:
        if (*count >= 0)
            buf_addi(out, *count);
        break;
    case IS_UTIL:
    case IS_MEM:
        if (row->day.have & (c->kind == IS_UTIL ? WANDB_UTIL : WANDB_MEM))
            buf_float(out, *number, PERCENT_ONE);
        break;
    case IS_EXISTS:
        buf_adds(out, wandb_exists_words[*count]);
        break;
    case IS_ZERO:
        buf_addc(out, '0');
        break;
    case IS_FALSE:
        buf_adds(out, "false");
        break;
    }
}

void dataset_row_text(struct buf *out, enum dataset_set set, const struct zone *zone, const struct wandb_run *run,
                      const struct wandb_day *day)
{
    const struct dataset_row row = {.run = *run, .day = *day};

    for (size_t i = 0; i < DATASET_COLUMNS; i++)
        if (dataset_columns[i].sets & 1u << set) {
            buf_adds(out, i ? "," : ""); /* all have the first */
            add_cell(out, &dataset_columns[i], zone, &row);
        }
    buf_addc(out, '\n');
}

void dataset_head_text(struct buf *out, enum dataset_set set)
{
    for (size_t i = 0; i < DATASET_COLUMNS; i++)
        if (dataset_columns[i].sets & 1u << set)
            buf_addf(out, "%s%s", i ? "," : "", dataset_columns[i].name);
    buf_addc(out, '\n');
}

/* ---- files ---- */

struct writing {
    enum dataset_set set;
    const struct zone *zone;
    struct buf piece;
    dataset_out_fn *out;
    void *arg;
};

static int writing_flush(struct writing *w)
{
    int r = w->piece.err ? w->piece.err : w->piece.len ? w->out(w->arg, buf_str(&w->piece)) : 0;

    buf_reset(&w->piece);
    return r;
}

static int put_day(void *arg, const struct wandb_run *run, const struct wandb_day *day)
{
    struct writing *w = arg;

    dataset_row_text(&w->piece, w->set, w->zone, run, day);
    return w->piece.len >= DATASET_PIECE ? writing_flush(w) : 0;
}

static int put_deleted(void *arg, const struct wandb_run *run)
{
    struct writing *w = arg;
    const char *const cells[] = {run->id, run->team, run->project};

    for (size_t i = 0; i < ARRAY_LEN(cells); i++) {
        csv_add(&w->piece, cells[i]);
        buf_addc(&w->piece, ',');
    }
    add_moment(&w->piece, w->zone, run->created_ms);
    buf_addc(&w->piece, '\n');
    return w->piece.len >= DATASET_PIECE ? writing_flush(w) : 0;
}

static int64_t finish(struct writing *w, int64_t n)
{
    int r = n < 0 ? 0 : writing_flush(w);

    buf_fini(&w->piece);
    return r ? r : n;
}

int64_t dataset_write(struct wandb_store *s, const struct dataset_params *ask, dataset_out_fn *out, void *arg,
                      struct err *err)
{
    struct writing w = {ask->set, ask->zone, BUF_INIT(DATASET_PIECE + ROW_MAX), out, arg};
    struct wandb_query days = {.from = ask->from, .to = ask->to, .order = WANDB_BY_DATASET, .deleted = true};

    dataset_head_text(&w.piece, w.set);
    return finish(&w, wandb_days_each(s, &days, put_day, &w, err));
}

int64_t dataset_write_deleted(struct wandb_store *s, const struct zone *zone, int64_t since_ms, dataset_out_fn *out,
                              void *arg, struct err *err)
{
    struct writing w = {0, zone, BUF_INIT(DATASET_PIECE + ROW_MAX), out, arg};

    buf_adds(&w.piece, "run_id,company_name,project,created_at\n");
    return finish(&w, wandb_deleted_each(s, since_ms, put_deleted, &w, err));
}
