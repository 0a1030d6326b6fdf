/*
 * peer_hubs.h: other hubs on the same store, as far as features use them. src/cluster/ fills it in. A hub that is alone
 * has no other hubs, is always the leader, and has no overhead.
 *
 * Work that must happen once (alerts, messages, reports) starts only while hub_leads, and is stored by hub_put_once. A
 * hub that was stopped meanwhile and resumes writes nothing as a former leader. Work that must happen once per node
 * (counting) is done by the hub that has the node's part (sql/lease.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/records.h"

struct hub;
struct hub_conf;
struct store_conf;

enum hub_ids { IDS_BOOKING, IDS_NOTE, IDS_KINDS }; /* numbers that any hub assigns */

#define OTHER_HUBS_MAX 64
struct peer_hub { /* a hub that is present */
    int64_t id;
    char url[256]; /* its address; "": it does not publish one */
    char pin[64];  /* sha256//BASE64 of its TLS key; "" without TLS */
};

struct hub_peers {
    bool (*leads)(void *arg, int64_t *ret_epoch); /* NULL: no other hubs */
    int64_t (*part)(void *arg, unsigned part);
    int64_t (*next_id)(void *arg, enum hub_ids of);
    size_t (*there)(void *arg, struct peer_hub *ret, size_t max);
    bool (*stores)(void *arg); /* the server responds and has room */
    void (*leave)(void *arg);  /* when the store is closed */
    void *arg;
};

bool hub_leads(const struct hub *h);
bool hub_is_alone(const struct hub *h);
bool hub_stores(const struct hub *h); /* the server of the shared store responds and has room; true for a local store */
size_t hub_list_peers(const struct hub *h, struct peer_hub *ret, size_t max); /* that are present, without this one */
/* The next number of such a record; own: the number to use if the hub is alone. 0: none available, the server is
 * unreachable. */
int64_t hub_next_id(struct hub *h, enum hub_ids of, int64_t own);
/* The epoch for store_put_led, from the time the result was found: 0 for a hub that is alone, -1: this hub is not the
 * leader. */
int64_t hub_epoch(const struct hub *h);
/* The epoch for store_put_part, for a part of the nodes: 0 for a hub that is alone, -1: another hub has it. */
int64_t hub_part_epoch(const struct hub *h, unsigned part);
/* As store_put, for records of the leader only. -ESTALE, also as a result: this hub is no longer the leader. */
int hub_put_once(struct hub *h, enum store_kind kind, const void *v, size_t n, store_done_fn *done, void *arg);

/* A record that another hub changed: HUB_EVENT_RECORD. Text is borrowed for the call. */
struct peer_record {
    enum store_kind kind; /* STORE_NODE, STORE_BOOKING, STORE_NOTE, STORE_SETTING, STORE_USAGE_MARK */
    bool gone;            /* a node: it was removed; over_ms of a note has the same meaning */
    const void *record;
};
