/*
 * late_procs.h: processes of batches that came late, to another hub: it stores them, and the hub that leads makes runs
 * of them. It is told that there are such, and reads them from the store a little later, twice: once they should be
 * there, and once more for a server that was slow.
 */
#pragma once

#include "hub/hub.h"
#include "model/fact.h"

#define LATE_NODES 4096 /* that are waited for; more are left to their next batch */

struct late_procs_read;
typedef void late_procs_fn(void *arg, const struct proc_span *p);
struct late_procs_read *late_procs_new(struct hub *h, late_procs_fn *seen, void *arg);
void late_procs_note(struct late_procs_read *x, const char *node, int64_t from_ms, int64_t to_ms, int64_t now_ms);
void late_procs_tick(struct late_procs_read *x, bool leads, int64_t now_ms);
void late_procs_free(struct late_procs_read *x); /* once nothing is under way; accepts NULL */
