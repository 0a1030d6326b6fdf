/* found.c: the list of nodes found by sources. Formats of sources are read in found_read.c. */
#include "relay/found.h"

#include "base/order.h"
#include "model/fact.h"

#define ADDRESS_MAX 253

/* What DNS, ssh and people call hosts; nothing that ssh or a shell would take for something else. */
static bool host_ok(struct str s, size_t max)
{
    return s.len && s.len <= max && s.p[0] != '-' && str_letters(s, "._-:%");
}

static const char *keep(struct found_list *l, struct str s)
{
    l->text.max = FOUND_TEXT_MAX;
    const char *p = arena_strn(&l->text, s.p, s.len);
    l->full = l->full || !p;
    return p;
}

struct found *found_list_add(struct found_list *l, struct str name, struct str address, int64_t port)
{
    struct found f = {.port = port > 0 && port < 65536 ? (int)port : 0};
    if (!address.len)
        address = name;
    if (!host_ok(name, ORIGIN_NAME_MAX) || !host_ok(address, ADDRESS_MAX)) {
        l->skipped++;
        return NULL;
    }
    l->full = l->full || l->n == FOUND_MAX;
    if (l->full || !(f.name = keep(l, name)) || !(f.address = keep(l, address)))
        return NULL;
    VEC_ADD(l->v, l->n, l->cap, f);
    return &l->v[l->n - 1];
}

COMPARE(by_name, struct found, strcmp(x->name, y->name) ?: strcmp(x->address, y->address) ?: x->port - y->port)

void found_list_settle(struct found_list *l)
{
    size_t kept = 0;
    SORT(l->v, l->n, by_name);
    for (size_t i = 0; i < l->n; i++) {
        if (kept == 0 || strcmp(l->v[kept - 1].name, l->v[i].name) != 0) {
            l->v[kept++] = l->v[i];
            continue;
        }
        char *all = labels_join(l->v[kept - 1].labels, l->v[i].labels);
        FREE_ALL(l->v[kept - 1].labels, l->v[i].labels);
        l->v[kept - 1].labels = all;
    }
    l->n = kept;
}

bool found_list_same(const struct found_list *a, const struct found_list *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        const struct found *x = &a->v[i], *y = &b->v[i];
        if (by_name(x, y) != 0 || !str_same(x->user, y->user) || !labels_same(x->labels, y->labels))
            return false;
    }
    return true;
}

void found_list_fini(struct found_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i].labels);
    free(l->v);
    arena_fini(&l->text);
    *l = (struct found_list){0};
}
