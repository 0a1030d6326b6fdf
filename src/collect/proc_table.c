/* proc_table.c: the list of processes and of the devices each uses. Kept and reused between ticks. */
#include "collect/proc_table.h"

#include <errno.h>

#include "base/mem.h"
#include "base/order.h"

void proc_table_fini(struct proc_table *c)
{
    proc_list_fini(&c->procs);
    free(c->uses);
    *c = (struct proc_table){0};
}

/* Where it is in the list, which is by pid, or would be. */
static size_t proc_table_at(const struct proc_table *c, int32_t pid)
{
    return COUNT_BEFORE(c->procs.n, i, c->procs.v[i].pid < pid);
}

static void proc_table_add(struct proc_table *c, const struct raw_use *u, proc_table_ask_fn *ask, void *arg)
{
    size_t at = proc_table_at(c, u->pid);
    struct proc_fact p;

    memset(&p, 0, sizeof(p)); /* padding too: lists are compared as bytes */
    if (c->procs.n == PROCS_MAX || (at < c->procs.n && c->procs.v[at].pid == u->pid))
        return;
    if (u->known) {
        p = *u->known;
        p.pid = u->pid;
    } else {
        int r = ask ? ask(arg, u->pid, &p) : -ENOENT;
        if (r == -ESRCH) /* it ended; the driver will notice */
            return;
        if (r < 0) { /* in another pid namespace: its memory counts, its owner is unknown */
            p.pid = p.root_pid = u->pid;
            p.uid = -1;
        }
    }
    VEC_ROOM(c->procs.v, c->procs.n, c->cap_procs);
    memmove(&c->procs.v[at + 1], &c->procs.v[at], (c->procs.n - at) * sizeof(p));
    memcpy(&c->procs.v[at], &p, sizeof(p));
    c->procs.n++;
}

COMPARE(use_order, struct proc_use, ORDER(x->slot, y->slot) ?: ORDER(x->proc, y->proc))

/* Merges the entries of a process that both computes and draws: it may be listed twice. */
static void proc_table_merge(struct proc_table *c)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->n_uses; i++) {
        struct proc_use *u = &c->uses[i], *last = kept ? &c->uses[kept - 1] : NULL;
        if (last && last->proc == u->proc && last->slot == u->slot) {
            last->kind |= u->kind;
            last->mem = MAX(last->mem, u->mem);
            last->sm = MAX(last->sm, u->sm);
        } else {
            c->uses[kept++] = *u;
        }
    }
    c->n_uses = kept;
}

void proc_table_fill(struct proc_table *c, const struct device_slots *r, proc_table_ask_fn *ask, void *arg)
{
    c->procs.n = c->n_uses = 0;
    for (size_t i = 0; i < r->n_uses; i++)
        proc_table_add(c, r->uses[i].use, ask, arg);
    for (size_t i = 0; i < r->n_uses; i++) {
        const struct raw_use *u = r->uses[i].use;
        size_t at = proc_table_at(c, u->pid);
        if (at == c->procs.n || c->procs.v[at].pid != u->pid)
            continue;
        VEC_ROOM(c->uses, c->n_uses, c->cap_uses);
        struct proc_use *to = &c->uses[c->n_uses++];
        memset(to, 0, sizeof(*to)); /* they are compared as bytes */
        to->proc = (uint16_t)at;
        to->slot = r->uses[i].slot;
        to->kind = u->kind & (PROC_COMPUTE | PROC_GRAPHICS | PROC_MPS);
        to->mem = MAX(u->mem, -1);
        to->sm = MAX(u->sm, -1);
    }
    SORT(c->uses, c->n_uses, use_order);
    proc_table_merge(c);
}
