/* What ClickHouse answers to a question about bins, what it says of a failure, and its address: any bytes. */
#include <stdlib.h>

#include "clickhouse/link.h"
#include "clickhouse/samples_query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BINS 24

struct got {
    size_t n;
};

static void take_bin(void *arg, size_t ask, size_t series, UNUSED size_t bin, const struct part_bin *p)
{
    struct got *g = arg;

    if (ask > 1 || series >= 4 || p->b.count == 0)
        abort();
    g->n++;
}

static void read_answer(enum click_table t, unsigned fields, struct str bytes)
{
    static const char *const devices[] = {"", "GPU-1"}, *const names[] = {"util", "loss"};
    struct bins_query a = {.node = "aa",
                           .devices = devices,
                           .metrics = names,
                           .n_devices = 2,
                           .n_metrics = 2,
                           .step_ms = 60000,
                           .fields = fields};
    struct archive_name name[] = {{.node = "aa", .upto = {INT64_MAX, INT64_MAX}},
                                  {.node = "old", .upto = {5, 6}},
                                  {.node = "old", .after = {7, 1}, .upto = {9, 1}}};
    struct archive_query v[] = {{&a, 0, BINS * 60000, name, 3}, {&a, 0, BINS * 60000, name, 1}};
    struct click_shape shape;
    struct got g = {0};

    if (click_shape_of(&shape, t, v, 2))
        click_answer(bytes, &shape, v, 2, &(struct archive_out){.each = take_bin, .arg = &g});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_BUF said = BUF_INIT(4096);
    struct click_place p;
    struct err err = {0};

    if (size == 0 || size > 1 << 16)
        return 0;
    struct str rest = str_n(data + 1, size - 1);
    read_answer(data[0] & 1 ? CLICK_CUSTOM : CLICK_SAMPLE, data[0] >> 1 & BIN_ALL, rest);
    click_failure(rest, &said);
    if (said.err || !str_utf8_ok(buf_str(&said)))
        abort();
    if (click_place_read(rest, &p, &err) < 0 ? !err.msg[0] : p.n_hosts == 0)
        abort();
    return 0;
}
