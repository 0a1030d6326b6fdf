/*
 * carrier.h: sends one message to the destination of its channel. There is one carrier per channel type. The outbox
 * decides when to send.
 *
 * K1 If send returned 0, done is called exactly once, after send has returned, unless it is stopped; the load is freed
 *    then.
 * K2 After a stop nothing is called, and nothing borrowed is used.
 * K3 Time and memory are limited, whatever the server responds.
 * K4 No error message contains a secret, or an address that is one.
 */
#pragma once

#include "base/err.h"
#include "hub/hub.h"
#include "model/message.h"
#include "notify/channel.h"

#define CARRIER_LIMIT_MS  15000 /* per message, unless its type has another limit */
#define CARRIER_ERROR_MAX 200

enum delivery_result {
    CARRIED_SENT,   /* the receiver has it */
    CARRIED_AGAIN,  /* temporary failure: retry */
    CARRIED_REFUSED /* permanent failure */
};
struct delivery_state {
    enum delivery_result how;
    const char *error; /* error message; NULL or "": none. If sent: some recipients did not get it */
    int64_t wait_ms;   /* on retry: minimum delay; 0: not specified */
    const char *rest;  /* the remaining recipients; NULL: unchanged */
};
typedef void carried_fn(void *arg, const struct delivery_state *r);

/* Shared by carriers; created by the first that needs it. */
struct carriers {
    struct hub *h;
    struct http *http;                               /* for carriers that post; freed after all loads */
    const struct carrier *registered[CHANNEL_TYPES]; /* by other features: outbox_carry */
};

struct load; /* a message in flight; each carrier has its own struct */
struct carrier {
    /* Borrows c for the call, m until done. Returns 0, -EBADMSG with a message in err (can never be sent), or another
     * -errno (may be retried). */
    int (*send)(struct load **ret, struct carriers *s, const struct channel *c, const struct message *m,
                carried_fn *done, void *arg, struct err *err);
    void (*stop)(struct load *l); /* does not wait; accepts NULL */
    /* Error of the connection, also when there is nothing to send, and since when; "": none. NULL: not supported. */
    const char *(*error)(const struct carriers *s, int64_t *ret_since_ms);
};
extern const struct carrier carrier_http, carrier_command, carrier_mail;
/* The carrier for this channel type; NULL if none is registered. */
const struct carrier *carrier_of(const struct carriers *s, enum channel_type type);
