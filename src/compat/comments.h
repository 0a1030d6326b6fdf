/*
 * comments.h: data/comments.json of GPU Monitor: who has reserved which GPU of which host until when. Read with the
 * comments (`//`) and both shapes it came in (lists and objects), changed cell by cell, written back with everything
 * nobody touched. Pure.
 */
#pragma once

#include "base/err.h"
#include "model/booking.h"

struct buf;

#define COMMENTS_BYTES (1u << 20)
#define COMMENTS_INDEX 256 /* GPUs of a host */

/* What one GPU's entry says. */
struct remark {
    int64_t until_ms;              /* to the minute; 0: nothing is reserved, or the date cannot be read */
    char name[BOOKING_PERSON_MAX]; /* as it stands there; empty: nobody */
    char comment[BOOKING_COMMENT_MAX + 1];
    bool plain; /* it is written as we would write it: no other date than YYYY-MM-DD HH:MM in UTC */
};

struct comments;
/* An empty text is an empty file. -EINVAL with line and column; -E2BIG. */
int comments_parse(struct str text, struct comments **ret, struct err *err);
void comments_free(struct comments *c);
int comments_write(const struct comments *c, struct buf *out);

/* The i-th host's name, or NULL. */
const char *comments_host(const struct comments *c, size_t i);
/* Missing: all empty. now_ms: what spans ("2d 4h") are added to. */
void comments_get(const struct comments *c, const char *host, int index, int64_t now_ms, struct remark *ret);
/* until_ms 0: empty, as the old form's reset left it. Names and comments are cleaned as the form did. */
void comments_set(struct comments *c, const char *host, int index, const struct remark *r);

/* Every character but letters (those beyond ASCII too), digits and - _ . , + / # & becomes a blank; blanks at the ends
 * go. */
void comments_clean(struct str s, char *out, size_t size);
/* Both say the same, as far as the file can tell. */
bool remark_same(const struct remark *a, const struct remark *b);
/* As it stands at now_ms: one whose time is over, or that has no name, is none. */
struct remark remark_at(const struct remark *r, int64_t now_ms);
/* A booking as an entry; NULL: none. */
struct remark remark_of(const struct booking *h);
