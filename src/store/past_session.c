/* past_session.c: the connection pool, the open log files, and the start of a read. */
#include "store/past_session.h"

#include <errno.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "sql/pg.h"
#include "store/log_rows.h"

#define POOL_KEEP   4 /* readers kept open */
#define SHELF_BYTES (1280u << 10)
#define FRESH_BYTES (4u << 20)
#define FRESH_FILE  (256u << 20)
#define LIMIT_MS    60000 /* maximum wait of a query for a server */

struct past *past_new(const struct store_conf *conf, struct writer *w, const char *folder)
{
    struct past *p = NEW(struct past, .dir = mem_str(conf->dir), .shared = conf->url != NULL, .dec = conf->decoder,
                         .w = conf->url ? NULL : w, .fresh = w ? fresh_new(folder, FRESH_BYTES, FRESH_FILE) : NULL);

    pthread_mutex_init(&p->lock, NULL);
    return p;
}

static void open_log_fini(struct past_log *l)
{
    log_reader_close(l->l);
    free(l->keys);
    free(l->rows);
    *l = (struct past_log){0};
}

static void reader_free(struct past *p, struct past_reader *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < PAST_LOGS_KEEP; i++)
        open_log_fini(&r->logs[i]);
    chunk_cache_free(r->shelf);
    chunk_cells_fini(&r->cells);
    buf_fini(&r->room);
    rows_free(r->rows);
    chunks_close(r->chunks);
    records_close(r->rec);
    facts_fini(&r->facts);
    if (r->dec)
        p->dec->end(r->dec);
    FREE_ALL(r->aliases, r->marks, r);
}

uint64_t past_damaged(const struct past *p)
{
    return atomic_load(&p->damaged);
}

void past_free(struct past *p)
{
    if (!p)
        return;
    for (struct past_reader *r = p->idle, *next; r; r = next) {
        next = r->next;
        reader_free(p, r);
    }
    fresh_free(p->fresh);
    pthread_mutex_destroy(&p->lock);
    free(p->dir);
    free(p);
}

int past_reader_get(struct past *p, struct past_reader **ret, struct err *err)
{
    pthread_mutex_lock(&p->lock);
    struct past_reader *r = p->idle;
    if (r) {
        p->idle = r->next;
        p->n_idle--;
    }
    pthread_mutex_unlock(&p->lock);
    if (r) {
        *ret = r;
        return 0;
    }
    r = mem_zero(1, sizeof(*r));
    int code = chunks_open(&r->chunks, p->dir, DB_READ, err);
    if (code == -ENOENT || code == -ENODATA)
        code = 0; /* no history yet */
    if (code == 0)
        code = records_open(&r->rec, p->dir, DB_READ, err);
    if (code < 0) {
        reader_free(p, r);
        return code;
    }
    if (p->shared && r->chunks) {
        pg_set_limit(chunks_db(r->chunks), LIMIT_MS);
        r->rows = rows_new(chunks_db(r->chunks));
    }
    if (p->shared)
        pg_set_limit(records_db(r->rec), LIMIT_MS);
    r->dec = p->dec->make();
    r->shelf = chunk_cache_new(SHELF_BYTES);
    r->room = BUF_INIT(CHUNK_BYTES_MAX);
    *ret = r;
    return 0;
}

void past_reader_put(struct past *p, struct past_reader *r)
{
    pthread_mutex_lock(&p->lock);
    bool keep = p->n_idle < POOL_KEEP && r->chunks;
    if (keep) {
        r->next = p->idle;
        p->idle = r;
        p->n_idle++;
    }
    pthread_mutex_unlock(&p->lock);
    if (!keep)
        reader_free(p, r);
}

int past_aliases(struct past *p, struct alias **ret, size_t *ret_n, struct err *err)
{
    struct past_reader *r;
    int code = past_reader_get(p, &r, err);

    if (code < 0)
        return code;
    code = records_aliases(r->rec, ret, ret_n, err);
    past_reader_put(p, r);
    return code;
}

/* ---- a session ---- */

struct history_session *past_session_new(struct past *p)
{
    return NEW(struct history_session, .p = p);
}

void past_session_rest(struct history_session *x)
{
    struct past_reader *r = x->r;

    for (size_t i = 0; r && i < PAST_LOGS_KEEP; i++)
        if (r->logs[i].n)
            log_reader_end(r->logs[i].l);
    if (r && r->chunks)
        chunks_rollback(r->chunks);
    if (r && !r->facts.have)
        facts_fini(&r->facts); /* missing facts may exist at the next read */
    free(x->logs);
    if (r)
        past_reader_put(x->p, r);
    *x = (struct history_session){.p = x->p, .was = x->was, .anew = x->anew};
}

void past_session_free(struct history_session *x)
{
    if (!x)
        return;
    past_session_rest(x);
    if (x->was) {
        db_rollback(records_db(x->was->rec));
        past_reader_put(x->p, x->was);
    }
    free(x);
}

/* Lists the logs of all hubs. */
static int list_rows(struct history_session *x, struct err *err)
{
    AUTO_FREE struct row_log *v = NULL;
    size_t n = 0;
    int r = x->r->rows ? rows_list(x->r->rows, &v, &n, err) : 0;

    if (r < 0)
        return r;
    x->logs = mem_zero(n, sizeof(*x->logs));
    for (size_t i = 0; i < n; i++)
        x->logs[x->n_logs++] = (struct log_ref){v[i].n, v[i].sealed};
    return 0;
}

/* Another process runs the hub: lists the files of the folder. */
static int list_logs(struct history_session *x, struct err *err)
{
    AUTO_FREE int64_t *files = NULL;
    AUTO_FREE struct log_sum *sealed = NULL;
    size_t n, n_sealed = 0;
    int r = log_list(x->p->dir, &files, &n, NULL, err);

    if (r == 0)
        r = records_load_logs(x->r->rec, &sealed, &n_sealed, err);
    if (r < 0)
        return r;
    x->logs = mem_zero(n, sizeof(*x->logs));
    for (size_t i = 0; i < n; i++) {
        const struct log_sum *row = FIND(sealed, n_sealed, one, one->n == files[i]);
        if (!row || !row->compacted) /* otherwise it is in chunks, and the file waits for the archive */
            x->logs[x->n_logs++] = (struct log_ref){.n = files[i], .sealed = row != NULL};
    }
    return 0;
}

static bool has_log(const struct log_ref *v, size_t n, int64_t log)
{
    return ANY(n, i, v[i].n == log);
}

/* Only takeovers add aliases: a cached list is valid until the writer applies another takeover. */
static int read_aliases(struct history_session *x, struct err *err)
{
    struct past_reader *r = x->r;
    uint64_t now = x->p->w ? 1 + writer_take_overs(x->p->w) : 0;

    if (!now || now != r->take_overs) {
        struct alias *v;
        size_t n;
        int code = records_aliases(r->rec, &v, &n, err);
        if (code < 0)
            return code;
        free(r->aliases);
        r->aliases = v;
        r->n_aliases = n;
        r->take_overs = now;
    }
    x->aliases = r->aliases;
    x->n_aliases = r->n_aliases;
    return 0;
}

/* The same for the marks of compacted logs: valid while history.db is unchanged. */
static int read_marks(struct history_session *x)
{
    struct past_reader *r = x->r;

    if (!r->marks_read) {
        struct chunk_mark *v;
        size_t n;
        int code = chunks_marks(r->chunks, &v, &n);
        if (code < 0)
            return code;
        free(r->marks);
        r->marks = v;
        r->n_marks = n;
        r->marks_read = true;
    }
    x->marks = r->marks;
    x->n_marks = r->n_marks;
    return 0;
}

/*
 * Starts a snapshot of history.db. In the hub's process no query is sent while it is unchanged: the cache equals that
 * snapshot, and uncached data is read from the same version, or the session restarts.
 */
static int begin_chunks(struct history_session *x, struct err *err)
{
    struct past_reader *r = x->r;
    uint64_t versions = x->p->w ? 1 + atomic_load(writer_history_versions(x->p->w)) : 0;
    int64_t version = 0;
    int code = 0;

    if (versions && versions == r->versions && !x->anew) {
        chunks_begin_later(r->chunks, r->version);
        return 0;
    }
    r->versions = 0;
    code = chunks_begin(r->chunks, false);
    if (code == 0 && x->p->shared)
        code = list_rows(x, err);
    if (code == 0)
        code = chunks_version(r->chunks, &version);
    if (version != r->version || x->p->shared) {
        r->marks_read = false;
        r->n_buckets = 0;
    }
    if (version != r->version)
        chunk_cache_reset(r->shelf);
    r->version = version;
    if (code == 0)
        r->versions = versions;
    return code;
}

int past_session_begin(struct history_session *x, struct err *err)
{
    int code = past_reader_get(x->p, &x->r, err);

    if (code < 0)
        return code;
    struct past_reader *r = x->r;
    code = read_aliases(x, err);
    if (code == 0 && x->p->w)
        x->n_logs = writer_logs(x->p->w, &x->logs);
    else if (code == 0 && !x->p->shared)
        code = list_logs(x, err);
    if (code == 0 && r->chunks)
        code = begin_chunks(x, err); /* after the list: a log leaves the list after the commit with its chunks */
    if (code == 0 && r->chunks)
        code = read_marks(x);
    for (size_t i = 0; i < PAST_LOGS_KEEP; i++)
        if (r->logs[i].n && !has_log(x->logs, x->n_logs, r->logs[i].n))
            open_log_fini(&r->logs[i]);
    if (code == 0 && x->p->fresh && x->n_logs)
        fresh_drop_before(x->p->fresh, x->logs[0].n);
    x->begun = code == 0;
    x->begun_ms = clock_mono_ms();
    return code;
}

bool past_session_is_valid(const struct history_session *x)
{
    return !x->p->w || writer_has_logs(x->p->w, x->logs, x->n_logs);
}

int64_t past_session_mark(const struct history_session *x, int64_t log)
{
    const struct chunk_mark *m = FIND(x->marks, x->n_marks, one, one->log == log);

    return !m ? 0 : m->done ? -1 : m->upto;
}

int past_session_bucket(struct history_session *x, int tier, bool open, int64_t from, int64_t *ret)
{
    struct past_reader *r = x->r;
    struct past_bucket *n;

    for (size_t i = 0; i < MIN(r->n_buckets, ARRAY_LEN(r->buckets)); i++)
        if (r->buckets[i].tier == tier && r->buckets[i].open == open && r->buckets[i].from == from) {
            *ret = r->buckets[i].bucket;
            return r->buckets[i].found;
        }
    n = &r->buckets[r->n_buckets % ARRAY_LEN(r->buckets)];
    *n = (struct past_bucket){.tier = tier, .open = open, .from = from};
    n->found = chunks_next_bucket(r->chunks, open, tier, from, &n->bucket);
    if (n->found >= 0)
        r->n_buckets++;
    else
        n->tier = -1; /* do not return it again */
    *ret = n->bucket;
    return n->found;
}

/* ---- logs ---- */

int past_log_open(struct history_session *x, const struct log_ref *log, struct past_log **ret, struct err *err)
{
    struct past_log *free_one = NULL;

    for (size_t i = 0; i < PAST_LOGS_KEEP; i++) {
        if (x->r->logs[i].n == log->n) {
            *ret = &x->r->logs[i];
            log_reader_begin((*ret)->l);
            return 0;
        }
        if (!x->r->logs[i].n && !free_one)
            free_one = &x->r->logs[i];
    }
    if (!free_one) { /* a backlog: close the first of them */
        free_one = &x->r->logs[0];
        open_log_fini(free_one);
    }
    int r = 0;
    if (x->p->shared)
        free_one->l = log_reader_of_rows(x->r->rows, log->n);
    else
        r = log_reader_open(&free_one->l, x->p->dir, log->n, log->sealed, err);
    if (r < 0)
        return r;
    free_one->n = log->n;
    log_reader_begin(free_one->l);
    *ret = free_one;
    return 0;
}

static void note_row(void *arg, int64_t row, int64_t node, UNUSED int64_t at_ms)
{
    struct past_log *l = arg;

    VEC_ADD(l->rows, l->n_rows, l->cap_rows, (struct log_row){(uint32_t)node, (uint32_t)row});
}

COMPARE(by_node_row, struct log_row, ORDER(x->node, y->node) ?: ORDER(x->row, y->row))

int past_log_find_rows(struct past_log *l, int64_t before, struct err *err)
{
    if (l->rows_before == before)
        return 0;
    l->n_rows = 0;
    int r = log_reader_rows(l->l, before, note_row, l, err);
    if (r == 0)
        SORT(l->rows, l->n_rows, by_node_row);
    l->rows_before = r == 0 && before != INT64_MAX ? before : 0; /* a log with another writer grows */
    return r;
}

int past_log_find_key(struct past_log *l, const char *key, int64_t *ret, struct err *err)
{
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < l->n_keys; i++)
            if (strcmp(l->keys[i].key, key) == 0) {
                *ret = l->keys[i].id;
                return 1;
            }
        if (again)
            break;
        free(l->keys);
        l->keys = NULL;
        l->n_keys = 0;
        int r = log_reader_nodes(l->l, &l->keys, &l->n_keys, err);
        if (r < 0)
            return r;
    }
    return 0;
}
