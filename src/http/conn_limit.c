/* conn_limit.c: counts connections by client (address_client); a client without connections has no entry. */
#include "http/conn_limit.h"

#include "base/lookup.h"
#include "base/mem.h"
#include "http/address.h"

struct guest {
    size_t n;
    struct address_client client;
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

static struct guest *find_guest(const struct conn_limit *g, const struct address_client *client)
{
    return lookup_named(&g->guests, client->text, offsetof(struct guest, client.text));
}

bool conn_limit_enter(struct conn_limit *g, const char *address, size_t max)
{
    struct address_client client = address_client(address);
    struct guest *one = find_guest(g, &client);

    if (one && one->n >= max)
        return false;
    if (!one) {
        one = NEW(struct guest, .client = client);
        lookup_add(&g->guests, lookup_hash(client.text), one);
    }
    one->n++;
    return true;
}

void conn_limit_leave(struct conn_limit *g, const char *address)
{
    struct address_client client = address_client(address);
    struct guest *one = find_guest(g, &client);

    if (!one || --one->n > 0)
        return;
    lookup_drop(&g->guests, lookup_hash(client.text), one);
    free(one);
}

size_t conn_limit_count(const struct conn_limit *g)
{
    return g->guests.n;
}
