/* log_chunks.c: pieces of logs by node, in a hash table, under one lock that is held for moments. */
#include "store/log_chunks.h"

#include <pthread.h>

#include "base/lock.h"
#include "base/mem.h"
#include "base/rand.h"

#define SLOTS   256u
#define KEEP_MS 60000 /* what was used since then stays */

struct entry { /* a node in a log */
    char node[NODE_KEY_MAX];
    int64_t log, used_ms;
    size_t n, bytes;
    struct fresh_piece *v[FRESH_PIECES];
    struct entry *next;
};

struct fresh {
    pthread_mutex_t lock;
    struct entry *slots[SLOTS];
    size_t bytes, max_bytes;
    int64_t oldest; /* nothing before this log is here */
};

struct fresh_piece *fresh_piece_new(int64_t first_row, int64_t last_row)
{
    return NEW(struct fresh_piece, .first_row = first_row, .last_row = last_row, .bytes = sizeof(struct fresh_piece));
}

void fresh_piece_free(struct fresh_piece *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n; i++) {
        chunk_fini(&p->v[i].c);
        free(p->v[i].bytes);
    }
    free(p->v);
    free(p);
}

int fresh_piece_add(struct fresh_piece *p, int64_t from_ms, int64_t to_ms, struct str bytes)
{
    VEC_ROOM(p->v, p->n, p->cap);
    struct fresh_chunk *c = &p->v[p->n++];
    *c = (struct fresh_chunk){.from_ms = from_ms, .to_ms = to_ms, .bytes = mem_strn(bytes.p, bytes.len)};
    p->bytes += sizeof(*c) + bytes.len;
    int r = chunk_open(&c->c, str_n(c->bytes, bytes.len), NULL);
    p->bytes += c->c.n_ticks * sizeof(*c->c.ticks) + c->c.n_columns * sizeof(*c->c.columns) +
                c->c.n_devices * (sizeof(*c->c.devices) + 48);
    return r;
}

struct fresh *fresh_new(size_t max_bytes)
{
    struct fresh *f = NEW(struct fresh, .max_bytes = max_bytes);

    pthread_mutex_init(&f->lock, NULL);
    return f;
}

static void piece_unref(struct fresh_piece *p)
{
    if (--p->refs == 0)
        fresh_piece_free(p);
}

/* Everything of the entry at *at, which becomes the next. */
static void entry_drop(struct fresh *f, struct entry **at)
{
    struct entry *e = *at;

    for (size_t i = 0; i < e->n; i++)
        piece_unref(e->v[i]);
    f->bytes -= e->bytes;
    *at = e->next;
    free(e);
}

void fresh_free(struct fresh *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < SLOTS; i++)
        while (f->slots[i])
            entry_drop(f, &f->slots[i]);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

static struct entry **entry_at(struct fresh *f, const char *node, int64_t log)
{
    struct entry **at = &f->slots[crc32c((uint32_t)log, node, strlen(node)) % SLOTS];

    while (*at && ((*at)->log != log || strcmp((*at)->node, node) != 0))
        at = &(*at)->next;
    return at;
}

size_t fresh_get(struct fresh *f, const char *node, int64_t log, int64_t now_ms, struct fresh_piece *ret[FRESH_PIECES])
{
    LOCKED(&f->lock);
    struct entry *e = *entry_at(f, node, log);
    size_t n = e ? e->n : 0;
    if (e)
        e->used_ms = now_ms;
    for (size_t i = 0; i < n; i++) {
        ret[i] = e->v[i];
        ret[i]->refs++;
    }
    return n;
}

void fresh_done(struct fresh *f, struct fresh_piece *const *v, size_t n)
{
    LOCKED(&f->lock);
    for (size_t i = 0; i < n; i++)
        piece_unref(v[i]);
}

/* Under the lock. What nobody asked for lately goes. */
static bool make_room(struct fresh *f, size_t more, int64_t now_ms)
{
    for (size_t i = 0; i < SLOTS && f->bytes + more > f->max_bytes; i++)
        for (struct entry **at = &f->slots[i]; *at;)
            if ((*at)->used_ms < now_ms - KEEP_MS)
                entry_drop(f, at);
            else
                at = &(*at)->next;
    return f->bytes + more <= f->max_bytes;
}

bool fresh_room(struct fresh *f, int64_t now_ms)
{
    LOCKED(&f->lock);
    return make_room(f, f->max_bytes / 64, now_ms);
}

bool fresh_put(struct fresh *f, const char *node, int64_t log, struct fresh_piece *const *instead, size_t n_instead,
               struct fresh_piece *p, int64_t now_ms)
{
    LOCKED(&f->lock);
    if (log < f->oldest || !make_room(f, p->bytes, now_ms))
        return false;
    struct entry **at = entry_at(f, node, log), *e = *at;
    if ((e ? e->n : 0) < n_instead)
        return false;
    for (size_t i = 0; i < n_instead; i++)
        if (e->v[i] != instead[i])
            return false;
    if (!n_instead && e && (e->n == FRESH_PIECES || e->v[e->n - 1]->last_row >= p->first_row))
        return false;
    if (!e) {
        e = *at = mem_zero(1, sizeof(*e));
        mem_copy_str(e->node, sizeof(e->node), node);
        e->log = log;
    }
    for (size_t i = 0; i < n_instead; i++) {
        e->bytes -= e->v[i]->bytes;
        f->bytes -= e->v[i]->bytes;
        piece_unref(e->v[i]);
    }
    if (n_instead) {
        memmove(e->v + 1, e->v + n_instead, (e->n - n_instead) * sizeof(e->v[0]));
        e->n -= n_instead - 1;
    }
    e->v[n_instead ? 0 : e->n++] = p;
    p->refs = 1;
    e->used_ms = now_ms;
    e->bytes += p->bytes;
    f->bytes += p->bytes;
    return true;
}

void fresh_drop_before(struct fresh *f, int64_t log)
{
    LOCKED(&f->lock);
    for (size_t i = 0; i < SLOTS && log > f->oldest; i++)
        for (struct entry **at = &f->slots[i]; *at;)
            if ((*at)->log < log)
                entry_drop(f, at);
            else
                at = &(*at)->next;
    f->oldest = MAX(f->oldest, log);
}
