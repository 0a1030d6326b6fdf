/* write.h: a report as JSON, CSV, a table for terminals, a mail, or a PDF. It runs on a worker. */
#pragma once

#include "base/zone.h"
#include "format/render.h"
#include "hub/api.h"
#include "report/compare_rows.h"

enum report_format { REPORT_JSON, REPORT_CSV, REPORT_TABLE, REPORT_HTML, REPORT_PDF, REPORT_FORMATS };
extern const char *const report_formats[REPORT_FORMATS + 1]; /* ends with NULL */

struct report_style {
    enum report_format format;
    enum headings headings;
    struct term term; /* of a table */
    const struct zone *zone;
    int week_start;
    int64_t now_ms;
};

enum report_source { SOURCE_AGENTS, SOURCE_WANDB, SOURCE_BOTH, SOURCE_AUTO };
extern const char *const report_sources[SOURCE_AUTO + 1]; /* ends with NULL: that there is no word is SOURCE_AUTO */

/* What is written. */
struct report_doc {
    enum report_source source;
    const struct report *r;          /* of both: W&B's */
    const struct report *seen;       /* of both, but run by run: agents' */
    const struct comparison *claims; /* run by run; r has the days alone */
    int64_t pulled_ms;               /* W&B's are as of then; 0: not known */
};
/* Body and type of rp, or a problem. */
void report_write(struct reply *rp, const struct report_doc *d, const struct report_style *look);

/* What the looks share. */
const char *report_title(const struct report_doc *d);
void report_subtitle(struct buf *out, const struct report_doc *d, const struct report_style *look);
void report_remarks(struct buf *out, const struct report_doc *d);
void report_cells(const struct report_doc *d, enum naming naming, const struct report_style *look,
                  struct report_table *ret);
bool report_has_periods(const struct report_doc *d);         /* rows of days, weeks or months */
size_t report_company_end(const struct report *r, size_t i); /* the row after the last of row i's company */
/* pdf.c. -ENOENT: something to draw with is not installed, in words. */
int report_pdf(struct buf *out, const struct report_doc *d, const struct report_style *look, struct err *err);
