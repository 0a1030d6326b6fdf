/* trusted_clock.c: two offsets, the believed one and the present one. See trusted_clock.h. */
#include "hub/trusted_clock.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/mem.h"

static int64_t apart(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

void steady_begin(struct steady *s, int64_t newest_ms, int64_t wall_ms, int64_t mono_ms)
{
    int64_t now = wall_ms - mono_ms;

    *s = (struct steady){.begun = true, .off_ms = now, .new_ms = now, .since_ms = mono_ms};
    if (newest_ms && apart(wall_ms, newest_ms) > STEADY_JUMP_MS) {
        s->off_ms = newest_ms - mono_ms;
        s->jumped = wall_ms < newest_ms; /* ahead: we may just have been away */
    }
}

int64_t steady_at(struct steady *s, int64_t wall_ms, int64_t mono_ms)
{
    int64_t now = wall_ms - mono_ms;

    if (!s->begun)
        return 0;
    if (apart(now, s->new_ms) > STEADY_JUMP_MS) {
        s->since_ms = mono_ms;
        s->jumped = true;
    }
    s->new_ms = now;
    if (apart(now, s->off_ms) <= STEADY_JUMP_MS || mono_ms - s->since_ms >= STEADY_HOLD_MS)
        s->off_ms = now; /* followed, or back where it was, or believed by now */
    s->jumped &= s->off_ms != now;
    return now < s->off_ms ? 0 : mono_ms + s->off_ms;
}

int64_t steady_doubt(const struct steady *s)
{
    return s->jumped ? s->new_ms - s->off_ms : 0;
}

/* ---- the process's own ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct steady own;

int64_t steady_now_ms(void)
{
    pthread_mutex_lock(&lock);
    int64_t v = steady_at(&own, clock_wall_ms(), clock_mono_ms());
    pthread_mutex_unlock(&lock);
    return v;
}

void steady_start(int64_t newest_ms)
{
    pthread_mutex_lock(&lock);
    steady_begin(&own, newest_ms, clock_wall_ms(), clock_mono_ms());
    pthread_mutex_unlock(&lock);
}

int64_t steady_now_doubt(void)
{
    steady_now_ms();
    pthread_mutex_lock(&lock);
    int64_t v = steady_doubt(&own);
    pthread_mutex_unlock(&lock);
    return v;
}
