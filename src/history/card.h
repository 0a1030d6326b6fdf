/*
 * card.h: what a question about history needs to know of a node: its name and its devices with theirs. A card is made
 * once and never changes, so that a question may take it along to another thread; a roster keeps those of all nodes for
 * the next question, each until something of it changes.
 */
#pragma once

#include <stdatomic.h>

#include "history/key.h"
#include "model/now.h"

struct card_device {
    const char *uuid, *model;
    int32_t index, mig;
};

struct card { /* one block */
    atomic_uint refs;
    const char *key, *name;
    const char *model; /* of all its devices; NULL: they are of several */
    size_t n_devices;
    const struct card_device *devices;
    const char *const *uuids; /* of these, once more */
    struct history_key sum;   /* over all of these texts and numbers */
    uint64_t devices_sum;     /* names_sum of the uuids */
    struct str whose;         /* what an answer calls them all together, as struct series says */
};

/* picked: of each device of n whether it is on it; NULL: all are. Ended with card_unref. */
struct card *card_new(const struct node_now *n, const bool *picked);
struct card *card_ref(struct card *c);
void card_unref(struct card *c);

struct roster;
struct roster *roster_new(void);
void roster_free(struct roster *r);
/* The card of n with all its devices, for the caller to end. at: where n is among all nodes, mostly. */
struct card *roster_card(struct roster *r, size_t at, const struct node_now *n);
