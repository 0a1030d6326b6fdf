/*
 * others.h: other hubs on the same store, as far as features must know of them. src/cluster/ fills it in; a hub that is
 * alone has none of it, leads, and pays nothing.
 *
 * What must happen once (alerts, messages, reports) is begun only while hub_leads, and stored by hub_put_once: a hub
 * that was stopped meanwhile and goes on writes nothing in the name of a leader it is no more. What must happen once
 * for each node (counting) is so done by whichever hub has the node's part (sql/lease.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/records.h"

struct hub;
struct hub_conf;
struct store_conf;

enum hub_ids { IDS_BOOKING, IDS_NOTE, IDS_KINDS }; /* numbers that any hub gives */

#define OTHER_HUBS_MAX 64
struct other_hub { /* one that is there */
    int64_t id;
    char url[256]; /* where it is reached; "": it does not say */
    char pin[64];  /* sha256//BASE64 of its TLS key; "" without TLS */
};

struct others {
    bool (*leads)(void *arg, int64_t *ret_epoch); /* NULL: there are none */
    int64_t (*part)(void *arg, unsigned part);
    int64_t (*next_id)(void *arg, enum hub_ids of);
    size_t (*there)(void *arg, struct other_hub *ret, size_t max);
    bool (*stores)(void *arg); /* the server answers and has room */
    void (*leave)(void *arg);  /* when the store is closed */
    void *arg;
};

bool hub_leads(const struct hub *h);
bool hub_is_alone(const struct hub *h);
bool hub_stores(const struct hub *h); /* the server of the shared store answers and has room; true for an own store */
size_t hub_others(const struct hub *h, struct other_hub *ret, size_t max); /* that are there, without this one */
/* The next number of such a record; own: of a hub that is alone. 0: there is none now, the server is away. */
int64_t hub_next_id(struct hub *h, enum hub_ids of, int64_t own);
/* For store_put_led, of what was found out while it was so: 0 for one that is alone, -1: this hub does not lead. */
int64_t hub_epoch(const struct hub *h);
/* For store_put_part, of a part of the nodes: 0 for one that is alone, -1: another hub has it. */
int64_t hub_part_epoch(const struct hub *h, unsigned part);
/* As store_put, for what the leader does alone. -ESTALE, also as a result: this hub does not lead any more. */
int hub_put_once(struct hub *h, enum store_kind kind, const void *v, size_t n, store_done_fn *done, void *arg);

/* A record that another hub changed: NEWS_RECORD. Text is borrowed for the call. */
struct other_record {
    enum store_kind kind; /* STORE_NODE, STORE_BOOKING, STORE_NOTE, STORE_SETTING, STORE_USAGE_MARK */
    bool gone;            /* of a node: it is no more; of a note over_ms says so, too */
    const void *record;
};
