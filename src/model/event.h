/* event.h: something happened, at a moment, to a node or a device. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum event_kind {
    EVENT_XID = 1, /* code: the Xid */
    EVENT_ECC,     /* code: new uncorrected errors */
    EVENT_LOST,    /* device gone */
    EVENT_BACK,    /* device or node back */
    EVENT_HUNG,    /* driver does not answer */
    EVENT_ANSWERS, /* driver answers again; code: seconds it did not */
    EVENT_START,   /* agent started */
    EVENT_STOP,    /* agent stopped in good order */
    EVENT_NEW,     /* node seen for the first time */
    EVENT_DOWN,    /* node silent */
    EVENT_CLOCK,   /* clock off; code: ms */
    EVENT_DROPPED, /* spool full or damaged; code: batches given up */
    EVENT_REFUSED, /* a second agent with the node's id was turned away */
    EVENT_BOOKED,  /* devices of it are booked; code: the booking's id, here and in the next three. Only the hub says so
                    */
    EVENT_REBOOKED, /* a booking was changed */
    EVENT_RELEASED, /* given back before its end */
    EVENT_EXPIRED,  /* a booking is over */
    EVENT_WANDB, /* of runs at Weights & Biases (docs/wandb.md), of no node; code: its number. Only the hub says so */
    EVENT_KINDS
};
extern const char *const event_words[EVENT_KINDS];
bool event_is_trouble(uint16_t kind); /* an admin should look */

struct node_event {
    int64_t at_ms;
    uint16_t kind;
    uint16_t slot; /* 0: the node */
    int64_t code;
    char text[160];
};

/* What an Xid number means and whether the GPU needs a reset; NULL when unknown. */
const char *xid_words(unsigned xid);
const char *event_meaning(const struct node_event *e); /* the same of an event; NULL: not an Xid, or unknown */
/* What happened, for every screen, alert and report: "Xid 79: GPU has fallen off the bus; needs a reboot". */
struct buf;
void event_about(const struct node_event *e, struct buf *out);
