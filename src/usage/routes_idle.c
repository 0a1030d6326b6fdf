/* routes_idle.c: the route about GPUs that are held but idle: for how long, by whom, and their cost. */

#include "base/clock.h"
#include "base/json.h"
#include "base/order.h"
#include "format/render.h"
#include "history/on_devices.h"
#include "hub/handlers.h"
#include "now/view.h"
#include "usage/routes.h"

#define IDLE_MAX  (16u << 20)
#define LONGER_MS 1800000ll

struct idle {
    const struct device_user *h;
    const char *person, *login;
    int64_t idle_ms;
    size_t holders; /* how many share it */
};

COMPARE(by_length, struct idle,
        ORDER(y->idle_ms, x->idle_ms) ?: str_natural(x->h->node->name, y->h->node->name)
            ?: x->h->device->fact.index - y->h->device->fact.index ?: strcmp(x->person, y->person))

static const struct column_spec columns[IDLE_COLUMNS] = {
    {"person", "PERSON", CELL_TEXT, .weight = 1},   {"login", "LOGIN", CELL_TEXT, .weight = 1},
    {"node", "NODE", CELL_TEXT, .weight = 1},       {"node_id", "NODE ID", CELL_TEXT, .weight = 1},
    {"device", "DEVICE", CELL_TEXT, .weight = 1},   {"index", "GPU", CELL_INT, .right = true},
    {"model", "MODEL", CELL_TEXT, .weight = 1},     {"since", "SINCE", CELL_INT, .right = true},
    {"idle", "IDLE", CELL_FIXED, .per = 1000},      {"memory", "MEMORY", CELL_INT, .right = true},
    {"program", "PROGRAM", CELL_TEXT, .weight = 1}, {"cost", "COST", CELL_FIXED, .per = 1000000},
};
static void add_row(struct rows *rows, const struct idle *x, const struct tariff *tariff, int64_t now_ms)
{
    const struct device_now *d = x->h->device;
    struct cell *c = rows_add(rows);
    int64_t price = tariff_price(tariff, d->fact.name);
    cell_some_text(&c[IDLE_PERSON], x->person);
    cell_some_text(&c[IDLE_LOGIN], x->login);
    cell_some_text(&c[IDLE_NODE], x->h->node->name);
    cell_some_text(&c[IDLE_NODE_ID], x->h->node->key);
    cell_some_text(&c[IDLE_DEVICE], d->fact.uuid);
    cell_int(&c[IDLE_INDEX], d->fact.index);
    cell_some_text(&c[IDLE_MODEL], d->fact.name);
    cell_int(&c[IDLE_SINCE], now_ms - x->idle_ms);
    cell_int(&c[IDLE_IDLE], x->idle_ms);
    if (x->h->mem >= 0)
        cell_int(&c[IDLE_MEMORY], x->h->mem);
    cell_some_text(&c[IDLE_PROGRAM], x->h->program);
    if (price >= 0)
        cell_int(&c[IDLE_COST], (int64_t)((__int128)price * x->idle_ms / HOUR_MS / (int64_t)x->holders));
}

/* Who shares the device, in a list of people. */
static size_t holders_of(const struct on_devices *people, const struct device_now *d)
{
    size_t n = 0;
    for (size_t i = 0; i < people->n; i++)
        for (size_t k = 0; k < people->v[i].n; k++)
            n += people->v[i].v[k].device == d;
    return n;
}

static size_t find_idle(const struct on_devices *people, int64_t longer_ms, int64_t now_ms, struct idle **ret)
{
    size_t n = 0, cap = 0;
    for (size_t i = 0; i < people->n; i++)
        for (size_t k = 0; k < people->v[i].n; k++) {
            const struct person_now *p = &people->v[i];
            const struct device_now *d = p->v[k].device;
            if (d->state != DEV_HELD || !d->idle_since_ms)
                continue;
            /* not longer than they have been on it */
            int64_t since_ms = MAX(d->idle_since_ms, p->v[k].since_ms), idle_ms = now_ms - since_ms;
            if (idle_ms < longer_ms)
                continue;
            VEC_ROOM(*ret, n, cap);
            (*ret)[n++] =
                (struct idle){&p->v[k], p->name, p->n_logins ? p->logins[0] : p->name, idle_ms, holders_of(people, d)};
        }
    SORT(*ret, n, by_length);
    return n;
}

void idle_rows(struct api *a, const struct filter *filter, int64_t longer_ms, int64_t now_ms, struct rows *ret)
{
    struct view v;
    struct view_query ask = {.demo = a->demo};
    struct usage_now usage;
    AUTO_ARENA arena = {0};
    AUTO_FREE struct idle *idle = NULL;
    struct on_devices people;

    view_of(a->live, &ask, now_ms, &v);
    if (filter)
        view_filter(&v, filter, &arena);
    on_devices_of(&v, &people);
    usage_now_of(a->hub, &usage);
    size_t n = find_idle(&people, longer_ms, now_ms, &idle);
    rows_init(ret, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < n; i++)
        add_row(ret, &idle[i], usage.tariff, now_ms);
    on_devices_fini(&people);
}

enum reply_mode get_idle(struct api *a, struct request *rq, struct reply *rp)
{
    struct str longer = str_trim(request_query(rq, "longer")), format = request_query(rq, "format");
    AUTO_FILTER *filter = NULL;
    AUTO_ROWS rows = {0};
    int64_t longer_ms = LONGER_MS;
    bool csv = str_eq(format, "csv");
    if (longer.len && !str_duration_ms(longer, &longer_ms))
        return reply_problem(rp, 400, "longer '%.*s' is not a time, as 30m or 2h", (int)MIN(longer.len, 40u), longer.p);
    if (format.len && !csv && !str_eq(format, "json"))
        return reply_problem(rp, 400, "format '%.*s' is not known: there are json and csv", (int)MIN(format.len, 40u),
                             format.p);
    if (!request_filter(rq, rp, &filter))
        return REPLY_NOW;
    idle_rows(a, filter, longer_ms, rq->now_ms, &rows);
    rp->body = BUF_INIT(IDLE_MAX);
    if (csv) {
        rp->type = "text/csv; charset=utf-8";
        render_rows_csv(&rp->body, &rows);
    } else {
        render_rows_json(&rp->body, &rows);
    }
    return rp->body.err ? reply_problem(rp, 500, "the response is larger than %u MiB: use a filter", IDLE_MAX >> 20)
                        : REPLY_NOW;
}
