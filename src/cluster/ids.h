/* ids.h: numbers of records that any hub makes, taken from sequences a few at a time: each is given once. */
#pragma once

#include "hub/others.h"
#include "sql/db.h"

/* [*ret_first, *ret_end): above every one there is. */
int ids_take(struct db *db, enum hub_ids of, int64_t *ret_first, int64_t *ret_end, struct err *err);
