/* ls.h: a view as a flat table, one row per device: what `muster ls` and CSV show. */
#pragma once

#include "base/buf.h"
#include "model/now.h"
#include "model/rows.h"

enum ls_columns { LS_PLAIN, LS_DETAIL, LS_ALL };
void ls_rows(const struct view *v, enum ls_columns columns, struct rows *ret);
/* Which need service, a line each; why values are missing, a line for each reason there is, and one for all beyond
 * LS_NOTES of them: for a screen without the column that says so. */
#define LS_NOTES 16
void ls_services(const struct view *v, struct buf *out);
void ls_notes(const struct view *v, struct buf *out);
bool ls_shows(const struct rows *r, const bool *kept, const char *title); /* kept: of render_rows_fit */
