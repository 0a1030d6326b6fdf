/* feeds.h: the two feeds a screen can have. */
#pragma once

#include "cli/client.h"
#include "tui/feed.h"

/* This machine, read as its agent would, every tick_ms. */
int feed_local_open(struct feed *ret, int64_t tick_ms, struct err *err);

/* A hub's stream, followed by a thread of its own, which connects again when it breaks. conf is borrowed. */
int feed_hub_open(struct feed *ret, const struct client_conf *conf, struct err *err);
