/*
 * usage_table.c: usage hours in muster.db, a row per node and hour; days, which are their sums; and marks: hours still
 * to be counted. Names (nodes, devices, models, logins) are stored once and referenced by number.
 */
#include "store/usage_table.h"

#include <errno.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/lookup.h"
#include "codec/usage_code.h"
#include "codec/uuid.h"
#include "sql/pg.h"
#include "store/schema.h"

#define NAMES_MOST (1 << 24)

/* ---- names ---- */

struct texts { /* by number; NULL: unknown */
    const char **v;
    size_t n;
};

static void texts_set(struct texts *t, int64_t id, const char *text)
{
    if (id < 0 || id > NAMES_MOST)
        return;
    if ((size_t)id >= t->n) {
        size_t n = MAX(256u, MAX(t->n * 2, (size_t)id + 1));
        t->v = mem_grow(t->v, n, sizeof(*t->v));
        memset(t->v + t->n, 0, (n - t->n) * sizeof(*t->v));
        t->n = n;
    }
    t->v[id] = text;
}

static const char *texts_get(const struct texts *t, uint64_t id)
{
    return t->v && id < t->n ? t->v[id] : NULL;
}

struct name {
    int64_t id;
    char text[];
};

struct usage_known { /* of the writer's connection; discarded on rollback */
    struct lookup names;
    struct texts texts; /* the reverse direction; borrows from names */
};

void usage_known_free(struct usage_known *k)
{
    size_t at = 0;

    if (!k)
        return;
    for (struct name *n; (n = lookup_each(&k->names, &at));)
        free(n);
    lookup_fini(&k->names);
    free(k->texts.v);
    free(k);
}

static void known_add(struct records *r, const char *text, int64_t id)
{
    size_t size = strlen(text) + 1;
    struct name *n = mem_alloc(sizeof(*n) + size);

    if (!r->known)
        r->known = mem_zero(1, sizeof(*r->known));
    n->id = id;
    memcpy(n->text, text, size);
    lookup_add(&r->known->names, lookup_hash(text), n);
    texts_set(&r->known->texts, id, n->text);
}

/*
 * Most names are those of GPUs, and a name is stored twice, in the table and in its index. So in a folder they are
 * stored as this letter, which starts no name, and their bytes in base64. Older folders have them unchanged.
 */
#define SHORT     '\1'
#define SHORT_LEN 23u
#define SHORT_END "==" /* not stored */

static struct str short_name(const char *text, struct buf *room)
{
    uint8_t bytes[UUID_BYTES];

    buf_reset(room);
    if (!uuid_read(str_of(text), bytes))
        return str_of(text);
    buf_addc(room, SHORT);
    base64_add(room, str_n((const char *)bytes, sizeof(bytes)));
    buf_cut(room, SHORT_LEN);
    return buf_str(room);
}

/* The original name; valid until room is used again. */
static const char *long_name(const char *text, struct buf *room)
{
    char padded[SHORT_LEN + sizeof(SHORT_END)], name[UUID_TEXT];

    if (text[0] != SHORT || strlen(text) != SHORT_LEN)
        return text;
    snprintf(padded, sizeof(padded), "%s" SHORT_END, text + 1);
    buf_reset(room);
    if (base64_read(str_of(padded), room) < 0 || room->len != UUID_BYTES)
        return text;
    struct str whole = uuid_write((const uint8_t *)room->p, name);
    buf_reset(room);
    buf_addstr(room, whole);
    return room->p;
}

static int name_ask(struct records *r, size_t stmt, const char *text, const char *or_so, int64_t *ret)
{
    return db_one(DB_STMT(&r->st, stmt, DB_TEXT(text), DB_TEXT(or_so)), ret, NULL);
}

/* Returns the name's number in *ret and creates one if needed; device: the name of one. Within a transaction. */
static int name_id(struct records *r, const char *text, bool device, int64_t *ret)
{
    const struct name *n = r->known ? lookup_named(&r->known->names, text, offsetof(struct name, text)) : NULL;
    AUTO_BUF room = BUF_INIT(256);

    if (n) {
        *ret = n->id;
        return 0;
    }
    const char *brief = device ? short_name(text, &room).p : text;
    int code = name_ask(r, R_USAGE_NAME, text, brief, ret);
    if (code == 0 && pg_is(records_db(r))) /* the server may also have a hub of the previous version */
        brief = text;
    if (code == 0)
        code = db_one(DB_STMT(&r->st, R_PUT_USAGE_NAME, DB_TEXT(brief)), ret, NULL);
    if (code < 0)
        return code;
    known_add(r, text, *ret);
    return 0;
}

static int put_id(void *arg, struct buf *out, const char *name)
{
    int64_t id;
    int code = name_id(arg, name, true, &id);

    return code < 0 ? code : buf_varint(out, (uint64_t)id);
}

/*
 * Number to name, for the few names of one node: the cost must not depend on the total number. NULL if not found. Valid
 * until the transaction is rolled back.
 */
static const char *known_text(void *arg, struct rd *in)
{
    struct records *r = arg;
    uint64_t id = rd_varint(in);

    if (in->bad || id > NAMES_MOST)
        return NULL;
    if (r->known && texts_get(&r->known->texts, id))
        return texts_get(&r->known->texts, id);
    AUTO_BUF room = BUF_INIT(256);
    struct db_stmt *st = DB_STMT(&r->st, R_USAGE_TEXT, DB_INT((int64_t)id));
    bool there = db_next(st, NULL) == 1;
    if (there)
        known_add(r, long_name(db_text(st, 0), &room), (int64_t)id);
    db_reset(st);
    return there ? texts_get(&r->known->texts, id) : NULL;
}

/* For reading all nodes: all names in one query. */
struct all_names {
    struct arena mem;
    struct texts texts;
};

static int names_load(struct records *r, struct all_names *a, struct err *err)
{
    struct db_stmt *st = db_stmt(&r->st, R_USAGE_NAMES);
    AUTO_BUF room = BUF_INIT(256);
    int code;

    while ((code = db_next(st, err)) == 1)
        texts_set(&a->texts, db_number(st, 0), arena_str(&a->mem, long_name(db_text(st, 1), &room)));
    return code;
}

static void names_fini(struct all_names *a)
{
    arena_fini(&a->mem);
    free(a->texts.v);
}

static const char *get_id(void *arg, struct rd *in)
{
    return texts_get(&((struct all_names *)arg)->texts, rd_varint(in));
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
    return RECORDS_POST(r, zone < 0 ? R_PUT_USAGE_HOUR : R_PUT_USAGE_DAY, DB_INT(s->at_ms), DB_INT(node),
                        DB_INT(s->end_ms), DB_BYTES(buf_str(&b)), DB_INT(zone));
}

static int put_day(struct records *r, int64_t zone, int64_t node, const struct usage_day *day)
{
    struct usage_names names = {NULL, known_text, r};
    AUTO_ARENA mem = {0};
    struct usage_sum_up sum = {.mem = &mem};
    struct db_stmt *st = DB_STMT(&r->st, R_USAGE_HOURS_OF, DB_INT(node), DB_INT(day->from_ms), DB_INT(day->to_ms));
    int64_t end_ms = 0;
    int code;

    while ((code = db_next(st, NULL)) == 1) {
        struct str bytes = db_bytes(st, 1);
        struct rd in = rd_of(bytes.p, bytes.len);
        struct usage_span s;
        end_ms = db_number(st, 0);
        if (usage_decode(&in, &names, &mem, &s) == 0)
            usage_sum_add(&sum, &s);
    }
    if (code < 0)
        return code;
    struct usage_span s = usage_sum_span(&sum, day->from_ms, end_ms);
    if (s.n)
        return put_span(r, zone, node, &s);
    return RECORDS_POST(r, R_DROP_USAGE_DAY, DB_INT(day->from_ms), DB_INT(node), DB_INT(zone));
}

int records_put_usage(struct records *r, const struct usage_put *u)
{
    int64_t node, zone = 0;
    int code = name_id(r, u->node, false, &node);

    for (size_t i = 0; i < u->n && code == 0; i++) {
        code = u->hours[i].n ? put_span(r, -1, node, &u->hours[i])
                             : RECORDS_POST(r, R_DROP_USAGE_HOUR, DB_INT(u->hours[i].at_ms), DB_INT(node));
        if (code == 0 && u->marks && u->marks[i])
            code = RECORDS_POST(r, R_DROP_USAGE_MARK, DB_TEXT(u->node), DB_INT(u->hours[i].at_ms), DB_INT(u->marks[i]));
    }
    if (code == 0 && u->n_days)
        code = name_id(r, u->zone, false, &zone);
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
    static const int steps[] = {R_MOVE_USAGE_HOURS, R_DROP_USAGE_HOURS_OF, R_MOVE_USAGE_DAYS, R_DROP_USAGE_DAYS_OF};
    int64_t old, new;
    int code = name_ask(r, R_USAGE_NAME, from, from, &old);

    if (code <= 0 || (code = name_id(r, to, false, &new)) < 0)
        return code;
    for (size_t i = 0; i < ARRAY_LEN(steps) && code == 0; i++)
        code = RECORDS_RUN(r, (size_t)steps[i], DB_INT(old), DB_INT(new));
    return code;
}

/* ---- reading ---- */

struct reading {
    struct records *r;
    const struct usage_query *ask;
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
    struct db_stmt *st =
        DB_STMT(&k->r->st, zone < 0 ? R_USAGE_HOURS : R_USAGE_DAYS, DB_INT(from_ms), DB_INT(to_ms), DB_INT(zone));
    int more = 0, code = 0;

    while (code == 0 && from_ms < to_ms && (more = db_next(st, err)) == 1) {
        if (!k->names.texts.v &&
            (code = names_load(k->r, &k->names, err)) < 0) /* all names: not before there is a row */
            break;
        const char *node = texts_get(&k->names.texts, (uint64_t)db_number(st, 1));
        if (!node || (k->ask->node && strcmp(node, k->ask->node) != 0))
            continue;
        struct str bytes = db_bytes(st, 3);
        struct rd in = rd_of(bytes.p, bytes.len);
        struct usage_span s = {.at_ms = db_number(st, 0), .end_ms = db_number(st, 2)};
        arena_reset(&k->mem);
        if (usage_decode(&in, &names, &k->mem, &s) < 0)
            continue; /* damage costs only that row; recounting repairs it */
        code = k->rows++ % 64 == 0 && k->ask->stop && k->ask->stop(k->ask->stop_arg)
                   ? err_set(err, -ECANCELED, "stopped")
                   : k->each(k->arg, node, &s);
    }
    db_reset(st);
    return code ? code : MIN(more, 0);
}

int records_usage(struct records *r, const struct usage_query *ask,
                  int (*each)(void *arg, const char *node, const struct usage_span *s), void *arg, struct err *err)
{
    struct reading k = {.r = r, .ask = ask, .each = each, .arg = arg};
    int64_t zone = 0, at_ms = ask->from_ms;
    int code = records_begin_snapshot(r, err); /* hours and days from one snapshot */

    if (code == 0 && ask->n_days && (code = name_ask(r, R_USAGE_NAME, ask->zone, ask->zone, &zone)) > 0)
        code = 0; /* no number means no stored days */
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
