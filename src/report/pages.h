/* pages.h: which run of ours each run of W&B was, so that a report leads to its page. */
#pragma once

#include "report/compare.h"

/* Fills in page. 0, -ECANCELED, -errno. */
int claims_pages(const struct runs_query *ask, struct comparison *c, struct err *err);
/* The same host, as people write it: in any case of letters, or up to the first dot where one of them has no more. */
bool pages_host(const char *a, const char *b);
