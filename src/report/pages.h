/* pages.h: which run of ours each run of W&B was, so that a report leads to its page. */
#pragma once

#include "report/compare.h"

/* Fills in page. 0, -ECANCELED, -errno. */
int claims_pages(const struct runs_ask *ask, struct comparison *c, struct err *err);
