/*
 * schedule.h: reports that go out by themselves: the section `reports` of muster.yaml, and when each is due.
 *
 * B1 A report is of a whole day, week (from Monday) or month of its zone, the last one that is over, and is due at `at`
 * of the first day after it: a time that the clock leaves out is the first moment after the gap, one that comes twice
 * is meant once. B2 Whatever clock and settings do, a period that was seen to is not due again; one whose moment is
 * more than a day gone by is left out. B3 Nothing here reads a clock.
 */
#ifndef REPORT_SCHEDULE_H
#define REPORT_SCHEDULE_H

#include "notify/channel.h"
#include "base/zone.h"
#include "model/usage.h"

#define BULLETINS_MAX     50
#define BULLETIN_NAME_MAX 60
#define BULLETIN_CHANNELS 8
#define BULLETIN_LATE_MS  86400000ll /* so late one is sent still */

struct bulletin {
    const char *name;
    enum period every; /* PERIOD_DAY, PERIOD_WEEK or PERIOD_MONTH */
    int32_t at;        /* minute of the day */
    struct zone *zone; /* NULL: the hub's */
    bool status;       /* what every GPU does then, instead of usage */
    enum usage_by by;
    bool idle, chart;
    const char *filter, *company, *team; /* NULL: all */
    size_t n_channels;
    const char *channels[BULLETIN_CHANNELS];
};

struct bulletins;
struct bulletins *bulletins_new(void);
void bulletins_free(struct bulletins *b);
/* channels: those there are; NULL: any name will do. 0, or -EINVAL with "path:line:column: sentence"; b is of no use
 * then. */
int bulletins_read(struct bulletins *b, const struct opt_section *section, const struct channels *channels,
                   struct err *err);
const struct bulletin *bulletins_all(const struct bulletins *b, size_t *ret_n);
const struct bulletin *bulletins_find(const struct bulletins *b, const char *name);
void bulletin_what(const struct bulletin *b, char out[48]); /* "usage by person", "status" */

struct bulletin_due {
    int64_t from_ms, to_ms; /* the period */
    int64_t at_ms;          /* when it is due */
};
/* The newest that is due at now_ms, and the first after it. z: of b, or the hub's. */
void bulletin_times(const struct bulletin *b, const struct zone *z, int64_t now_ms, struct bulletin_due *ret_last,
                    struct bulletin_due *ret_next);
/* "Saturday 2026-11-14", "week 2026-W46", "2026-10" */
const char *bulletin_label(const struct bulletin *b, const struct zone *z, const struct bulletin_due *d, char out[40]);

enum bulletin_step {
    BULLETIN_WAIT,  /* nothing is due */
    BULLETIN_BEGIN, /* it is new: what is due by now is nobody's concern */
    BULLETIN_SEND,
    BULLETIN_SKIP, /* it was due too long ago */
    BULLETIN_RESET /* done_ms lies in a time that a wrong clock had: begin anew */
};
/* done_ms: the end of the last period that was seen to; 0: none. Of all but WAIT ret is the newest that is due, and
 * its end is the new done_ms. ret_missed: how many periods before it nobody was told of. */
enum bulletin_step bulletin_step(const struct bulletin *b, const struct zone *z, int64_t done_ms, int64_t now_ms,
                                 struct bulletin_due *ret, uint32_t *ret_missed);

#endif
