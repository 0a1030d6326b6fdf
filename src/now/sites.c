/* sites.c: nodes of followed hubs by key and name; marks them if their hub is unreachable. */
#include "now/sites.h"

#include <errno.h>

#include "base/mem.h"
#include "base/order.h"

struct guest {
    struct node_now now; /* first: a node of a site is a guest */
    struct site *site;
    uint64_t list; /* last list of its site that contained it */
    size_t at;     /* index in nodes */
};

struct site *site_open(struct live *l, const char *name, const char *url)
{
    struct sites *all = live_sites(l);

    if (all->n_sites == SITES_MAX)
        return NULL;
    struct site *s = all->v[all->n_sites++] = NEW(struct site, .url = mem_str(url));
    mem_copy_str(s->name, sizeof(s->name), name);
    return s;
}

static void guest_free(struct guest *g)
{
    node_now_fini(&g->now);
    free(g);
}

static void drop_guest(struct live *l, struct guest *g)
{
    struct sites *all = live_sites(l);

    lookup_drop(&all->by_key, lookup_hash(g->now.key), g);
    lookup_drop(&all->by_name, lookup_hash(g->now.name), g);
    all->nodes[g->at] = all->nodes[--all->n];
    all->nodes[g->at]->at = g->at;
    all->unsorted = true;
    g->site->n--;
    guest_free(g);
    live_guest_changed(l, NULL);
}

/* Drops nodes of this site that are not on list number `list`. */
static void drop_others(struct live *l, const struct site *s, uint64_t list)
{
    struct sites *all = live_sites(l);

    for (size_t i = all->n; i-- > 0;)
        if (all->nodes[i]->site == s && all->nodes[i]->list != list)
            drop_guest(l, all->nodes[i]);
}

void site_close(struct live *l, struct site *s)
{
    struct sites *all = live_sites(l);

    drop_others(l, s, UINT64_MAX);
    size_t i = FIRST(all->n_sites, k, all->v[k] == s);
    memmove(&all->v[i], &all->v[i + 1], (--all->n_sites - i) * sizeof(*all->v));
    FREE_ALL(s->url, s);
}

static struct guest *find_key(const struct sites *all, const char *key)
{
    return lookup_named(&all->by_key, key, offsetof(struct guest, now.key));
}

static struct guest *add_guest(struct sites *all, struct site *s, const char *key)
{
    struct guest *g = NEW(struct guest, .site = s, .at = all->n);

    VEC_ADD(all->nodes, all->n, all->cap, g);
    lookup_add(&all->by_key, lookup_hash(key), g);
    lookup_add(&all->by_name, lookup_hash(""), g); /* its name is set next */
    s->n++;
    return g;
}

bool site_put(struct live *l, struct site *s, struct node_now *n)
{
    struct sites *all = live_sites(l);
    struct guest *g = find_key(all, n->key);

    if (!g && s->n >= SITE_NODES_MAX)
        return false;
    if (!g)
        g = add_guest(all, s, n->key);
    if (strcmp(g->now.name, n->name) != 0) {
        lookup_drop(&all->by_name, lookup_hash(g->now.name), g);
        lookup_add(&all->by_name, lookup_hash(n->name), g);
        all->unsorted = true;
    }
    node_now_fini(&g->now);
    g->now = *n;
    *n = (struct node_now){0};
    mem_copy_str(g->now.site, sizeof(g->now.site), s->name);
    g->now.site_url = s->url;
    g->list = s->list;
    live_guest_call(l, &g->now);
    live_guest_changed(l, &g->now);
    return true;
}

void site_removed(struct live *l, const char *key)
{
    struct guest *g = find_key(live_sites(l), key);

    if (g)
        drop_guest(l, g);
}

void site_begin(struct site *s)
{
    s->list++;
    s->away_ms = 0;
    s->why[0] = 0;
}

void site_end(struct live *l, struct site *s)
{
    drop_others(l, s, s->list);
}

static void make_stale(struct node_now *n, int64_t since_ms, const char *why)
{
    n->state = NODE_DOWN;
    n->since_ms = since_ms;
    mem_copy_str(n->reason, sizeof(n->reason), why);
    for (size_t i = 0; i < n->n_devices; i++) {
        struct device_now *d = &n->devices[i];
        if (d->state != DEV_STALE)
            d->since_ms = since_ms;
        d->state = DEV_STALE;
        mem_copy_str(d->reason, sizeof(d->reason), why);
    }
}

void site_away(struct live *l, struct site *s, int64_t since_ms, const char *why)
{
    struct sites *all = live_sites(l);

    if (s->away_ms == since_ms && strcmp(s->why, why) == 0)
        return;
    s->away_ms = since_ms;
    mem_copy_str(s->why, sizeof(s->why), why);
    for (size_t i = 0; i < all->n; i++)
        if (all->nodes[i]->site == s) {
            make_stale(&all->nodes[i]->now, since_ms, s->why);
            live_guest_changed(l, &all->nodes[i]->now);
        }
}

const struct site *site_of(struct live *l, struct str word)
{
    const struct sites *all = live_sites(l);
    int slash = str_find(word, "/");

    for (size_t i = 0; slash > 0 && i < all->n_sites; i++)
        if (str_eq(str_n(word.p, (size_t)slash), all->v[i]->name))
            return all->v[i];
    return NULL;
}

int site_refuse(struct live *l, struct str word, struct err *err)
{
    const struct site *s = site_of(l, word);

    if (!s)
        return 0;
    return err_set(err, -EPERM, "'%.*s' belongs to the site %s, which this hub only follows: use the hub at %s",
                   (int)MIN(word.len, 120u), word.p, s->name, s->url);
}

struct node_now *sites_find(const struct sites *s, const char *key_or_name)
{
    struct guest *g = find_key(s, key_or_name);

    if (!g)
        g = lookup_named(&s->by_name, key_or_name, offsetof(struct guest, now.name));
    return g ? &g->now : NULL;
}

void sites_list(const struct sites *s, const struct node_now **to)
{
    for (size_t i = 0; i < s->n; i++)
        to[i] = &s->nodes[i]->now;
}

void sites_call(struct live *l)
{
    struct sites *all = live_sites(l);

    for (size_t i = 0; i < all->n; i++) {
        live_guest_call(l, &all->nodes[i]->now);
        live_guest_changed(l, &all->nodes[i]->now);
    }
}

void sites_fini(struct live *l)
{
    struct sites *all = live_sites(l);

    for (size_t i = 0; i < all->n; i++)
        guest_free(all->nodes[i]);
    for (size_t i = 0; i < all->n_sites; i++)
        FREE_ALL(all->v[i]->url, all->v[i]);
    lookup_fini(&all->by_key);
    lookup_fini(&all->by_name);
    free(all->nodes);
    *all = (struct sites){0};
}
