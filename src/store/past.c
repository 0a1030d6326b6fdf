/* past.c: executes history queries over chunks and logs. past.h describes the order of reads. */
#include "store/past.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "store/log_rows.h"
#include "store/past_session.h"

#define TRIES      8
#define MOMENT_MS  1000       /* a server's snapshot is reused for the next node for this long */
#define CELLS_KEEP (1u << 17) /* a larger decoded column is not cached: 1 MB */
#define PIECE_ROWS 256        /* maximum rows of a new piece */

/* ---- takeovers ---- */

const char *alias_resolve(const struct alias *v, size_t n, const char *node, int64_t log, int64_t row)
{
    for (size_t i = 0; i < n; i++)
        if ((log < v[i].log || (log == v[i].log && row <= v[i].row)) && strcmp(node, v[i].from) == 0)
            node = v[i].to;
    return node;
}

struct name {
    const char *key;
    uint64_t *rows; /* result of writer_rows() */
    size_t n_rows;
    uint64_t rows_from;
};

struct names {
    struct name *v;
    size_t n, cap;
    struct name one; /* storage of v while there is only one name */
};

/* Collects every key under which data of this node may be stored. */
static void names_of(struct names *x, const struct alias *v, size_t n, const char *node)
{
    x->one = (struct name){.key = node};
    x->v = &x->one;
    x->n = x->cap = 1;
    for (size_t at = 0; at < x->n; at++)
        for (size_t i = 0; i < n; i++)
            if (strcmp(v[i].to, x->v[at].key) == 0 && !ANY(x->n, k, strcmp(x->v[k].key, v[i].from) == 0)) {
                if (x->v == &x->one)
                    x->v = mem_dup(&x->one, 1, sizeof(x->one));
                VEC_ADD(x->v, x->n, x->cap, (struct name){.key = v[i].from});
            }
}

void facts_fini(struct facts_cache *c)
{
    if (c->have)
        node_fact_fini(&c->fact);
    *c = (struct facts_cache){0};
}

/* Returns false if the facts are cached, as far as they are known. */
static bool facts_begin(struct facts_cache *c, const char *node, uint64_t id)
{
    if (c->known && c->id == id && strcmp(c->node, node) == 0)
        return false;
    facts_fini(c);
    c->known = true;
    c->id = id;
    mem_copy_str(c->node, sizeof(c->node), node);
    return true;
}

/* Returns 1 if found; 0 if missing or permanently damaged; -errno if a retry may succeed. */
static int get_blob(struct records *r, const char *node, uint64_t id, struct buf *ret)
{
    int code = id ? records_get_blob(r, node, id, ret, NULL) : 0;

    return code == -EUCLEAN ? 0 : code == -ENOENT ? -EIO : code; /* ENOENT: the log was compacted meanwhile */
}

int facts_get(struct facts_cache *c, struct records *r, const struct store_decoder *dec, void *d, const char *node,
              uint64_t id, const struct node_fact **ret)
{
    AUTO_BUF bytes = {0};
    int code = 0;

    if (facts_begin(c, node, id)) {
        code = get_blob(r, node, id, &bytes);
        if (code == 1)
            c->have = dec->facts(d, buf_str(&bytes), &c->fact, NULL) == 0;
        else if (code < 0)
            facts_fini(c); /* so that it is read again */
    }
    *ret = c->have ? &c->fact : NULL;
    return MIN(code, 0);
}

/* ---- reading one node ---- */

struct reading {
    struct history_session *x;
    struct past_reader *r;
    struct sink *sink;
    const char *node;
    int tier;
    struct names names;
    const char *name; /* the current one */
    int64_t id;       /* its number in the log; not needed for files */
    struct chunk_cache_group *group;
    struct chunk_cache_chunk *chunk;
};

static bool stopped(const struct reading *g)
{
    return g->sink->stop && g->sink->stop(g->sink->stop_arg);
}

static bool is_ours(const struct reading *g, int64_t log, int64_t row)
{
    return g->x->n_aliases == 0 ||
           strcmp(alias_resolve(g->x->aliases, g->x->n_aliases, g->name, log, row), g->node) == 0;
}

static int load_column(void *arg, UNUSED const struct chunk *c, size_t column, struct str *ret)
{
    struct reading *g = arg;

    return chunk_cache_column(g->r->shelf, g->r->chunks, g->group, g->chunk, column, g->sink->cells, ret);
}

static const struct column_sums *kept_sums(void *arg, size_t column)
{
    return ((struct reading *)arg)->chunk->sums[column];
}

static void keep_sums(void *arg, size_t column, struct column_sums *theirs)
{
    struct reading *g = arg;

    chunk_cache_keep_sums(g->r->shelf, g->group, g->chunk, column, theirs);
}

static int read_head(struct reading *g, int tier)
{
    struct chunk c = chunk_cache_head(g->r->shelf, g->chunk);

    return g->sink->chunk(g->sink, &c, tier);
}

/* unsummed: only chunks that are not in the next tier. */
static int read_group(struct reading *g, bool unsummed)
{
    struct sink *s = g->sink;
    int r = 0, tier = g->group->tier;

    s->load = load_column;
    s->load_arg = g;
    s->sums = kept_sums;
    s->keep_sums = keep_sums;
    for (size_t i = 0; i < g->group->n && r == 0; i++) {
        struct chunk_cache_chunk *c = g->chunk = &g->group->v[i];
        if ((unsummed && c->summed) || c->to_ms < s->from_ms || c->from_ms >= s->to_ms ||
            !is_ours(g, c->log, INT64_MAX))
            continue;
        s->devices_sum = c->devices_sum;
        if (stopped(g))
            r = -ECANCELED;
        else if (!c->bad && c->c.lanes == (tier == TIER_RAW ? 1 : LANES))
            r = read_head(g, tier);
        else
            s->damaged++;
    }
    s->load = NULL;
    s->sums = NULL;
    s->keep_sums = NULL;
    s->devices_sum = 0;
    return r;
}

static int read_tier(struct reading *g, int tier, bool unsummed)
{
    int64_t size = tier_bucket_ms(tier), bucket = floor_to(MAX(g->sink->from_ms, -(1ll << 52)), size);
    int r = 1;

    while (r == 1) {
        int64_t asked = bucket;
        r = past_session_bucket(g->x, tier, unsummed, asked, &bucket);
        if (r != 1)
            break;
        if (bucket < asked) { /* a damaged index: continuing there would not end (H6) */
            g->sink->damaged++;
            return 0;
        }
        if (bucket >= g->sink->to_ms)
            return 0;
        for (size_t i = 0; i < g->names.n && r == 1; i++) {
            g->name = g->names.v[i].key;
            r = chunk_cache_get(g->r->shelf, g->r->chunks, g->name, tier, bucket, &g->group);
            if (r == 0)
                r = read_group(g, unsummed);
            if (r == 0)
                r = 1;
            if (r == -EUCLEAN) { /* a damaged page: the rest is still readable */
                g->sink->damaged++;
                r = 1;
            }
        }
        bucket += size;
    }
    return r;
}

/* Hours that are not made yet are computed from their minutes. */
static int read_chunks(struct reading *g)
{
    int r = read_tier(g, g->tier, false);

    return r == 0 && g->tier == TIER_HOUR ? read_tier(g, TIER_MINUTE, true) : r;
}

static int read_row(struct reading *g, struct past_log *l, int64_t row, struct err *err)
{
    const struct store_decoder *dec = g->x->p->dec;
    struct store_batch sb;
    struct batch b;

    if (!is_ours(g, l->n, row))
        return 0;
    if (stopped(g))
        return -ECANCELED;
    int r = log_reader_get(l->l, g->id, row, &sb, err);
    if (r <= 0 || sb.at_ms >= g->sink->to_ms)
        return MIN(r, 0);
    if (dec->batch(g->r->dec, sb.bytes, &b, NULL) < 0) {
        g->sink->damaged++;
        return 0;
    }
    const struct node_fact *f;
    r = facts_get(&g->r->facts, g->r->rec, dec, g->r->dec, g->name, sb.facts, &f);
    return r < 0 ? r : g->sink->batch(g->sink, &b, f, sb.shift_ms);
}

/* ---- rows as pieces ---- */

struct piece_at { /* the current log */
    const struct fresh_piece *p;
    size_t i;
    struct buf *room;
};

static int load_piece_column(void *arg, const struct chunk *c, size_t column, struct str *ret)
{
    struct piece_at *at = arg;

    return fresh_piece_column(at->p, at->i, &c->columns[column], at->room, ret);
}

static int give_piece(struct reading *g, const struct fresh_piece *p)
{
    struct sink *s = g->sink;
    struct piece_at at = {.p = p, .room = &g->r->room};
    struct chunk opened = {0};
    AUTO_BUF head = BUF_INIT(CHUNK_BYTES_MAX);
    int r = 0;

    s->damaged += p->damaged;
    s->load = p->file ? load_piece_column : NULL;
    s->load_arg = &at;
    for (; at.i < p->n && r == 0; at.i++) {
        if (p->v[at.i].to_ms < s->from_ms || p->v[at.i].from_ms >= s->to_ms)
            continue;
        const struct chunk *c = fresh_piece_head(p, at.i, &opened, &head);
        if (!c)
            s->damaged++;
        else
            r = stopped(g) ? -ECANCELED : s->chunk(s, c, TIER_RAW);
    }
    s->load = NULL;
    chunk_fini(&opened);
    return r;
}

static int take_chunk(void *arg, const struct table_chunk *c)
{
    return fresh_piece_add(arg, c->from_ms, c->to_ms, c->bytes);
}

/* Makes a piece of n rows, decoded and packed. Returns 0; 1 if that is impossible; -errno. */
static int make_piece(struct reading *g, struct past_log *l, const int64_t *rows, size_t n, struct fresh_piece **ret,
                      struct err *err)
{
    const struct store_decoder *dec = g->x->p->dec;
    struct fresh_piece *p = fresh_piece_new(rows[0], rows[n - 1]);
    struct table *t = table_new();
    struct chunk_writer *w = chunk_writer_new();
    int r = 0;

    chunk_quick(w, true);
    for (size_t i = 0; i < n && r == 0; i++) {
        const struct node_fact *f;
        struct store_batch sb;
        struct batch b;
        r = stopped(g) ? -ECANCELED : log_reader_get(l->l, g->id, rows[i], &sb, err);
        if (r < 0)
            continue;
        if (r == 0) { /* a piece must have all rows */
            r = 1;
            break;
        }
        r = table_full(t) ? 1 : facts_get(&g->r->facts, g->r->rec, dec, g->r->dec, g->name, sb.facts, &f);
        if (r)
            break;
        if (dec->batch(g->r->dec, sb.bytes, &b, NULL) < 0)
            p->damaged++;
        else
            table_add(t, &b, f, sb.shift_ms);
    }
    if (r == 0 && table_write(t, w, TIER_RAW, take_chunk, p) < 0)
        r = 1;
    table_free(t);
    chunk_writer_free(w);
    if (r == 0)
        *ret = p;
    else
        fresh_piece_free(g->x->p->fresh, p);
    return r;
}

/* Merges all pieces of a log into one, or leaves them as they are. */
static void join_pieces(struct reading *g, int64_t log, struct fresh_piece *const *v, size_t n, int64_t now_ms)
{
    struct fresh_piece *p = fresh_piece_new(v[0]->first_row, v[n - 1]->last_row);
    struct chunk_writer *w = chunk_writer_new();
    AUTO_BUF out = BUF_INIT(CHUNK_BYTES_MAX);
    struct table_chunk made = {0};
    struct str *bytes = NULL;
    struct buf *rooms = NULL;
    size_t n_bytes = 0, n_rooms = 0, cap = 0, cap_rooms = 0;
    bool ok = true;

    chunk_quick(w, true);
    for (size_t i = 0; i < n; i++) {
        p->damaged += v[i]->damaged;
        for (size_t k = 0; k < v[i]->n; k++) {
            VEC_ADD(rooms, n_rooms, cap_rooms, BUF_INIT(CHUNK_BYTES_MAX));
            VEC_ROOM(bytes, n_bytes, cap);
            ok &= fresh_piece_whole(v[i], k, &rooms[n_rooms - 1], &bytes[n_bytes++]) == 0;
        }
    }
    ok = ok && n_bytes > 0 && chunks_merge(w, TIER_RAW, TIER_RAW, bytes, n_bytes, &out, &made, &p->damaged) == 0 &&
         fresh_piece_add(p, made.from_ms, made.to_ms, made.bytes) == 0 &&
         fresh_put(g->x->p->fresh, g->name, log, v, n, p, now_ms);
    if (!ok)
        fresh_piece_free(g->x->p->fresh, p);
    for (size_t i = 0; i < n_rooms; i++)
        buf_fini(&rooms[i]);
    FREE_ALL(bytes, rooms);
    chunk_writer_free(w);
}

/* Pieces do not record takeovers of rows. */
static bool may_have_pieces(const struct reading *g)
{
    return g->x->p->fresh && !ANY(g->x->n_aliases, k, strcmp(g->x->aliases[k].from, g->name) == 0);
}

struct pieces { /* of the current name, in one log */
    struct fresh_piece *v[FRESH_PIECES];
    size_t n;
};

static void get_pieces(const struct reading *g, int64_t log, struct pieces *ret)
{
    ret->n = may_have_pieces(g) ? fresh_get(g->x->p->fresh, g->name, log, clock_mono_ms(), ret->v) : 0;
}

static int64_t last_row_of(const struct pieces *p)
{
    return p->n ? p->v[p->n - 1]->last_row : 0;
}

/* Passes the pieces to the sink and releases them. */
static int give_pieces(struct reading *g, int64_t log, const struct pieces *p)
{
    int r = 0;

    for (size_t k = 0; k < p->n && r == 0; k++)
        r = give_piece(g, p->v[k]);
    if (r == 0 && p->n == FRESH_PIECES && !g->sink->once)
        join_pieces(g, log, p->v, p->n, clock_mono_ms());
    if (p->n)
        fresh_done(g->x->p->fresh, p->v, p->n);
    return r;
}

/* Reads rows of a log after its pieces, into new pieces if they are likely to be queried again. */
static int read_rows(struct reading *g, struct past_log *l, const int64_t *rows, size_t n, struct err *err)
{
    struct fresh *f = g->x->p->fresh;
    int64_t now_ms = clock_mono_ms();
    size_t i = 0;
    bool plain = !may_have_pieces(g);
    int r = 0;

    while (!plain && !g->sink->once && r == 0 && n - i >= FRESH_ROWS && fresh_room(f, now_ms)) {
        size_t some = MIN(n - i, PIECE_ROWS);
        struct fresh_piece *p;
        r = make_piece(g, l, rows + i, some, &p, err);
        if (r)
            break;
        r = give_piece(g, p);
        i += some;
        plain = !fresh_put(f, g->name, l->n, NULL, 0, p, now_ms);
        if (plain)
            fresh_piece_free(f, p);
    }
    r = MIN(r, 0);
    for (; i < n && r == 0; i++)
        r = read_row(g, l, rows[i], err);
    return r;
}

/* The same for logs as rows: the server finds them. */
static int read_rows_of(struct reading *g, struct past_log *l, const struct name *name, int64_t upto, struct err *err)
{
    AUTO_FREE int64_t *rows = NULL;
    struct pieces had;
    size_t n = 0;
    int r = upto > 0 ? rows_node(g->r->rows, name->key, &g->id, err) : 1;

    g->name = name->key;
    if (r != 1 || (upto > 0 && g->id <= upto))
        return MIN(r, 0);
    get_pieces(g, l->n, &had);
    r = rows_of(g->r->rows, l->n, name->key, last_row_of(&had), &g->id, &rows, &n, err);
    int given = give_pieces(g, l->n, &had);
    r = r == 0 ? given : r;
    return r < 0 ? r : read_rows(g, l, rows, n, err);
}

/* Reads one key's batches in one log, in which nodes up to `upto` are in chunks. */
static int read_log_name(struct reading *g, struct past_log *l, const struct name *name, int64_t upto, struct err *err)
{
    uint64_t from = name->rows_from;
    bool search = index_row(l->n, 1) < from;
    AUTO_FREE int64_t *rows = NULL;
    size_t n = 0, low = 0, end = 0;
    int64_t id = 0;
    int r = 0;

    g->name = name->key;
    if (search || upto > 0) {
        r = past_log_find_key(l, name->key, &id, err);
        if (r != 1 || id <= upto)
            return MIN(r, 0);
        r = 0;
    }
    if (search) {
        bool here = from != UINT64_MAX && (int64_t)(from >> 32) == l->n;
        r = past_log_find_rows(l, here ? (int64_t)(from & UINT32_MAX) : INT64_MAX, err);
        low = COUNT_BEFORE(l->n_rows, i, l->rows[i].node < (uint64_t)id);
        for (end = low; end < l->n_rows && l->rows[end].node == (uint64_t)id;)
            end++;
    }
    if (r < 0)
        return r;
    rows = mem_alloc((end - low + name->n_rows + 1) * sizeof(*rows));
    for (; low < end; low++)
        rows[n++] = l->rows[low].row;
    for (size_t i = 0; i < name->n_rows; i++)
        if ((int64_t)(name->rows[i] >> 32) == l->n && name->rows[i] >= from)
            rows[n++] = (int64_t)(name->rows[i] & UINT32_MAX);
    struct pieces had = {.n = 0};
    if (n >= FRESH_ROWS)
        get_pieces(g, l->n, &had);
    size_t past = 0;
    while (past < n && rows[past] <= last_row_of(&had))
        past++;
    r = give_pieces(g, l->n, &had);
    return r < 0 ? r : read_rows(g, l, rows + past, n - past, err);
}

/* All rows of the log are in the index, and none is this node's: no need to open it. */
static bool nothing_in(const struct reading *g, int64_t log)
{
    for (size_t i = 0; i < g->names.n; i++) {
        const struct name *n = &g->names.v[i];
        if (index_row(log, 1) < n->rows_from || ANY(n->n_rows, k, (int64_t)(n->rows[k] >> 32) == log))
            return false;
    }
    return true;
}

static int read_log(struct reading *g, const struct log_ref *log, struct err *err)
{
    int64_t upto = past_session_mark(g->x, log->n);
    struct past_log *l;

    if (upto < 0 || nothing_in(g, log->n))
        return 0;
    int r = past_log_open(g->x, log, &l, err);
    if (r < 0)
        return r == -ENODATA ? 0 : r;
    for (size_t i = 0; i < g->names.n && r == 0; i++)
        r = g->r->rows ? read_rows_of(g, l, &g->names.v[i], upto, err) : read_log_name(g, l, &g->names.v[i], upto, err);
    if (r == -EUCLEAN) { /* compaction will quarantine it */
        g->sink->damaged++;
        r = 0;
    }
    return r;
}

static int read_once(struct reading *g, bool last_try, struct err *err)
{
    struct history_session *x = g->x;
    int r = 0;

    names_of(&g->names, x->aliases, x->n_aliases, g->node);
    for (size_t i = 0; i < g->names.n; i++) {
        struct name *n = &g->names.v[i];
        n->rows_from = UINT64_MAX;
        if (x->p->w)
            n->n_rows = writer_rows(x->p->w, n->key, &n->rows, &n->rows_from);
    }
    if (!past_session_is_valid(x))
        return -EAGAIN;
    if (g->r->chunks)
        r = read_chunks(g);
    for (size_t i = 0; i < x->n_logs && r == 0; i++) {
        r = read_log(g, &x->logs[i], err);
        if (r == -ENOENT)
            r = last_try ? 0 : -EAGAIN;
    }
    return r;
}

static int read_node(struct history_session *x, const char *node, int tier, struct sink *s, bool last_try,
                     struct err *err)
{
    struct reading g = {.x = x, .r = x->r, .sink = s, .node = node, .tier = tier};

    s->cells = &x->r->cells;
    s->guess = x->r->guess;
    int r = read_once(&g, last_try, err);
    x->r->guess = s->guess;
    if (s->cells->cap_v > CELLS_KEEP)
        chunk_cells_fini(s->cells);
    for (size_t k = 0; k < g.names.n; k++)
        free(g.names.v[k].rows);
    if (g.names.v != &g.names.one)
        free(g.names.v);
    return r;
}

int past_read(struct past *p, const char *node, int tier, struct sink *s, struct err *err)
{
    struct history_session *x = s->session, *own = x ? NULL : past_session_new(p);
    int code = -EAGAIN;

    if (!x)
        x = own;
    if (x->begun && p->shared && clock_mono_ms() - x->begun_ms >= MOMENT_MS)
        past_session_rest(x); /* reopen, to include newer data */
    for (int i = 0; i < TRIES && (code == -EAGAIN || code == -ESTALE); i++) {
        if (i) {
            x->anew = true;
            s->reset(s);
            past_session_rest(x);
            if (code == -EAGAIN)
                usleep(1000u << i); /* a log was compacted during the read; others may follow */
        }
        code = x->begun ? 0 : past_session_begin(x, err);
        if (code == 0)
            code = read_node(x, node, tier, s, i == TRIES - 1, err);
    }
    /* otherwise the server cancelled; its message is in err */
    bool stop = code == -ECANCELED && s->stop && s->stop(s->stop_arg);
    x->anew = false;
    if (code < 0 && !stop && code != SINK_LEAVES)
        past_session_rest(x); /* the next read starts a new snapshot */
    past_session_free(own);
    if (code != SINK_LEAVES) /* with SINK_LEAVES the caller reads again and counts then */
        atomic_fetch_add(&p->damaged, s->damaged);
    if (stop)
        return err_set(err, code, "the client no longer waits for the response");
    if (code < 0 && code != SINK_LEAVES && err && !*err->msg)
        err_set(err, code, "cannot read history: %s", strerror(-code));
    return code;
}

/* ---- records at a given time ---- */

/* A session reads all of them over one connection in one snapshot: opening one costs more than a query. */
static int get_records(struct past *p, struct history_session *x, struct past_reader **ret, struct err *err)
{
    if (x && (x->was || (x->begun && p->shared))) {
        *ret = x->was ? x->was : x->r;
        return 0;
    }
    int code = past_reader_get(p, ret, err);
    if (code == 0 && x && !p->shared && db_begin(records_db((*ret)->rec), false) == 0)
        x->was = *ret;
    return code;
}

static void put_records(struct past *p, const struct history_session *x, struct past_reader *r)
{
    if (!x || (x->was != r && x->r != r))
        past_reader_put(p, r);
}

static int no_facts(int code, const char *node, struct err *err)
{
    return err_set(err, code, "cannot read what node '%s' had: %s", node, strerror(-code));
}

int past_node_at(struct past *p, struct history_session *x, const char *node, int64_t at_ms, struct node_at *ret,
                 struct err *err)
{
    struct past_reader *r;
    uint64_t id = 0;
    AUTO_BUF bytes = {0};
    int code = get_records(p, x, &r, err);

    if (code < 0)
        return code;
    code = records_node_at(r->rec, node, at_ms, ret, &id, err);
    int got = code == 1 ? get_blob(r->rec, node, id, &bytes) : 0;
    if (got == 1)
        ret->has_fact = p->dec->facts(r->dec, buf_str(&bytes), &ret->fact, NULL) == 0;
    put_records(p, x, r);
    return got < 0 ? no_facts(got, node, err) : code;
}

struct facts_found {
    struct past *p;
    struct past_reader *r;
    const char *node;
    uint64_t known;
    struct facts_at *ret;
};

/* Caches facts that came with the query. */
static void take_facts(void *arg, uint64_t id, int64_t from_ms, struct str bytes)
{
    struct facts_found *to = arg;
    struct facts_cache *c = &to->r->facts;

    to->ret->id = id;
    to->ret->from_ms = from_ms;
    if (id != to->known && bytes.len && facts_begin(c, to->node, id))
        c->have = to->p->dec->facts(to->r->dec, bytes, &c->fact, NULL) == 0;
}

int past_facts_at(struct past *p, struct history_session *x, const char *node, int64_t at_ms, uint64_t known,
                  struct facts_at *ret, struct err *err)
{
    struct past_reader *r;
    int code = get_records(p, x, &r, err);

    if (code < 0)
        return code;
    struct facts_found to = {p, r, node, known, ret};
    code = records_facts_at(r->rec, node, at_ms, take_facts, &to, err);
    const struct node_fact *f = NULL;
    int got = code == 1 && ret->id != known ? facts_get(&r->facts, r->rec, p->dec, r->dec, node, ret->id, &f) : 0;
    ret->has_fact = f != NULL;
    if (f)
        node_fact_copy(&ret->fact, f);
    put_records(p, x, r);
    return got < 0 ? no_facts(got, node, err) : code;
}

int past_procs_at(struct past *p, const struct store_each *e, struct err *err)
{
    struct past_reader *r;
    int code = get_records(p, e->session, &r, err);

    if (code < 0)
        return code;
    code = records_each(r->rec, e, err);
    put_records(p, e->session, r);
    return code;
}
