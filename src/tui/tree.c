/*
 * tree.c: the process tree: each process below its parent. A node only reports processes on its GPUs, with each one's
 * parent and topmost ancestor. If the parent is not in the list, the ancestor is used, if listed.
 */
#include "base/mem.h"
#include "base/order.h"
#include "tui/top.h"

enum { DEPTH_MAX = 20 };

struct twig {
    const struct node_now *n;
    int32_t pid;
    size_t at; /* index in the list; the first one of a process on several GPUs */
};

COMPARE(by_pid, struct twig, ORDER(x->n, y->n) ?: ORDER(x->pid, y->pid) ?: ORDER(x->at, y->at))

/* Index of its first line, or SIZE_MAX. */
static size_t find(const struct twig *v, size_t n, const struct node_now *node, int32_t pid)
{
    size_t lo = COUNT_BEFORE(n, i, by_pid(&v[i], &(struct twig){node, pid, 0}) < 0);
    return lo < n && v[lo].n == node && v[lo].pid == pid ? v[lo].at : SIZE_MAX;
}

struct link {
    size_t parent, child, last, next; /* SIZE_MAX: none */
    bool done;
};

static void join(struct link *l, size_t parent, size_t at)
{
    l[at].parent = parent;
    if (l[parent].child == SIZE_MAX)
        l[parent].child = at;
    else
        l[l[parent].last].next = at;
    l[parent].last = at;
}

/* Copies the subtree at `at` to `to`, in list order. */
static size_t walk(struct item *from, struct link *l, size_t at, struct item *to, size_t n)
{
    size_t root = at;
    unsigned depth = 0;

    for (;;) {
        l[at].done = true;
        to[n] = from[at];
        to[n++].depth = (uint8_t)MIN(depth, (unsigned)DEPTH_MAX);
        if (l[at].child != SIZE_MAX) {
            at = l[at].child;
            depth++;
            continue;
        }
        while (at != root && l[at].next == SIZE_MAX) {
            at = l[at].parent;
            depth--;
        }
        if (at == root)
            return n;
        at = l[at].next;
    }
}

/* Whether `to` is an ancestor of `at`: prevents cycles. */
static bool leads(const struct link *l, size_t at, size_t to)
{
    for (; at != SIZE_MAX; at = l[at].parent)
        if (at == to)
            return true;
    return false;
}

void tree_make(struct top *t)
{
    size_t n = t->n_items, made = 0;

    if (n < 2)
        return;
    AUTO_FREE struct twig *v = mem_zero(n, sizeof(*v));
    AUTO_FREE struct link *l = mem_zero(n, sizeof(*l));
    struct item *to = mem_zero(n, sizeof(*to));
    for (size_t i = 0; i < n; i++) {
        v[i] = (struct twig){t->items[i].n, t->items[i].p->fact->pid, i};
        l[i] = (struct link){SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, false};
    }
    qsort(v, n, sizeof(*v), by_pid);
    for (size_t i = 0; i < n; i++) {
        const struct proc_fact *f = t->items[i].p->fact;
        size_t own = find(v, n, t->items[i].n, f->pid), up = own;
        if (own == i) { /* the first line of a process; its other GPUs are below it */
            up = find(v, n, t->items[i].n, f->ppid);
            up = up == SIZE_MAX && f->root_pid != f->pid ? find(v, n, t->items[i].n, f->root_pid) : up;
        }
        if (up != SIZE_MAX && !leads(l, up, i))
            join(l, up, i);
    }
    for (size_t i = 0; i < n; i++)
        if (l[i].parent == SIZE_MAX && !l[i].done)
            made = walk(t->items, l, i, to, made);
    free(t->items);
    t->items = to;
    t->n_items = made;
    t->cap_items = n;
}
