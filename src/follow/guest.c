/* guest.c: renames a node and moves its times. */
#include "follow/guest.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/rand.h"

#define AGREE_MS 2000 /* clocks so near are one */

/* Something that is known by this text: no two may become the same. */
static void name_id(const char *site, char *id, size_t size)
{
    AUTO_BUF b = BUF_INIT(512);

    if (!id[0])
        return;
    buf_addf(&b, "%s/%s", site, id);
    if (b.len >= size) {
        buf_reset(&b);
        buf_addf(&b, "%s/%016llx", site, (unsigned long long)fnv64(id, strlen(id)));
    }
    mem_copy_str(id, size, b.p);
}

static void name_text(const char *site, char *text, size_t size)
{
    AUTO_BUF b = BUF_INIT(512);

    if (!text[0])
        return;
    buf_addf(&b, "%s/%s", site, text);
    mem_copy_str(text, size, b.p);
}

void guest_key(const char *site, const char *key, char ret[NODE_KEY_MAX])
{
    mem_copy_str(ret, NODE_KEY_MAX, key);
    name_id(site, ret, NODE_KEY_MAX);
}

/* 0 stands for none. */
static void move_ms(int64_t *at_ms, int64_t shift_ms)
{
    if (*at_ms)
        *at_ms += shift_ms;
}

static void move_booking(struct booking_now *b, int64_t shift_ms)
{
    if (!b)
        return;
    b->id = 0; /* the other hub's numbers mean nothing here */
    move_ms(&b->from_ms, shift_ms);
    move_ms(&b->until_ms, shift_ms);
}

static void make_device(struct device_now *d, const char *site, int64_t shift_ms)
{
    name_id(site, d->fact.uuid, sizeof(d->fact.uuid));
    name_id(site, d->fact.parent, sizeof(d->fact.parent));
    d->price = 0;
    move_ms(&d->since_ms, shift_ms);
    move_ms(&d->idle_since_ms, shift_ms);
    move_ms(&d->at_ms, shift_ms);
    move_ms(&d->now.at_ms, shift_ms);
    for (int m = 0; m < M_COUNT; m++)
        move_ms(&d->v_at_ms[m], shift_ms);
    for (size_t i = 0; i < d->n_custom; i++)
        move_ms(&d->custom[i].at_ms, shift_ms);
    for (size_t i = 0; i < d->n_procs; i++) {
        move_ms(&d->procs[i].since_ms, shift_ms);
        if (d->procs[i].fact->start_ms > 0)
            d->procs[i].fact->start_ms += shift_ms;
    }
    for (size_t i = 0; i < d->n_advice; i++)
        move_ms(&d->advice[i].from_ms, shift_ms);
    move_booking(d->booking, shift_ms);
    move_booking(d->next, shift_ms);
}

void guest_make(struct node_now *n, const char *site, int64_t shift_ms)
{
    name_id(site, n->key, sizeof(n->key));
    name_text(site, n->name, sizeof(n->name));
    name_id(site, n->was_id, sizeof(n->was_id));
    name_text(site, n->was, sizeof(n->was));
    move_ms(&n->since_ms, shift_ms);
    move_ms(&n->at_ms, shift_ms);
    move_ms(&n->sample_at_ms, shift_ms);
    move_ms(&n->now.at_ms, shift_ms);
    move_ms(&n->collect_since_ms, shift_ms);
    for (int m = 0; m < M_COUNT; m++)
        move_ms(&n->v_at_ms[m], shift_ms);
    for (size_t i = 0; i < n->n_custom; i++)
        move_ms(&n->custom[i].at_ms, shift_ms);
    for (size_t i = 0; i < n->n_devices; i++)
        make_device(&n->devices[i], site, shift_ms);
}

int64_t guest_shift(int64_t was_ms, int64_t ours_ms, int64_t theirs_ms)
{
    int64_t shift = ours_ms - theirs_ms;

    if (shift <= AGREE_MS && shift >= -AGREE_MS)
        return 0;
    return shift - was_ms <= AGREE_MS && shift - was_ms >= -AGREE_MS ? was_ms : shift;
}
