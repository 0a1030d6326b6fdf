/* dataset_write.c: writing all_runs_data.csv and deleted_runs_data.csv as polars would: floats have a decimal, times
 * six digits of a second. */
#include <errno.h>

#include "base/csv.h"
#include "base/json.h"
#include "base/mem.h"
#include "report/report.h"
#include "wandb_push/dataset.h"
#include "wandb_push/dataset_columns.h"

#define ROW_MAX (8 * WANDB_TEXT_MAX) /* three texts with every quote doubled, and room */

const char *const dataset_words[DATASET_SETS + 1] = {"18", "16", "old", NULL};
const char *const dataset_column_words[C_COUNT] = {
#define X(name) #name,
    DATASET_COLUMNS(X)
#undef X
};

static const signed char sets[DATASET_SETS][C_COUNT + 1] = {
    [DATASET_18] = {C_date, C_company_name, C_project, C_run_id, C_tags, C_created_at, C_updated_at, C_state,
                    C_duration_hour, C_gpu_count, C_cpu_count, C_average_gpu_utilization, C_average_gpu_memory,
                    C_max_gpu_utilization, C_max_gpu_memory, C_host_name, C_logged_at, C_run_exists, -1},
    [DATASET_16] = {C_date, C_company_name, C_project, C_run_id, C_tags, C_created_at, C_updated_at, C_state,
                    C_duration_hour, C_gpu_count, C_average_gpu_utilization, C_average_gpu_memory,
                    C_max_gpu_utilization, C_max_gpu_memory, C_host_name, C_logged_at, -1},
    [DATASET_OLD] = {C_date, C_company_name, C_project, C_run_id, C_assigned_gpu_node, C_created_at, C_updated_at,
                     C_state, C_duration_hour, C_gpu_count, C_average_gpu_utilization, C_average_gpu_memory,
                     C_max_gpu_utilization, C_max_gpu_memory, C_logged_at, C_testmode, -1},
};

/* ---- cells ---- */

static void moment(struct buf *out, const struct zone *zone, int64_t at_ms)
{
    struct civil c;

    if (at_ms <= 0)
        return;
    zone_civil(zone, at_ms, &c);
    buf_addf(out, "%04d-%02d-%02dT%02d:%02d:%02d.%03d000", c.year, c.month, c.day, c.hour, c.minute, c.second,
             (int)(at_ms % 1000));
}

/* A decimal at least, as a float has it. */
static void number(struct buf *out, int64_t v, int64_t per)
{
    buf_fixed(out, v, per);
    if (v % per == 0)
        buf_adds(out, ".0");
}

static void count(struct buf *out, int64_t v)
{
    if (v >= 0)
        buf_addi(out, v);
}

static void column(struct buf *out, enum dataset_column c, const struct zone *zone, const struct wandb_run *run,
                   const struct wandb_day *d)
{
    char text[16];

    switch (c) {
    case C_date:
        buf_adds(out, date_text(d->day, text));
        break;
    case C_company_name:
        csv_add(out, run->team);
        break;
    case C_project:
        csv_add(out, run->project);
        break;
    case C_run_id:
        csv_add(out, run->id);
        break;
    case C_tags:
        csv_add(out, d->tags);
        break;
    case C_created_at:
        moment(out, zone, d->created_ms);
        break;
    case C_updated_at:
        moment(out, zone, d->heartbeat_ms);
        break;
    case C_state:
        csv_add(out, d->state);
        break;
    case C_duration_hour:
        number(out, ((int64_t)d->minutes * 1000000000 + 30) / 60, 1000000000);
        break;
    case C_gpu_count:
        count(out, d->gpus);
        break;
    case C_cpu_count:
        count(out, d->cpus);
        break;
    case C_average_gpu_utilization:
    case C_max_gpu_utilization:
        if (d->have & WANDB_UTIL)
            number(out, c == C_average_gpu_utilization ? d->util_avg : d->util_max, PERCENT_ONE);
        break;
    case C_average_gpu_memory:
    case C_max_gpu_memory:
        if (d->have & WANDB_MEM)
            number(out, c == C_average_gpu_memory ? d->mem_avg : d->mem_max, PERCENT_ONE);
        break;
    case C_host_name:
        csv_add(out, d->host);
        break;
    case C_logged_at:
        moment(out, zone, d->logged_ms);
        break;
    case C_run_exists:
        buf_adds(out, wandb_exists_words[run->exists]);
        break;
    case C_assigned_gpu_node:
        buf_adds(out, "0");
        break;
    case C_testmode:
        buf_adds(out, "false");
        break;
    case C_COUNT:
        break;
    }
}

void dataset_row_text(struct buf *out, enum dataset_set set, const struct zone *zone, const struct wandb_run *run,
                      const struct wandb_day *day)
{
    for (const signed char *c = sets[set]; *c >= 0; c++) {
        if (c != sets[set])
            buf_addc(out, ',');
        column(out, (enum dataset_column) * c, zone, run, day);
    }
    buf_addc(out, '\n');
}

void dataset_head_text(struct buf *out, enum dataset_set set)
{
    for (const signed char *c = sets[set]; *c >= 0; c++)
        buf_addf(out, "%s%s", c == sets[set] ? "" : ",", dataset_column_words[(int)*c]);
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

    csv_add(&w->piece, run->id);
    buf_addc(&w->piece, ',');
    csv_add(&w->piece, run->team);
    buf_addc(&w->piece, ',');
    csv_add(&w->piece, run->project);
    buf_addc(&w->piece, ',');
    moment(&w->piece, w->zone, run->created_ms);
    buf_addc(&w->piece, '\n');
    return w->piece.len >= DATASET_PIECE ? writing_flush(w) : 0;
}

static int64_t finish(struct writing *w, int64_t n)
{
    int r = n < 0 ? 0 : writing_flush(w);

    buf_fini(&w->piece);
    return r ? r : n;
}

int64_t dataset_write(struct wandb_store *s, const struct dataset_ask *ask, dataset_out_fn *out, void *arg,
                      struct err *err)
{
    struct writing w = {ask->set, ask->zone, BUF_INIT(DATASET_PIECE + ROW_MAX), out, arg};
    struct wandb_ask days = {.from = ask->from, .to = ask->to, .order = WANDB_BY_DATASET, .deleted = true};

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
