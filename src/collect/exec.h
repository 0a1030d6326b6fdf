/*
 * exec.h: parses custom metrics: `name value` lines or Prometheus text, one sample a line. Pure.
 *
 *   loss 0.25                                  a metric of the node
 *   fps{device="0"} 60                         of GPU 0; gpu="0", uuid="GPU-…" and device="nvidia0" mean the same
 *   # TYPE tokens_total counter                a gauge otherwise, unless the name ends in _total
 *   temp{sensor="cpu0"} 41.5                   temp_cpu0: other labels join the name; dropped with a device label
 *
 * '.', '-' and '/' in names become '_'. A timestamp after the value is ignored. NaN and infinities are absent.
 * Histograms and summaries are skipped. The suffix of the name sets the unit (_bytes, _celsius, _watts, _seconds,
 * _ratio, …). Values are kept in thousandths (counters and bytes as integers, ratios in ten-thousandths), finer if the
 * first value has more decimals.
 */
#pragma once

#include "collect/collect.h"

#define EXEC_TYPES_MAX 256

enum exec_type { EXEC_UNTYPED, EXEC_GAUGE, EXEC_COUNTER, EXEC_OTHER };

/* TYPE lines seen so far. Zero-initialise. */
struct exec_types {
    size_t n;
    struct {
        char name[64];
        uint8_t type;
    } v[EXEC_TYPES_MAX];
};

/*
 * Returns 1 with a value in *ret; 0 if the line has no value (comment, blank, NaN, part of a histogram); -EINVAL if
 * malformed.
 */
int exec_line(struct exec_types *types, struct str line, struct custom_reading *ret);

struct exec_bad { /* skipped lines; the first one, for users */
    size_t n;
    char first[64];
};
/* All lines of a text into ret. If a metric of one device comes twice, the last value wins. */
void exec_text(struct exec_types *types, struct str text, struct reading *ret, struct exec_bad *bad);
