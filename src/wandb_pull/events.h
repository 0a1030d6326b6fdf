/*
 * events.h: the answer with a run's samples, which is most of what W&B sends: read as it came, one sample at a time,
 * without a tree of it. What is not as it usually is, is left to the JSON library, so both read the same.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct buf;

/* A sample's text, good during the call. sample.p NULL: those before do not count, all of them come again. */
typedef void events_fn(void *arg, struct str sample);
/*
 * body: of HTTP 200. room: for one sample at a time, kept for the next call. How many samples each was told of; what is
 * no text is none. -ENOENT: there is no such run; or what wandb_answer_data gives.
 */
int64_t events_read(const char *what, struct str body, struct buf *room, events_fn *each, void *arg, struct err *err);
