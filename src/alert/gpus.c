/* gpus.c: number of GPUs by node. Stored in as many notes as needed, as lines "KEY NUMBER". */
#include "alert/gpus.h"

#include "alert/rule.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/lookup.h"
#include "base/mem.h"

#define SAVE_MS   60000
#define LINE_ROOM (NODE_KEY_MAX + 16)

struct had {
    char key[NODE_KEY_MAX];
    int32_t n;
};

struct gpus {
    struct store *store;
    struct lookup by_key; /* struct had */
    bool changed;
    int64_t saved_ms;
};

struct gpus *gpus_new(void)
{
    return mem_zero(1, sizeof(struct gpus));
}

void gpus_free(struct gpus *g)
{
    size_t at = 0;

    if (!g)
        return;
    for (struct had *h; (h = lookup_each(&g->by_key, &at));)
        free(h);
    lookup_fini(&g->by_key);
    free(g);
}

static struct had *find_had(const struct gpus *g, const char *key)
{
    return lookup_named(&g->by_key, key, offsetof(struct had, key));
}

/* Returns true if n is above the known maximum. */
static bool raise_to(struct gpus *g, const char *key, int32_t n)
{
    struct had *h = find_had(g, key);

    if (n <= 0 || (h && h->n >= n))
        return false;
    if (!h) {
        h = mem_zero(1, sizeof(*h));
        mem_copy_str(h->key, sizeof(h->key), key);
        lookup_add(&g->by_key, lookup_hash(h->key), h);
    }
    h->n = n;
    return true;
}

int32_t gpus_had(void *gpus, const char *node)
{
    const struct had *h = find_had(gpus, node);

    return h ? h->n : 0;
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

void gpus_take(struct gpus *g, const struct note *n)
{
    take_note(g, n);
}

int gpus_load(struct gpus *g, struct store *store, struct err *err)
{
    g->store = store;
    return store_each(store, EACH_NOTE(NOTE_GPUS, take_note, g), err);
}

static void kept(UNUSED void *arg, int result)
{
    if (result < 0)
        log_warn("alert", "how many GPUs nodes have cannot be stored: %s", store_error_text(result));
}

static void save_some(struct gpus *g, int64_t id, struct buf *lines)
{
    struct note n = {.kind = NOTE_GPUS, .id = id, .bytes = buf_str(lines)};

    if (lines->len)
        store_put(g->store, STORE_NOTE, &n, 1, kept, NULL);
    buf_reset(lines);
}

/* A node that is also in an older note is read twice: the maximum counts. */
static void save(struct gpus *g)
{
    AUTO_BUF b = BUF_INIT(NOTE_MAX);
    int64_t id = 1;
    size_t at = 0;

    for (const struct had *h; (h = lookup_each(&g->by_key, &at));) {
        if (b.len + LINE_ROOM > NOTE_MAX)
            save_some(g, id++, &b);
        buf_addf(&b, "%s %d\n", h->key, (int)h->n);
    }
    save_some(g, id, &b);
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
