/* words.h: sentences, times and cells that several screens have alike. */
#pragma once

#include "model/now.h"
#include "model/rows.h"

extern const char *const vendor_words[VENDOR_COUNT]; /* "" for unknown */
const char *kind_words(uint8_t kind); /* enum proc_kind bits: "compute", "compute+graphics"; "" for none */
int kind_by_words(struct str s);      /* bits, or -1 */

/* throttle_words without a buf of its own: a view of out. */
struct str throttle_text(uint64_t mask, char out[256]);

/* The reason of a state as screens show it: "driver not responding for 4 m"; the API keeps the original text. */
void reason_text(struct buf *out, const char *reason);
/* "held by lee for 3 h 20 m, idle for 2 h 55 m"; "free for 2 h"; "offline: no data for 40 s". */
void device_sentence(struct buf *out, const struct device_now *d, int64_t now_ms);
/* Why it needs service, by what its memory rows tell; NULL: it does not, or nobody knows. */
const char *device_service(const struct device_now *d);
/* Why values of it are missing, where its state does not say so already; NULL: none are, or nobody knows. */
const char *device_note(const struct device_now *d);
/* "offline, no data for 4 m"; "up"; with a clock that is off. */
void node_sentence(struct buf *out, const struct node_now *n);
/* Shown as a status, without its devices: down, hung, paused, never heard, no devices, or nothing but stale ones. */
bool node_is_dark(const struct node_now *n);
/* The devices' common model, "several" or "". */
const char *node_model(const struct node_now *n);
const char *local_time(int64_t at_ms, char out[32]);                      /* "2026-11-15 10:46:12" */
#define LOCAL_TO_MINUTE 16                                                /* bytes of that without the seconds */
const char *time_as(int64_t at_ms, enum time_form form, char out[32]);    /* local, too; as vesta's readers have it */
const char *view_time(const struct view *v, int64_t at_ms, char out[32]); /* either, as the view's readers have it */
/* What a sender of vesta's says of when it read a GPU: its own clock as a metric of the node's, without a zone. The
 * time of "2019/03/24 20:00:00.000" as if it were UTC, -1 for any other text; and the text again: a GPU's own or, where
 * nothing was said, the hub's local time. NULL: no sample yet. */
extern const struct custom_fact sent_fact;
int64_t sent_parse(const char *s);
const char *device_stamp(const struct node_now *n, const struct device_now *d, char out[32]);
/* Columns of a terminal that s takes. Cut or fill it to width; too long ends in "…" (ascii: "~"), from the left if so
 * asked. */
enum fit { FIT_LEFT, FIT_RIGHT, FIT_CUT_HEAD };
void fit(struct buf *out, struct str s, int width, enum fit how, bool ascii);

/* The next line of a sentence, ended at a blank so that it fits into so many bytes; false at the end. */
bool words_line(struct str *rest, int width, struct str *ret);

/* Memory neither in use nor reserved, bytes; false when not known. */
bool memory_left(const struct sample *s, int64_t *ret);

/* Who holds it, when it is held or busy; "" otherwise. A view of out. */
struct str holders(const struct device_now *d, char out[160]);

/* What a person sees in a cell of rows; "-" where it is absent. */
void cell_shown(struct buf *b, const struct column_spec *col, const struct cell *c);

/* A cell of CSV. A spreadsheet runs what begins like a formula; ' says that it is text. */
void csv_text(struct buf *out, const char *s);
