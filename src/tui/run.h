/* run.h: `muster top` on a terminal. */
#pragma once

#include "base/err.h"
#include "tui/feed.h"

struct top;
struct run_conf {
    bool ascii, colour, light;
    int64_t every_ms;               /* between frames that only new data asks for */
    const char *me;                 /* whom `mine` means; "" nobody */
    const char *filter;             /* to begin with; NULL: none */
    void (*prepare)(struct top *t); /* what is shown first: settings */
};

/*
 * The first frame is there before the feed has said anything, and a key is answered at once, whatever the feed does.
 * Returns when somebody quits (0), or a signal asks for the end (its number); the terminal is as it was then.
 */
int run_screen(const struct feed *feed, const struct run_conf *conf, struct err *err);
