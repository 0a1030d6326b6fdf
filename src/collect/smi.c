/*
 * smi.c: parses nvidia-smi's CSV. A table below has one line per column. Units come from the cell, else from the
 * header, else they are those that nvidia-smi has always used for the column.
 */
#include "collect/smi.h"

#include <errno.h>

#include "base/order.h"

#define SMI_LINE_MAX 8192

/* The kind of a column: a metric, or one of these. Metrics that are split or have two names have their own rule. */
enum {
    COL_NONE = -1,
    COL_INDEX = -2,
    COL_UUID = -3,
    COL_NAME = -4,
    COL_PCI = -5,
    COL_SERIAL = -6,
    COL_DRIVER = -7,
    COL_COUNT = -8,
    COL_PID = -9,
    COL_PROGRAM = -10,
    COL_APP_MEM = -11,
    COL_LIMIT_SET = -12, /* the requested limit; the enforced one has priority */
    COL_ROWS = -13,      /* rows remapped and pages retired add up */
    COL_POWER_AVERAGE = -14,
};

const struct smi_name smi_names[] = {
    {"index", COL_INDEX},
    {"count", COL_COUNT},
    {"uuid", COL_UUID},
    {"name", COL_NAME},
    {"pci.bus_id", COL_PCI},
    {"serial", COL_SERIAL},
    {"driver_version", COL_DRIVER},
    {"utilization.gpu", M_util},
    {"utilization.memory", M_mem_util},
    {"utilization.encoder", M_enc},
    {"utilization.decoder", M_dec},
    {"memory.total", M_mem_total},
    {"memory.used", M_mem_used},
    {"memory.reserved", M_mem_reserved},
    {"temperature.gpu", M_temp},
    {"temperature.memory", M_temp_mem},
    {"power.draw", M_power},
    {"enforced.power.limit", M_power_limit},
    {"clocks.sm", M_clock_sm},
    {"clocks.mem", M_clock_mem},
    {"clocks.max.sm", M_clock_sm_max},
    {"clocks.max.mem", M_clock_mem_max},
    {"clocks_event_reasons.active", M_throttle},
    {"clocks_throttle_reasons.active", M_throttle}, /* its name before 535 */
    {"pstate", M_pstate},
    {"fan.speed", M_fan},
    {"pcie.link.gen.current", M_pcie_gen},
    {"pcie.link.width.current", M_pcie_width},
    {"ecc.errors.corrected.volatile.total", M_ecc_corrected},
    {"ecc.errors.uncorrected.volatile.total", M_ecc_uncorrected},
    {"remapped_rows.correctable", COL_ROWS},
    {"remapped_rows.uncorrectable", COL_ROWS},
    {"remapped_rows.pending", M_rows_pending},
    {"remapped_rows.failure", M_rows_failed},
    {"remapped_rows.histogram.none", M_rows_spent},
    {"retired_pages.sbe", COL_ROWS},
    {"retired_pages.dbe", COL_ROWS},
    {"retired_pages.pending", M_rows_pending},
    /* not requested by muster, but maybe in text from elsewhere */
    {"gpu_uuid", COL_UUID},
    {"gpu_name", COL_NAME},
    {"gpu_bus_id", COL_PCI},
    {"gpu_serial", COL_SERIAL},
    {"power.draw.average", COL_POWER_AVERAGE},
    {"power.limit", COL_LIMIT_SET},
    {"clocks.current.sm", M_clock_sm},
    {"clocks.current.memory", M_clock_mem},
    {"clocks.max.memory", M_clock_mem_max},
    {"pcie.link.gen.gpucurrent", M_pcie_gen},
    {"retired_pages.single_bit_ecc.count", COL_ROWS},
    {"retired_pages.double_bit.count", COL_ROWS},
    {"pid", COL_PID},
    {"process_name", COL_PROGRAM},
    {"used_gpu_memory", COL_APP_MEM},
    {"used_memory", COL_APP_MEM},
};

/* ---- values ---- */

/* Stored units in one of the text's units; 0: a unit we do not know, and then the value is absent. */
static int64_t unit_scale(struct str unit, enum metric m)
{
    static const struct {
        const char *word;
        enum unit of;
        int64_t scale;
    } units[] = {
        {"%", UNIT_RATIO, 100},          {"B", UNIT_BYTES, 1},
        {"KiB", UNIT_BYTES, 1 << 10},    {"MiB", UNIT_BYTES, 1 << 20},
        {"GiB", UNIT_BYTES, 1 << 30},    {"MB", UNIT_BYTES, 1 << 20}, /* very old drivers */
        {"W", UNIT_WATTS, 1000},         {"mW", UNIT_WATTS, 1},
        {"MHz", UNIT_HERTZ, 1000000},    {"GHz", UNIT_HERTZ, 1000000000},
        {"C", UNIT_CELSIUS, 1000},       {"KB/s", UNIT_BYTES_S, 1000},
        {"MB/s", UNIT_BYTES_S, 1000000}, {"x", UNIT_NONE, 1},
        {"J", UNIT_JOULES, 1000},        {"mJ", UNIT_JOULES, 1},
    };
    static const char *const usual[UNIT_COUNT] = {
        [UNIT_RATIO] = "%",   [UNIT_BYTES] = "MiB", [UNIT_WATTS] = "W",
        [UNIT_HERTZ] = "MHz", [UNIT_CELSIUS] = "C", [UNIT_BYTES_S] = "KB/s",
    };
    enum unit of = metrics[m].unit;

    if (unit.len == 0 && !usual[of])
        return metrics[m].per;
    if (unit.len == 0)
        unit = str_of(usual[of]);
    size_t at = FIRST(ARRAY_LEN(units), i, units[i].of == of && str_eq(unit, units[i].word));
    return at < ARRAY_LEN(units) ? units[at].scale : 0;
}

/* "265.89 W" -> "265.89", "W"; "16x" -> "16", "x". */
static void value_split(struct str text, struct str *ret_number, struct str *ret_unit)
{
    size_t n = FIRST(text.len, i, (text.p[i] < '0' || text.p[i] > '9') && !memchr("+-.", text.p[i], 3));

    *ret_number = str_n(text.p, n);
    *ret_unit = str_trim(str_drop(text, n));
}

bool smi_value(struct str text, struct str unit, enum metric m, int64_t *ret)
{
    struct str number, own;
    uint64_t hex;
    int64_t v;

    text = str_trim(text);
    if (text.len == 0 || text.len > 64)
        return false;
    if (metrics[m].unit == UNIT_MASK) {
        if (!str_starts(text, "0x") || !str_hex(text, &hex) || hex > INT64_MAX)
            return false;
        *ret = (int64_t)hex;
        return true;
    }
    if (m == M_pstate && !str_skip(&text, "P"))
        return false;
    if (str_eq(text, "Yes") || str_eq(text, "No")) {
        *ret = text.len == 3;
        return m == M_rows_pending || m == M_rows_failed;
    }
    value_split(text, &number, &own);
    int64_t scale = unit_scale(own.len ? own : unit, m);
    if (scale == 0 || !str_fixed(number, scale, &v) || (v < 0 && metrics[m].unit != UNIT_CELSIUS))
        return false;
    *ret = v;
    return true;
}

void smi_remark(struct str text, struct device_fact *fact)
{
    static const struct {
        const char *words, *note;
        bool lost;
    } remarks[] = {
        {"GPU is lost", "the driver has lost it", true},
        {"GPU requires reset", "needs a reset", false},
        {"Insufficient Permissions", "some values may not be read by this user", false},
    };

    if (text.len && text.p[0] == '[')
        for (size_t i = 0; i < ARRAY_LEN(remarks); i++)
            if (str_find(text, remarks[i].words) == 1) {
                collect_text(fact->note, sizeof(fact->note), str_of(remarks[i].note));
                fact->lost |= remarks[i].lost;
            }
}

/* ---- tables ---- */

/* "memory.used [MiB]" -> "memory.used", "MiB". */
static struct smi_column column_of(struct str title)
{
    struct smi_column c = {.what = COL_NONE};
    int at = str_find(title, " [");

    if (at >= 0 && str_ends(title, "]")) {
        struct str unit = str_n(title.p + at + 2, title.len - (size_t)at - 3);
        if (unit.len < sizeof(c.unit))
            memcpy(c.unit, unit.p, unit.len);
        else
            c.unit[0] = '?'; /* not a unit we know */
        title.len = (size_t)at;
    }
    for (size_t i = 0; i < ARRAY_LEN(smi_names); i++)
        if (str_eq(title, smi_names[i].name))
            c.what = smi_names[i].what;
    return c;
}

int smi_header(struct smi_table *ret, struct str line)
{
    struct smi_table t = {0};
    struct str cell;
    size_t known = 0;

    while (str_cut(&line, ',', &cell)) {
        if (t.n == SMI_COLUMNS_MAX)
            return -EINVAL;
        t.columns[t.n] = column_of(str_trim(cell));
        known += t.columns[t.n++].what != COL_NONE;
    }
    if (known == 0)
        return -EINVAL;
    *ret = t;
    return 0;
}

/*
 * Splits a row into cells. Only a program's name may contain commas: it gets the surplus cells. Returns false if the
 * row is not of this table.
 */
static bool row_cells(const struct smi_table *t, struct str line, struct str cells[SMI_COLUMNS_MAX])
{
    size_t commas = 0, n = 0;
    struct str rest = line, part;

    for (size_t i = 0; i < line.len; i++)
        commas += line.p[i] == ',';
    if (line.len > SMI_LINE_MAX || commas + 1 < t->n)
        return false;
    size_t extra = commas + 1 - t->n;
    for (; n < t->n && str_cut(&rest, ',', &cells[n]); n++)
        for (; t->columns[n].what == COL_PROGRAM && extra && str_cut(&rest, ',', &part); extra--)
            cells[n].len = (size_t)(part.p + part.len - cells[n].p);
    for (size_t i = 0; i < n; i++)
        cells[i] = str_trim(cells[i]);
    return n == t->n && extra == 0;
}

static void put_metric(struct sample *s, int what, struct str cell, struct str unit)
{
    int64_t v;

    if (what == COL_LIMIT_SET || what == COL_POWER_AVERAGE) {
        enum metric m = what == COL_LIMIT_SET ? M_power_limit : M_power;
        if (smi_value(cell, unit, m, &v) && !sample_has(s, m))
            sample_set(s, m, v);
    } else if (what == COL_ROWS) {
        if (smi_value(cell, unit, M_rows_remapped, &v) && !__builtin_add_overflow(v, s->v[M_rows_remapped], &v))
            sample_set(s, M_rows_remapped, v); /* absent is 0 in v[], and adds nothing */
    } else if (what >= 0 && smi_value(cell, unit, (enum metric)what, &v)) {
        if (what == M_rows_pending && sample_has(s, M_rows_pending))
            v |= s->v[M_rows_pending];
        sample_set(s, (enum metric)what, v);
    }
}

static bool cell_said(struct str cell)
{
    return cell.len && cell.p[0] != '[' && !str_eq(cell, "N/A");
}

int smi_row(const struct smi_table *t, struct str line, struct device_reading *ret, int64_t *ret_count, char driver[32])
{
    struct str cells[SMI_COLUMNS_MAX];
    struct device_fact *f = &ret->fact;
    int64_t v;

    if (!row_cells(t, line, cells))
        return -EINVAL;
    f->vendor = VENDOR_NVIDIA;
    for (size_t i = 0; i < t->n; i++) {
        struct str cell = cells[i];
        int what = t->columns[i].what;
        put_metric(&ret->sample, what, cell, str_of(t->columns[i].unit));
        smi_remark(cell, f);
        if (!cell_said(cell))
            continue;
        if (what == COL_INDEX && str_int(cell, &v) && v >= 0 && v <= INT32_MAX)
            f->index = (int32_t)v;
        else if (what == COL_UUID)
            collect_text(f->uuid, sizeof(f->uuid), cell);
        else if (what == COL_NAME)
            collect_text(f->name, sizeof(f->name), cell);
        else if (what == COL_PCI)
            collect_pci(f->pci, cell);
        else if (what == COL_SERIAL)
            collect_text(f->serial, sizeof(f->serial), cell);
        else if (what == COL_DRIVER)
            collect_text(driver, 32, cell);
        else if (what == COL_COUNT && str_int(cell, &v))
            *ret_count = v;
    }
    return f->uuid[0] || f->pci[0] || f->name[0] ? 0 : -EINVAL;
}

int smi_app(const struct smi_table *t, struct str line, struct smi_app *ret)
{
    struct str cells[SMI_COLUMNS_MAX];
    struct smi_app a = {.mem = -1};
    int64_t v;

    if (!row_cells(t, line, cells))
        return -EINVAL;
    for (size_t i = 0; i < t->n; i++) {
        int what = t->columns[i].what;
        if (what == COL_UUID)
            collect_text(a.uuid, sizeof(a.uuid), cells[i]);
        else if (what == COL_PCI)
            collect_pci(a.pci, cells[i]);
        else if (what == COL_PID && str_int(cells[i], &v) && v > 0 && v <= INT32_MAX)
            a.pid = (int32_t)v;
        else if (what == COL_PROGRAM && cell_said(cells[i]))
            collect_text(a.name, sizeof(a.name), cells[i]);
        else if (what == COL_APP_MEM && smi_value(cells[i], str_of(t->columns[i].unit), M_mem_used, &v))
            a.mem = v;
    }
    if (!a.pid || (!a.uuid[0] && !a.pci[0]))
        return -EINVAL;
    *ret = a;
    return 0;
}

/* ---- lines that are not rows ---- */

int smi_failure(struct str line)
{
    static const char *const words[] = {"NVIDIA-SMI has failed", "No devices were found", "Failed to initialize NVML",
                                        "Unable to determine the device handle", "Driver/library version mismatch"};

    return ANY(ARRAY_LEN(words), i, str_find(line, words[i]) >= 0) ? -ENODEV : 0;
}

bool smi_unknown_field(struct str line, struct str *ret)
{
    struct str name;

    if (!str_skip(&line, "Field \"") || !str_cut(&line, '"', &name) || !line.p ||
        !str_starts(line, " is not a valid field"))
        return false;
    *ret = name;
    return true;
}
