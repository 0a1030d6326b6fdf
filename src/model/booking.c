/* booking.c: the state of a booking at a time; copying and comparing bookings. */
#include "model/booking.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/plain.h"

const char *const booking_kind_words[BOOKING_KINDS] = {"booking", "wait"};
const char *const booking_words[BOOKING_STATES] = {"planned", "active", "over", "released"};

enum booking_state booking_state(const struct booking *h, int64_t now_ms)
{
    if (h->released_ms && h->released_ms < h->until_ms)
        return BOOKING_RELEASED;
    if (now_ms >= h->until_ms)
        return BOOKING_OVER;
    return now_ms >= h->from_ms ? BOOKING_ACTIVE : BOOKING_PLANNED;
}

int64_t booking_end_ms(const struct booking *h)
{
    return h->released_ms && h->released_ms < h->until_ms ? h->released_ms : h->until_ms;
}

bool booking_overlaps(const struct booking *h, int64_t from_ms, int64_t to_ms)
{
    int64_t end_ms = booking_end_ms(h);

    return end_ms > h->from_ms && h->from_ms < to_ms && end_ms > from_ms;
}

bool booking_has_device(const struct booking *h, struct str uuid)
{
    return str_listed(h->devices, uuid);
}

void booking_without(const struct booking *h, struct str uuid, struct buf *out)
{
    struct str rest = str_of(h->devices), one;

    while (str_cut(&rest, ',', &one))
        if (one.len && !str_eq_str(one, uuid))
            buf_addf(out, "%s%.*s", out->len ? "," : "", STR_ARG(one));
}

static const struct record_field fields[] = {
#define FIELD(no, field, ...) RECORD_FIELD(booking, no, field, __VA_ARGS__),
#define KEY(no, field, ...)   RECORD_FIELD(booking, no, field, __VA_ARGS__, .put = PUT_KEY),
#include "model/booking.def"
};
const struct record_kind booking_record = {"holds", fields, ARRAY_LEN(fields), sizeof(struct booking)};

struct booking *booking_copy(const struct booking *h)
{
    return record_copy(&booking_record, h);
}

int booking_order(const void *x, const void *y)
{
    const struct booking *a = *(const struct booking *const *)x, *b = *(const struct booking *const *)y;

    return ORDER(a->from_ms, b->from_ms) ?: ORDER(a->id, b->id);
}

bool booking_person_ok(struct str s)
{
    return s.len && s.len < BOOKING_PERSON_MAX && plain_is(s) && s.p[0] != ' ' && s.p[s.len - 1] != ' ';
}
