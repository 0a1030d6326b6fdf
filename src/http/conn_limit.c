/* conn_limit.c: counts connections by address; an address without connections has no entry. */
#include "http/conn_limit.h"

#include "base/lookup.h"
#include "base/mem.h"

struct guest {
    size_t n;
    char address[];
};

struct conn_limit {
    struct lookup guests;
};

struct conn_limit *conn_limit_new(void)
{
    return mem_zero(1, sizeof(struct conn_limit));
}

void conn_limit_free(struct conn_limit *g)
{
    size_t at = 0;

    if (!g)
        return;
    for (struct guest *one; (one = lookup_each(&g->guests, &at));)
        free(one);
    lookup_fini(&g->guests);
    free(g);
}

static struct guest *find_guest(const struct conn_limit *g, const char *address)
{
    return lookup_named(&g->guests, address, offsetof(struct guest, address));
}

bool conn_limit_enter(struct conn_limit *g, const char *address, size_t max)
{
    struct guest *one = find_guest(g, address);

    if (one && one->n >= max)
        return false;
    if (!one) {
        size_t size = strlen(address) + 1;
        one = mem_zero(1, sizeof(*one) + size);
        mem_copy_str(one->address, size, address);
        lookup_add(&g->guests, lookup_hash(address), one);
    }
    one->n++;
    return true;
}

void conn_limit_leave(struct conn_limit *g, const char *address)
{
    struct guest *one = find_guest(g, address);

    if (!one || --one->n > 0)
        return;
    lookup_drop(&g->guests, lookup_hash(address), one);
    free(one);
}

size_t conn_limit_count(const struct conn_limit *g)
{
    return g->guests.n;
}
