/* compare_rows.h: W&B and agents beside each other as a table: by company and period, or run by run. */
#pragma once

#include "report/compare.h"
#include "report/report_rows.h"

/*
 * Two reports of the same question, W&B's and agents': the same rows. Not summaries: a project of W&B is none of ours.
 * `difference` is what W&B says less what agents saw, neither of them capped. Ended with report_table_fini.
 */
void compare_table(const struct report *wandb, const struct report *agents, enum naming naming, enum headings lang,
                   struct report_table *ret);
/* Moments are shown in z. */
void claims_table(const struct comparison *c, const struct zone *z, enum naming naming, enum headings lang,
                  struct report_table *ret);
/* How many runs there are of each kind, as sentences; nothing when there are none. */
void claims_notes(struct buf *out, const struct comparison *c);
