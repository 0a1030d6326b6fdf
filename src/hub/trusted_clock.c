/* trusted_clock.c: two offsets between the wall clock and the monotonic one: the trusted one and the present one. */
#include "hub/trusted_clock.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/lock.h"

static int64_t apart(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

void trusted_clock_begin(struct trusted_clock *s, int64_t newest_ms, int64_t wall_ms, int64_t mono_ms)
{
    int64_t now = wall_ms - mono_ms;

    *s = (struct trusted_clock){.begun = true, .off_ms = now, .new_ms = now, .since_ms = mono_ms};
    if (newest_ms && apart(wall_ms, newest_ms) > TRUSTED_CLOCK_JUMP_MS) {
        s->off_ms = newest_ms - mono_ms;
        s->jumped = wall_ms < newest_ms; /* ahead: we may just have been away */
    }
}

int64_t trusted_clock_at(struct trusted_clock *s, int64_t wall_ms, int64_t mono_ms)
{
    int64_t now = wall_ms - mono_ms;

    if (!s->begun)
        return 0;
    if (apart(now, s->new_ms) > TRUSTED_CLOCK_JUMP_MS) {
        s->since_ms = mono_ms;
        s->jumped = true;
    }
    s->new_ms = now;
    if (apart(now, s->off_ms) <= TRUSTED_CLOCK_JUMP_MS || mono_ms - s->since_ms >= TRUSTED_CLOCK_HOLD_MS)
        s->off_ms = now; /* followed, or back where it was, or believed by now */
    s->jumped &= s->off_ms != now;
    return now < s->off_ms ? 0 : mono_ms + s->off_ms;
}

int64_t trusted_clock_doubt(const struct trusted_clock *s)
{
    return s->jumped ? s->new_ms - s->off_ms : 0;
}

/* ---- the process's own ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct trusted_clock own;

int64_t trusted_clock_now_ms(void)
{
    LOCKED(&lock);
    return trusted_clock_at(&own, clock_wall_ms(), clock_mono_ms());
}

void trusted_clock_start(int64_t newest_ms)
{
    LOCKED(&lock);
    trusted_clock_begin(&own, newest_ms, clock_wall_ms(), clock_mono_ms());
}

int64_t trusted_clock_now_doubt(void)
{
    trusted_clock_now_ms();
    LOCKED(&lock);
    return trusted_clock_doubt(&own);
}
