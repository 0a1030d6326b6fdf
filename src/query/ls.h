/* ls.h: a view as a flat table, one row per device: what `muster ls` and CSV show. */
#ifndef QUERY_LS_H
#define QUERY_LS_H

#include "model/now.h"
#include "model/rows.h"

void ls_rows(const struct view *v, bool detail, struct rows *ret);

#endif
