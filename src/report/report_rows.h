/* report_rows.h: a report as a table: columns in their order, with the headings people know. */
#pragma once

#include "model/rows.h"
#include "report/report.h"

struct buf;

enum headings { HEADINGS_EN, HEADINGS_JA, HEADINGS_COUNT };
extern const char *const headings_words[HEADINGS_COUNT + 1]; /* "en", "ja"; ends with NULL */

/* What the columns are named: for programs (JSON), in full (CSV, HTML, PDF), or short for a terminal. Of the last two
 * the headings' language is asked; a summary's are the same in both. */
enum naming { NAMING_KEY, NAMING_FULL, NAMING_SHORT };

/* A column, declared once. */
struct heading {
    const char *key, *en, *shorter, *ja; /* ja NULL: as en */
    enum cell_type type;
    int64_t per;
    int weight;
};

#define REPORT_COLUMNS 20
enum { WORK_COLUMNS = 2 * WORK_KINDS }; /* of them */

struct report_table {
    struct rows rows; /* its cols are these: do not move it */
    struct column_spec cols[REPORT_COLUMNS];
};
void report_table(const struct report *r, enum naming naming, enum headings lang, struct report_table *ret);
void report_table_fini(struct report_table *t);
#define AUTO_REPORT_TABLE __attribute__((cleanup(report_table_fini))) struct report_table

/* For tables of other rows: more columns; those that say whose and when (REPORT_OVERALL: whose alone) and a
 * row's cells of them, and how many those are; a number with all its decimals. */
void report_columns(struct report_table *t, const struct heading *h, size_t n, enum naming naming, enum headings lang);
void report_lead(struct report_table *t, enum report_period period, enum naming naming, enum headings lang);
size_t report_lead_cells(struct cell *c, enum report_period period, const char *company, int32_t day);
void report_number(struct cell *c, const struct column_spec *col, int64_t v);
/* Which kinds of work some row knows; their columns, two each; a row's cells of them from `at` on, none where it is not
 * known. */
void report_has_work(const struct report *r, bool ret[WORK_KINDS]);
extern const struct heading report_works[WORK_KINDS][2];
void report_work_columns(struct report_table *t, const struct heading h[WORK_KINDS][2], const bool has[WORK_KINDS],
                         enum naming naming, enum headings lang);
void report_work_cells(const struct report_table *t, const bool has[WORK_KINDS], struct cell *row, size_t at,
                       const struct work_hours work[WORK_KINDS]);
/* The last column, where a row has a note of what is not known; the note of a row, of such a table or any other. */
void report_note_column(struct report_table *t, const struct report *r, enum naming naming, enum headings lang);
void report_note(const struct rows *t, struct cell *row, const struct report_gap *g);
bool report_noted(const struct report_gap *g);   /* there is one */
bool report_unknown(const struct report_row *r); /* how much was used: its cells are not 0 but absent */

int32_t report_known_to(const struct known *k); /* the last day that is; INT32_MIN: none, or that is not told */
/* What a reader must know beside the rows, a sentence each with a line end: what was left out. Nothing when there is
 * nothing. */
void report_notes(struct buf *out, const struct report *r);
