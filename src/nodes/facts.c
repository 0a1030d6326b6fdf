/* facts.c: the current facts of a node: shown, stored, and referenced in its record. */
#include "nodes/feature.h"

void facts_show(struct hub *h, struct node_now *n, uint64_t id, const struct node_fact *f, int64_t now_ms)
{
    bool news = !live_knows(n, id, 0);
    live_facts(h->live, n, id, f, now_ms);
    if (news)
        hub_publish(h, &(struct hub_event){.kind = HUB_EVENT_DEVICES, .now_ms = now_ms, .node = n->key});
}

uint64_t facts_keep(struct hub *h, const char *key, const struct node_fact *f, uint64_t id)
{
    struct node_id node;
    if (node_origin_ok(str_of(key)))
        node_origin_id(str_of(key), &node);
    else if (!node_id_parse(str_of(key), &node))
        return id;
    AUTO_BUF bytes = BUF_INIT(WIRE_BODY_MAX);
    if (wire_put_facts(&bytes, &node, f, &id) == 0)
        store_put_blob(h->store, key, BLOB_FACTS, id, buf_str(&bytes));
    return id;
}

/* The facts to start from after a restart: lost GPUs are in no agent's facts, but are still shown. */
static uint64_t shown_facts(struct hub *h, const struct node_now *n, uint64_t id, const struct node_fact *f)
{
    struct node_fact shown = *f;
    if (n->n_devices <= f->n_devices)
        return id;
    AUTO_FREE struct device_fact *devices = mem_zero(n->n_devices, sizeof(*devices));
    for (size_t i = 0; i < n->n_devices; i++)
        devices[i] = n->devices[i].fact;
    shown.devices = devices;
    shown.n_devices = n->n_devices;
    return facts_keep(h, n->key, &shown, id);
}

void facts_take(struct hub *h, struct peer *peer, struct node_now *n, uint64_t id, const struct node_fact *f,
                int64_t now_ms)
{
    facts_show(h, n, id, f, now_ms);
    id = shown_facts(h, n, id, f);
    if (peer->rec.facts != id) {
        peer->rec.facts = id;
        peer_save(h->peers, peer, n, true, now_ms);
    }
}
