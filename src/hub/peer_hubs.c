/* peer_hubs.c: whether this hub is the leader, and new ids, with or without other hubs. */
#include "hub/peer_hubs.h"

#include <errno.h>

#include "hub/hub.h"

static bool leads_as(const struct hub *h, int64_t *ret_epoch)
{
    *ret_epoch = 0;
    return !h->others.leads || h->others.leads(h->others.arg, ret_epoch);
}

bool hub_leads(const struct hub *h)
{
    int64_t epoch;

    return leads_as(h, &epoch);
}

bool hub_is_alone(const struct hub *h)
{
    return !h->others.leads;
}

bool hub_stores(const struct hub *h)
{
    return !h->others.stores || h->others.stores(h->others.arg);
}

size_t hub_list_peers(const struct hub *h, struct peer_hub *ret, size_t max)
{
    return h->others.there ? h->others.there(h->others.arg, ret, max) : 0;
}

int64_t hub_next_id(struct hub *h, enum hub_ids of, int64_t own)
{
    return h->others.next_id ? h->others.next_id(h->others.arg, of) : own;
}

int64_t hub_epoch(const struct hub *h)
{
    int64_t epoch;

    return leads_as(h, &epoch) ? epoch : -1;
}

int64_t hub_part_epoch(const struct hub *h, unsigned part)
{
    return h->others.part ? h->others.part(h->others.arg, part) : 0;
}

/* Not as a leader it is refused where all others are, so that done is called as always. */
int hub_put_once(struct hub *h, enum store_kind kind, const void *v, size_t n, store_done_fn *done, void *arg)
{
    return store_put_led(h->store, hub_epoch(h), kind, v, n, done, arg);
}
