/* ls.h: a view as a flat table with one row per device, for `muster ls` and CSV. */
#pragma once

#include "base/buf.h"
#include "model/now.h"
#include "model/rows.h"

enum ls_columns { LS_PLAIN, LS_DETAIL, LS_ALL };
void ls_rows(const struct view *v, enum ls_columns columns, struct rows *ret);
/* ls_services: devices that need service, a line each. ls_notes: reasons for missing values, a line each, and one line
 * for all beyond LS_NOTES; for screens without the column of reasons. */
#define LS_NOTES 16
void ls_services(const struct view *v, struct buf *out);
void ls_notes(const struct view *v, struct buf *out);
bool ls_shows(const struct rows *r, const bool *kept, const char *title); /* kept: from render_rows_fit */
