/* timer.h: calls a function later, on the event loop: once, or again and again. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct event_base;
struct timer;
typedef void timer_fn(void *arg);

struct timer *timer_new(struct event_base *loop, timer_fn *call, void *arg); /* not set yet */
void timer_free(struct timer *t);
/* Instead of what it was set to before. */
void timer_after(struct timer *t, int64_t ms); /* once, so long from now */
void timer_every(struct timer *t, int64_t ms); /* from now on, so often */
void timer_stop(struct timer *t);
bool timer_is_set(const struct timer *t); /* it will call some time */
