/* late_procs.c: a list of nodes and times, read from the store when they are due. */
#include "jobs/late_procs.h"

#include "base/order.h"
#include "hub/record_fetch.h"

#define FIRST_MS  10000  /* the other hub has put them by then */
#define AGAIN_MS  300000 /* or by then */
#define AT_ONCE   16
#define ROWS_MOST 20000

struct late_node {
    char node[NODE_KEY_MAX];
    int64_t from_ms, to_ms, due_ms;
    bool again; /* it was read once */
};

struct late_read {
    struct record_fetch read; /* first */
    struct late_procs_read *x;
    struct late_node v[AT_ONCE];
    size_t n, at, n_rows, cap_rows;
    struct proc_span **rows;
};

struct late_procs_read {
    struct hub *h;
    late_procs_fn *seen;
    void *arg;
    struct late_node *v;
    size_t n, cap;
    bool reading;
};

void late_procs_note(struct late_procs_read *x, const char *node, int64_t from_ms, int64_t to_ms, int64_t now_ms)
{
    struct late_node *e = FIND(x->v, x->n, k, !k->again && strcmp(k->node, node) == 0);
    if (!e) {
        if (x->n == LATE_NODES)
            return;
        VEC_ADD(x->v, x->n, x->cap, (struct late_node){.from_ms = from_ms, .to_ms = to_ms});
        e = &x->v[x->n - 1];
        mem_copy_str(e->node, sizeof(e->node), node);
    }
    e->from_ms = MIN(e->from_ms, from_ms);
    e->to_ms = MAX(e->to_ms, to_ms);
    e->due_ms = now_ms + FIRST_MS;
}

/* ---- on the reading thread ---- */

static void take_row(void *arg, const struct proc_span *p)
{
    struct late_read *k = arg;
    if (p->first_ms <= k->v[k->at].to_ms + AGAIN_MS && k->n_rows < ROWS_MOST)
        VEC_ADD(k->rows, k->n_rows, k->cap_rows, record_copy(&proc_record, p));
}

static int read_rows(struct record_fetch *r, struct store *s, struct err *err)
{
    struct late_read *k = (struct late_read *)r;
    int code = 0;
    for (k->at = 0; k->at < k->n && code >= 0; k->at++)
        code = store_each(s, EACH_PROC(take_row, k, .node = k->v[k->at].node, .from_ms = k->v[k->at].from_ms), err);
    return code;
}

/* ---- on the loop ---- */

/* Schedules the second read of these nodes, whether or not the first one failed. */
static void put_back(struct late_procs_read *x, const struct late_node *v, size_t n, int64_t by_ms)
{
    for (size_t i = 0; i < n && x->n < LATE_NODES; i++) {
        struct late_node e = v[i];
        if (e.again)
            continue;
        e.again = true;
        e.due_ms += by_ms;
        VEC_ADD(x->v, x->n, x->cap, e);
    }
}

static void rows_come(struct record_fetch *r)
{
    struct late_read *k = (struct late_read *)r;
    struct late_procs_read *x = k->x;
    for (size_t i = 0; i < k->n_rows; i++) {
        if (r->code >= 0)
            x->seen(x->arg, k->rows[i]);
        free(k->rows[i]);
    }
    put_back(x, k->v, k->n, AGAIN_MS);
    x->reading = false;
    FREE_ALL(k->rows, k);
}

void late_procs_tick(struct late_procs_read *x, bool leads, int64_t now_ms)
{
    if (!leads)
        x->n = 0; /* the leader hub was notified, too */
    if (x->reading || !ANY(x->n, i, x->v[i].due_ms <= now_ms))
        return;
    struct late_read *k = NEW(struct late_read, .read = {.read = read_rows, .done = rows_come}, .x = x);
    size_t kept = 0;
    for (size_t i = 0; i < x->n; i++)
        if (x->v[i].due_ms <= now_ms && k->n < AT_ONCE)
            k->v[k->n++] = x->v[i];
        else
            x->v[kept++] = x->v[i];
    x->n = kept;
    x->reading = record_fetch(x->h, &k->read, NULL) == 0;
    if (x->reading)
        return;
    put_back(x, k->v, k->n, AGAIN_MS);
    free(k);
}

struct late_procs_read *late_procs_new(struct hub *h, late_procs_fn *seen, void *arg)
{
    return NEW(struct late_procs_read, .h = h, .seen = seen, .arg = arg);
}

void late_procs_free(struct late_procs_read *x)
{
    if (!x)
        return;
    FREE_ALL(x->v, x);
}
