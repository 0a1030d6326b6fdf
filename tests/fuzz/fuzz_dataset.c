/* all_runs_data.csv: any bytes, cut anywhere. Rows are the same however it is cut, and what a row is written as is read
 * back the same. */
#include <stdlib.h>

#include "base/buf.h"
#include "wandb_push/dataset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

struct ingest_request {
    struct buf rows;
    const struct zone *zone;
};

static int take_row(void *arg, const struct dataset_row *row, struct err *err)
{
    struct ingest_request *t = arg;

    (void)err;
    check(row->run.team[0] && row->run.project[0] && row->run.id[0]);
    check(row->day.minutes >= 0 && row->day.minutes <= 1500 && row->day.gpus >= -1 && row->day.cpus >= -1);
    dataset_row_text(&t->rows, DATASET_18, t->zone, &row->run, &row->day);
    return 0;
}

static int feed(struct ingest_request *t, struct str text, size_t step)
{
    const struct dataset_take take = {take_row, NULL, t};
    struct dataset *d = dataset_new(t->zone, &take);
    int r = 0;

    for (size_t i = 0; r == 0 && i < text.len; i += step)
        r = dataset_feed(d, str_n(text.p + i, i + step < text.len ? step : text.len - i), NULL);
    if (r == 0)
        r = dataset_end(d, NULL);
    dataset_free(d);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct zone *zone = zone_utc();
    struct ingest_request a = {BUF_INIT(64 << 20), zone}, b = {BUF_INIT(64 << 20), zone},
                          c = {BUF_INIT(64 << 20), zone};
    struct str text = str_n(data, size);

    dataset_head_text(&a.rows, DATASET_18);
    dataset_head_text(&b.rows, DATASET_18);
    dataset_head_text(&c.rows, DATASET_18);
    int whole = feed(&a, text, size + 1);
    check(feed(&b, text, size ? 1 + data[0] % 64u : 1) == whole);
    check(str_eq_str(buf_str(&a.rows), buf_str(&b.rows)));
    if (a.rows.err == 0) {
        check(feed(&c, buf_str(&a.rows), 4096) == 0);
        check(str_eq_str(buf_str(&a.rows), buf_str(&c.rows)));
    }
    buf_fini(&a.rows);
    buf_fini(&b.rows);
    buf_fini(&c.rows);
    zone_free(zone);
    return 0;
}
