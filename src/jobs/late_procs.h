/*
 * late_procs.h: processes of late batches that another hub ingested and stored. The leader hub detects runs of them. It
 * is notified about them and reads them from the store a little later, twice: once when they should be there, and again
 * in case the server was slow.
 */
#pragma once

#include "hub/hub.h"
#include "model/fact.h"

#define LATE_NODES 4096 /* maximum pending nodes; others wait for their next batch */

struct late_procs_read;
typedef void late_procs_fn(void *arg, const struct proc_span *p);
struct late_procs_read *late_procs_new(struct hub *h, late_procs_fn *seen, void *arg);
void late_procs_note(struct late_procs_read *x, const char *node, int64_t from_ms, int64_t to_ms, int64_t now_ms);
void late_procs_tick(struct late_procs_read *x, bool leads, int64_t now_ms);
void late_procs_free(struct late_procs_read *x); /* when no read is in progress; accepts NULL */
