/*
 * line.h: reads a streaming response of a hub as it arrives: server-sent events. One thread follows; another may stop
 * it at any time, which ends a wait immediately.
 */
#pragma once

#include "stream/hub_request.h"

struct line_conf {
    struct hub_request_conf ask; /* borrowed; without its token */
    /*
     * Returns the token to send. Called for each connection, so that a corrected token works immediately. NULL: none.
     */
    int (*token)(void *arg, struct buf *ret, struct err *err);
    void *token_arg;
};

struct hub_line;
struct hub_line *hub_line_new(const struct line_conf *conf); /* call it on the thread that starts the other threads */
void hub_line_free(struct hub_line *l);
/*
 * Runs until the stream ends, take returns a negative value, nothing arrives for quiet_ms, or it is stopped. tick:
 * called about once a second; may be NULL. Returns -ECANCELED if stopped; else -errno with a message in err.
 */
int hub_line_follow(struct hub_line *l, const char *path, int64_t quiet_ms, int (*take)(void *arg, struct str piece),
                    void (*tick)(void *arg), void *arg, struct err *err);
void hub_line_sleep(struct hub_line *l, int64_t ms); /* returns early when stopped */
void hub_line_stop(struct hub_line *l);              /* thread-safe, permanent */
bool hub_line_stopped(const struct hub_line *l);
