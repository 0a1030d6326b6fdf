/*
 * feature.c: what the hub does by itself for users of older systems: it keeps GPU Monitor's file in step with the
 * bookings (mirror.h), and reads the token of vesta's senders.
 */
#include <errno.h>

#include "base/file.h"
#include "base/mem.h"
#include "book/book.h"
#include "compat/mirror.h"
#include "hub/handlers.h"
#include "hub/hub.h"

static const char *const time_forms[] = {"number", "YMD", "MDY", "DMY", NULL}; /* enum time_form */
#define SETTINGS compat
#include "base/opt_def.h"

struct hub_compat {
    struct hub *h;
    struct mirror *mirror;
    char *vesta_token;
};

static void *open_mirror(struct hub *h)
{
    struct hub_compat *d = NEW(struct hub_compat, .h = h, .mirror = mirror_new(h));
    book_watch(h->book, mirror_update, d->mirror);
    return d;
}

/* The token of vesta's senders. */
static int prepare_token(void *self, const struct hub_conf *conf, void **next, struct err *err)
{
    const struct compat_settings *c = feature_settings(conf, &compat_feature);
    AUTO_BUF b = {0};
    if (c->vesta_token && c->vesta_token_file)
        return err_set(err, -EINVAL, "vesta_token and vesta_token_file are both set: remove one");
    int r = self && c->vesta_token_file ? file_read_secret(c->vesta_token_file, &b, err) : 0;
    if (r < 0)
        return r;
    *next = mem_str(c->vesta_token_file ? b.p : c->vesta_token);
    return 0;
}

static void take_settings(void *self, void *next)
{
    struct hub_compat *d = self;
    const struct compat_settings *c = feature_settings(&d->h->conf, &compat_feature);
    free(d->vesta_token);
    d->h->api.vesta_token = d->vesta_token = next;
    d->h->api.vesta_table_title = c->table_title;
    d->h->api.vesta_table_about = c->table_about;
    d->h->api.vesta_time_form = (enum time_form)c->vesta_timestamp_format;
    d->h->api.vesta_page_hosts = (int)c->vesta_page_hosts;
    mirror_set(d->mirror, c->mirror);
}

static void tick(void *self, int64_t now_ms)
{
    mirror_tick(((struct hub_compat *)self)->mirror, now_ms);
}

static void close_mirror(void *self)
{
    struct hub_compat *d = self;
    book_watch(d->h->book, NULL, NULL);
    mirror_free(d->mirror);
    free(d->vesta_token);
    free(d);
}

const struct feature compat_feature = {
    .name = "compat",
    FEATURE_SETTINGS(compat),
    .routes = compat_routes,
    .open = open_mirror,
    .prepare = prepare_token,
    .drop = free,
    .take = take_settings,
    .tick = tick,
    .close = close_mirror,
};
