/*
 * card.h: the names of a node and its devices, for queries of history. A card never changes, so that a query may use it
 * on another thread; a roster caches the cards of all nodes, each until the node changes.
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
    const char *model; /* of all its devices; NULL: they have several */
    size_t n_devices;
    const struct card_device *devices;
    const char *const *uuids; /* of the devices, as a plain array */
    struct history_key sum;   /* over all of these texts and numbers */
    uint64_t devices_sum;     /* names_sum of the uuids */
    struct str whose;         /* the "whose" of all of them, in the format of struct series */
};

/* picked: for each device of n whether the card has it; NULL: all. Free with card_unref(). */
struct card *card_new(const struct node_now *n, const bool *picked);
struct card *card_ref(struct card *c);
void card_unref(struct card *c);

struct roster;
struct roster *roster_new(void);
void roster_free(struct roster *r);
/* The card of n with all its devices; the caller calls card_unref(). at: the likely index of n among all nodes. */
struct card *roster_card(struct roster *r, size_t at, const struct node_now *n);
