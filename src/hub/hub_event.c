/* hub_event.c: publishes an event to all features, in order. */
#include "hub/hub_event.h"

#include "base/clock.h"
#include "hub/hub.h"

void hub_publish(struct hub *h, const struct hub_event *n)
{
    features_dispatch(&h->features, n);
}

void hub_event(struct hub *h, const char *node, const char *device, const struct node_event *e)
{
    hub_publish(h, &(struct hub_event){.kind = HUB_EVENT_EVENT,
                                       .now_ms = clock_wall_ms(),
                                       .node = node,
                                       .device = device,
                                       .event = e});
    if (!h->shows)
        store_put(h->store, STORE_EVENT, &(struct store_event){node, device, *e}, 1, NULL, NULL);
}

void hub_time(struct hub *h, const char *node, int64_t from_ms, int64_t to_ms, int64_t now_ms)
{
    hub_publish(h, &(struct hub_event){.kind = HUB_EVENT_TIME,
                                       .now_ms = now_ms,
                                       .node = node,
                                       .from_ms = from_ms,
                                       .to_ms = to_ms});
}
