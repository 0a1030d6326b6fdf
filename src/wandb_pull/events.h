/*
 * events.h: reads the reply with a run's samples, which is most of what W&B sends. It reads one sample at a time,
 * without building a tree. A reply of unusual shape goes to the JSON library, so both readers must agree.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct buf;

/*
 * Called with a sample's text, valid during the call. sample.p NULL: discard the samples so far, all of them follow
 * again.
 */
typedef void events_fn(void *arg, struct str sample);
/*
 * body: of HTTP 200. room: buffer for one sample, reused by the next call. Returns the number of samples passed to
 * each, not counting values that are not text; -ENOENT if there is no such run; or the result of wandb_answer_data.
 */
int64_t events_read(const char *what, struct str body, struct buf *room, events_fn *each, void *arg, struct err *err);
