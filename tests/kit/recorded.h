/*
 * recorded.h: reads what tests/device/work.py recorded through the agent: CSV of job, what the rules should say of it,
 * TFLOP/s that were counted, at_ms, then metrics by name in stored steps; an empty cell is absent.
 */
#ifndef TESTS_KIT_RECORDED_H
#define TESTS_KIT_RECORDED_H

#include <stdio.h>

#include "base/mem.h"
#include "base/str.h"
#include "model/metric.h"

enum { RECORDED_COLUMNS = 64 };

struct recorded_row {
    char job[64], want[32]; /* want "": nothing */
    double tflops;
    struct sample s;
};

struct recorded {
    FILE *f;
    int n, column[RECORDED_COLUMNS]; /* a metric, or -1 */
    char line[65536];
};

/* The line of names; false where there is none. */
static bool recorded_begin(struct recorded *r, FILE *f)
{
    struct str rest, cell;
    r->f = f;
    r->n = 0;
    if (!f || !fgets(r->line, sizeof(r->line), f))
        return false;
    rest = str_trim(str_of(r->line));
    while (r->n < RECORDED_COLUMNS && str_cut(&rest, ',', &cell))
        r->column[r->n++] = metric_by_name(cell);
    return true;
}

static void recorded_cell(const struct recorded *r, int i, struct str cell, struct recorded_row *ret)
{
    int64_t v;
    if (i == 0)
        memcpy(ret->job, cell.p, MIN(cell.len, sizeof(ret->job) - 1));
    else if (i == 1)
        memcpy(ret->want, cell.p, MIN(cell.len, sizeof(ret->want) - 1));
    else if (!str_fixed(cell, i == 2 ? 1000 : 1, &v))
        return;
    else if (i == 2)
        ret->tflops = (double)v / 1000;
    else if (i == 3)
        ret->s.at_ms = v;
    else if (r->column[i] >= 0)
        sample_set(&ret->s, (enum metric)r->column[i], v);
}

static bool recorded_next(struct recorded *r, struct recorded_row *ret)
{
    struct str rest, cell;
    *ret = (struct recorded_row){0};
    if (!fgets(r->line, sizeof(r->line), r->f))
        return false;
    rest = str_trim(str_of(r->line));
    for (int i = 0; i < r->n && str_cut(&rest, ',', &cell); i++)
        recorded_cell(r, i, cell, ret);
    return true;
}

#endif
