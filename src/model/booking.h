/*
 * booking.h: reserves devices for a person for a time. Bookings, and the waits of `muster wait`, share this record
 * kind. All text is borrowed, and never NULL in results of the store.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "model/record.h"

#define BOOKING_PERSON_MAX  64 /* including the final NUL */
#define BOOKING_COMMENT_MAX 400
#define BOOKING_DEVICES     256
#define BOOKING_PLACES_MAX  1024

enum booking_kind { BOOKING_FIRM, BOOKING_WAIT, BOOKING_KINDS };
extern const char *const booking_kind_words[BOOKING_KINDS];

struct booking {
#define FIELD(no, field, type, column, json, most) RECORD_##type field;
#define KEY                                        FIELD
#include "model/booking.def"
};
extern const struct record_kind booking_record;

enum booking_state { BOOKING_PLANNED, BOOKING_ACTIVE, BOOKING_OVER, BOOKING_RELEASED, BOOKING_STATES };
extern const char *const booking_words[BOOKING_STATES]; /* "planned", "active", "over", "released" */
enum booking_state booking_state(const struct booking *h, int64_t now_ms);
/* Its actual or planned end; before from_ms if it was cancelled. */
int64_t booking_end_ms(const struct booking *h);
/* Whether it covers part of [from, to): never true for a cancelled booking. */
bool booking_overlaps(const struct booking *h, int64_t from_ms, int64_t to_ms);
bool booking_has_device(const struct booking *h, struct str uuid);

struct buf;
/* Its devices except this one, comma-separated. */
void booking_without(const struct booking *h, struct str uuid, struct buf *out);

/* A copy in one piece, for free(). */
struct booking *booking_copy(const struct booking *h);
/* By start, then by id. For qsort over pointers to them. */
int booking_order(const void *a, const void *b);

/* Whether a person's name may be typed: 1 to 63 bytes of UTF-8 that plain_point accepts, no space at either end. */
bool booking_person_ok(struct str s);

/* The booking of a device, for screens. */
struct booking_now {
    int64_t id, from_ms, until_ms;
    char person[BOOKING_PERSON_MAX];
    char comment[BOOKING_COMMENT_MAX + 1];
    char until[32]; /* "2026-11-17 14:00 CET": for texts; "": not set */
};
