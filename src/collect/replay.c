/*
 * replay.c: a recorded trace that loops, and the collector that shows it as GPUs. Cells are kept as the fixed-point
 * numbers of metrics.def, so that replaying costs a search and a copy.
 */
#include "collect/replay.h"

#include <errno.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/order.h"
#include "base/rand.h"
#include "collect/collect.h"
#include "model/work.h"

#define COLUMNS_MAX 256
#define USES_MAX    64 /* processes in one row */
#define REPLAY_GPUS 64
#define PID_STEP    10000 /* between the virtual GPUs' processes */
#define REPLAY_USER "replay"

#define TIME_MAX_MS 253402300799999ll /* the year 9999 */

enum { COL_SKIP = -1, COL_TIME = -2, COL_PROCS = -3, COL_MEM_FREE = -4 };

struct replay_row {
    int64_t t_ms; /* since the first row */
    struct bits have;
    int64_t mem_free; /* -1 absent */
    uint32_t uses, n_uses;
};

struct replay {
    size_t n, cap, n_columns;
    struct replay_row *rows;
    int64_t *v;                      /* n rows of n_columns cells */
    int column_of[M_COUNT];          /* -1: not in the trace */
    int64_t length_ms, lap[M_COUNT]; /* lap: growth of a counter in one lap */
    size_t n_uses, cap_uses;
    struct replay_use *uses; /* since_ms on the scale of t_ms */
    bool busy_derived;
    char name[64];
};

/* ---- reading the table ---- */

struct column_rule {
    int what; /* enum metric or COL_ */
    int64_t scale;
};

static const struct {
    const char *name;
    struct column_rule rule;
} headers[] = {
    {"t", {COL_TIME, 1000}},
    {"gpu_util", {M_util, 100}},
    {"mem_util", {M_mem_util, 100}},
    {"mem_used_b", {M_mem_used, 1}},
    {"mem_reserved_b", {M_mem_reserved, 1}},
    {"mem_free_b", {COL_MEM_FREE, 1}},
    {"mem_total_b", {M_mem_total, 1}},
    {"temp_c", {M_temp, 1000}},
    {"mem_temp_c", {M_temp_mem, 1000}},
    {"power_mw", {M_power, 1}},
    {"power_limit_mw", {M_power_limit, 1}},
    {"energy_mj", {M_energy, 1}},
    {"sm_clock_mhz", {M_clock_sm, 1000000}},
    {"mem_clock_mhz", {M_clock_mem, 1000000}},
    {"throttle_mask", {M_throttle, 1}},
    {"pstate", {M_pstate, 1}},
    {"fan_percent", {M_fan, 100}},
    {"pcie_tx_kbps", {M_pcie_tx, 1000}},
    {"pcie_rx_kbps", {M_pcie_rx, 1000}},
    {"pcie_replay", {M_pcie_replay, 1}},
    {"pcie_gen", {M_pcie_gen, 1}},
    {"pcie_width", {M_pcie_width, 1}},
    {"enc_util", {M_enc, 100}},
    {"dec_util", {M_dec, 100}},
    {"ecc_ce_vol", {M_ecc_corrected, 1}},
    {"ecc_ue_vol", {M_ecc_uncorrected, 1}},
    {"procs", {COL_PROCS, 1}},
};

static struct column_rule column_rule(struct str name)
{
    size_t i = FIRST(ARRAY_LEN(headers), k, str_eq(name, headers[k].name));
    if (i < ARRAY_LEN(headers))
        return headers[i].rule;
    size_t m = FIRST((size_t)M_COUNT, k, str_eq(name, metrics[k].prom));
    return m < M_COUNT ? (struct column_rule){(int)m, metrics[m].per} : (struct column_rule){COL_SKIP, 1};
}

struct loader {
    struct replay *r;
    const char *name;
    size_t line;
    size_t n_rules;
    struct column_rule rules[COLUMNS_MAX];
    struct str titles[COLUMNS_MAX];
    int64_t first_ms;
    struct str last_procs;
};

static int load_header(struct loader *l, struct str line, struct err *err)
{
    struct replay *r = l->r;
    bool timed = false;
    struct str cell;

    for (int m = 0; m < M_COUNT; m++)
        r->column_of[m] = -1;
    while (str_cut(&line, ',', &cell)) {
        if (l->n_rules == COLUMNS_MAX)
            return err_set(err, -EINVAL, "%s:1: more than %d columns", l->name, COLUMNS_MAX);
        cell = str_trim(cell);
        struct column_rule rule = column_rule(cell);
        timed |= rule.what == COL_TIME;
        if (rule.what >= 0 && r->column_of[rule.what] >= 0)
            rule.what = COL_SKIP; /* the first of two counts */
        if (rule.what >= 0)
            r->column_of[rule.what] = (int)r->n_columns++;
        l->titles[l->n_rules] = cell;
        l->rules[l->n_rules++] = rule;
    }
    if (!timed)
        return err_set(err, -EINVAL, "%s:1: no column 't' (seconds)", l->name);
    if (!r->n_columns)
        return err_set(err, -EINVAL, "%s:1: no column that is a known metric", l->name);
    return 0;
}

/* "434:5410652160;435:1": pid and bytes. False when it is something else. */
static bool load_uses(struct loader *l, struct str cell, struct replay_row *row)
{
    struct replay *r = l->r;
    struct str one, pid_text;
    struct replay_row *before = r->n ? &r->rows[r->n - 1] : NULL;

    if (before && str_eq_str(cell, l->last_procs)) { /* the same as in the row above: so is the list */
        row->uses = before->uses;
        row->n_uses = before->n_uses;
        return true;
    }
    l->last_procs = cell;
    row->uses = (uint32_t)r->n_uses;
    while (cell.len && str_cut(&cell, ';', &one)) {
        struct replay_use u = {.mem = -1, .since_ms = row->t_ms};
        uint64_t pid, mem;
        if (str_trim(one).len == 0)
            continue;
        str_cut(&one, ':', &pid_text);
        if (!str_uint(str_trim(pid_text), &pid) || pid == 0 || pid > INT32_MAX / 2 || row->n_uses == USES_MAX)
            return false;
        if (one.p && (!str_uint(str_trim(one), &mem) || mem > INT64_MAX))
            return false;
        u.pid = (int32_t)pid;
        u.mem = one.p ? (int64_t)mem : -1;
        for (uint32_t i = 0; before && i < before->n_uses; i++)
            if (r->uses[before->uses + i].pid == u.pid)
                u.since_ms = r->uses[before->uses + i].since_ms;
        VEC_ADD(r->uses, r->n_uses, r->cap_uses, u);
        row->n_uses++;
    }
    return true;
}

static bool cell_absent(struct str s)
{
    return s.len == 0 || str_eq(s, "N/A") || str_eq(s, "[N/A]");
}

static bool load_number(struct str cell, int64_t scale, int64_t *ret)
{
    uint64_t hex;

    if (str_fixed(cell, scale, ret))
        return true;
    if (scale != 1 || !str_starts(cell, "0x") || !str_hex(cell, &hex) || hex > INT64_MAX)
        return false;
    *ret = (int64_t)hex;
    return true;
}

static int load_row(struct loader *l, struct str line, struct err *err)
{
    struct replay *r = l->r;
    struct replay_row row = {.mem_free = -1};
    struct str cell, procs = STR("");
    size_t i = 0;
    bool timed = false;

    if (r->n == REPLAY_ROWS_MAX)
        return err_set(err, -EINVAL, "%s:%zu: more than %u rows", l->name, l->line, REPLAY_ROWS_MAX);
    if (r->n == r->cap) {
        r->cap = r->cap ? r->cap * 2 : 256;
        r->rows = mem_grow(r->rows, r->cap, sizeof(*r->rows));
        r->v = mem_grow(r->v, r->cap, r->n_columns * sizeof(*r->v));
    }
    int64_t *v = r->v + r->n * r->n_columns;
    memset(v, 0, r->n_columns * sizeof(*v));
    for (; str_cut(&line, ',', &cell); i++) {
        if (i == l->n_rules)
            return err_set(err, -EINVAL, "%s:%zu: more cells than columns", l->name, l->line);
        int64_t n;
        struct column_rule rule = l->rules[i];
        cell = str_trim(cell);
        if (rule.what == COL_PROCS)
            procs = cell;
        if (rule.what == COL_SKIP || rule.what == COL_PROCS || cell_absent(cell))
            continue;
        if (!load_number(cell, rule.scale, &n))
            return err_set(err, -EINVAL, "%s:%zu: column '%.*s': '%.*s' is not a number", l->name, l->line,
                           STR_ARG(l->titles[i]), (int)MIN(cell.len, 40u), cell.p);
        if (rule.what == COL_TIME) {
            timed = true;
            l->first_ms = r->n ? l->first_ms : n;
            if (n < 0 || n > TIME_MAX_MS || n - l->first_ms < (r->n ? r->rows[r->n - 1].t_ms + 1 : 0))
                return err_set(err, -EINVAL, "%s:%zu: time does not ascend", l->name, l->line);
            row.t_ms = n - l->first_ms;
        } else if (rule.what == COL_MEM_FREE) {
            row.mem_free = MAX(n, -1);
        } else {
            v[r->column_of[rule.what]] = n;
            bits_set(&row.have, (unsigned)rule.what);
        }
    }
    if (i != l->n_rules || !timed)
        return err_set(err, -EINVAL, "%s:%zu: %s", l->name, l->line, timed ? "fewer cells than columns" : "no time");
    if (!load_uses(l, procs, &row))
        return err_set(err, -EINVAL, "%s:%zu: processes are not 'pid:bytes;...'", l->name, l->line);
    r->rows[r->n++] = row;
    return 0;
}

/* ---- metrics without a column in the trace ---- */

static int64_t *cell_of(const struct replay *r, size_t row, enum metric m)
{
    return r->column_of[m] < 0 || !bits_has(&r->rows[row].have, m)
               ? NULL
               : &r->v[row * r->n_columns + (size_t)r->column_of[m]];
}

/* A column more: every row moves. Done once or twice per trace. */
static void add_column(struct replay *r, enum metric m)
{
    size_t was = r->n_columns, now = was + 1;

    r->v = mem_grow(r->v, r->cap, now * sizeof(*r->v));
    for (size_t i = r->n; i-- > 0;) {
        memmove(r->v + i * now, r->v + i * was, was * sizeof(*r->v));
        r->v[i * now + was] = 0;
    }
    r->column_of[m] = (int)was;
    r->n_columns = now;
}

static void put_cell(struct replay *r, size_t row, enum metric m, int64_t v)
{
    r->v[row * r->n_columns + (size_t)r->column_of[m]] = v;
    bits_set(&r->rows[row].have, m);
}

static void derive_total(struct replay *r)
{
    add_column(r, M_mem_total);
    for (size_t i = 0; i < r->n; i++) {
        const int64_t *used = cell_of(r, i, M_mem_used), *reserved = cell_of(r, i, M_mem_reserved);
        int64_t total;
        if (!used || r->rows[i].mem_free < 0 || __builtin_add_overflow(*used, r->rows[i].mem_free, &total) ||
            __builtin_add_overflow(total, reserved ? *reserved : 0, &total))
            continue;
        put_cell(r, i, M_mem_total, total);
    }
}

/* Microseconds at work in ms of utilisation u (0.01 %). */
static int64_t worked_us(int64_t u, int64_t ms)
{
    return MAX(0, MIN(u, 10000)) * ms / 10;
}

static void derive_busy(struct replay *r)
{
    int64_t sum = 0;

    add_column(r, M_busy);
    for (size_t i = 0; i < r->n; i++) {
        const int64_t *u = cell_of(r, i, M_util);
        int64_t next = i + 1 < r->n ? r->rows[i + 1].t_ms : r->length_ms;
        put_cell(r, i, M_busy, sum);
        sum += worked_us(u ? *u : 0, next - r->rows[i].t_ms);
    }
    r->lap[M_busy] = sum;
    r->busy_derived = true;
}

/* A lap ends one usual step after its last row. Counters grow by what they grew, and by that step's share. */
static void close_lap(struct replay *r)
{
    int64_t span = r->rows[r->n - 1].t_ms;

    r->length_ms = r->n > 1 ? span + MAX(1, span / (int64_t)(r->n - 1)) : 1000;
    for (enum metric m = 0; m < M_COUNT; m++) {
        const int64_t *first = cell_of(r, 0, m), *last = cell_of(r, r->n - 1, m);
        if (metrics[m].kind != KIND_COUNTER || !first || !last || *last <= *first || span == 0)
            continue;
        __int128 grown = ((__int128)*last - *first) * r->length_ms / span;
        r->lap[m] = grown > INT64_MAX / 1024 ? 0 : (int64_t)grown;
    }
}

int replay_load(struct replay **ret, struct str text, const char *name, struct err *err)
{
    struct replay *r = NEW(struct replay);
    AUTO_FREE struct loader *l = NEW(struct loader, .r = r, .name = name);
    struct str line;
    int e = 0;

    const char *slash = strrchr(name, '/');
    collect_text(r->name, sizeof(r->name), str_of(slash ? slash + 1 : name));
    if (text.len > REPLAY_BYTES_MAX)
        e = err_set(err, -EINVAL, "%s: a trace of more than %u bytes", name, REPLAY_BYTES_MAX);
    while (e == 0 && str_line(&text, &line)) {
        l->line++;
        if (l->line == 1)
            e = load_header(l, line, err);
        else if (str_trim(line).len)
            e = load_row(l, line, err);
    }
    if (e == 0 && r->n == 0)
        e = err_set(err, -EINVAL, "%s: a trace without rows", name);
    if (e < 0) {
        replay_free(r);
        return e;
    }
    close_lap(r);
    if (r->column_of[M_mem_total] < 0 && r->column_of[M_mem_used] >= 0)
        derive_total(r);
    if (r->column_of[M_busy] < 0 && r->column_of[M_util] >= 0)
        derive_busy(r);
    *ret = r;
    return 0;
}

int replay_load_file(struct replay **ret, const char *path, struct err *err)
{
    AUTO_BUF text = {0};
    int r = file_read(path, REPLAY_BYTES_MAX, &text, err);

    return r < 0 ? r : replay_load(ret, buf_str(&text), path, err);
}

void replay_free(struct replay *r)
{
    if (!r)
        return;
    FREE_ALL(r->rows, r->v, r->uses, r);
}

/* ---- queries ---- */

int64_t replay_length_ms(const struct replay *r)
{
    return r->length_ms;
}

/* Finds the current row, the lap, and the age of the row. */
static size_t replay_find(const struct replay *r, int64_t t_ms, int64_t *ret_lap, int64_t *ret_past)
{
    t_ms = MAX(-(1ll << 62), MIN(1ll << 62, t_ms)); /* keeps the laps of extreme times in range */
    int64_t lap = t_ms / r->length_ms - (t_ms % r->length_ms < 0), at = t_ms - lap * r->length_ms;
    size_t begun = COUNT_BEFORE(r->n, i, r->rows[i].t_ms <= at), row = MAX(begun, 1u) - 1;

    *ret_lap = lap;
    *ret_past = at - r->rows[row].t_ms;
    return row;
}

void replay_at(const struct replay *r, int64_t t_ms, struct sample *ret)
{
    int64_t lap, past, v;
    size_t row = replay_find(r, t_ms, &lap, &past);

    *ret = (struct sample){.at_ms = t_ms, .have = r->rows[row].have};
    for (enum metric m = 0; m < M_COUNT; m++) {
        const int64_t *cell = cell_of(r, row, m);
        if (!cell)
            continue;
        if (__builtin_mul_overflow(r->lap[m], lap, &v) || __builtin_add_overflow(*cell, v, &v))
            bits_clear(&ret->have, m);
        else
            ret->v[m] = v;
    }
    const int64_t *u = cell_of(r, row, M_util);
    if (r->busy_derived && u && sample_has(ret, M_busy) &&
        !__builtin_add_overflow(ret->v[M_busy], worked_us(*u, past), &v))
        ret->v[M_busy] = v;
}

size_t replay_uses(const struct replay *r, int64_t t_ms, struct replay_use *ret, size_t max)
{
    int64_t lap, past;
    const struct replay_row *row = &r->rows[replay_find(r, t_ms, &lap, &past)];

    for (uint32_t i = 0; i < row->n_uses && i < max; i++) {
        ret[i] = r->uses[row->uses + i];
        ret[i].since_ms += lap * r->length_ms;
    }
    return row->n_uses;
}

/* ---- the collector: conf->replay is FILE, FILE:GPUS or FILE:GPUS:SEED; without FILE it is conf->replay_text ---- */

struct collector {
    struct replay *trace;
    int64_t gpus, start_ms;
    uint64_t seed;
    struct proc_fact *known; /* gpus * USES_MAX; NULL if process facts are not wanted */
};

static bool replay_present(const struct collect_conf *conf)
{
    return conf->replay && conf->replay[0];
}

/* ":8" off the end, when it is a number. */
static bool cut_number(struct str *s, uint64_t *ret)
{
    int at = str_rfind(*s, ":");

    if (at < 0 || !str_uint(str_n(s->p + at + 1, s->len - (size_t)at - 1), ret))
        return false;
    s->len = (size_t)at;
    return true;
}

static int replay_open(struct collector **ret, const struct collect_conf *conf, struct err *err)
{
    struct str path = str_of(conf->replay ? conf->replay : "");
    uint64_t a = 0, b = 0;
    struct replay *trace;
    bool one = cut_number(&path, &a), two = one && cut_number(&path, &b);
    uint64_t gpus = two ? b : one ? a : 1;

    if (path.len == 0 && !conf->replay_text.len)
        return err_set(err, -EINVAL, "no trace to replay was named");
    if (gpus < 1 || gpus > REPLAY_GPUS)
        return err_set(err, -EINVAL, "a replay shows 1 to %d GPUs, not %llu", REPLAY_GPUS, (unsigned long long)gpus);
    AUTO_FREE char *file = mem_strn(path.p, path.len);
    int r = path.len ? replay_load_file(&trace, file, err)
                     : replay_load(&trace, conf->replay_text, "an H200 recording", err);
    if (r < 0)
        return r;
    struct collector *c = NEW(struct collector, .trace = trace, .gpus = (int64_t)gpus,
                              .seed = two ? a : fnv64(path.p, path.len), .start_ms = clock_wall_ms());
    c->known = conf->want ? NULL : mem_zero(gpus * USES_MAX, sizeof(*c->known));
    *ret = c;
    return 0;
}

static void replay_known(struct proc_fact *p, int32_t pid, int64_t start_ms)
{
    memset(p, 0, sizeof(*p));
    p->pid = p->root_pid = pid;
    p->uid = -1;
    p->start_ms = start_ms;
    mem_copy_str(p->user, sizeof(p->user), REPLAY_USER);
    mem_copy_str(p->name, sizeof(p->name), REPLAY_USER);
}

static int replay_read(struct collector *c, struct reading *ret, UNUSED struct err *err)
{
    struct prng g = {c->seed};
    struct replay_use uses[USES_MAX];

    mem_copy_str(ret->driver, sizeof(ret->driver), "replay");
    for (int64_t i = 0; i < c->gpus; i++) {
        struct device_reading *d = reading_add(ret);
        uint64_t hi = prng_next(&g), lo = prng_next(&g);
        int64_t offset = c->gpus > 1 ? (int64_t)(prng_next(&g) % (uint64_t)replay_length_ms(c->trace)) : 0;
        int64_t t_ms = ret->at_ms - c->start_ms + offset;
        struct sample s;
        snprintf(d->fact.uuid, sizeof(d->fact.uuid), "GPU-%08x-%04x-4%03x-8%03x-%012llx", (unsigned)(hi >> 32),
                 (unsigned)(hi >> 16 & 0xffff), (unsigned)(hi & 0xfff), (unsigned)(lo >> 52),
                 (unsigned long long)(lo & 0xffffffffffff));
        snprintf(d->fact.name, sizeof(d->fact.name), "Replay of %s", c->trace->name);
        d->fact.index = (int32_t)i;
        d->fact.vendor = VENDOR_NVIDIA;
        replay_at(c->trace, t_ms, &s);
        for (enum metric m = 0; m < M_COUNT; m++)
            if (sample_has(&s, m))
                sample_set(metrics[m].scope == SCOPE_NODE ? &ret->node : &d->sample, m, s.v[m]);
        size_t n = c->known ? replay_uses(c->trace, t_ms, uses, USES_MAX) : 0; /* a row has no more */
        for (size_t k = 0; k < n; k++) {
            struct proc_fact *p = &c->known[(size_t)i * USES_MAX + k];
            replay_known(p, uses[k].pid + (int32_t)i * PID_STEP, ret->at_ms - (t_ms - uses[k].since_ms));
            device_reading_use(d, (struct raw_use){p->pid, PROC_COMPUTE, uses[k].mem, -1, p});
        }
    }
    if (c->trace->column_of[M_work] < 0)
        reading_no_work(ret, NO_WORK_TRACE);
    return 0;
}

static void replay_close(struct collector *c)
{
    if (!c)
        return;
    replay_free(c->trace);
    FREE_ALL(c->known, c);
}

const struct collector_ops collector_replay = {
    .name = "replay",
    .present = replay_present,
    .open = replay_open,
    .read = replay_read,
    .close = replay_close,
};
