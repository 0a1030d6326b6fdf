/* usage_code.c: encodes and decodes a span of usage as varints, and adds up hours to days. */
#include "codec/usage_code.h"

#include <errno.h>

#include "codec/pack.h"

#define VERSION      2
#define NUMBERS_MOST 64 /* of a device, of a login */
#define DEVICES_MOST 4096
#define LOGINS_MOST  65536
#define NUMBER_MOST  (1ull << 44) /* more than a day of any number: sums of damaged rows must not overflow */
#define NAME_MOST    256

enum {
    DEVICE_NUMBERS = 0
#define WALL(...) +1
#define REST(...) +1
#include "model/usage.def"
    ,
    LOGIN_NUMBERS = 0
#define SUM(...) +1
#include "model/usage.def"
};

static void put_number(struct buf *out, int64_t v)
{
    buf_varint(out, (uint64_t)MAX(v, 0));
}

int usage_encode(const struct usage_span *s, const struct usage_names *names, struct buf *out)
{
    int r = 0;

    buf_u8(out, VERSION);
    buf_varint(out, DEVICE_NUMBERS);
    buf_varint(out, LOGIN_NUMBERS);
    buf_varint(out, s->n);
    for (size_t i = 0; i < s->n && r == 0; i++) {
        const struct usage_device *d = &s->devices[i];
        r = names->put(names->arg, out, d->device);
        if (r == 0)
            r = names->put(names->arg, out, d->model);
#define WALL(field, ...) put_number(out, d->field);
#define REST(field)      put_number(out, d->field);
#include "model/usage.def"
        buf_varint(out, d->n);
        for (size_t k = 0; k < d->n && r == 0; k++) {
            r = names->put(names->arg, out, d->held[k].login);
#define SUM(field, ...) put_number(out, d->held[k].s.field);
#include "model/usage.def"
        }
    }
    return r < 0 ? r : out->err;
}

/* The hot path of a query. */
static int64_t get_number(struct rd *in)
{
    uint64_t v = quick_varint(in);

    if (v > NUMBER_MOST)
        in->bad = true;
    return in->bad ? 0 : (int64_t)v;
}

/* The next of the stored numbers, 0 after the last. */
static int64_t take_number(struct rd *in, uint64_t *left)
{
    if (*left == 0)
        return 0;
    --*left;
    return get_number(in);
}

static void skip_numbers(struct rd *in, uint64_t left)
{
    while (left && !in->bad)
        take_number(in, &left);
}

static bool read_header(struct rd *in, uint64_t *ret_device, uint64_t *ret_login)
{
    uint8_t version = rd_u8(in);

    *ret_device = version == 1 ? 4 : rd_varint(in);
    *ret_login = version == 1 ? 5 : rd_varint(in);
    return !in->bad && (version == 1 || version == VERSION) && *ret_device <= NUMBERS_MOST &&
           *ret_login <= NUMBERS_MOST;
}

int usage_decode(struct rd *in, const struct usage_names *names, struct arena *mem, struct usage_span *ret)
{
    uint64_t of_device, of_login;

    if (!read_header(in, &of_device, &of_login))
        return -EBADMSG;
    uint64_t n = rd_varint(in);
    if (in->bad || n > DEVICES_MOST || n > rd_left(in))
        return -EBADMSG;
    ret->n = n;
    ret->devices = arena_alloc(mem, MAX(n, 1u), sizeof(*ret->devices));
    for (size_t i = 0; i < n; i++) {
        struct usage_device *d = &ret->devices[i];
        uint64_t left = of_device;
        d->device = names->get(names->arg, in);
        d->model = names->get(names->arg, in);
#define WALL(field, ...) d->field = take_number(in, &left);
#define REST(field)      d->field = take_number(in, &left);
#include "model/usage.def"
        skip_numbers(in, left);
        uint64_t held = rd_varint(in);
        if (in->bad || !d->device || !d->model || held > LOGINS_MOST || held > rd_left(in))
            return -EBADMSG;
        d->n = held;
        d->held = arena_alloc(mem, MAX(held, 1u), sizeof(*d->held));
        for (size_t k = 0; k < held; k++) {
            struct usage_held *u = &d->held[k];
            left = of_login;
            u->login = names->get(names->arg, in);
#define SUM(field, ...) u->s.field = take_number(in, &left);
#include "model/usage.def"
            skip_numbers(in, left);
            if (in->bad || !u->login)
                return -EBADMSG;
        }
    }
    return in->bad ? -EBADMSG : 0;
}

static int put_text(UNUSED void *arg, struct buf *out, const char *name)
{
    return buf_text(out, str_of(name));
}

static const char *get_text(void *arg, struct rd *in)
{
    struct str s = rd_text(in, NAME_MOST);

    return in->bad ? NULL : arena_strn(arg, s.p, s.len);
}

struct usage_names usage_text_names(struct arena *mem)
{
    return (struct usage_names){put_text, get_text, mem};
}

/* ---- sums ---- */

static struct usage_device *sum_device(struct usage_sum_up *u, const struct usage_device *d)
{
    for (size_t i = 0; i < u->n; i++) { /* the order is usually the same */
        size_t at = (u->hint + i) % u->n;
        if (strcmp(u->v[at].device, d->device) == 0) {
            u->hint = at + 1;
            return &u->v[at];
        }
    }
    if (u->n == u->cap) {
        size_t cap = u->cap ? u->cap * 2 : 8;
        struct usage_device *v = arena_alloc(u->mem, cap, sizeof(*v));
        size_t *caps = arena_alloc(u->mem, cap, sizeof(*caps));
        if (u->n) {
            memcpy(v, u->v, u->n * sizeof(*v));
            memcpy(caps, u->caps, u->n * sizeof(*caps));
        }
        u->v = v;
        u->caps = caps;
        u->cap = cap;
    }
    u->caps[u->n] = 0;
    u->v[u->n] = (struct usage_device){.device = d->device, .model = d->model};
    u->hint = u->n + 1;
    return &u->v[u->n++];
}

/* Finds or inserts a login, sorted as within each span. */
static struct usage_held *sum_login(struct usage_sum_up *u, struct usage_device *d, const char *login, size_t *hint)
{
    size_t *cap = &u->caps[d - u->v], at = *hint;

    while (at < d->n && strcmp(d->held[at].login, login) < 0)
        at++;
    *hint = at + 1;
    if (at < d->n && strcmp(d->held[at].login, login) == 0)
        return &d->held[at];
    if (d->n == *cap) {
        *cap = *cap ? *cap * 2 : 4;
        struct usage_held *v = arena_alloc(u->mem, *cap, sizeof(*v));
        if (d->n)
            memcpy(v, d->held, d->n * sizeof(*v));
        d->held = v;
    }
    memmove(&d->held[at + 1], &d->held[at], (d->n - at) * sizeof(*d->held));
    d->n++;
    d->held[at] = (struct usage_held){.login = login};
    return &d->held[at];
}

void usage_sum_add(struct usage_sum_up *u, const struct usage_span *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct usage_device *from = &s->devices[i];
        struct usage_device *to = sum_device(u, from);
        size_t hint = 0;
        to->model = from->model; /* keep the newest */
#define WALL(field, ...) to->field += from->field;
#define REST(field)      to->field += from->field;
#include "model/usage.def"
        for (size_t k = 0; k < from->n; k++)
            usage_add(&sum_login(u, to, from->held[k].login, &hint)->s, &from->held[k].s);
    }
}

struct usage_span usage_sum_span(const struct usage_sum_up *u, int64_t at_ms, int64_t end_ms)
{
    return (struct usage_span){at_ms, end_ms, u->n, u->v};
}
