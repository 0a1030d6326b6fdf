/* conn_limit.c: counts connections by address, in a hash table; an address without any is not kept. */
#include "http/conn_limit.h"

#include "base/mem.h"
#include "base/rand.h"

struct guest {
    struct guest *next;
    size_t n;
    char address[];
};

struct conn_limit {
    size_t n, buckets; /* a power of two */
    struct guest **v;
};

struct conn_limit *conn_limit_new(void)
{
    struct conn_limit *g = mem_zero(1, sizeof(*g));
    g->buckets = 64;
    g->v = mem_zero(g->buckets, sizeof(*g->v));
    return g;
}

void conn_limit_free(struct conn_limit *g)
{
    for (size_t i = 0; g && i < g->buckets; i++)
        while (g->v[i]) {
            struct guest *next = g->v[i]->next;
            free(g->v[i]);
            g->v[i] = next;
        }
    if (g)
        free(g->v);
    free(g);
}

/* Where the guest is, or would be. */
static struct guest **place(const struct conn_limit *g, const char *address)
{
    struct guest **at = &g->v[fnv64(address, strlen(address)) & (g->buckets - 1)];
    while (*at && strcmp((*at)->address, address) != 0)
        at = &(*at)->next;
    return at;
}

static void grow(struct conn_limit *g)
{
    size_t was = g->buckets;
    struct guest **old = g->v;
    g->buckets *= 4;
    g->v = mem_zero(g->buckets, sizeof(*g->v));
    for (size_t i = 0; i < was; i++)
        while (old[i]) {
            struct guest *one = old[i], **at = place(g, one->address);
            old[i] = one->next;
            one->next = NULL;
            *at = one;
        }
    free(old);
}

bool conn_limit_enter(struct conn_limit *g, const char *address, size_t max)
{
    struct guest **at = place(g, address);
    if (*at && (*at)->n >= max)
        return false;
    if (!*at) {
        size_t size = strlen(address) + 1;
        if (g->n >= g->buckets) {
            grow(g);
            at = place(g, address);
        }
        *at = mem_zero(1, sizeof(**at) + size);
        mem_copy_str((*at)->address, size, address);
        g->n++;
    }
    (*at)->n++;
    return true;
}

void conn_limit_leave(struct conn_limit *g, const char *address)
{
    struct guest **at = place(g, address), *one = *at;
    if (!one || --one->n > 0)
        return;
    *at = one->next;
    free(one);
    g->n--;
}

size_t conn_limit_count(const struct conn_limit *g)
{
    return g->n;
}
