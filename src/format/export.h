/*
 * export.h: records of a store as JSON lines, CSV or OpenMetrics, written and read back. Where they come from and go to
 * is the business of history/cmd_export.c and cmd_import.c. docs/backup.md describes the formats.
 *
 * E1 Numbers are exact: integers of metrics.def's unit as decimals of the base unit, there and back. E2 What is written
 * is read again as the same record. E3 Reading any line gives a record, nothing, or an error with the column; memory is
 * that of the line. OpenMetrics carries nodes, devices, custom metrics and samples; the others carry everything.
 */
#pragma once

#include "base/err.h"
#include "model/event.h"
#include "model/fact.h"
#include "model/job.h"

struct buf;

enum export_format { EXPORT_JSONL, EXPORT_CSV, EXPORT_OPENMETRICS, EXPORT_FORMATS };
extern const char *const export_words[EXPORT_FORMATS + 1]; /* ends with NULL */

enum export_kind {
    REC_NODE,
    REC_DEVICE,
    REC_METRIC, /* one that metrics.def does not have */
    REC_SAMPLES,
    REC_PROCESS,
    REC_EVENT,
    REC_JOB,
    REC_KINDS
};
extern const char *const record_words[REC_KINDS];

#define EXPORT_LINE_MAX (16u << 20)

/* Everything is borrowed. */
struct export_record {
    enum export_kind kind;
    const char *node;                 /* key */
    const char *name;                 /* of the node; OpenMetrics' label */
    const char *address;              /* of the node, where it is said; NULL or "": it is not */
    const char *device;               /* uuid; "": the node itself */
    const struct node_fact *fact;     /* REC_NODE; without devices and custom metrics */
    const struct device_fact *dev;    /* REC_DEVICE; OpenMetrics: its index with samples too */
    const struct custom_fact *custom; /* REC_METRIC; OpenMetrics: of samples that metrics.def does not have */
    const char *metric;               /* REC_SAMPLES */
    int64_t per;                      /* v counts 1 / per */
    size_t n;
    const int64_t *at_ms, *v;
    const struct proc_span *proc;
    const struct node_event *event;
    const struct job_fact *job;
};

/* ---- writing ---- */
struct export_writer {
    enum export_format format;
    int64_t at_ms;    /* OpenMetrics: the moment of what has none */
    char family[160]; /* OpenMetrics: the one being written */
};
void export_start(struct export_writer *w, struct buf *out);
void export_put(struct export_writer *w, struct buf *out,
                const struct export_record *r); /* what a format cannot say is left out */
void export_end(struct export_writer *w, struct buf *out);

/* ---- reading ---- */
struct export_reader;
/* per: how many of a metric's units make one, for those that metrics.def does not have; 0: not known. */
struct export_reader *export_reader_new(int64_t (*per)(void *arg, const char *node, const char *metric), void *arg);
void export_reader_free(struct export_reader *r);
/*
 * One line without its end. 1: *ret is a record, good until the next call; 0: nothing in it; -EINVAL with a sentence,
 * and *ret_column (from 1) says where. The first line decides which format it is.
 */
int export_line(struct export_reader *r, struct str line, struct export_record *ret, size_t *ret_column,
                struct err *err);
bool export_complete(const struct export_reader *r); /* OpenMetrics: "# EOF" was there; others: any line was */

/* prom.c: a label's value; TYPE, UNIT and HELP of the family whose samples are called name, which adds so much to it.
 */
void prom_escape(struct buf *out, const char *s);
void prom_label(struct buf *out, const char *name,
                const char *value); /* behind others or a {; none where it is empty */
void prom_node_labels(struct buf *out, const char *key, const struct node_fact *f);
void prom_device_labels(struct buf *out, const struct device_fact *f);
void openmetrics_family(struct buf *out, const char *name, const char *add, const char *type, const char *unit,
                        const char *help);
/* The Prometheus family of a metric declared at run time. */
void prom_custom_name(const struct custom_fact *c, char out[128]);
