/*
 * exec.h: custom metrics out of text: `name value` lines or Prometheus text, one sample a line. Pure.
 *
 *   loss 0.25                                  the node's
 *   fps{device="0"} 60                         GPU 0's; gpu="0", uuid="GPU-…" and device="nvidia0" say so too
 *   # TYPE tokens_total counter                a gauge otherwise, unless the name ends in _total
 *   temp{sensor="cpu0"} 41.5                   temp_cpu0: other labels join the name; beside a device they are dropped
 *
 * '.', '-' and '/' in names become '_'. A timestamp behind the value is ignored, NaN and infinities are absent.
 * Histograms and summaries are skipped. The unit is told by the name's end (_bytes, _celsius, _watts, _seconds,
 * _ratio, …). Values are kept in thousandths (counters and bytes whole, ratios in ten-thousandths), finer when the
 * first one has more decimals.
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

/* 1: *ret is a value; 0: nothing to see (comment, blank, NaN, part of a histogram); -EINVAL: malformed. */
int exec_line(struct exec_types *types, struct str line, struct custom_reading *ret);

struct exec_bad { /* lines that were skipped; the first one, for people */
    size_t n;
    char first[64];
};
/* All lines of a text into ret. A metric of one device that comes twice counts once, as it came last. */
void exec_text(struct exec_types *types, struct str text, struct reading *ret, struct exec_bad *bad);
