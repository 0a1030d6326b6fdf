/*
 * make.h: makes a scheduled report (report/schedule.h): the question on the loop, the numbers and the drawing beside
 * it. For the routes, and for the hub, which sends it.
 */
#pragma once

#include "hub/api.h"
#include "report/schedule.h"

#define SCHEDULED_PICTURE "usage.png"
#define SCHEDULED_SCREEN  "status.txt"
#define SCHEDULED_TREE    "statuses.txt"
#define SCHEDULED_TEXT    "report.txt"

/* What it became. */
struct scheduled_made {
    char title[200];
    struct buf text;    /* lines */
    struct buf html;    /* the picture is cid:SCHEDULED_PICTURE */
    struct buf picture; /* PNG; empty: there is none */
    struct buf screen;  /* of a status: what every GPU does, or */
    bool tree;          /* who is on them */
};

/* It as this channel takes it, for free(); name: the report's. Mail has HTML with the picture in it; Slack letters
 * below each other, through the bot with files; others text. */
struct message *scheduled_message(const struct scheduled_made *made, const char *name, const struct channel *c,
                                  int64_t id, int64_t now_ms);

/* How one stands, for the list. */
struct scheduled_now {
    const struct scheduled *b;
    const struct zone *zone;
    struct scheduled_due last, next;
    int64_t sent_ms;   /* when it last went out; 0: never */
    const char *error; /* why it is late; "": it is not */
};

/*
 * The question, for a worker: the one of d is made, missed periods before it had none. z: b's, or the hub's. format:
 * its reply is "text", "html" or "png"; "": it has none.
 */
struct async_query *scheduled_query(struct api *a, const struct scheduled *b, const struct zone *z,
                                    const struct scheduled_due *d, uint32_t missed, const char *format, int64_t now_ms);
/* Once it ran, and its reply has no status: what it became, until its end is called. */
const struct scheduled_made *scheduled_made(const struct async_query *ask);
