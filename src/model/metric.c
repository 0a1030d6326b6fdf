/* metric.c: the table of metrics.def, and its values as text. */
#include "model/metric.h"

#include <math.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"

const struct metric_info metrics[M_COUNT] = {
#define METRIC(no, name, prom, unit, per, kind, scope, label, help)                                                    \
    [M_##name] = {(no), #name, (prom), UNIT_##unit, (per), KIND_##kind, SCOPE_##scope, (label), (help)},
#include "model/metrics.def"
};

const char *const unit_names[UNIT_COUNT] = {
    [UNIT_NONE] = "",           [UNIT_RATIO] = "ratio", [UNIT_BYTES] = "bytes",     [UNIT_BYTES_S] = "bytes_per_second",
    [UNIT_CELSIUS] = "celsius", [UNIT_WATTS] = "watts", [UNIT_JOULES] = "joules",   [UNIT_HERTZ] = "hertz",
    [UNIT_SECONDS] = "seconds", [UNIT_MASK] = "mask",   [UNIT_FLOPS] = "teraflops",
};

int metric_by_name(struct str name)
{
    static const uint8_t lens[M_COUNT] = {
#define METRIC(no, name, ...) [M_##name] = sizeof(#name) - 1,
#include "model/metrics.def"
    };
    for (int m = 0; m < M_COUNT; m++)
        if (lens[m] == name.len && memcmp(metrics[m].name, name.p, name.len) == 0)
            return m;
    return -1;
}

const char *metric_label(const char *name)
{
    int m = metric_by_name(str_of(name));

    return m < 0 ? name : metrics[m].label;
}

int metric_by_no(uint16_t no)
{
    /* Every sample of every batch comes through here: a direct table, filled by the preprocessor. */
    static const int8_t by_no[] = {
#define METRIC(no, name, ...) [no] = M_##name + 1,
#include "model/metrics.def"
    };
    return no < ARRAY_LEN(by_no) ? by_no[no] - 1 : -1;
}

int metric_base(struct buf *out, enum metric m, int64_t v)
{
    return buf_fixed(out, v, metrics[m].per);
}

static int add_bytes(struct buf *out, double v, const char *tail)
{
    static const char *const suffix[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t i = 0;
    while (fabs(v) >= 1024 && i + 1 < ARRAY_LEN(suffix)) {
        v /= 1024;
        i++;
    }
    return buf_addf(out, i && fabs(v) < 100 ? "%.1f %s%s" : "%.0f %s%s", v, suffix[i], tail);
}

int energy_human(struct buf *out, double joules)
{
    double wh = joules / 3600;
    if (wh >= 999.5)
        return buf_addf(out, wh >= 99950 ? "%.0f kWh" : "%.1f kWh", wh / 1000);
    return buf_addf(out, wh >= 10 ? "%.0f Wh" : wh >= 0.01 ? "%.2g Wh" : "0 Wh", wh);
}

int metric_human(struct buf *out, enum metric m, int64_t v)
{
    const struct metric_info *mi = &metrics[m];
    double base = (double)v / (double)mi->per;
    switch (mi->unit) {
    case UNIT_RATIO:
        return buf_addf(out, "%.0f %%", base * 100);
    case UNIT_BYTES:
        return add_bytes(out, base, "");
    case UNIT_BYTES_S:
        return add_bytes(out, base, "/s");
    case UNIT_CELSIUS:
        return buf_addf(out, "%.0f °C", base);
    case UNIT_WATTS:
        return buf_addf(out, "%.0f W", base);
    case UNIT_JOULES:
        return energy_human(out, base);
    case UNIT_HERTZ:
        return buf_addf(out, "%.0f MHz", base / 1e6);
    case UNIT_SECONDS:
        return buf_addf(out, "%.0f s", base);
    case UNIT_MASK:
        return throttle_words(out, (uint64_t)v);
    case UNIT_FLOPS:
        return buf_addf(out, base < 10 ? "%.1f TFLOP/s" : "%.0f TFLOP/s", base);
    case UNIT_NONE:
    case UNIT_COUNT:
        break;
    }
    return buf_fixed(out, v, mi->per);
}

/* The driver's clock event reasons, by bit. */
static const char *const reasons[] = {"idle",        "application clocks", "sw power cap",
                                      "hw slowdown", "sync boost",         "sw thermal",
                                      "hw thermal",  "hw power brake",     "display clock"};

const char *throttle_word(unsigned bit)
{
    return bit < ARRAY_LEN(reasons) ? reasons[bit] : NULL;
}

int throttle_words(struct buf *out, uint64_t mask)
{
    if (!mask)
        return buf_adds(out, "none");
    const char *sep = "";
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        if (mask >> i & 1) {
            buf_adds(out, sep);
            buf_adds(out, reasons[i]);
            sep = ", ";
        }
    uint64_t rest = mask & ~((1ull << ARRAY_LEN(reasons)) - 1);
    if (rest)
        buf_addf(out, "%s0x%llx", sep, (unsigned long long)rest);
    return out->err;
}
