/*
 * lanes.h: what GPUs did and who was on them, bin by bin, for the history screen: what a feed gives, and how it is
 * drawn.
 */
#pragma once

#include "model/fact.h"
#include "tui/sheet.h"

#define LANE_BINS  400 /* at most: a column each */
#define LANE_ROWS  160 /* devices at most: those in sight */
#define LANE_USERS 200 /* told apart; of more, the rest are "?" */

/* What the screen would like to see. */
struct lanes_ask {
    int64_t from_ms, step_ms;
    size_t bins, n;
    char devices[LANE_ROWS][UUID_MAX];
};

enum { LANE_NOBODY = 0, LANE_UNKNOWN = 255 }; /* of who; of util */

struct lane {
    char device[UUID_MAX];
    uint8_t util[LANE_BINS]; /* percent; LANE_UNKNOWN */
    uint8_t who[LANE_BINS];  /* 1 + place in users; LANE_NOBODY */
};

struct lanes {
    int64_t from_ms, step_ms;
    size_t bins, n, n_users;
    struct lane *rows;
    char (*users)[64];
};

struct lanes *lanes_new(const struct lanes_ask *ask); /* nothing known yet */
void lanes_free(struct lanes *p);
const struct lane *lanes_find(const struct lanes *p, const char *device);
/* user was on device from first to last; the later of two in a bin is shown. */
void lanes_held(struct lanes *p, const char *device, const char *user, int64_t first_ms, int64_t last_ms);

/* One device over width columns, its newest bin at the right: a stretch of one person begins with the name. */
void lane_draw(const struct lanes *p, const struct lane *r, struct sheet *s, int y, int x, int width);
/* The times below it. */
void lanes_axis(const struct lanes *p, struct sheet *s, int y, int x, int width);
