/* self.h: the hub's own notices for every screen, log lines, and metrics. */
#pragma once

#include "hub/hub.h"

/* What a feature's status adds to. */
struct status {
    char *notice;        /* of NOTICE_MAX: notice for every screen. "": none so far, so the feature may set it */
    char *clear;         /* of NOTICE_MAX: status_clear adds to it; NULL: not needed */
    struct buf *metrics; /* NULL: not requested */
    bool openmetrics;
};
void status_metric(struct status *s, const char *name, const char *help, bool counter, uint64_t v);

/* A secret that crosses a network without TLS: a notice after all others. todo: what ends it. */
void status_clear(struct status *s, const char *what, const char *host, const char *todo);

/* The notice for every screen; "": none. */
void self_notice(struct hub *h, char out[NOTICE_MAX]);
/* The part of the notice about damage in stored history; empty if no reader or merge has found any since the start. */
const char *self_damage(struct hub *h);
void self_metrics(struct hub *h, struct buf *out, bool openmetrics);
void self_status(void *self, struct status *s); /* the kernel's own; self: the hub */
void self_log(struct hub *h);                   /* to the log what is new of the store */
