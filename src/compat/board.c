/* board.c: what the static page shows, out of load_data.csv or out of a view. How it looks is board_html.c's business.
 */
#include "compat/board.h"

#include <errno.h>

#include "base/csv.h"
#include "base/order.h"
#include "format/words.h"

enum { ROW, LOAD, LOAD_MEM, INDEX, NAME, UUID, HOST, USER, COLUMNS };
static const char *const heads[COLUMNS] = {"",         "load",     "load_mem", "gpu_idx",
                                           "gpu_name", "gpu_uuid", "hostname", "username"};

void board_fini(struct board *b)
{
    if (!b)
        return;
    arena_fini(&b->arena);
    *b = (struct board){0};
}

/* The old rule. */
static enum board_mark judge(const struct board_gpu *g)
{
    if (g->load >= 5 || g->load_mem > 2 || g->users[0])
        return BOARD_TAKEN;
    return g->load < 0 || g->load_mem < 0 ? BOARD_UNKNOWN : BOARD_FREE;
}

/* ---- load_data.csv ---- */

struct line {
    struct board_gpu gpu;
    const char *host;
    size_t at; /* so that sorting keeps the file's order within a host */
};

COMPARE(by_host, struct line, str_natural(x->host, y->host) ?: strcmp(x->host, y->host) ?: ORDER(x->at, y->at))

/* Whole or decimal, as spreadsheets and data frames leave them; empty is absent. */
static int percent(struct str s, size_t line, const char *what, int64_t *ret, struct err *err)
{
    s = str_trim(s);
    if (!s.len) {
        *ret = -1;
        return 0;
    }
    if (!str_fixed(s, 1, ret) || *ret < 0 || *ret > 100)
        return err_set(err, -EINVAL, "line %zu: %s: expected a number from 0 to 100, or nothing", line, what);
    return 0;
}

static int text(struct board *b, struct str s, size_t max, size_t line, const char *what, const char **ret,
                struct err *err)
{
    s = str_trim(s);
    if (s.len >= max || !str_utf8_ok(s))
        return err_set(err, -EINVAL, "line %zu: %s: expected text of less than %zu bytes, without control characters",
                       line, what, max);
    *ret = arena_strn(&b->arena, s.p, s.len);
    return 0;
}

/* "kim, kim, lee" -> "kim, lee"; at most so many, then "…". */
static const char *distinct(struct board *b, const char *users)
{
    enum { NAMED = 16 };
    struct str rest = str_of(users), one, name[NAMED];
    AUTO_BUF all = BUF_INIT((size_t)BOARD_CELL_MAX * 2);
    size_t n = 0;

    while (str_cut(&rest, ',', &one)) {
        one = str_trim(one);
        if (!one.len || ANY(n, k, str_eq_str(name[k], one)))
            continue;
        if (n == NAMED) {
            buf_adds(&all, ", …");
            break;
        }
        buf_addf(&all, "%s%.*s", n ? ", " : "", STR_ARG(one));
        name[n++] = one;
    }
    return arena_str(&b->arena, buf_str(&all).p);
}

static int take(struct board *b, const struct str *cells, size_t line, struct line *l, struct err *err)
{
    struct board_gpu *g = &l->gpu;
    int64_t index;
    int r;

    *l = (struct line){.gpu = {.mem_used = -1, .mem_total = -1, .why = ""}};
    if (!str_int(str_trim(cells[INDEX]), &index) || index < 0 || index > 9999)
        return err_set(err, -EINVAL, "line %zu: gpu_idx: expected a number", line);
    snprintf(g->label, sizeof(g->label), "%d", (int)index);
    if ((r = percent(cells[LOAD], line, heads[LOAD], &g->load, err)) < 0 ||
        (r = percent(cells[LOAD_MEM], line, heads[LOAD_MEM], &g->load_mem, err)) < 0 ||
        (r = text(b, cells[NAME], NAME_MAX_LEN, line, heads[NAME], &g->name, err)) < 0 ||
        (r = text(b, cells[UUID], NAME_MAX_LEN, line, heads[UUID], &g->uuid, err)) < 0 ||
        (r = text(b, cells[HOST], NAME_MAX_LEN, line, heads[HOST], &l->host, err)) < 0 ||
        (r = text(b, cells[USER], BOARD_CELL_MAX, line, heads[USER], &g->users, err)) < 0)
        return r;
    if (!l->host[0])
        return err_set(err, -EINVAL, "line %zu: hostname: it is empty", line);
    g->users = distinct(b, g->users);
    g->mark = judge(g);
    if (g->mark == BOARD_UNKNOWN)
        g->why = "the driver would not tell its load";
    if (strstr(g->users, PROC_GONE))
        g->why = PROC_GONE_WORDS;
    return 0;
}

/* Lines in order become hosts. */
static void gather(struct board *b, const struct line *l, size_t n)
{
    struct board_gpu *gpus = arena_alloc(&b->arena, n + 1, sizeof(*gpus));

    b->v = arena_alloc(&b->arena, n + 1, sizeof(*b->v));
    for (size_t i = 0; i < n; i++) {
        if (!b->n || strcmp(b->v[b->n - 1].name, l[i].host) != 0)
            b->v[b->n++] = (struct board_host){.name = l[i].host, .why = "", .v = &gpus[i]};
        gpus[i] = l[i].gpu;
        b->v[b->n - 1].n++;
    }
}

static int read_head(struct csv *csv, struct err *err)
{
    struct str cells[COLUMNS];
    int n = csv_next(csv, cells, COLUMNS, err);

    if (n < 0)
        return n;
    bool same = n == COLUMNS && !ANY((size_t)COLUMNS, i, !str_eq(str_trim(cells[i]), heads[i]));
    return same ? 0
                : err_set(err, -EINVAL,
                          "line %zu: expected the header ,load,load_mem,gpu_idx,gpu_name,gpu_uuid,hostname,username",
                          csv->line);
}

int board_csv(struct str text_, int64_t at_ms, struct board *ret, struct err *err)
{
    struct board b = {.at_ms = at_ms, .notice = ""};
    AUTO_FREE struct line *lines = NULL;
    size_t n = 0, cap = 0;
    struct str cells[COLUMNS];
    AUTO_CSV csv;
    int got;

    csv_init(&csv, text_);
    int r = text_.len > BOARD_CSV_MAX ? err_set(err, -EMSGSIZE, "it is larger than %u bytes", BOARD_CSV_MAX)
                                      : read_head(&csv, err);
    while (r == 0 && (got = csv_next(&csv, cells, COLUMNS, err)) != 0) {
        if (got < 0) {
            r = got;
        } else if (got != COLUMNS) {
            r = err_set(err, -EINVAL, "line %zu: %d columns where there must be %d", csv.line, got, COLUMNS);
        } else if (n == BOARD_GPUS_MAX) {
            r = err_set(err, -EINVAL, "line %zu: more than %d GPUs", csv.line, BOARD_GPUS_MAX);
        } else {
            VEC_ROOM(lines, n, cap);
            r = take(&b, cells, csv.line, &lines[n], err);
            lines[n].at = n;
            n++;
        }
    }
    if (r < 0) {
        board_fini(&b);
        return r;
    }
    SORT(lines, n, by_host);
    gather(&b, lines, n);
    *ret = b;
    return 0;
}

/* ---- hosts that were not read ---- */

/* Of those with one name the one without rows comes first: its rows are of another time. */
COMPARE(by_name, struct board_host, str_natural(x->name, y->name) ?: strcmp(x->name, y->name) ?: ORDER(x->n, y->n))

int board_unread(struct str csv_text, struct board *b, struct err *err)
{
    AUTO_FREE struct board_host *v = NULL;
    size_t n = 0, cap = 0;
    struct str cells[2];
    AUTO_CSV csv;
    int got, r = 0;

    for (size_t i = 0; i < b->n; i++)
        VEC_ADD(v, n, cap, b->v[i]);
    csv_init(&csv, csv_text);
    while (r == 0 && (got = csv_next(&csv, cells, ARRAY_LEN(cells), err)) != 0) {
        struct board_host h = {.why = ""};
        if (got != (int)ARRAY_LEN(cells) || n > BOARD_GPUS_MAX)
            r = got < 0 ? got : err_set(err, -EINVAL, "line %zu: expected one host and why it was not read", csv.line);
        else if ((r = text(b, cells[0], NAME_MAX_LEN, csv.line, heads[HOST], &h.name, err)) == 0 &&
                 (r = text(b, cells[1], BOARD_CELL_MAX, csv.line, "reason", &h.why, err)) == 0) {
            h.why = h.why[0] ? h.why : "not read";
            VEC_ADD(v, n, cap, h);
        }
    }
    if (r < 0)
        return r;
    SORT(v, n, by_name);
    b->v = arena_alloc(&b->arena, n + 1, sizeof(*b->v));
    b->n = 0;
    for (size_t i = 0; i < n; i++)
        if (!i || strcmp(v[i].name, v[i - 1].name) != 0)
            b->v[b->n++] = v[i];
    return 0;
}

/* ---- a view ---- */

static int64_t rounded(const struct sample *s, enum metric m)
{
    return sample_has(s, m) ? (s->v[m] + 50) / 100 : -1;
}

static void of_device(struct board *b, const struct node_now *n, const struct device_now *d, struct board_gpu *g)
{
    char who[160];
    bool known = d->state <= DEV_IN_SIGHT;

    *g = (struct board_gpu){.load = -1, .load_mem = -1, .mem_used = -1, .mem_total = -1, .users = "", .why = ""};
    device_index_text(&d->fact, g->label);
    g->name = arena_str(&b->arena, d->fact.name);
    g->uuid = arena_str(&b->arena, d->fact.uuid);
    if (known) {
        g->load = rounded(&d->now, M_util);
        g->load_mem = rounded(&d->now, M_mem_util);
        g->mem_used = sample_has(&d->now, M_mem_used) ? d->now.v[M_mem_used] : -1;
        g->users = arena_str(&b->arena, (holders(d, who), who));
    }
    g->mem_total = sample_has(&d->now, M_mem_total) ? d->now.v[M_mem_total] : -1;
    g->mark = judge(g);
    if (!known || d->state == DEV_UNKNOWN) {
        AUTO_BUF words = BUF_INIT(512);
        device_sentence(&words, d, b->at_ms);
        g->mark = BOARD_UNKNOWN;
        g->why = arena_str(&b->arena, buf_str(&words).p);
    } else if (device_is_parent(n, d)) {
        g->mark = BOARD_UNKNOWN;
        g->why = "split: its MIG instances are what one takes";
    } else if (d->state != DEV_FREE) {
        g->mark = BOARD_TAKEN;
        g->why = device_has_dead_process(d) ? PROC_GONE_WORDS : g->users[0] ? "" : arena_str(&b->arena, d->reason);
    } else if (g->mark == BOARD_UNKNOWN) {
        g->mark = BOARD_FREE; /* the hub has judged by what it knows */
    }
}

void board_view(const struct view *v, struct board *ret)
{
    struct board b = {.at_ms = v->at_ms, .demo = v->demo, .notice = ""};

    if (v->notice)
        b.notice = arena_str(&b.arena, v->notice);
    b.v = arena_alloc(&b.arena, v->n + 1, sizeof(*b.v));
    for (size_t i = 0; i < v->n; i++) {
        const struct node_now *n = v->nodes[i];
        struct board_host *h = &b.v[b.n++];
        *h = (struct board_host){.name = arena_str(&b.arena, n->name), .why = "", .n = n->n_devices};
        h->v = arena_alloc(&b.arena, n->n_devices + 1, sizeof(*h->v));
        for (size_t k = 0; k < n->n_devices; k++)
            of_device(&b, n, &n->devices[k], &h->v[k]);
        if (n->state != NODE_UP || n->reason[0] || !n->n_devices) {
            AUTO_BUF words = BUF_INIT(512);
            if (n->state == NODE_UP)
                buf_adds(&words, n->reason[0] ? n->reason : "no GPUs seen yet");
            else
                node_sentence(&words, n);
            h->why = arena_str(&b.arena, buf_str(&words).p);
        }
    }
    *ret = b;
}
