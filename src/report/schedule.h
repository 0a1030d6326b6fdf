/*
 * schedule.h: scheduled reports, which go out by themselves: the section `reports` of muster.yaml, and when each is
 * due.
 *
 * B1 A report is of a whole day, week (from Monday) or month of its zone, the last one that is over, and is due at `at`
 * of the first day after it: a time that the clock leaves out is the first moment after the gap, one that comes twice
 * is meant once. B2 Whatever clock and settings do, a period that was seen to is not due again; one whose moment is
 * more than a day gone by is left out. B3 Nothing here reads a clock.
 */
#pragma once

#include "base/zone.h"
#include "model/usage.h"
#include "notify/channel.h"

#define SCHEDULES_MAX      50
#define SCHEDULED_NAME_MAX 60
#define SCHEDULED_CHANNELS 8
#define SCHEDULED_LATE_MS  86400000ll /* so late one is sent still */

struct scheduled {
    const char *name;
    enum period every; /* PERIOD_DAY, PERIOD_WEEK or PERIOD_MONTH */
    int32_t at;        /* minute of the day */
    struct zone *zone; /* NULL: the hub's */
    bool status;       /* what every GPU does then, instead of usage */
    bool tree;         /* of a status: hosts, alive or dead, with the processes on them, as vesta's ALL */
    enum usage_by by;
    bool idle, chart;
    const char *filter, *company, *team; /* NULL: all */
    size_t n_channels;
    const char *channels[SCHEDULED_CHANNELS];
};

struct schedules {
    struct scheduled v[SCHEDULES_MAX];
    size_t n;
    struct arena arena; /* of their text */
};
struct schedules *schedules_new(void);
void schedules_free(struct schedules *b);
/* channels: those there are; NULL: any name will do. 0, or -EINVAL with "path:line:column: sentence"; b is of no use
 * then. */
int schedules_read(struct schedules *b, const struct opt_section *section, const struct channels *channels,
                   struct err *err);
const struct scheduled *schedules_find(const struct schedules *b, const char *name);
void scheduled_title(const struct scheduled *b, char out[48]); /* "usage by person", "status" */

struct scheduled_due {
    int64_t from_ms, to_ms; /* the period */
    int64_t at_ms;          /* when it is due */
};
/* The newest that is due at now_ms, and the first after it. z: of b, or the hub's. */
void scheduled_times(const struct scheduled *b, const struct zone *z, int64_t now_ms, struct scheduled_due *ret_last,
                     struct scheduled_due *ret_next);
/* "Saturday 2026-11-14", "week 2026-W46", "2026-10" */
const char *scheduled_label(const struct scheduled *b, const struct zone *z, const struct scheduled_due *d,
                            char out[40]);

enum scheduled_step {
    SCHEDULED_WAIT,  /* nothing is due */
    SCHEDULED_BEGIN, /* it is new: what is due by now is nobody's concern */
    SCHEDULED_SEND,
    SCHEDULED_SKIP, /* it was due too long ago */
    SCHEDULED_RESET /* done_ms lies in a time that a wrong clock had: begin anew */
};
/* done_ms: the end of the last period that was seen to; 0: none. Of all but WAIT ret is the newest that is due, and
 * its end is the new done_ms. ret_missed: how many periods before it nobody was told of. */
enum scheduled_step scheduled_step(const struct scheduled *b, const struct zone *z, int64_t done_ms, int64_t now_ms,
                                   struct scheduled_due *ret, uint32_t *ret_missed);
