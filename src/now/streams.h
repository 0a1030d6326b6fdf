/*
 * streams.h: server-sent events: a snapshot, then the nodes that changed, as `node` events, and `gone` for those that
 * left, and `clock` now and then. A node's event is made once for all readers with the same rights and filter; each
 * reader only remembers how far it got. A reader is never waited for: while more than a MiB is queued it gets nothing
 * new (and then the newest of each node), and when that lasts it is dropped and may connect again.
 */
#pragma once

#include "hub/api.h"

struct streams;

struct streams *streams_new(struct api *api);
void streams_free(struct streams *s);
void streams_set_max(struct streams *s, size_t max, size_t max_per_address); /* readers; of those to come */
enum reply_how streams_open(struct streams *s, struct request *rq, struct reply *rp);
void streams_push(struct streams *s, int64_t now_ms);     /* send what changed; several times a second */
void streams_tell(struct streams *s, const char *notice); /* what the hub has to say of itself; "": nothing any more */
void streams_hub(struct streams *s, const char *json);    /* who we are, for hubs that follow this one; one line */
void streams_beat(struct streams *s, int64_t now_ms);     /* the time to every reader, so that dead ones are found; who
                                                             would not be let in any more is dropped */
void streams_reset(struct streams *s);                    /* rights changed: everybody connects again */
size_t streams_count(const struct streams *s);
size_t streams_lookers(const struct streams *s); /* without hubs that follow and at which nobody looks */
/* The hub that follows and gave this key is told values seldom from now on, or as they come. false: there is none. */
#define STREAM_KEY_MAX 40
bool streams_pace(struct streams *s, struct str key, bool seldom);
