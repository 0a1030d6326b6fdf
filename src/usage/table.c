/*
 * table.c: writes a usage table for programs and for people. Programs get seconds, joules and bytes; people hours and
 * kWh.
 */
#include "usage/table.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "format/render.h"

/* ---- JSON ---- */

/* MiB times seconds as byte times seconds: more than 64 bits have room for. */
static void json_byte_s(struct json *j, const char *key, int64_t mib_s)
{
    char text[48];
    size_t at = sizeof(text);
    unsigned __int128 v = (unsigned __int128)MAX(mib_s, 0) << 20;

    do
        text[--at] = (char)('0' + (int)(v % 10));
    while (v /= 10);
    json_raw(j, key, str_n(text + at, sizeof(text) - at));
}

/* What a unit of usage.def is in JSON, and as a column. */
#define JSON_MS(j, key, v)    json_fixed(j, key, v, 1000)
#define JSON_MJ(j, key, v)    json_fixed(j, key, v, 1000)
#define JSON_MIB_S(j, key, v) json_byte_s(j, key, v)

static void row_json(struct json *j, const struct usage_table *t, const struct usage_row *r, bool wall)
{
#define SUM(field, unit, name, ...) JSON_##unit(j, name, r->s.field);
#define SOME(field, unit, name, title, weight, of)                                                                     \
    if (r->s.of > 0)                                                                                                   \
        JSON_##unit(j, name, r->s.field);
#include "model/usage.def"
    json_fixed(j, "idle", r->s.held_ms - r->s.busy_ms, 1000);
    if (usage_per_work_mj(&r->s) >= 0)
        json_fixed(j, "energy_per_effective_hour", usage_per_work_mj(&r->s), 1000);
    json_uint(j, "gpus", r->gpus);
    if (t->has_cost)
        json_fixed(j, "cost", r->cost, 1000000);
    if (t->has_co2)
        json_fixed(j, "co2", r->co2_mg, 1000);
    if (!wall)
        return;
    json_fixed(j, "wall", usage_wall_ms(r), 1000);
#define WALL(field, unit, name, ...) JSON_##unit(j, name, r->field);
#include "model/usage.def"
}

static void some_cstr(struct json *j, const char *key, const char *v)
{
    if (v)
        json_cstr(j, key, v);
}

void render_usage_json(struct buf *out, const struct usage_table *t)
{
    struct json j = json_on(out);

    json_obj(&j, NULL);
    json_int(&j, "from", t->from_ms);
    json_int(&j, "to", t->to_ms);
    json_cstr(&j, "by", usage_by_words[t->by]);
    json_cstr(&j, "period", t->period);
    json_cstr(&j, "zone", t->zone);
    json_known(&j, "records_from", t->records_ms > 0, t->records_ms);
    json_int(&j, "counted_to", t->counted_to_ms);
    json_uint(&j, "waiting", t->waiting);
    json_cstr(&j, "split", t->split);
    json_cstr(&j, "currency", t->has_cost ? t->currency : NULL);
    json_arr(&j, "rows");
    for (size_t i = 0; i < t->n && out->err == 0; i++) {
        const struct usage_row *r = &t->v[i];
        json_obj(&j, NULL);
        json_cstr(&j, "key", r->key);
        some_cstr(&j, "name", r->name);
        some_cstr(&j, "node", r->node);
        some_cstr(&j, "model", r->model);
        some_cstr(&j, "person", r->person);
        json_int(&j, "at", r->at_ms);
        json_cstr(&j, "label", r->label);
        row_json(&j, t, r, t->has_wall);
        json_end_obj(&j);
    }
    json_end_arr(&j);
    json_obj(&j, "total");
    row_json(&j, t, &t->total, t->total_wall);
    json_end_obj(&j);
    json_end_obj(&j);
    buf_addc(out, '\n');
}

/* ---- rows ---- */

enum {
    U_AT,
    U_PERIOD,
    U_KEY,
    U_NAME,
    U_GPUS,
#define SUM(field, ...)  U_##field,
#define WALL(field, ...) U_##field,
#define MADE(field, ...) U_##field,
#include "model/usage.def"
    COLS
};

static const struct column_spec columns[COLS] = {
    [U_AT] = {"at", "AT", CELL_INT, .weight = 0},
    [U_PERIOD] = {"period", "PERIOD", CELL_TEXT, .weight = 100},
    [U_KEY] = {"key", "KEY", CELL_TEXT, .weight = 100},
    [U_NAME] = {"name", "NAME", CELL_TEXT, .weight = 95},
    [U_GPUS] = {"gpus", "GPUS", CELL_INT, .right = true, .weight = 40},
#define COLUMN_MS(field, name, title, weight)    [U_##field] = {name "_s", title, CELL_FIXED, 1000, true, weight},
#define COLUMN_MJ(field, name, title, weight)    [U_##field] = {name "_j", title, CELL_FIXED, 1000, true, weight},
#define COLUMN_MG(field, name, title, weight)    [U_##field] = {name "_g", title, CELL_FIXED, 1000, true, weight},
#define COLUMN_MIB_S(field, name, title, weight) [U_##field] = {name "_mib_s", title, CELL_INT, 0, true, weight},
#define COLUMN_SHARE(field, name, title, weight) [U_##field] = {name "_ratio", title, CELL_FIXED, 10000, true, weight},
#define COLUMN_MONEY(field, name, title, weight) [U_##field] = {name, title, CELL_FIXED, 1000000, true, weight},
#define SUM(field, unit, ...)                    COLUMN_##unit(field, __VA_ARGS__)
#define WALL(field, unit, ...)                   COLUMN_##unit(field, __VA_ARGS__)
#define MADE(field, unit, ...)                   COLUMN_##unit(field, __VA_ARGS__)
#include "model/usage.def"
};

static void add_row(struct rows *rows, const struct usage_table *t, const struct usage_row *r, bool wall)
{
    struct cell *c = rows_add(rows);
    int64_t held = r->s.held_ms;

    cell_int(&c[U_AT], r->at_ms);
    if (strcmp(t->period, "all") != 0 && r != &t->total)
        cell_text(&c[U_PERIOD], str_of(r->label));
    if (r->key)
        cell_text(&c[U_KEY], str_of(r->key));
    if (r->name)
        cell_text(&c[U_NAME], str_of(r->name));
    cell_int(&c[U_GPUS], r->gpus);
#define SUM(field, ...) cell_int(&c[U_##field], r->s.field);
#define SOME(field, unit, name, title, weight, of)                                                                     \
    if (r->s.of > 0)                                                                                                   \
        cell_int(&c[U_##field], r->s.field);
#include "model/usage.def"
    if (held > 0)
        cell_int(&c[U_rate], (int64_t)((__int128)r->s.busy_ms * 10000 / held));
    cell_int(&c[U_idle_ms], held - r->s.busy_ms);
    if (r->s.work_of_ms > 0)
        cell_int(&c[U_work], (int64_t)((__int128)r->s.work_ms * 10000 / r->s.work_of_ms));
    if (usage_per_work_mj(&r->s) >= 0)
        cell_int(&c[U_per_work_mj], usage_per_work_mj(&r->s));
    if (wall) {
        cell_int(&c[U_wall_ms], usage_wall_ms(r));
#define WALL(field, ...) cell_int(&c[U_##field], r->field);
#include "model/usage.def"
    }
    if (t->has_cost)
        cell_int(&c[U_cost], r->cost);
    if (t->has_co2)
        cell_int(&c[U_co2_mg], r->co2_mg);
}

/* "12.4 h", or "12.4 h of 20.0 h" if only 20.0 of the held hours were measured. */
static void show_known(struct cell *c, int64_t ms, int64_t of_ms, int64_t held_ms)
{
    char some[24], of[24];

    if (of_ms > 0 && held_ms - of_ms >= HOUR_MS / 20)
        cell_screen(c, "%s of %s", clock_hours(ms, some), clock_hours(of_ms, of));
}

/* What people see of the newest row: hours, Wh, money. */
static void show_row(struct rows *rows, const struct usage_table *t, const struct usage_row *r)
{
    struct cell *c = rows->cells + (rows->n - 1) * rows->n_cols;
    AUTO_BUF energy = BUF_INIT(64);
    char hours[24];

    for (size_t k = 0; k < COLS; k++)
        if (columns[k].per && str_ends(str_of(columns[k].name), "_s") && !c[k].absent)
            cell_screen(&c[k], "%s", clock_hours(c[k].i, hours));
    if (r == &t->total)
        cell_text(&c[U_KEY], STR("total"));
    if (c[U_KEY].absent) {
        c[U_KEY].absent = false;
        cell_screen(&c[U_KEY], "(%s)", usage_is_nobody(r) ? r->name : t->by == BY_PERSON ? "unknown" : "none");
        c[U_NAME].absent = true;
    }
    show_known(&c[U_work_ms], r->s.work_ms, r->s.work_of_ms, r->s.held_ms);
    show_known(&c[U_tensor_ms], r->s.tensor_ms, r->s.tensor_of_ms, r->s.held_ms);
    if (!c[U_rate].absent)
        cell_screen(&c[U_rate], "%d %%", (int)((c[U_rate].i + 50) / 100));
    if (!c[U_work].absent)
        cell_screen(&c[U_work], "%d %%", (int)((c[U_work].i + 50) / 100));
    if (!c[U_per_work_mj].absent)
        cell_screen(&c[U_per_work_mj], "%.2f", (double)c[U_per_work_mj].i / 3.6e9);
    energy_human(&energy, (double)r->s.mj / 1000);
    cell_screen(&c[U_mj], "%s", energy.p);
    if (t->has_cost)
        cell_screen(&c[U_cost], "%.2f%s%s", (double)r->cost / 1e6, t->currency[0] ? " " : "", t->currency);
    if (t->has_co2)
        cell_screen(&c[U_co2_mg], "%.1f", (double)r->co2_mg / 1e6);
}

/* Whether a table on a screen has this column, instead of cells of another one. */
static bool is_shown(const struct usage_table *t, const struct rows *r, size_t k)
{
    static const int hidden[] = {U_AT, U_mib_s, U_work_of_ms, U_tensor_of_ms, U_work_mj};

    if (ANY(ARRAY_LEN(hidden), i, hidden[i] == (int)k) || (!t->has_wall && k >= U_wall_ms && k <= U_down_ms))
        return false;
    return k == U_KEY || ANY(r->n, i, !r->cells[i * COLS + k].absent);
}

/* Keeps the columns with values on a screen; efficiency follows busy. */
static void pick_columns(const struct usage_table *t, struct rows *r)
{
    static const int beside[] = {U_work_ms, U_work, U_tensor_ms};
    static const char *const titles[USAGE_BYS] = {"USER", "TEAM", "PROJECT", "COMPANY", "NODE", "MODEL", "GPU", "JOB"};
    char *names[COLS];
    size_t n = 0;

    for (size_t k = 0; k < COLS; k++) {
        if (is_shown(t, r, k) && !ANY(ARRAY_LEN(beside), i, beside[i] == (int)k))
            names[n++] = (char *)columns[k].name;
        for (size_t i = 0; k == U_rate && i < ARRAY_LEN(beside); i++)
            if (is_shown(t, r, (size_t)beside[i]))
                names[n++] = (char *)columns[beside[i]].name;
    }
    rows_pick(r, names, n, NULL);
    for (size_t k = 0; k < n; k++)
        if (strcmp(r->picked[k].name, columns[U_KEY].name) == 0)
            r->picked[k].title = titles[t->by];
}

void usage_rows(const struct usage_table *t, struct rows *ret)
{
    rows_init(ret, columns, COLS);
    for (size_t i = 0; i < t->n; i++) {
        add_row(ret, t, &t->v[i], t->has_wall);
        show_row(ret, t, &t->v[i]);
    }
    if (t->n) {
        add_row(ret, t, &t->total, t->total_wall);
        show_row(ret, t, &t->total);
    }
    pick_columns(t, ret);
}

/* A few rows at a time: of a year by day there are 100,000. */
void render_usage_csv(struct buf *out, const struct usage_table *t)
{
    enum { ROWS = 256 };
    struct rows r;

    rows_init(&r, columns, COLS);
    render_rows_csv(out, &r);
    for (size_t i = 0; i < t->n && !out->err; i += ROWS) {
        rows_init(&r, columns, COLS);
        for (size_t k = i; k < t->n && k < i + ROWS; k++)
            add_row(&r, t, &t->v[k], t->has_wall);
        render_rows_csv_on(out, &r);
        rows_fini(&r);
    }
}
