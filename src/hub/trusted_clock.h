/*
 * trusted_clock.h: the wall clock, as far as it can be trusted when old data is dropped. A clock that jumped (a dead
 * battery, a wrong time server, somebody's hand) must not cost history: after a jump forward, and after a start, the
 * time goes on from where it was until the clock has run evenly for an hour; after a jump back it is not known as long.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TRUSTED_CLOCK_JUMP_MS 300000  /* what is less is followed: time servers pull clocks right in small steps */
#define TRUSTED_CLOCK_HOLD_MS 3600000 /* how long a new time is doubted */

struct trusted_clock {
    bool begun;
    int64_t off_ms;   /* wall less monotonic clock, as believed */
    int64_t new_ms;   /* the same as it is now */
    int64_t since_ms; /* that it has been so, monotonic; only while they differ */
    bool jumped;      /* they differ because we saw it jump, not because we were away */
};
/* newest_ms: the hub was alive then, by its own clock, before it was started; 0: never. */
void trusted_clock_begin(struct trusted_clock *s, int64_t newest_ms, int64_t wall_ms, int64_t mono_ms);
/* The time to go by; 0: not known, nothing goes by age. So before trusted_clock_begin. */
int64_t trusted_clock_at(struct trusted_clock *s, int64_t wall_ms, int64_t mono_ms);
/* How far the clock jumped from what is believed; 0: not. */
int64_t trusted_clock_doubt(const struct trusted_clock *s);

/* The process's own, for store_conf.now_ms: asked by any thread. */
int64_t trusted_clock_now_ms(void);
void trusted_clock_start(int64_t newest_ms);
int64_t trusted_clock_now_doubt(void);
