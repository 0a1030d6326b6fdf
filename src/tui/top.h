/*
 * top.h: what `muster top` shows and what its keys do, without a terminal: state in, a sheet out. cmd_top.c adds
 * the terminal and the loop, tests add keys.
 */
#pragma once

#include "history/on_devices.h"
#include "now/view.h"
#include "tui/aim.h"
#include "tui/feed.h"
#include "tui/sheet.h"
#include "tui/trail.h"

enum look {
    LOOK_OVERVIEW,
    LOOK_DEVICES,
    LOOK_PROCS,
    LOOK_PEOPLE,
    LOOK_HISTORY,
    LOOK_EVENTS,
    LOOK_ALERTS,
    LOOK_DEVICE,
    LOOKS
};

extern const char *const look_words[]; /* but for the last: "overview", ...; ends with NULL */

/* Keys beyond Unicode. */
enum key {
    KEY__NONE = -1,
    KEY__FIRST = 0x110000,
    TOP_UP,
    TOP_DOWN,
    TOP_LEFT,
    TOP_RIGHT,
    TOP_PAGE_UP,
    TOP_PAGE_DOWN,
    TOP_HOME,
    TOP_END,
    TOP_ENTER,
    TOP_ESC,
    TOP_BACKSPACE,
    TOP_REDRAW,
    TOP_NOTHING, /* a key that means nothing */
};

/* One line of a list. What a look does not speak of is NULL. */
struct item {
    uint64_t id;   /* the same thing has the same one at the next frame */
    size_t came;   /* before it was sorted: equal ones keep this order */
    uint8_t depth; /* in a tree of processes: below so many */
    const struct node_now *n;
    const struct device_now *d;
    const struct proc_now *p;
    const struct person_now *who;
    const struct feed_event *e;
    const struct feed_alert *a;
};

/* A look at something: where Enter leads, and what is chosen there. */
struct place {
    enum look look;
    char node[NODE_KEY_MAX], device[UUID_MAX], user[64]; /* only of these; empty: all */
    bool of_user;
    uint64_t picked;
    size_t at, first; /* index of what is picked, and of the first line shown */
};

#define PLACES_MAX 8

struct top {
    const struct feed *feed;
    const char *me; /* whom `mine` means, and whose processes are not dim */
    struct view all, shown;
    struct filter *filter;
    struct arena arena; /* of shown */
    struct on_devices people;
    struct trails *trails;
    struct lanes_ask seed; /* what they are to begin with */
    bool seeded;
    size_t n_items, cap_items;
    struct item *items;

    enum look look; /* the home that is shown, when deep is empty */
    struct place home[LOOKS], deep[PLACES_MAX];
    size_t n_deep;
    unsigned order[LOOKS];
    bool turned[LOOKS]; /* the other way round */
    bool paused, help, typing;
    bool compact, tree; /* many to a line; processes below those that started them */
    struct aim aim;
    /* What is to be kept: settings, where that is asked for. said: how it went. NULL: cannot be. */
    void (*save)(const struct top *t, char said[160]);
    bool no_events, no_alerts; /* the feed does not know them yet */
    char typed[256];
    struct filter_err filter_err;
    int64_t every_ms;
    unsigned span;            /* of the history look: which of its spans */
    struct lanes_ask ask;     /* what it shows, and */
    const struct lanes *past; /* what is known of that; NULL: nothing yet */
    /* as last drawn, for the mouse and for pages */
    int list_y, list_h, columns, cell;
};

void top_init(struct top *t, const struct feed *feed, const char *me, int64_t every_ms);
void top_fini(struct top *t);
/* The feed's newest, chosen by the filter. tick: also a value for the plots. */
void top_refresh(struct top *t, bool tick);
/* False: quit. */
bool top_key(struct top *t, int key);
void top_click(struct top *t, int y, int x, bool twice);
void top_draw(struct top *t, struct sheet *s);

struct place *top_place(struct top *t);

/* list.c: the lines of the place that is shown, in order. */
void list_make(struct top *t);
const char *list_order(const struct top *t); /* what it is sorted by, in a word */
unsigned list_orders(enum look look);
const char *list_order_word(enum look look, unsigned order); /* the n-th of a look; NULL: there is none */
const struct device_now *list_device(const struct top *t, const char *uuid, const struct node_now **ret_node);

/* lines.c: one line of each list, and its title. */
void line_title(const struct top *t, struct sheet *s, int y, enum look look);
void line_item(const struct top *t, struct sheet *s, int y, enum look look, const struct item *i);
void line_place(struct sheet *s, int y, int x, int width, uint8_t style, const struct node_now *n,
                const struct device_now *d);
void line_marks(struct sheet *s, int y, int x, int width, const struct node_now *n);
int line_longest(const struct top *t, int *ret_most); /* columns of the longest name; the most devices of a node */
/* tree.c: the list of processes, sorted, becomes one of trees. */
void tree_make(struct top *t);
/* grid.c: many to a line. */
int grid_columns(const struct top *t, const struct sheet *s, enum look look); /* 1: it is a list */
int grid_cell(const struct top *t, enum look look);                           /* how wide each is */
void grid_item(const struct top *t, struct sheet *s, int y, int x, enum look look, const struct item *i);
/* history.c: the history look: what it asks for, once the list has its place, and its lines. */
void history_ask(struct top *t, const struct sheet *s);
void history_title(const struct top *t, struct sheet *s, int y);
void history_line(const struct top *t, struct sheet *s, int y, const struct item *i);
const char *history_span(const struct top *t); /* "the last hour" */
void history_next(struct top *t);              /* the next span */
extern const char *const history_words[];      /* "hour", ...; ends with NULL */
/* device.c: the upper part of a device's page; returns the line below it. */
int device_page(const struct top *t, struct sheet *s, int y, int h, const struct node_now *n,
                const struct device_now *d);
