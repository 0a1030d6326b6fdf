/*
 * carrier.h: a carrier sends one message to where its channel leads; there is one for each type of channel. When it is
 * sent is decided by the outbox.
 *
 * K1 For a send that returned 0, done is called exactly once and not before send has returned, unless it is stopped;
 * the load is gone then. K2 After a stop nothing is called, and nothing that was borrowed is used. K3 It takes a
 * limited time and limited memory, whatever is answered. K4 No sentence holds a secret, or an address that is one.
 */
#pragma once

#include "base/err.h"
#include "hub/hub.h"
#include "model/message.h"
#include "notify/channel.h"

#define CARRIER_LIMIT_MS  15000 /* for one message, unless its type says otherwise */
#define CARRIER_ERROR_MAX 200

enum carried_how {
    CARRIED_SENT,   /* whoever is at the other end has it */
    CARRIED_AGAIN,  /* it may go well another time */
    CARRIED_REFUSED /* it will never */
};
struct carried {
    enum carried_how how;
    const char *error; /* a sentence; NULL or "": none. Of what was sent: not everybody got it */
    int64_t wait_ms;   /* again, but not before; 0: not said */
    const char *rest;  /* whom alone it is still to go to, whatever became of the others; NULL: it stays as it is */
};
typedef void carried_fn(void *arg, const struct carried *r);

/* What carriers share: made by the first that needs it. */
struct carriers {
    struct hub *h;
    struct http *http;                               /* of those that post; freed after all loads */
    const struct carrier *registered[CHANNEL_TYPES]; /* other features': outbox_carry */
};

struct load; /* a message under way; each carrier has its own */
struct carrier {
    /* c is borrowed for the call, m until it is done. 0, -EBADMSG with a sentence: it can never be sent, or another
     * -errno: it may be tried again. */
    int (*send)(struct load **ret, struct carriers *s, const struct channel *c, const struct message *m,
                carried_fn *done, void *arg, struct err *err);
    void (*stop)(struct load *l); /* not waited for; accepts NULL */
    /* What is wrong with its way, also when nothing was to be sent, and since when; "": nothing. NULL: it cannot tell.
     */
    const char *(*error)(const struct carriers *s, int64_t *ret_since_ms);
};
extern const struct carrier carrier_http, carrier_command, carrier_mail;
/* Of channels of this type; NULL: nobody registered as one. */
const struct carrier *carrier_of(const struct carriers *s, enum channel_type type);
