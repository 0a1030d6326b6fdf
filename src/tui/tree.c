/*
 * tree.c: the tree of processes: each below the one that started it. A node knows of processes on its GPUs alone, and
 * of each one's parent and topmost ancestor: a parent that is not in the list is passed over for the ancestor, where
 * that one is.
 */
#include "base/mem.h"
#include "base/order.h"
#include "tui/top.h"

enum { DEPTH_MAX = 20 };

struct twig {
    const struct node_now *n;
    int32_t pid;
    size_t at; /* in the list; of a process on several GPUs the first */
};

COMPARE(by_pid, struct twig, ORDER(x->n, y->n) ?: ORDER(x->pid, y->pid) ?: ORDER(x->at, y->at))

/* Its first line, or SIZE_MAX. */
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

/* From `at` down, in the order of the list, into `to`. */
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

/* Does a chain of parents lead from `at` to `to`? Nothing that loops may be joined. */
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
