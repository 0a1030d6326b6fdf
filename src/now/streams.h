/*
 * streams.h: server-sent events. A stream sends a snapshot, then `node` events for changes, `gone` for removed nodes,
 * and `clock` periodically. A node's event is made once for all readers with the same rights and filter; each reader
 * only keeps its position. A slow reader never blocks others: with more than 1 MiB queued it gets no new events (later
 * the newest of each node). If that lasts, it is dropped and may connect again.
 */
#pragma once

#include "hub/api.h"

struct streams;

struct streams *streams_new(struct api *api);
void streams_free(struct streams *s);
void streams_set_max(struct streams *s, size_t max, size_t max_per_address); /* limits for new readers */
enum reply_mode streams_open(struct streams *s, struct request *rq, struct reply *rp);
void streams_push(struct streams *s, int64_t now_ms);           /* sends changes; call several times a second */
void streams_set_notice(struct streams *s, const char *notice); /* sets the hub's status message; "": none */
void streams_hub(struct streams *s, const char *json); /* this hub's description for following hubs; one line */
void streams_beat(struct streams *s, int64_t now_ms);  /* sends the time; drops dead and unauthorized readers */
void streams_reset(struct streams *s);                 /* rights changed: all readers must connect again */
size_t streams_count(const struct streams *s);
size_t streams_lookers(const struct streams *s); /* without following hubs that have no client */
/* Sets the pace of the following hub with this key: values rarely, or as they arrive. Returns false if not found. */
#define STREAM_KEY_MAX 40
bool streams_pace(struct streams *s, struct str key, bool seldom);
