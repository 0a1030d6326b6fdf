/*
 * tape.h: samples as bytes. A block of tape starts with the current state: labels and the program's own values. Samples
 * and changes of the state follow, so that each block can be read alone. Values are differences to the sample before.
 * Blocks leave the process only to its spill file. Still, reading any bytes ends with a sample, the end, or -EBADMSG.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct buf;

struct rd;

#define TAPE_NAME_MAX  64 /* with the terminator, as the next two */
#define TAPE_LABEL_MAX 8192
#define TAPE_TEXT_MAX  1024
#define TAPE_LABELS    16
#define TAPE_OWN       64 /* names of the program's own values */
#define TAPE_MARKS     (TAPE_LABELS + TAPE_OWN)

enum mark_kind { MARK_LABEL, MARK_ONE, MARK_EACH, MARK_KINDS }; /* one value; one for each device */
enum mark_type { MARK_NONE, MARK_NUMBER, MARK_TEXT };

struct mark_value {
    enum mark_type what;
    bool dirty; /* set since it was last put on tape */
    double number;
    char *text; /* owned; may remain after the type has changed */
    size_t len, cap;
};

/* A label, or the program's own value, with its current values. */
struct mark {
    char name[TAPE_NAME_MAX];
    enum mark_kind kind;
    size_t n; /* of v: 1, or the number of devices */
    struct mark_value *v;
};

/* Everything that one sample shows. */
struct tape_state {
    size_t devices, metrics;
    size_t n_marks;
    struct mark marks[TAPE_MARKS];
    int64_t at_us;
    uint8_t *have; /* devices * metrics: 1 if there is a value */
    int64_t *v;    /* [metric * devices + device] */
};
void tape_state_init(struct tape_state *s, size_t devices, size_t metrics);
void tape_state_fini(struct tape_state *s);
void tape_state_reset(struct tape_state *s); /* as after init; keeps the room for values */

struct mark *tape_mark(const struct tape_state *s, const char *name); /* NULL if none */
/* A mark more: NULL when there are too many of its kind. The name is the caller's to check. */
struct mark *tape_mark_add(struct tape_state *s, struct str name, enum mark_kind kind);
void mark_set_number(struct mark_value *v, double number);
void mark_set_text(struct mark_value *v, struct str text);
void mark_set_none(struct mark_value *v);

/* A block as it grows in memory of a fixed size. */
struct tape_block {
    char *p;
    size_t len, cap;
    size_t named;     /* marks whose names are on it */
    int64_t first, n; /* numbers of its samples: first .. first + n - 1 */
};

/* Maximum size of the next sample, on a started block or (snapshot) on a new one. */
size_t tape_need(const struct tape_state *s, bool snapshot);
/*
 * Puts the state on the block: all of it if the block is empty, otherwise the changes. last has the values of the
 * sample before, and is made equal to s. There must be room for tape_need.
 */
void tape_put(struct tape_block *b, struct tape_state *s, struct tape_state *last);

/* Reading: state starts as after tape_state_reset. Returns 1 with the next sample; 0 at the end; -EBADMSG. */
int tape_next(struct rd *in, struct tape_state *state);

/* A block in the spill file: this, then len bytes. All little-endian, by field. */
struct tape_head {
    uint32_t len;
    int64_t first, n;
    uint32_t crc; /* crc32c of the bytes */
};
#define TAPE_HEAD_BYTES 36
#define TAPE_BLOCK_MAX  (1u << 20)
void tape_head_put(const struct tape_head *h, struct buf *out);              /* which is empty */
int tape_head_get(const uint8_t in[TAPE_HEAD_BYTES], struct tape_head *ret); /* 0 or -EBADMSG */
