/* report_write.h: a report as JSON, CSV, a table for terminals, a mail, or a PDF. Private to api/; runs on a worker. */
#ifndef API_REPORT_WRITE_H
#define API_REPORT_WRITE_H

#include "api/api.h"
#include "base/zone.h"
#include "render/render.h"
#include "usage/report_rows.h"

enum report_format { REPORT_JSON, REPORT_CSV, REPORT_TABLE, REPORT_HTML, REPORT_PDF, REPORT_FORMATS };
extern const char *const report_formats[REPORT_FORMATS + 1]; /* ends with NULL */
extern const char *const week_days[8];                       /* "monday", ...; ends with NULL */

struct report_look {
    enum report_format format;
    enum headings headings;
    struct term term; /* of a table */
    const struct zone *zone;
    int week_start;
    int64_t now_ms;
};
/* Body and type of rp, or a problem. */
void report_write(struct reply *rp, const struct report *r, const struct report_look *look);

/* What the looks share. */
extern const char *const report_titles[REPORT_PERIODS];
void report_subtitle(struct buf *out, const struct report *r, const struct report_look *look);
bool report_has_periods(const struct report *r);             /* rows of days, weeks or months */
size_t report_company_end(const struct report *r, size_t i); /* the row after the last of row i's company */
/* report_pdf.c. -ENOENT: something to draw with is not installed, in words. */
int report_pdf(struct buf *out, const struct report *r, const struct report_look *look, struct err *err);

#endif
