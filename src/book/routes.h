/* routes.h: shared by the route files of bookings. */
#pragma once

#include "book/permission.h"
#include "hub/handlers.h"
#include "hub/record_fetch.h"

struct hub_conf;

enum book_auth book_auth_of(const struct hub_conf *conf); /* feature.c */
struct booker booker_of(const struct request *rq);
/* Starts a response with one row, to write to the returned j; 201: it is new, and has that path. */
struct json reply_row(struct reply *rp, int status, const char *path, int64_t id);
/* A booking as JSON, one row of the contract (docs/bookings.md); me: the person whose bookings are "mine". */
void reply_booking(struct reply *rp, const struct api *a, const struct booking *h, const char *me, int64_t now_ms,
                   int status);
/* A wait as JSON. */
void reply_wait(struct reply *rp, const struct api *a, const struct booking *h, int64_t now_ms, int status);
/* 409: the bookings that h overlaps, as a sentence and as rows. */
enum reply_mode reply_conflict(struct reply *rp, const struct api *a, const struct booking *h, const char *me,
                               int64_t now_ms);
/* Sets the response for an error of book_check, pick_named and the like. */
enum reply_mode reply_refused(struct reply *rp, int code, const struct err *err);
/* The booking of the path, to free(). Other than 1: rp has the response, or the booking is being read:
 * reply_mode_of_fetch. */
int booking_of_path(struct api *a, struct request *rq, struct reply *rp, struct booking **ret);
