/*
 * feature.h: scheduled reports in the hub: sent at their times (report/schedule.h). What is in one is made beside the
 * loop (report/make.h).
 *
 * E1 That a period was seen to is a note, stored with the messages of its report in one piece: a restart sends nothing
 * twice and forgets nothing. E2 What cannot be made or stored is tried again, until it is too old. E3 One that was due
 * while the hub was off goes out once, within a day; older ones are left out, and that is said.
 */
#pragma once

#include "hub/feature.h"
#include "hub/hub.h"
#include "report/make.h"

struct hub_schedules;

/* For the routes. now: borrowed until the next call; send: through this channel ("": all of its own). */
const struct scheduled_now *hub_schedules_now(struct hub *h, int64_t now_ms, size_t *ret_n);
enum reply_mode hub_schedules_send(struct hub *h, struct request *rq, struct reply *rp, const char *name,
                                   const char *channel);
