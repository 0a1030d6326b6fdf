/*
 * table.c: writes a usage table for programs and for people. Programs get seconds, joules and bytes; people hours and
 * kWh.
 */
#include "usage/table.h"

#include "base/buf.h"
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

static void row_json(struct json *j, const struct usage_table *t, const struct usage_row *r, bool wall)
{
    json_fixed(j, "held", r->s.held_ms, 1000);
    json_fixed(j, "busy", r->s.busy_ms, 1000);
    json_fixed(j, "idle", r->s.held_ms - r->s.busy_ms, 1000);
    json_fixed(j, "idle_long", r->s.long_ms, 1000);
    json_byte_s(j, "memory", r->s.mib_s);
    json_fixed(j, "energy", r->s.mj, 1000);
    json_uint(j, "gpus", r->gpus);
    if (t->has_cost)
        json_fixed(j, "cost", r->cost, 1000000);
    if (t->has_co2)
        json_fixed(j, "co2", r->co2_mg, 1000);
    if (!wall)
        return;
    json_fixed(j, "wall", r->s.held_ms + r->free_ms + r->unused_ms + r->down_ms, 1000);
    json_fixed(j, "free", r->free_ms, 1000);
    json_fixed(j, "booked_unused", r->unused_ms, 1000);
    json_fixed(j, "down", r->down_ms, 1000);
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
    U_HELD,
    U_BUSY,
    U_RATE,
    U_IDLE,
    U_LONG,
    U_WALL,
    U_FREE,
    U_UNUSED,
    U_DOWN,
    U_MEMORY,
    U_ENERGY,
    U_COST,
    U_CO2,
    COLS
};

static const struct column_spec columns[COLS] = {
    [U_AT] = {"at", "AT", CELL_INT, .weight = 0},
    [U_PERIOD] = {"period", "PERIOD", CELL_TEXT, .weight = 100},
    [U_KEY] = {"key", "KEY", CELL_TEXT, .weight = 100},
    [U_NAME] = {"name", "NAME", CELL_TEXT, .weight = 95},
    [U_GPUS] = {"gpus", "GPUS", CELL_INT, .right = true, .weight = 40},
    [U_HELD] = {"held_s", "HELD", CELL_FIXED, .per = 1000, .right = true, .weight = 100},
    [U_BUSY] = {"busy_s", "BUSY", CELL_FIXED, .per = 1000, .right = true, .weight = 90},
    [U_RATE] = {"busy_ratio", "BUSY%", CELL_FIXED, .per = 10000, .right = true, .weight = 92},
    [U_IDLE] = {"idle_s", "IDLE", CELL_FIXED, .per = 1000, .right = true, .weight = 70},
    [U_LONG] = {"idle_long_s", "IDLE LONG", CELL_FIXED, .per = 1000, .right = true, .weight = 60},
    [U_WALL] = {"wall_s", "WALL", CELL_FIXED, .per = 1000, .right = true, .weight = 65},
    [U_FREE] = {"free_s", "FREE", CELL_FIXED, .per = 1000, .right = true, .weight = 75},
    [U_UNUSED] = {"booked_unused_s", "BOOKED", CELL_FIXED, .per = 1000, .right = true, .weight = 35},
    [U_DOWN] = {"down_s", "DOWN", CELL_FIXED, .per = 1000, .right = true, .weight = 55},
    [U_MEMORY] = {"memory_mib_s", "MEMORY", CELL_INT, .right = true, .weight = 10},
    [U_ENERGY] = {"energy_j", "KWH", CELL_FIXED, .per = 1000, .right = true, .weight = 50},
    [U_COST] = {"cost", "COST", CELL_FIXED, .per = 1000000, .right = true, .weight = 80},
    [U_CO2] = {"co2_g", "CO2 KG", CELL_FIXED, .per = 1000, .right = true, .weight = 45},
};

static void hours(struct cell *c, int64_t ms)
{
    cell_screen(c, "%.1f h", (double)ms / 3600000.0);
}

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
    cell_int(&c[U_HELD], held);
    cell_int(&c[U_BUSY], r->s.busy_ms);
    if (held > 0)
        cell_int(&c[U_RATE], (int64_t)((__int128)r->s.busy_ms * 10000 / held));
    cell_int(&c[U_IDLE], held - r->s.busy_ms);
    cell_int(&c[U_LONG], r->s.long_ms);
    if (wall) {
        cell_int(&c[U_WALL], held + r->free_ms + r->unused_ms + r->down_ms);
        cell_int(&c[U_FREE], r->free_ms);
        cell_int(&c[U_UNUSED], r->unused_ms);
        cell_int(&c[U_DOWN], r->down_ms);
    }
    cell_int(&c[U_MEMORY], r->s.mib_s);
    cell_int(&c[U_ENERGY], r->s.mj);
    if (t->has_cost)
        cell_int(&c[U_COST], r->cost);
    if (t->has_co2)
        cell_int(&c[U_CO2], r->co2_mg);
}

/* What people see of the newest row: hours, kWh, money. */
static void show_row(struct rows *rows, const struct usage_table *t, const struct usage_row *r)
{
    static const int spans[] = {U_HELD, U_BUSY, U_IDLE, U_LONG, U_WALL, U_FREE, U_UNUSED, U_DOWN};
    struct cell *c = rows->cells + (rows->n - 1) * rows->n_cols;

    for (size_t i = 0; i < ARRAY_LEN(spans); i++)
        if (!c[spans[i]].absent)
            hours(&c[spans[i]], c[spans[i]].i);
    if (r == &t->total)
        cell_text(&c[U_KEY], STR("total"));
    if (c[U_KEY].absent) {
        c[U_KEY].absent = false;
        cell_screen(&c[U_KEY], "(%s)", t->by == BY_PERSON ? "unknown" : "none");
    }
    if (!c[U_RATE].absent)
        cell_screen(&c[U_RATE], "%d %%", (int)((c[U_RATE].i + 50) / 100));
    cell_screen(&c[U_ENERGY], "%.1f", (double)r->s.mj / 3.6e9);
    if (t->has_cost)
        cell_screen(&c[U_COST], "%.2f%s%s", (double)r->cost / 1e6, t->currency[0] ? " " : "", t->currency);
    if (t->has_co2)
        cell_screen(&c[U_CO2], "%.1f", (double)r->co2_mg / 1e6);
}

/* Leaves those that say something on a screen. */
static void pick_columns(const struct usage_table *t, struct rows *r)
{
    static const char *const titles[USAGE_BYS] = {"PERSON", "TEAM",  "PROJECT", "COMPANY",
                                                  "NODE",   "MODEL", "GPU",     "JOB"};
    char *names[COLS];
    size_t n = 0;

    for (size_t k = 0; k < COLS; k++) {
        bool any = k == U_KEY || ANY(r->n, i, !r->cells[i * COLS + k].absent);
        if (k != U_AT && k != U_MEMORY && any && (t->has_wall || k < U_WALL || k > U_DOWN))
            names[n++] = (char *)columns[k].name;
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
