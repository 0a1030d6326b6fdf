/* ids.h: unique record ids across hubs, reserved from sequences in small blocks. */
#pragma once

#include "hub/peer_hubs.h"
#include "sql/db.h"

/* [*ret_first, *ret_end): above every existing one. */
int ids_take(struct db *db, enum hub_ids of, int64_t *ret_first, int64_t *ret_end, struct err *err);
