/*
 * record.h: a kind of record, defined once. A .def file has a line for each field (job.def); its struct, the copying,
 * the columns of its table and its JSON in exports are loops over those lines.
 *
 *     KEY(no, field, type, column, json, most)     its key: the first line, or lines
 *     FIELD(no, field, type, column, json, most)   each other field
 *
 * no: its number, never reused. type: ID and TIME (milliseconds since 1970) are int64_t, COUNT is int32_t, TEXT is a
 * const char *, never NULL in results of the store. (A struct that is not made of its .def can also have INT: a whole
 * number of any size; FLAG: a bool; NAME: a char array; BYTES: an array of bytes, all of it; BLOB: a struct str of any
 * bytes.) column: in its table. json: its name in exports; NULL: not exported. most: the longest text, or the largest
 * number, that an import accepts.
 *
 * A new line is a new column: a store without it adds it (store/record_sql.h), with unknown values.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum field_type { FIELD_INT, FIELD_FLAG, FIELD_TEXT, FIELD_NAME, FIELD_BYTES, FIELD_BLOB };
/* Whether a put replaces the stored value: always; never, it is the key; if less; if more; if known; if known and less;
 * if the record's last_ms is no older; never, another statement changes it. */
enum field_put { PUT_SET, PUT_KEY, PUT_MIN, PUT_MAX, PUT_FILL, PUT_FIRST, PUT_NEWER, PUT_KEEP };
#define FIELD_ID        FIELD_INT
#define FIELD_TIME      FIELD_INT
#define FIELD_COUNT     FIELD_INT
#define RECORD_ID       int64_t
#define RECORD_TIME     int64_t
#define RECORD_COUNT    int32_t
#define RECORD_TEXT     const char *
#define RECORD_INT      int64_t
#define RECORD_TIME_MAX (1ll << 43) /* the year 2248 */

struct record_field {
    const char *column, *json, *words; /* words: name in error messages */
    enum field_type type;
    int no;
    size_t at, size;    /* in its struct */
    int64_t most, none; /* none, for a number: unknown; smaller values from outside are refused */
    enum field_put put;
};
#define RECORD_FIELD(strct, number, field, kind, name, name_json, max, ...)                                            \
    {                                                                                                                  \
        .column = (name), .json = (name_json), .type = FIELD_##kind, .no = (number), .most = (max),                    \
        .at = offsetof(struct strct, field), .size = sizeof(((struct strct *)0)->field), __VA_ARGS__                   \
    }

struct record_kind {
    const char *table;
    const struct record_field *fields; /* its key first */
    size_t n, size;
};

static inline bool record_is_number(const struct record_field *f)
{
    return f->type == FIELD_INT || f->type == FIELD_FLAG;
}
/* Value of a number: signed if it has four bytes or more. */
static inline int64_t record_int(const struct record_field *f, const void *record)
{
    const char *at = (const char *)record + f->at;

    switch (f->size) {
    case 1:
        return *(const uint8_t *)at;
    case 2:
        return *(const uint16_t *)at;
    case 4:
        return *(const int32_t *)at;
    default:
        return *(const int64_t *)at;
    }
}
static inline int64_t record_int_max(const struct record_field *f) /* its maximum */
{
    return f->size < sizeof(int64_t) ? INT32_MAX : INT64_MAX;
}
void record_set_int(const struct record_field *f, void *record, int64_t v);
const char **record_text(const struct record_field *f, const void *record); /* of a TEXT: the pointer in the struct */
/* The array of a NAME or BYTES. */
static inline char *record_array(const struct record_field *f, const void *record)
{
    return (char *)(uintptr_t)record + f->at;
}

static inline struct str *record_blob(const struct record_field *f, const void *record)
{
    return (struct str *)(uintptr_t)record_array(f, record);
}

/*
 * Packs the fields of a record: most of a NAME is unused room, and a hub has a record per process and device. Returns
 * the size in bytes; to NULL: only the size. record_unpack zeroes everything else in ret; its TEXTs and BLOBs point
 * into the bytes. It returns the end of the bytes it read.
 */
size_t record_pack(const struct record_kind *kind, const void *record, char *to);
const char *record_unpack(const struct record_kind *kind, const char *from, void *ret);
/* A copy in one piece, for free(). */
void *record_copy(const struct record_kind *kind, const void *record);
