/*
 * hold.h: a hold: some devices are a person's for a time. Bookings, and the waits of `muster wait`, are this one kind
 * of record. All text is borrowed, and never NULL in what the store gives.
 */
#ifndef MODEL_HOLD_H
#define MODEL_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define HOLD_PERSON_MAX  64 /* with the end */
#define HOLD_COMMENT_MAX 400
#define HOLD_DEVICES     256
#define HOLD_PLACES_MAX  1024

enum hold_kind { HOLD_BOOKING, HOLD_WAIT, HOLD_KINDS };
extern const char *const hold_kind_words[HOLD_KINDS];

struct hold {
    int64_t id;   /* above 0, counted up */
    int32_t kind; /* enum hold_kind */
    int32_t changes;
    int32_t count;             /* so many were wished for, wherever they are; 0: the devices were named */
    int64_t from_ms, until_ms; /* [from, until) */
    int64_t created_ms, changed_ms;
    int64_t released_ms;       /* given back before its end, or cancelled before its start; 0: not */
    const char *person;        /* whose */
    const char *by;            /* who made it: a person, or "token ID" */
    const char *devices;       /* uuids, with commas between */
    const char *places;        /* the same as people say it, when it was made: "dgx2:0,1 dgx3:4" */
    const char *model, *where; /* what was wished for: patterns; empty: any. Of a wait: as book/queue.h writes it */
    const char *comment;
};

enum hold_state { HOLD_PLANNED, HOLD_ACTIVE, HOLD_OVER, HOLD_RELEASED, HOLD_STATES };
extern const char *const hold_words[HOLD_STATES]; /* "planned", "active", "over", "released" */
enum hold_state hold_state(const struct hold *h, int64_t now_ms);
/* When it ended or will; before from_ms when it was cancelled. */
int64_t hold_end_ms(const struct hold *h);
/* It covers some of [from, to): never one that was cancelled. */
bool hold_overlaps(const struct hold *h, int64_t from_ms, int64_t to_ms);
bool hold_has_device(const struct hold *h, struct str uuid);

struct buf;
/* Its devices but this one, with commas between. */
void hold_without(const struct hold *h, struct str uuid, struct buf *out);

/* A copy in one piece, for free(). */
struct hold *hold_copy(const struct hold *h);
size_t hold_text_bytes(const struct hold *h);
void hold_move_text(struct hold *h, char *room); /* h's text into room of that size, where it points then */
/* By start, then by id. For qsort over pointers to them. */
int hold_order(const void *a, const void *b);

/* A person's name as it may be typed: 1 to 63 bytes of UTF-8 without control characters, no blank at either end. */
bool hold_person_ok(struct str s);

/* The booking of a device, for screens. */
struct hold_now {
    int64_t id, from_ms, until_ms;
    char person[HOLD_PERSON_MAX];
    char comment[HOLD_COMMENT_MAX + 1];
    char until[32]; /* "Tue 17 Nov 14:00": for sentences; empty: not told */
};

#endif
