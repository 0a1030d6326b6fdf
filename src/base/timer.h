/* timer.h: calls a function later, on the event loop: once or repeatedly. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct event_base;
struct timer;
typedef void timer_fn(void *arg);

struct timer *timer_new(struct event_base *loop, timer_fn *call, void *arg); /* not set yet */
void timer_free(struct timer *t);
/* Replaces the previous setting. */
void timer_after(struct timer *t, int64_t ms); /* once, in ms */
void timer_every(struct timer *t, int64_t ms); /* every ms from now on */
void timer_stop(struct timer *t);
bool timer_is_set(const struct timer *t); /* a call is pending */
