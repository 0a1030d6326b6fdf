/* past.c: see past.h for the order of things. */
#include "store/past.h"

#include <errno.h>
#include <pthread.h>

#include "base/mem.h"
#include "store/chunks.h"

#define TRIES     8
#define POOL_KEEP 8 /* readers kept open */

struct reader {
    struct chunks *chunks;
    struct records *rec;
    void *dec;
    struct facts_cache facts;
    struct reader *next;
};

struct past {
    char *dir;
    const struct store_decoder *dec;
    struct writer *w;
    pthread_mutex_t lock;
    struct reader *idle;
    int n_idle;
};

struct past *past_new(const struct store_conf *conf, struct writer *w)
{
    struct past *p = mem_zero(1, sizeof(*p));

    p->dir = mem_str(conf->dir);
    p->dec = conf->decoder;
    p->w = w;
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

static void reader_free(struct past *p, struct reader *r)
{
    if (!r)
        return;
    chunks_close(r->chunks);
    records_close(r->rec);
    facts_fini(&r->facts);
    if (r->dec)
        p->dec->end(r->dec);
    free(r);
}

void past_free(struct past *p)
{
    if (!p)
        return;
    for (struct reader *r = p->idle, *next; r; r = next) {
        next = r->next;
        reader_free(p, r);
    }
    pthread_mutex_destroy(&p->lock);
    free(p->dir);
    free(p);
}

static int reader_get(struct past *p, struct reader **ret, struct err *err)
{
    pthread_mutex_lock(&p->lock);
    struct reader *r = p->idle;
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
    r->dec = p->dec->make();
    *ret = r;
    return 0;
}

static void reader_put(struct past *p, struct reader *r)
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

/* ---- who is who ---- */

const char *alias_resolve(const struct alias *v, size_t n, const char *node, int64_t log, int64_t row)
{
    for (size_t i = 0; i < n; i++)
        if ((log < v[i].log || (log == v[i].log && row <= v[i].row)) && strcmp(node, v[i].from) == 0)
            node = v[i].to;
    return node;
}

struct name {
    const char *key;
    uint64_t *rows; /* as writer_rows says */
    size_t n_rows;
    uint64_t rows_from;
};

struct names {
    struct name *v;
    size_t n, cap;
};

/* Every name under which something of this node may be. */
static void names_of(struct names *x, const struct alias *v, size_t n, const char *node)
{
    VEC_ROOM(x->v, x->n, x->cap);
    x->v[x->n++] = (struct name){.key = node};
    for (size_t at = 0; at < x->n; at++)
        for (size_t i = 0; i < n; i++) {
            size_t k = 0;
            if (strcmp(v[i].to, x->v[at].key) != 0)
                continue;
            while (k < x->n && strcmp(x->v[k].key, v[i].from) != 0)
                k++;
            if (k < x->n)
                continue;
            VEC_ROOM(x->v, x->n, x->cap);
            x->v[x->n++] = (struct name){.key = v[i].from};
        }
}

void facts_fini(struct facts_cache *c)
{
    if (c->have)
        node_fact_fini(&c->fact);
    *c = (struct facts_cache){0};
}

const struct node_fact *facts_get(struct facts_cache *c, struct records *r, const struct store_decoder *dec, void *d,
                                  const char *node, uint64_t id)
{
    if (c->known && c->id == id && strcmp(c->node, node) == 0)
        return c->have ? &c->fact : NULL;
    facts_fini(c);
    AUTO_BUF bytes = {0};
    c->known = true;
    c->id = id;
    mem_copy_str(c->node, sizeof(c->node), node);
    if (id && records_get_blob(r, node, id, &bytes, NULL) == 1)
        c->have = dec->facts(d, buf_str(&bytes), &c->fact, NULL) == 0;
    return c->have ? &c->fact : NULL;
}

/* ---- one reading ---- */

struct reading {
    struct past *p;
    struct reader *r;
    struct sink *sink;
    const char *node;
    int tier;
    struct alias *aliases;
    size_t n_aliases;
    struct names names;
    const char *name; /* being read */
    struct log_ref *logs;
    size_t n_logs;
    struct chunk_mark *marks;
    size_t n_marks;
};

static bool stopped(const struct reading *x)
{
    return x->sink->stop && x->sink->stop(x->sink->stop_arg);
}

static int read_chunk(void *arg, const struct chunk_row *row)
{
    struct reading *x = arg;
    struct chunk c;

    if (row->to_ms < x->sink->from_ms || row->from_ms >= x->sink->to_ms ||
        strcmp(alias_resolve(x->aliases, x->n_aliases, x->name, row->log, INT64_MAX), x->node) != 0)
        return 0;
    if (stopped(x))
        return -ECANCELED;
    int r = 0;
    if (chunk_open(&c, row->bytes, NULL) == 0 && c.lanes == (row->tier == TIER_RAW ? 1 : LANES))
        r = x->sink->chunk(x->sink, &c, row->tier);
    else
        x->sink->damaged++;
    chunk_fini(&c);
    return r;
}

static int read_chunks(struct reading *x)
{
    int64_t size = tier_bucket_ms(x->tier), bucket = floor_to(MAX(x->sink->from_ms, -(1ll << 52)), size);
    int r = 1;

    while (r == 1 && (r = chunks_next_bucket(x->r->chunks, x->tier, bucket, &bucket)) == 1) {
        if (bucket >= x->sink->to_ms)
            return 0;
        for (size_t i = 0; i < x->names.n && r == 1; i++) {
            int64_t id;
            x->name = x->names.v[i].key;
            r = chunks_node(x->r->chunks, x->name, false, &id);
            if (r == 1)
                r = chunks_each(x->r->chunks, id, x->tier, bucket, read_chunk, x);
            if (r == 0)
                r = 1;
            if (r == -EUCLEAN) { /* a damaged page: what else there is can still be read */
                x->sink->damaged++;
                r = 1;
            }
        }
        bucket += size;
    }
    return r;
}

static int read_row(struct reading *x, struct log_reader *l, int64_t log, int64_t row, struct err *err)
{
    struct store_batch sb;
    struct batch b;

    if (strcmp(alias_resolve(x->aliases, x->n_aliases, x->name, log, row), x->node) != 0)
        return 0;
    if (stopped(x))
        return -ECANCELED;
    int r = log_reader_get(l, row, &sb, err);
    if (r <= 0 || sb.at_ms >= x->sink->to_ms)
        return MIN(r, 0);
    if (x->p->dec->batch(x->r->dec, sb.bytes, &b, NULL) < 0) {
        x->sink->damaged++;
        return 0;
    }
    const struct node_fact *f = facts_get(&x->r->facts, x->r->rec, x->p->dec, x->r->dec, x->name, sb.facts);
    return x->sink->batch(x->sink, &b, f, sb.shift_ms);
}

struct find_rows {
    int64_t node, *v;
    size_t n, cap;
};

static int find_row(void *arg, int64_t row, int64_t node)
{
    struct find_rows *f = arg;

    if (node != f->node)
        return 0;
    VEC_ROOM(f->v, f->n, f->cap);
    f->v[f->n++] = row;
    return 0;
}

static int64_t mark_of(const struct reading *x, int64_t log) /* -1: done */
{
    for (size_t i = 0; i < x->n_marks; i++)
        if (x->marks[i].log == log)
            return x->marks[i].done ? -1 : x->marks[i].upto;
    return 0;
}

/* One name's batches in one log. */
static int read_log_name(struct reading *x, struct log_reader *l, int64_t log, const struct name *name, int64_t id,
                         struct err *err)
{
    uint64_t from = name->rows_from;
    int r = 0;

    x->name = name->key;

    if (index_row(log, 1) < from) {
        struct find_rows f = {.node = id};
        int64_t before = (int64_t)(from >> 32) == log ? (int64_t)(from & UINT32_MAX) : 0;
        r = log_reader_rows(l, before, find_row, &f, err);
        for (size_t i = 0; i < f.n && r == 0; i++)
            r = read_row(x, l, log, f.v[i], err);
        free(f.v);
    }
    for (size_t i = 0; i < name->n_rows && r == 0; i++)
        if ((int64_t)(name->rows[i] >> 32) == log && name->rows[i] >= from)
            r = read_row(x, l, log, (int64_t)(name->rows[i] & UINT32_MAX), err);
    return r;
}

static int read_log(struct reading *x, const struct log_ref *log, struct err *err)
{
    int64_t upto = mark_of(x, log->n);
    struct log_reader *l;
    AUTO_FREE struct log_key *keys = NULL;
    size_t n = 0;

    if (upto < 0)
        return 0;
    int r = log_reader_open(&l, x->p->dir, log->n, log->sealed, err);
    if (r < 0)
        return r == -ENODATA ? 0 : r;
    r = log_reader_nodes(l, &keys, &n, err);
    for (size_t i = 0; i < x->names.n && r == 0; i++)
        for (size_t k = 0; k < n && r == 0; k++)
            if (keys[k].id > upto && strcmp(keys[k].key, x->names.v[i].key) == 0)
                r = read_log_name(x, l, log->n, &x->names.v[i], keys[k].id, err);
    log_reader_close(l);
    if (r == -EUCLEAN) { /* it will be set aside when it is compacted */
        x->sink->damaged++;
        r = 0;
    }
    return r;
}

/* Beside a running hub: what the folder says. */
static int list_logs(struct reading *x, struct err *err)
{
    AUTO_FREE int64_t *files = NULL;
    AUTO_FREE struct log_sum *sealed = NULL;
    size_t n, n_sealed;
    int r = log_list(x->p->dir, &files, &n, NULL, err);

    if (r == 0)
        r = records_load_logs(x->r->rec, &sealed, &n_sealed, err);
    if (r < 0)
        return r;
    x->logs = mem_zero(n, sizeof(*x->logs));
    for (size_t i = 0; i < n; i++) {
        x->logs[x->n_logs] = (struct log_ref){.n = files[i]};
        for (size_t k = 0; k < n_sealed; k++)
            x->logs[x->n_logs].sealed |= sealed[k].n == files[i];
        x->n_logs++;
    }
    return 0;
}

static int read_once(struct reading *x, bool last_try, struct err *err)
{
    int r = records_aliases(x->r->rec, &x->aliases, &x->n_aliases, err);

    if (r < 0)
        return r;
    names_of(&x->names, x->aliases, x->n_aliases, x->node);
    for (size_t i = 0; i < x->names.n; i++) {
        struct name *n = &x->names.v[i];
        n->rows_from = UINT64_MAX;
        if (x->p->w)
            n->n_rows = writer_rows(x->p->w, n->key, &n->rows, &n->rows_from);
    }
    if (x->p->w)
        x->n_logs = writer_logs(x->p->w, &x->logs);
    else
        r = list_logs(x, err);
    if (r == 0 && x->r->chunks)
        r = chunks_begin(x->r->chunks, false);
    if (r == 0 && x->r->chunks)
        r = chunks_marks(x->r->chunks, &x->marks, &x->n_marks);
    if (r == 0 && x->r->chunks)
        r = read_chunks(x);
    for (size_t i = 0; i < x->n_logs && r == 0; i++) {
        r = read_log(x, &x->logs[i], err);
        if (r == -ENOENT)
            r = last_try ? 0 : -EAGAIN;
    }
    return r;
}

int past_read(struct past *p, const char *node, int tier, struct sink *s, struct err *err)
{
    int code = -EAGAIN;

    for (int i = 0; i < TRIES && code == -EAGAIN; i++) {
        struct reading x = {.p = p, .sink = s, .node = node, .tier = tier};
        code = reader_get(p, &x.r, err);
        if (code < 0)
            return code;
        if (i)
            s->reset(s);
        code = read_once(&x, i == TRIES - 1, err);
        if (x.r->chunks)
            chunks_rollback(x.r->chunks);
        free(x.aliases);
        for (size_t k = 0; k < x.names.n; k++)
            free(x.names.v[k].rows);
        free(x.names.v);
        free(x.logs);
        free(x.marks);
        reader_put(p, x.r);
    }
    if (code == -ECANCELED)
        return err_set(err, code, "nobody waits for the answer any more");
    if (code < 0 && err && !*err->msg)
        err_set(err, code, "cannot read history: %s", strerror(-code));
    return code;
}

int past_tier(const struct store_conf *conf, const struct history_ask *ask)
{
    const int64_t keep[] = {conf->keep_raw_ms, conf->keep_minute_ms, conf->keep_hour_ms};
    int tier = ask->tier;

    if (tier >= 0 && tier < TIER_COUNT)
        return tier;
    for (tier = TIER_HOUR; tier > TIER_RAW && (ask->step_ms < tier_bin_ms(tier) || ask->step_ms % tier_bin_ms(tier));)
        tier--;
    while (tier < TIER_HOUR && conf->now_ms && keep[tier] && ask->from_ms < conf->now_ms() - keep[tier])
        tier++;
    return tier;
}
