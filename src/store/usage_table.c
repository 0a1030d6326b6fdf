/*
 * usage_table.c: counted hours in muster.db, a row per node and hour; days, the same added up; and marks: hours that
 * are still to be counted. Names (nodes, devices, models, logins) are written once and known by a number.
 */
#include "store/usage_table.h"

#include <errno.h>

#include "base/buf.h"
#include "codec/usage_code.h"
#include "store/schema.h"

#define NAMES_MOST (1 << 24)

/* ---- names ---- */

struct usage_known { /* of the writer's connection: text -> number; forgotten when a transaction is undone */
    size_t n, cap;   /* cap: a power of two, at least twice n */
    struct {
        char *text;
        int64_t id;
    } * v;
    const char **texts; /* and back, by number; v's, NULL: not known yet */
    size_t n_texts;
};

void usage_known_free(struct usage_known *k)
{
    for (size_t i = 0; k && i < k->cap; i++)
        free(k->v[i].text);
    if (k) {
        free(k->v);
        free(k->texts);
    }
    free(k);
}

static size_t known_place(const struct usage_known *k, const char *text)
{
    uint64_t h = 14695981039346656037u;

    for (const char *c = text; *c; c++)
        h = (h ^ (unsigned char)*c) * 1099511628211u;
    size_t i = (h ^ h >> 32) & (k->cap - 1);
    while (k->v[i].text && strcmp(k->v[i].text, text) != 0)
        i = (i + 1) & (k->cap - 1);
    return i;
}

static void known_add(struct records *r, const char *text, int64_t id)
{
    struct usage_known *k = r->known;

    if (!k)
        k = r->known = mem_zero(1, sizeof(*k));
    if (2 * (k->n + 1) > k->cap) {
        struct usage_known bigger = *k;
        bigger.cap = MAX(64u, k->cap * 2);
        bigger.v = mem_zero(bigger.cap, sizeof(*bigger.v));
        for (size_t i = 0; i < k->cap; i++)
            if (k->v[i].text) {
                size_t at = known_place(&bigger, k->v[i].text);
                bigger.v[at].text = k->v[i].text;
                bigger.v[at].id = k->v[i].id;
            }
        free(k->v);
        *k = bigger;
    }
    size_t at = known_place(k, text);
    k->v[at].text = mem_str(text);
    k->v[at].id = id;
    k->n++;
    if (id < 0 || id > NAMES_MOST)
        return;
    if ((size_t)id >= k->n_texts) {
        size_t n = MAX(256u, MAX(k->n_texts * 2, (size_t)id + 1));
        k->texts = mem_grow(k->texts, n, sizeof(*k->texts));
        memset(k->texts + k->n_texts, 0, (n - k->n_texts) * sizeof(*k->texts));
        k->n_texts = n;
    }
    k->texts[id] = k->v[at].text;
}

static int name_ask(struct records *r, size_t stmt, const char *text, int64_t *ret)
{
    sqlite3_stmt *st = db_stmt(&r->st, stmt);

    db_bind_text(st, 1, text);
    int rc = st ? sqlite3_step(st) : sqlite3_errcode(r->h);
    if (rc == SQLITE_ROW)
        *ret = sqlite3_column_int64(st, 0);
    sqlite3_reset(st);
    return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : db_errno(r->h, rc);
}

/* Its number, given now if it had none. Within a transaction. */
static int name_id(struct records *r, const char *text, int64_t *ret)
{
    if (r->known) {
        size_t at = known_place(r->known, text);
        if (r->known->v[at].text) {
            *ret = r->known->v[at].id;
            return 0;
        }
    }
    int code = name_ask(r, R_USAGE_NAME, text, ret);
    if (code == 0)
        code = name_ask(r, R_PUT_USAGE_NAME, text, ret);
    if (code < 0)
        return code;
    known_add(r, text, *ret);
    return 0;
}

static int put_id(void *arg, struct buf *out, const char *name)
{
    int64_t id;
    int code = name_id(arg, name, &id);

    return code < 0 ? code : buf_varint(out, (uint64_t)id);
}

/* The other way, for the few names of one node: what it costs may not depend on how many others there are. NULL: none
 * has that number. Good until the transaction is undone. */
static const char *known_text(void *arg, struct rd *in)
{
    struct records *r = arg;
    uint64_t id = rd_varint(in);

    if (in->bad || id > NAMES_MOST)
        return NULL;
    if (r->known && id < r->known->n_texts && r->known->texts[id])
        return r->known->texts[id];
    sqlite3_stmt *st = db_stmt(&r->st, R_USAGE_TEXT);
    db_bind_int(st, 1, (int64_t)id);
    bool there = st && sqlite3_step(st) == SQLITE_ROW;
    if (there)
        known_add(r, db_text(st, 0), (int64_t)id);
    sqlite3_reset(st);
    return there ? r->known->texts[id] : NULL;
}

/* For reading what all nodes did: number -> text, all of them at once. */
struct all_names {
    struct arena mem;
    const char **v;
    size_t cap;
};

static int names_load(struct records *r, struct all_names *a, struct err *err)
{
    sqlite3_stmt *st = db_stmt(&r->st, R_USAGE_NAMES);
    int rc;

    while ((rc = st ? sqlite3_step(st) : sqlite3_errcode(r->h)) == SQLITE_ROW) {
        int64_t id = sqlite3_column_int64(st, 0);
        struct str text = str_of(db_text(st, 1));
        if (id < 0 || id > NAMES_MOST)
            continue;
        if ((size_t)id >= a->cap) {
            size_t cap = MAX(256u, MAX(a->cap * 2, (size_t)id + 1));
            a->v = mem_grow(a->v, cap, sizeof(*a->v));
            memset(a->v + a->cap, 0, (cap - a->cap) * sizeof(*a->v));
            a->cap = cap;
        }
        a->v[id] = arena_strn(&a->mem, text.p, text.len);
    }
    int code = rc == SQLITE_DONE ? 0 : db_fail(r->h, rc, "read", err);
    sqlite3_reset(st);
    return code;
}

static void names_fini(struct all_names *a)
{
    arena_fini(&a->mem);
    free(a->v);
}

static const char *name_of(const struct all_names *a, uint64_t id)
{
    return id < a->cap ? a->v[id] : NULL;
}

static const char *get_id(void *arg, struct rd *in)
{
    return name_of(arg, rd_varint(in));
}

/* ---- writing ---- */

/* zone -1: an hour. */
static int put_span(struct records *r, int64_t zone, int64_t node, const struct usage_span *s)
{
    struct usage_names names = {put_id, NULL, r};
    AUTO_BUF b = BUF_INIT(USAGE_BYTES_MAX);
    int code = usage_encode(s, &names, &b);

    if (code < 0)
        return code;
    sqlite3_stmt *st = db_stmt(&r->st, zone < 0 ? R_PUT_USAGE_HOUR : R_PUT_USAGE_DAY);
    db_bind_int(st, 1, s->at_ms);
    db_bind_int(st, 2, node);
    db_bind_int(st, 3, s->end_ms);
    db_bind_bytes(st, 4, buf_str(&b));
    if (zone >= 0)
        db_bind_int(st, 5, zone);
    return records_run(r, st);
}

static int put_day(struct records *r, int64_t zone, int64_t node, const struct usage_day *day)
{
    struct usage_names names = {NULL, known_text, r};
    AUTO_ARENA mem = {0};
    struct usage_sum_up sum = {.mem = &mem};
    sqlite3_stmt *st = db_stmt(&r->st, R_USAGE_HOURS_OF);
    int64_t end_ms = 0;
    int rc;

    db_bind_int(st, 1, node);
    db_bind_int(st, 2, day->from_ms);
    db_bind_int(st, 3, day->to_ms);
    while ((rc = st ? sqlite3_step(st) : sqlite3_errcode(r->h)) == SQLITE_ROW) {
        struct str bytes = db_bytes(st, 1);
        struct rd in = rd_of(bytes.p, bytes.len);
        struct usage_span s;
        end_ms = sqlite3_column_int64(st, 0);
        if (usage_decode(&in, &names, &mem, &s) == 0)
            usage_sum_add(&sum, &s);
    }
    sqlite3_reset(st);
    if (rc != SQLITE_DONE)
        return db_errno(r->h, rc);
    struct usage_span s = usage_sum_span(&sum, day->from_ms, end_ms);
    if (s.n)
        return put_span(r, zone, node, &s);
    return RECORDS_RUN(r, R_DROP_USAGE_DAY, DB_INT(day->from_ms), DB_INT(node), DB_INT(zone));
}

int records_put_usage(struct records *r, const struct usage_put *u)
{
    int64_t node, zone = 0;
    int code = name_id(r, u->node, &node);

    for (size_t i = 0; i < u->n && code == 0; i++) {
        code = u->hours[i].n ? put_span(r, -1, node, &u->hours[i])
                             : RECORDS_RUN(r, R_DROP_USAGE_HOUR, DB_INT(u->hours[i].at_ms), DB_INT(node));
        if (code == 0 && u->marks && u->marks[i])
            code = RECORDS_RUN(r, R_DROP_USAGE_MARK, DB_TEXT(u->node), DB_INT(u->hours[i].at_ms), DB_INT(u->marks[i]));
    }
    if (code == 0 && u->n_days)
        code = name_id(r, u->zone, &zone);
    for (size_t i = 0; i < u->n_days && code == 0; i++)
        code = put_day(r, zone, node, &u->days[i]);
    return code;
}

int records_drop_usage(struct records *r, int64_t before_ms)
{
    static const int steps[] = {R_DROP_OLD_USAGE_HOURS, R_DROP_OLD_USAGE_DAYS, R_DROP_OLD_USAGE_MARKS};
    int code = 0;

    for (size_t i = 0; i < ARRAY_LEN(steps) && code == 0; i++)
        code = RECORDS_RUN(r, (size_t)steps[i], DB_INT(before_ms));
    return code;
}

int records_move_usage(struct records *r, const char *from, const char *to)
{
    char a[24], b[24];
    int64_t old, new;
    int code = name_ask(r, R_USAGE_NAME, from, &old);

    if (code <= 0 || (code = name_id(r, to, &new)) < 0)
        return code;
    snprintf(a, sizeof(a), "%lld", (long long)old);
    snprintf(b, sizeof(b), "%lld", (long long)new);
    code = records_move_rows(r, "usage_hours", a, b);
    return code < 0 ? code : records_move_rows(r, "usage_days", a, b);
}

/* ---- reading ---- */

struct reading {
    struct records *r;
    const struct usage_ask *ask;
    struct all_names names;
    struct arena mem;
    int (*each)(void *arg, const char *node, const struct usage_span *s);
    void *arg;
    size_t rows;
};

/* zone -1: hours. */
static int read_rows(struct reading *k, int64_t zone, int64_t from_ms, int64_t to_ms, struct err *err)
{
    struct usage_names names = {NULL, get_id, &k->names};
    sqlite3_stmt *st = db_stmt(&k->r->st, zone < 0 ? R_USAGE_HOURS : R_USAGE_DAYS);
    int rc = SQLITE_DONE, code = 0;

    db_bind_int(st, 1, from_ms);
    db_bind_int(st, 2, to_ms);
    if (zone >= 0)
        db_bind_int(st, 3, zone);
    while (code == 0 && from_ms < to_ms && (rc = st ? sqlite3_step(st) : sqlite3_errcode(k->r->h)) == SQLITE_ROW) {
        if (!k->names.v && (code = names_load(k->r, &k->names, err)) < 0) /* many: not where there is no row */
            break;
        const char *node = name_of(&k->names, (uint64_t)sqlite3_column_int64(st, 1));
        if (!node || (k->ask->node && strcmp(node, k->ask->node) != 0))
            continue;
        struct str bytes = db_bytes(st, 3);
        struct rd in = rd_of(bytes.p, bytes.len);
        struct usage_span s = {.at_ms = sqlite3_column_int64(st, 0), .end_ms = sqlite3_column_int64(st, 2)};
        arena_reset(&k->mem);
        if (usage_decode(&in, &names, &k->mem, &s) < 0)
            continue; /* damage costs that row; counting again mends it */
        code = k->rows++ % 64 == 0 && k->ask->stop && k->ask->stop(k->ask->stop_arg)
                   ? err_set(err, -ECANCELED, "stopped")
                   : k->each(k->arg, node, &s);
    }
    if (code == 0 && rc != SQLITE_DONE)
        code = db_fail(k->r->h, rc, "read", err);
    sqlite3_reset(st);
    return code;
}

int records_usage(struct records *r, const struct usage_ask *ask,
                  int (*each)(void *arg, const char *node, const struct usage_span *s), void *arg, struct err *err)
{
    struct reading k = {.r = r, .ask = ask, .each = each, .arg = arg};
    int64_t zone = 0, at_ms = ask->from_ms;
    int code = db_exec(r->h, "BEGIN") == SQLITE_OK ? 0 : records_fail(r, err); /* hours and days of one moment */

    if (code == 0 && ask->n_days && (code = name_ask(r, R_USAGE_NAME, ask->zone, &zone)) > 0)
        code = 0; /* a zone that has no number has no days */
    for (size_t i = 0; i < ask->n_days && code == 0; i++) {
        code = read_rows(&k, -1, at_ms, ask->days[i].from_ms, err);
        if (code == 0)
            code = read_rows(&k, zone, ask->days[i].from_ms, ask->days[i].to_ms, err);
        at_ms = ask->days[i].to_ms;
    }
    if (code == 0)
        code = read_rows(&k, -1, at_ms, ask->to_ms, err);
    records_rollback(r);
    names_fini(&k.names);
    arena_fini(&k.mem);
    return code;
}
