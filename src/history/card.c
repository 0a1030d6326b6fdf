/* card.c: see card.h. */
#include "history/card.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/rand.h"
#include "format/render.h"

static size_t text_room(const char *s)
{
    return strlen(s) + 1;
}

static const char *put_text(char **at, const char *s)
{
    size_t n = text_room(s);
    char *p = memcpy(*at, s, n);

    *at += n;
    return p;
}

struct card *card_new(const struct node_now *n, const bool *picked)
{
    AUTO_BUF whose = BUF_INIT(SIZE_MAX);
    size_t room = text_room(n->key) + text_room(n->name), count = 0;
    const char *model = NULL;
    bool several = false;

    for (size_t i = 0; i < n->n_devices; i++)
        if (!picked || picked[i]) {
            const struct device_fact *f = &n->devices[i].fact;
            room += sizeof(int32_t[3]) + text_room(f->uuid) + text_room(f->name);
            several |= model && strcmp(model, f->name) != 0;
            model = f->name;
            count++;
        }
    if (count)
        render_series_owner(&whose, &(struct series){.node_id = n->key,
                                                     .node = n->name,
                                                     .devices = count,
                                                     .model = several ? NULL : model});
    room += whose.len;
    struct card *c = mem_alloc(sizeof(*c) + count * (sizeof(*c->devices) + sizeof(*c->uuids)) + room);
    struct card_device *d = (struct card_device *)(c + 1);
    const char **uuid = (const char **)(d + count);
    char *text = (char *)(uuid + count), *at = text;
    *c = (struct card){.refs = 1, .n_devices = count, .devices = d, .uuids = uuid, .sum = {{1, ~1ull}}};
    model = NULL;
    c->key = put_text(&at, n->key);
    c->name = put_text(&at, n->name);
    for (size_t i = 0; i < n->n_devices; i++) {
        const struct device_fact *f = &n->devices[i].fact;
        if (picked && !picked[i])
            continue;
        bool same = model && strcmp(model, f->name) == 0;
        memcpy(at, (int32_t[]){f->index, f->mig, same}, sizeof(int32_t[3]));
        at += sizeof(int32_t[3]);
        *uuid++ = put_text(&at, f->uuid);
        c->devices_sum = names_sum(c->devices_sum, str_of(f->uuid));
        model = same ? model : put_text(&at, f->name);
        *d++ = (struct card_device){uuid[-1], model, f->index, f->mig};
    }
    c->model = several ? NULL : model;
    key_add(&c->sum, text, (size_t)(at - text));
    if (whose.len)
        c->whose = str_n(memcpy(at, whose.p, whose.len), whose.len);
    return c;
}

struct card *card_ref(struct card *c)
{
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    return c;
}

void card_unref(struct card *c)
{
    if (c && atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1)
        free(c);
}

struct roster {
    struct entry {
        uint64_t named; /* of the node, when its card was made */
        struct card *card;
    } * v;
    size_t n, cap;
};

struct roster *roster_new(void)
{
    return mem_zero(1, sizeof(struct roster));
}

void roster_free(struct roster *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n; i++)
        card_unref(r->v[i].card);
    FREE_ALL(r->v, r);
}

struct card *roster_card(struct roster *r, size_t at, const struct node_now *n)
{
    while (r->n <= at)
        VEC_ADD(r->v, r->n, r->cap, (struct entry){0});
    struct entry *e = &r->v[at];
    if (!n->named || e->named != n->named) {
        card_unref(e->card);
        *e = (struct entry){n->named, card_new(n, NULL)};
    }
    return card_ref(e->card);
}
