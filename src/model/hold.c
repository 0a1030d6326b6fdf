/* hold.c: what a hold is at a moment, copying and comparing them. */
#include "model/hold.h"

#include "base/buf.h"
#include "base/mem.h"

const char *const hold_kind_words[HOLD_KINDS] = {"booking", "wait"};
const char *const hold_words[HOLD_STATES] = {"planned", "active", "over", "released"};

enum hold_state hold_state(const struct hold *h, int64_t now_ms)
{
    if (h->released_ms && h->released_ms < h->until_ms)
        return HOLD_RELEASED;
    if (now_ms >= h->until_ms)
        return HOLD_OVER;
    return now_ms >= h->from_ms ? HOLD_ACTIVE : HOLD_PLANNED;
}

int64_t hold_end_ms(const struct hold *h)
{
    return h->released_ms && h->released_ms < h->until_ms ? h->released_ms : h->until_ms;
}

bool hold_overlaps(const struct hold *h, int64_t from_ms, int64_t to_ms)
{
    int64_t end_ms = hold_end_ms(h);

    return end_ms > h->from_ms && h->from_ms < to_ms && end_ms > from_ms;
}

bool hold_has_device(const struct hold *h, struct str uuid)
{
    struct str rest = str_of(h->devices), one;

    while (str_cut(&rest, ',', &one))
        if (one.len && str_eq_str(one, uuid))
            return true;
    return false;
}

void hold_without(const struct hold *h, struct str uuid, struct buf *out)
{
    struct str rest = str_of(h->devices), one;

    while (str_cut(&rest, ',', &one))
        if (one.len && !str_eq_str(one, uuid))
            buf_addf(out, "%s%.*s", out->len ? "," : "", STR_ARG(one));
}

static const size_t texts[] = {offsetof(struct hold, person),  offsetof(struct hold, by),
                               offsetof(struct hold, devices), offsetof(struct hold, places),
                               offsetof(struct hold, model),   offsetof(struct hold, where),
                               offsetof(struct hold, comment)};

size_t hold_text_bytes(const struct hold *h)
{
    return mem_text_bytes(h, texts, ARRAY_LEN(texts));
}

void hold_move_text(struct hold *h, char *room)
{
    mem_text_move(h, texts, ARRAY_LEN(texts), room);
}

struct hold *hold_copy(const struct hold *h)
{
    struct hold *to = mem_alloc(sizeof(*to) + hold_text_bytes(h));

    *to = *h;
    hold_move_text(to, (char *)(to + 1));
    return to;
}

int hold_order(const void *x, const void *y)
{
    const struct hold *a = *(const struct hold *const *)x, *b = *(const struct hold *const *)y;

    if (a->from_ms != b->from_ms)
        return a->from_ms < b->from_ms ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

bool hold_person_ok(struct str s)
{
    return s.len && s.len < HOLD_PERSON_MAX && str_utf8_ok(s) && !memchr(s.p, '\t', s.len) && s.p[0] != ' ' &&
           s.p[s.len - 1] != ' ';
}
