/*
 * truework.h: the recorded jobs of tests/data/truework.csv as samples, a second each: an H200 under work of known size.
 * work and flops are computed as the agent does.
 */
#ifndef TESTS_KIT_TRUEWORK_H
#define TESTS_KIT_TRUEWORK_H

#include <math.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "model/work.h"
#include "test.h"

#pragma GCC diagnostic ignored "-Wunused-function" /* each test file uses its part */

#define TRUEWORK_MAX 128
struct truework_row {
    char job[16];
    double tflops; /* counted */
    struct sample s;
};
static struct truework_row truework[TRUEWORK_MAX];
static size_t n_truework;

static void truework_cell(struct truework_row *row, const char *name, struct str cell)
{
    static const struct {
        const char *name;
        enum metric m;
        int64_t scale; /* stored steps per one of the file's */
    } columns[] = {{"util", M_util, 100},        {"w", M_power, 1000},         {"clk", M_clock_sm, 1000000},
                   {"why", M_throttle, 1},       {"gr", M_active, 100},        {"sm", M_sm_active, 100},
                   {"occ", M_sm_occupancy, 100}, {"int", M_int_active, 100},   {"tens", M_tensor_active, 100},
                   {"dfma", M_dfma_active, 100}, {"hmma", M_hmma_active, 100}, {"imma", M_imma_active, 100},
                   {"dram", M_dram_active, 100}, {"fp64", M_fp64_active, 100}, {"fp32", M_fp32_active, 100},
                   {"fp16", M_fp16_active, 100}};
    int64_t v;
    if (strcmp(name, "job") == 0) {
        assert_true(cell.len < sizeof(row->job));
        memcpy(row->job, cell.p, cell.len);
        return;
    }
    if (strcmp(name, "tflops") == 0) {
        assert_true(str_fixed(cell, 10, &v));
        row->tflops = (double)v / 10;
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        if (strcmp(name, columns[i].name) == 0) {
            assert_true(str_fixed(cell, columns[i].scale, &v));
            sample_set(&row->s, columns[i].m, v);
            return;
        }
    fail_msg("column '%s' is not known", name);
}

/* What every H200 says besides, and what the agent computes. */
static void truework_finish(struct truework_row *row)
{
    const struct gpu_peak *peak = gpu_peak_of("NVIDIA H200");
    int64_t v;
    assert_non_null(peak);
    sample_set(&row->s, M_power_limit, 700000);
    sample_set(&row->s, M_power_default, 700000);
    sample_set(&row->s, M_clock_sm_max, 1980000000);
    sample_set(&row->s, M_mem_total, 143771ll << 20);
    sample_set(&row->s, M_mem_used, 100ll << 30);
    if (work_of(&row->s, &v))
        sample_set(&row->s, M_work, v);
    if (flops_of(peak, peak->sms, row->s.v[M_clock_sm], &row->s, &v))
        sample_set(&row->s, M_flops, v);
}

static void truework_load(void)
{
    AUTO_BUF text = {0};
    char names[32][16] = {{0}};
    struct str line, cell;
    if (n_truework)
        return;
    assert_int_equal(file_read("tests/data/truework.csv", 1 << 20, &text, NULL), 0);
    struct str rest = buf_str(&text);
    assert_true(str_line(&rest, &line) && str_line(&rest, &line)); /* a remark, then the names */
    for (size_t i = 0; str_cut(&line, ',', &cell); i++)
        memcpy(names[i], cell.p, MIN(cell.len, sizeof(names[i]) - 1));
    while (str_line(&rest, &line)) {
        assert_true(n_truework < TRUEWORK_MAX);
        struct truework_row *row = &truework[n_truework++];
        for (size_t i = 0; str_cut(&line, ',', &cell); i++)
            truework_cell(row, names[i], cell);
        truework_finish(row);
    }
    assert_true(n_truework > 60);
}

/* Second n of a job; a job is over after few seconds and goes on from its first. */
static const struct sample *truework_at(const char *job, size_t n)
{
    size_t first = 0, count = 0;
    truework_load();
    while (first < n_truework && strcmp(truework[first].job, job) != 0)
        first++;
    while (first + count < n_truework && strcmp(truework[first + count].job, job) == 0)
        count++;
    if (!count)
        fail_msg("no job '%s'", job);
    return &truework[first + n % count].s;
}

#endif
