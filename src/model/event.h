/* event.h: an event of a node or a device. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum event_kind {
    EVENT_XID = 1,  /* code: the Xid */
    EVENT_ECC,      /* code: new uncorrected errors */
    EVENT_LOST,     /* device lost */
    EVENT_BACK,     /* device or node back */
    EVENT_HUNG,     /* driver does not respond */
    EVENT_ANSWERS,  /* driver responds again; code: seconds without a response */
    EVENT_START,    /* agent started */
    EVENT_STOP,     /* agent stopped cleanly */
    EVENT_NEW,      /* node seen for the first time */
    EVENT_DOWN,     /* node does not report */
    EVENT_CLOCK,    /* clock off; code: ms */
    EVENT_DROPPED,  /* spool full or damaged; code: number of dropped batches */
    EVENT_REFUSED,  /* a second agent with the node's id was rejected */
    EVENT_BOOKED,   /* some of its devices were booked; code: the booking's id, here and in the next three. Set by the
                     * hub only */
    EVENT_REBOOKED, /* a booking was changed */
    EVENT_RELEASED, /* returned before its end */
    EVENT_EXPIRED,  /* a booking is over */
    EVENT_WANDB, /* runs at Weights & Biases (docs/wandb.md), without a node; code: its number. Set by the hub only */
    EVENT_KINDS
};
extern const char *const event_words[EVENT_KINDS];
bool event_is_trouble(uint16_t kind); /* an admin should check it */

struct node_event {
    int64_t at_ms;
    uint16_t kind;
    uint16_t slot; /* 0: the node */
    int64_t code;
    char text[160];
};

/* The meaning of an Xid number, and whether the GPU needs a reset; NULL if unknown. */
const char *xid_words(unsigned xid);
const char *event_meaning(const struct node_event *e); /* the same for an event; NULL: not an Xid, or unknown */
/* Text of the event for every screen, alert and report: "Xid 79: GPU has fallen off the bus; needs a reboot". */
struct buf;
void event_about(const struct node_event *e, struct buf *out);
