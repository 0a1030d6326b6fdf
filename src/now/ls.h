/* ls.h: a view as a flat table, one row per device: what `muster ls` and CSV show. */
#pragma once

#include "model/now.h"
#include "model/rows.h"

enum ls_columns { LS_PLAIN, LS_DETAIL, LS_ALL };
void ls_rows(const struct view *v, enum ls_columns columns, struct rows *ret);
