/*
 * device_slots.h: the devices of this node, slot by slot, merged from the readings of several collectors at one tick.
 * R1 A device keeps its slot as long as it is in the list. New devices are appended.
 * R2 A device that two collectors see (same uuid, or same PCI address) is listed once, with the reading of the first.
 * R3 A device that is no longer seen stays in the list, lost, until the same uuid is seen again. Only a MIG instance
 *    whose GPU is present is removed: it was configured away, not lost.
 * R4 Lost and back are events, once each.
 */
#pragma once

#include "collect/child_msg.h"
#include "collect/collect.h"

struct device_slots_use {
    uint16_t slot;
    const struct raw_use *use; /* in the reading it came from */
};

struct device_slots {
    struct node_fact facts; /* driver, cuda, devices, custom; the rest is the owner's to fill */
    size_t n_samples;       /* facts.n_devices + 1 */
    struct sample *samples;
    size_t n_uses, cap_uses;
    struct device_slots_use *uses;
    size_t n_custom, cap_custom;
    struct child_value *custom;
    size_t n_events, cap_events;
    struct node_event *events;

    struct device_slots_seat *seats; /* parallel to facts.devices */
    size_t cap, cap_facts_custom;
    int64_t at_ms;
    char driver[32], cuda[16];
};

void device_slots_fini(struct device_slots *r);
/* Adds the devices that the previous collector process knew: each is lost until seen, in its old slot. */
void device_slots_seed(struct device_slots *r, const struct node_fact *before);
/*
 * One tick: begin, take() for each collector's reading in order (source counts collectors), end. The fields are valid
 * after end.
 */
void device_slots_begin(struct device_slots *r, int64_t at_ms);
void device_slots_take(struct device_slots *r, unsigned source, const struct reading *reading);
/* Instead of take, if a collector could not be read this time: its devices are not lost, but have no values. */
void device_slots_excuse(struct device_slots *r, unsigned source);
void device_slots_end(struct device_slots *r);
