/* consul.h: helpers for Consul: addresses, indexes, the old file. Pure: sends nothing. */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct buf;

#define CONSUL_WAIT_MS 60000 /* maximum time Consul may hold a query until something changes */

/*
 * Makes the full address of a list. what: an address (of the catalog or of health), or the name of a service of the
 * local Consul agent. Returns -EINVAL with a message in err.
 */
int consul_base(const char *what, struct buf *ret, struct err *err);
/* The same query, held by Consul until its result is newer than index; 0: not held. */
void consul_url(struct str base, uint64_t index, struct buf *ret);
/*
 * The index for the next query: 0 (start again) if the header has none or an invalid one, or if the index has gone
 * back.
 */
uint64_t consul_index(uint64_t had, struct str header);
/* fetch_stats_conf.json of GPU Monitor: its CONSUL_SERVICE_URI. */
int consul_old_conf(struct str json, struct buf *ret, struct err *err);
