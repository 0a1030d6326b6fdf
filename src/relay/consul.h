/* consul.h: what is particular about Consul: addresses, indexes, the old file. Pure: nothing is sent here. */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct buf;

#define CONSUL_WAIT_MS 60000 /* how long Consul may hold a question until something changes */

/*
 * The whole address of a list: an address as it is (of the catalog or of health), or the name of a service of the
 * machine's own Consul agent. -EINVAL with a sentence.
 */
int consul_base(const char *what, struct buf *ret, struct err *err);
/* The same question, to be held until its answer is newer than index; 0: not held. */
void consul_url(struct str base, uint64_t index, struct buf *ret);
/* The index to ask with next: 0 (ask anew) when there is none, when it is none, and when it has gone back. */
uint64_t consul_index(uint64_t had, struct str header);
/* fetch_stats_conf.json of GPU Monitor: its CONSUL_SERVICE_URI. */
int consul_old_conf(struct str json, struct buf *ret, struct err *err);
