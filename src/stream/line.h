/*
 * line.h: an answer of a hub read as it comes, for as long as it lasts: server-sent events. One thread follows; another
 * may stop it at any time, which ends a wait at once.
 */
#pragma once

#include "stream/asking.h"

struct line_conf {
    struct asking_conf ask; /* borrowed; without its token */
    /* The token to send, asked for at each connection: one that was put right counts at once. NULL: none. */
    int (*token)(void *arg, struct buf *ret, struct err *err);
    void *token_arg;
};

struct hub_line;
struct hub_line *hub_line_new(const struct line_conf *conf); /* on the thread that starts the others */
void hub_line_free(struct hub_line *l);
/* Until it ends, take says no (negative), nothing came for quiet_ms, or it is stopped. tick: about once a second; may
 * be NULL. -ECANCELED when stopped; else -errno with a sentence. */
int hub_line_follow(struct hub_line *l, const char *path, int64_t quiet_ms, int (*take)(void *arg, struct str piece),
                    void (*tick)(void *arg), void *arg, struct err *err);
void hub_line_sleep(struct hub_line *l, int64_t ms); /* or until it is stopped */
void hub_line_stop(struct hub_line *l);              /* from any thread, for good */
bool hub_line_stopped(const struct hub_line *l);
