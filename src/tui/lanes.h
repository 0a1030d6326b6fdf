/* lanes.h: utilisation and users of GPUs per time bin, for the history screen: data from a feed, and drawing. */
#pragma once

#include "model/fact.h"
#include "tui/sheet.h"

#define LANE_BINS  400 /* maximum: one per column */
#define LANE_ROWS  160 /* maximum number of visible devices */
#define LANE_USERS 200 /* distinct users; further ones are "?" */

/* The range the screen needs. */
struct lanes_query {
    int64_t from_ms, step_ms;
    size_t bins, n;
    char devices[LANE_ROWS][UUID_MAX];
};

enum { LANE_NOBODY = 0, LANE_UNKNOWN = 255 }; /* LANE_NOBODY: in who; LANE_UNKNOWN: in util */

struct lane {
    char device[UUID_MAX];
    uint8_t util[LANE_BINS]; /* percent; LANE_UNKNOWN */
    uint8_t who[LANE_BINS];  /* 1 + index in users; LANE_NOBODY */
};

struct lanes {
    int64_t from_ms, step_ms;
    size_t bins, n, n_users;
    struct lane *rows;
    char (*users)[64];
};

struct lanes *lanes_new(const struct lanes_query *ask); /* all unknown */
void lanes_free(struct lanes *p);
const struct lane *lanes_find(const struct lanes *p, const char *device);
/* user was on device from first to last; the later user of a bin is shown. */
void lanes_held(struct lanes *p, const char *device, const char *user, int64_t first_ms, int64_t last_ms);

/* Draws one device over width columns, the newest bin at the right; a span of one user starts with the name. */
void lane_draw(const struct lanes *p, const struct lane *r, struct sheet *s, int y, int x, int width);
/* Draws the time axis below it. */
void lanes_axis(const struct lanes *p, struct sheet *s, int y, int x, int width);
