/*
 * proc_table.h: which processes are on the node's devices: the processes by pid, each once, and which devices each is
 * on. Both in a fixed order, whatever the driver's, so that lists can be compared as bytes.
 */
#pragma once

#include "collect/device_slots.h"

struct proc_table {
    struct proc_list procs;
    struct proc_use *uses;
    size_t n_uses, cap_uses, cap_procs;
};

/*
 * Looks up a pid. Returns 0; -ESRCH if it has ended; any other error if its owner cannot be known: its memory still
 * counts.
 */
typedef int proc_table_ask_fn(void *arg, int32_t pid, struct proc_fact *ret);

void proc_table_fini(struct proc_table *c);
/* ask is called for processes that the reading knows only by pid; it may be NULL. */
void proc_table_fill(struct proc_table *c, const struct device_slots *r, proc_table_ask_fn *ask, void *arg);
