/*
 * notify_group.h: turns alerts into messages. Alerts of one rule are grouped; each channel gets the severities it
 * accepts, and each person the alerts that concern them.
 *
 * T1 Alerts are grouped by rule. A group is sent when its oldest alert is TELL_GROUP_MS old and none arrived for
 *    TELL_CALM_MS, or after TELL_LONGEST_MS.
 * T2 Silenced alerts are not sent.
 * T3 Pure: no clock, no writes.
 * T4 Resolved messages and reminders go only to recipients of the first message.
 * T5 One reminder per rule and recipient, for all alerts that still fire. None in quiet hours.
 * T6 Persons without an address, or who opted out, are skipped.
 * T7 A channel with `each` gets one message per alert. Alerts that go only to such channels do not wait for others.
 */
#pragma once

#include "alert/rule.h"
#include "base/buf.h"
#include "notify/channel.h"

#define TELL_GROUP_MS   10000  /* the first alert waits for others */
#define TELL_CALM_MS    6000   /* and until no other arrived for this long; more than two evaluation intervals */
#define TELL_LONGEST_MS 30000  /* maximum wait */
#define TELL_RETURN_MS  15000  /* the same for resolved alerts: nodes return one at a time */
#define TELL_LATEST_MS  120000 /* maximum wait of resolved alerts */

struct alert_change {
    const struct alert *a;
    int32_t kind; /* enum message_kind: fired; resolved; reminder: still fires; notice: over before any notification */
    int64_t since_ms; /* when the change happened */
    bool silenced;
    bool due;       /* out: its waiting time is over, even if no recipient wants it */
    bool told;      /* out: it is part of a message */
    struct buf who; /* out: recipients, in the format of notified.h; set if told. Free with buf_fini() */
};

struct notify_params {
    int64_t now_ms;
    int32_t minute; /* minute of the day, in the hub's time zone */
    const struct channels *channels;
    const struct alert_rules *rules;
    const struct people *people; /* NULL: no people known */
    struct live *live;           /* state of the nodes; NULL: unknown */
    /* Called for every person skipped because they have no address. May be NULL. */
    void (*passed)(void *arg, const char *channel, const char *person);
};
typedef void notify_fn(void *arg, const struct message *m); /* m has no id; it is borrowed for the call */
void alert_group_notify(const struct notify_params *k, struct alert_change *v, size_t n, notify_fn *say, void *arg);
