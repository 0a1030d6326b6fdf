/*
 * top.h: contents and keys of `muster top`, without a terminal: state in, sheet out. cmd_top.c adds the terminal and
 * the loop; tests add keys.
 */
#pragma once

#include "history/on_devices.h"
#include "now/view.h"
#include "tui/aim.h"
#include "tui/feed.h"
#include "tui/sheet.h"
#include "tui/trail.h"

enum top_view {
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

extern const char *const look_words[]; /* except the last: "overview", ...; NULL-terminated */

/* Keys outside Unicode. */
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
    TOP_NOTHING, /* a key without a function */
};

/* One line of a list. Members that the view does not use are NULL. */
struct item {
    uint64_t id;   /* stable between frames */
    size_t came;   /* order before sorting: keeps the sort stable */
    uint8_t depth; /* depth in the process tree */
    const struct node_now *n;
    const struct device_now *d;
    const struct proc_now *p;
    const struct person_now *who;
    const struct feed_event *e;
    const struct feed_alert *a;
};

/* A view and its selection. */
struct place {
    enum top_view look;
    char node[NODE_KEY_MAX], device[UUID_MAX], user[64]; /* restricts the view; empty: all */
    bool of_user;
    uint64_t picked;
    size_t at, first; /* index of the selection, and of the first visible line */
};

#define PLACES_MAX 8

struct top {
    const struct feed *feed;
    const char *me; /* the user of `mine`, whose processes are not dim */
    struct view all, shown;
    struct filter *filter;
    struct arena arena; /* of shown */
    struct on_devices people;
    struct trails *trails;
    struct lanes_query seed; /* initial range of the trails */
    bool seeded;
    size_t n_items, cap_items;
    struct item *items;

    enum top_view look; /* the current home, if deep is empty */
    struct place home[LOOKS], deep[PLACES_MAX];
    size_t n_deep;
    unsigned order[LOOKS];
    bool turned[LOOKS]; /* reversed order */
    bool paused, help, typing;
    bool compact, tree; /* compact: several per line; tree: processes below their parents */
    struct aim aim;
    /* Saves settings on request; writes the result to said. NULL: not possible. */
    void (*save)(const struct top *t, char said[160]);
    bool no_events, no_alerts; /* the feed does not have them yet */
    char typed[256];
    struct filter_err filter_err;
    int64_t every_ms;
    unsigned span;            /* index of the time span of the history view */
    struct lanes_query ask;   /* its current query, and */
    const struct lanes *past; /* its data; NULL: none yet */
    /* last drawn position, for the mouse and for paging */
    int list_y, list_h, columns, cell;
};

void top_init(struct top *t, const struct feed *feed, const char *me, int64_t every_ms);
void top_fini(struct top *t);
/* Takes the newest data of the feed, filtered. tick: also adds a value to the plots. */
void top_refresh(struct top *t, bool tick);
/* Returns false to quit. */
bool top_key(struct top *t, int key);
void top_click(struct top *t, int y, int x, bool twice);
void top_draw(struct top *t, struct sheet *s);

struct place *top_place(struct top *t);

/* list.c: the lines of the current place, sorted. */
void list_make(struct top *t);
const char *list_order(const struct top *t); /* name of the sort column */
unsigned list_orders(enum top_view look);
const char *list_order_word(enum top_view look, unsigned order); /* the n-th sort column of a view; NULL if none */
const struct device_now *list_device(const struct top *t, const char *uuid, const struct node_now **ret_node);

/* lines.c: one line of each list, and its title. */
void line_title(const struct top *t, struct sheet *s, int y, enum top_view look);
void line_item(const struct top *t, struct sheet *s, int y, enum top_view look, const struct item *i);
void line_place(struct sheet *s, int y, int x, int width, uint8_t style, const struct node_now *n,
                const struct device_now *d);
void line_marks(struct sheet *s, int y, int x, int width, const struct node_now *n);
int line_longest(const struct top *t, int *ret_most); /* width of the longest name; max devices of a node */
/* tree.c: reorders the sorted processes as trees. */
void tree_make(struct top *t);
/* grid.c: several items per line. */
int grid_columns(const struct top *t, const struct sheet *s, enum top_view look); /* 1: a list */
int grid_cell(const struct top *t, enum top_view look);                           /* width of an item */
void grid_item(const struct top *t, struct sheet *s, int y, int x, enum top_view look, const struct item *i);
/* history.c: query, title and lines of the history view. Call top_fetch_history when the list has its position. */
void top_fetch_history(struct top *t, const struct sheet *s);
void history_title(const struct top *t, struct sheet *s, int y);
void history_line(const struct top *t, struct sheet *s, int y, const struct item *i);
const char *history_span(const struct top *t); /* "the last hour" */
void history_next(struct top *t);              /* selects the next span */
extern const char *const history_words[];      /* "hour", ...; NULL-terminated */
/* device.c: the upper part of a device's page; returns the next line. */
int device_page(const struct top *t, struct sheet *s, int y, int h, const struct node_now *n,
                const struct device_now *d);
