/*
 * trusted_clock.h: the wall clock, as far as it can be trusted to delete old data by age. A clock that jumped (a dead
 * battery, a wrong time server, a manual change) must not cost history. After a jump forward, and after a start, the
 * time continues from its old value until the clock has run evenly for an hour. After a jump back it is unknown for as
 * long.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TRUSTED_CLOCK_JUMP_MS 300000  /* smaller jumps are followed: time servers correct clocks in small steps */
#define TRUSTED_CLOCK_HOLD_MS 3600000 /* how long a new time is not trusted */

struct trusted_clock {
    bool begun;
    int64_t off_ms;   /* wall less monotonic clock, as trusted */
    int64_t new_ms;   /* the same as measured now */
    int64_t since_ms; /* since when they differ, monotonic; only valid while they do */
    bool jumped;      /* they differ because the clock jumped, not because the hub was off */
};
/* newest_ms: a time at which the hub ran, by its own clock, before this start; 0: never. */
void trusted_clock_begin(struct trusted_clock *s, int64_t newest_ms, int64_t wall_ms, int64_t mono_ms);
/* The trusted time; 0: unknown, so nothing is deleted by age. Also 0 before trusted_clock_begin. */
int64_t trusted_clock_at(struct trusted_clock *s, int64_t wall_ms, int64_t mono_ms);
/* How far the clock jumped from the trusted time; 0: it did not. */
int64_t trusted_clock_doubt(const struct trusted_clock *s);

/* The clock of the process, for store_conf.now_ms: thread-safe. */
int64_t trusted_clock_now_ms(void);
void trusted_clock_start(int64_t newest_ms);
int64_t trusted_clock_now_doubt(void);
