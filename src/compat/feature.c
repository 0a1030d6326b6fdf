/* feature.c: opens the mirror of GPU Monitor's file, gives it its settings, and tells it when to look again. */
#include "compat/feature.h"

#include "base/mem.h"
#include "compat/mirror.h"
#include "hub/handlers.h"
#include "hub/hub.h"

struct compat_desk {
    struct hub *h;
    struct mirror *mirror;
};

static void look_again(void *arg)
{
    mirror_look(arg);
}

static void *open_mirror(struct hub *h)
{
    struct compat_desk *d = mem_zero(1, sizeof(*d));
    d->h = h;
    d->mirror = mirror_new(h);
    book_watch(h->book, look_again, d->mirror);
    return d;
}

static void take_settings(void *self, void *next)
{
    struct compat_desk *d = self;
    (void)next;
    mirror_set(d->mirror, d->h->conf.bookings_mirror);
}

static void tick(void *self, int64_t now_ms)
{
    mirror_tick(((struct compat_desk *)self)->mirror, now_ms);
}

static void close_mirror(void *self)
{
    struct compat_desk *d = self;
    book_watch(d->h->book, NULL, NULL);
    mirror_free(d->mirror);
    free(d);
}

const struct feature compat_feature = {
    .name = "compat",
    .routes = compat_routes,
    .open = open_mirror,
    .take = take_settings,
    .tick = tick,
    .close = close_mirror,
};
