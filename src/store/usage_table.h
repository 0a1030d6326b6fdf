/* usage_table.h: usage hours in muster.db; the contract is in records.h. */
#pragma once

#include "store/main_db.h"

/* Within a transaction. */
int records_put_usage(struct records *r, const struct usage_put *u);
int records_move_usage(struct records *r, const char *from, const char *to);
int records_drop_usage(struct records *r, int64_t before_ms);

int records_usage(struct records *r, const struct usage_query *ask,
                  int (*each)(void *arg, const char *node, const struct usage_span *s), void *arg, struct err *err);

struct usage_known;
void usage_known_free(struct usage_known *k); /* accepts NULL */
