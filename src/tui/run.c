/* run.c: the loop: keys, signals, the feed; and frames, one per key, or one per interval when data came. */
#include "tui/run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tui/screen.h"
#include "tui/top.h"

struct loop {
    struct top top;
    struct sheet sheet;
    int64_t frame_ms, tick_ms; /* monotonic: when the last was */
    bool fresh;                /* nothing was shown yet */
};

static void draw(struct loop *l)
{
    int w, h;

    screen_measure(&w, &h);
    sheet_size(&l->sheet, w, h);
    top_draw(&l->top, &l->sheet);
    screen_show(&l->sheet);
}

/* All keys that wait. False: quit. */
static bool take_keys(struct loop *l, bool *ret_any)
{
    int key, y = 0, x = 0;
    bool twice = false;

    while ((key = screen_key(&y, &x, &twice)) != KEY__NONE) {
        *ret_any = true;
        if (key == KEY__CLICK)
            top_click(&l->top, y, x, twice);
        else if (key == TOP_REDRAW)
            screen_redraw();
        else if (!top_key(&l->top, key))
            return false;
    }
    return true;
}

/* 0 to go on, or the number of the signal that ends it. */
static int take_signals(bool *ret_any)
{
    int no;

    while ((no = screen_signal()) != 0) {
        if (no != SIGWINCH)
            return no;
        *ret_any = true; /* draw() measures */
    }
    return 0;
}

/*
 * A frame that time or data asks for: the first data at once, then one per interval, and nothing is read in between. A
 * tick for the plots once a second, however often frames come.
 */
static void take_data(struct loop *l)
{
    const struct feed *feed = l->top.feed;
    int64_t now = clock_mono_ms();

    if (l->top.paused || (now - l->frame_ms < l->top.every_ms && !l->fresh))
        return;
    bool changed = feed->read(feed->arg), tick = now - l->tick_ms >= 1000;
    if (l->fresh && !changed && now - l->frame_ms < l->top.every_ms)
        return;
    l->fresh = l->fresh && !changed;
    l->tick_ms = tick ? now : l->tick_ms;
    l->frame_ms = now;
    top_refresh(&l->top, tick);
    draw(l);
}

static int turn(struct loop *l)
{
    const struct feed *feed = l->top.feed;

    for (;;) {
        bool any = false;
        int64_t left = MAX(0, l->frame_ms + l->top.every_ms - clock_mono_ms());
        struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                               {.fd = screen_signal_fd(), .events = POLLIN},
                               {.fd = l->fresh && !l->top.paused ? feed->fd(feed->arg) : -1, .events = POLLIN}};
        if (poll(fds, ARRAY_LEN(fds), l->top.paused ? 60000 : (int)left) < 0 && errno != EINTR)
            return SIGHUP;
        int no = take_signals(&any);
        if (no)
            return no;
        if (!take_keys(l, &any))
            return 0;
        if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL)) /* the terminal is gone */
            return SIGHUP;
        if (any)
            draw(l); /* before data is read: a key never waits for it */
        take_data(l);
    }
}

int run_screen(const struct feed *feed, const struct run_conf *conf, struct err *err)
{
    struct loop l = {.fresh = true};
    bool ascii = conf->ascii;
    int r = screen_open(&(struct screen_conf){conf->colour, conf->light}, &ascii, err);

    if (r < 0) {
        screen_close();
        return r;
    }
    l.sheet.ascii = ascii;
    top_init(&l.top, feed, conf->me, conf->every_ms);
    conf->prepare(&l.top);
    top_refresh(&l.top, false);
    if (conf->filter) {
        top_key(&l.top, '/');
        for (const char *c = conf->filter; *c; c++)
            top_key(&l.top, (unsigned char)*c);
        top_key(&l.top, TOP_ENTER);
    }
    draw(&l);
    l.frame_ms = clock_mono_ms();
    r = turn(&l);
    screen_close();
    top_fini(&l.top);
    sheet_fini(&l.sheet);
    return r;
}
