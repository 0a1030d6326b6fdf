/* nvml_events.h: events of the driver (Xid errors, memory errors, MIG changes), received in a thread. */
#pragma once

#include "collect/nvml_dev.h"

struct nvml_events;

struct nvml_event_list {
    int64_t at_ms; /* wall clock */
    nvml_u64 type; /* NVML_EVENT_... */
    nvml_u64 data; /* the Xid */
    size_t dev;    /* index into the list it was started with */
};

/* Listen for events of the GPUs in the list, which must outlive it. NULL where the driver has no events for us. */
struct nvml_events *nvml_events_start(const struct nvml *lib, struct nvml_dev *const *devs, size_t n);
bool nvml_events_next(struct nvml_events *e, struct nvml_event_list *ret); /* false: no more; accepts NULL */
/* 0, or -ETIMEDOUT if a call to the driver does not return: e and all it uses then stay in use forever. */
int nvml_events_free(struct nvml_events *e);
