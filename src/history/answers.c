/* answers.c: a short list; every entry can be read again from the store. */
#include "history/answers.h"

#include "base/order.h"

#define ANSWERS 64

struct answer {
    struct history_key key;
    uint64_t stamp;
    int64_t to_ms;
    uint64_t used;
    struct blob *blob;
};

struct answers {
    size_t max_bytes, n;
    uint64_t clock, given; /* clock: counts lookups */
    struct answer v[ANSWERS];
};

struct answers *answers_new(size_t max_bytes)
{
    return NEW(struct answers, .max_bytes = max_bytes);
}

void answers_free(struct answers *a)
{
    if (!a)
        return;
    for (size_t i = 0; i < a->n; i++)
        blob_unref(a->v[i].blob);
    free(a);
}

static void drop_answer(struct answers *a, struct answer *x)
{
    blob_unref(x->blob);
    *x = a->v[--a->n];
}

static size_t blob_bytes(const struct blob *b)
{
    return b->plain.cap + b->gz.cap + b->piece.cap;
}

/* Drops responses until there is room for `bytes` and one more response. The compressed form is added later, so sizes
 * are summed each time. */
static void make_room(struct answers *a, size_t bytes)
{
    for (;;) {
        struct answer *oldest = a->v;
        size_t total = bytes;
        for (size_t i = 0; i < a->n; i++) {
            total += blob_bytes(a->v[i].blob);
            oldest = a->v[i].used < oldest->used ? &a->v[i] : oldest;
        }
        if (a->n == 0 || (a->n < ANSWERS && total <= a->max_bytes))
            return;
        drop_answer(a, oldest);
    }
}

static struct answer *find_answer(struct answers *a, const struct history_key *key)
{
    return FIND(a->v, a->n, x, x->key.v[0] == key->v[0] && x->key.v[1] == key->v[1]);
}

struct blob *answers_get(struct answers *a, const struct history_key *key, struct store *s)
{
    struct answer *x = find_answer(a, key);

    if (!x)
        return NULL;
    if (!store_same(s, x->stamp, x->to_ms)) {
        drop_answer(a, x);
        return NULL;
    }
    x->used = ++a->clock;
    a->given++;
    struct blob *b = blob_ref(x->blob);
    if (a->n > 1)
        make_room(a, 0);
    return b;
}

uint64_t answers_given(const struct answers *a)
{
    return a->given;
}

void answers_put(struct answers *a, const struct history_key *key, uint64_t stamp, int64_t to_ms, struct blob *b)
{
    struct answer *x = find_answer(a, key);

    if (blob_bytes(b) > a->max_bytes / 2)
        return;
    if (x)
        drop_answer(a, x);
    make_room(a, blob_bytes(b));
    a->v[a->n++] =
        (struct answer){.key = *key, .stamp = stamp, .to_ms = to_ms, .used = ++a->clock, .blob = blob_ref(b)};
}
