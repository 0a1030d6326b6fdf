/* gpus.c: a number of GPUs by node, sorted; in the store a note of lines "KEY NUMBER". */
#include "alert/gpus.h"

#include <stdlib.h>

#include "alert/rule.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/order.h"

#define SAVE_MS 60000

struct had {
    char key[NODE_KEY_MAX];
    int32_t n;
};

struct gpus {
    struct store *store;
    struct had *v; /* by key */
    size_t n, cap;
    bool changed;
    int64_t saved_ms;
};

struct gpus *gpus_new(void)
{
    return mem_zero(1, sizeof(struct gpus));
}

void gpus_free(struct gpus *g)
{
    if (!g)
        return;
    free(g->v);
    free(g);
}

/* Where it is or belongs. */
static size_t place_of(const struct gpus *g, const char *key, bool *ret_there)
{
    size_t low = COUNT_BEFORE(g->n, i, strcmp(g->v[i].key, key) < 0);
    *ret_there = low < g->n && strcmp(g->v[low].key, key) == 0;
    return low;
}

/* True: it is more than was known. */
static bool raise_to(struct gpus *g, const char *key, int32_t n)
{
    bool there;
    size_t at = place_of(g, key, &there);

    if (n <= 0 || (there && g->v[at].n >= n))
        return false;
    if (!there) {
        VEC_INSERT(g->v, g->n, g->cap, at, (struct had){0});
        mem_copy_str(g->v[at].key, sizeof(g->v[at].key), key);
    }
    g->v[at].n = n;
    return true;
}

int32_t gpus_had(void *gpus, const char *node)
{
    const struct gpus *g = gpus;
    bool there;
    size_t at = place_of(g, node, &there);

    return there ? g->v[at].n : 0;
}

static void take_note(void *arg, const struct note *n)
{
    struct str rest = n->bytes, line;

    while (str_line(&rest, &line)) {
        struct str key;
        char text[NODE_KEY_MAX];
        int64_t count;
        if (!str_word(&line, &key) || !key.len || key.len >= sizeof(text) || !str_int(str_trim(line), &count) ||
            count < 1 || count > DEVICES_MAX)
            continue;
        snprintf(text, sizeof(text), "%.*s", STR_ARG(key));
        raise_to(arg, text, (int32_t)count);
    }
}

int gpus_load(struct gpus *g, struct store *store, struct err *err)
{
    g->store = store;
    return store_each(store, EACH_NOTE(NOTE_GPUS, take_note, g), err);
}

static void kept(UNUSED void *arg, int result)
{
    if (result < 0)
        log_warn("alert", "how many GPUs nodes have cannot be stored: %s", strerror(-result));
}

static void save(struct gpus *g)
{
    AUTO_BUF b = BUF_INIT(NOTE_MAX);

    for (size_t i = 0; i < g->n; i++)
        buf_addf(&b, "%s %d\n", g->v[i].key, (int)g->v[i].n);
    struct note n = {.kind = NOTE_GPUS, .id = 1, .bytes = buf_str(&b)};
    if (!b.err)
        store_put(g->store, STORE_NOTE, &n, 1, kept, NULL);
}

void gpus_learn(struct gpus *g, const struct view *v, int64_t now_ms)
{
    for (size_t i = 0; i < v->n; i++)
        if (v->nodes[i]->state == NODE_UP && v->nodes[i]->collect == COLLECT_OK)
            g->changed |= raise_to(g, v->nodes[i]->key, alert_gpus(v->nodes[i]));
    if (!g->changed || (now_ms - g->saved_ms < SAVE_MS && now_ms >= g->saved_ms))
        return;
    g->changed = false;
    g->saved_ms = now_ms;
    save(g);
}
