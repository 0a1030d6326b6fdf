/*
 * alert.h: a current or past alert: its rule, its subject, its start. All text is borrowed, and never NULL in alerts
 * that muster returns.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "model/record.h"

enum severity { SEV_INFO, SEV_WARNING, SEV_CRITICAL, SEVERITIES };
extern const char *const severity_words[SEVERITIES + 1]; /* ends with NULL */

struct alert {
#define FIELD(no, field, type, column, json, most) RECORD_##type field;
#define KEY                                        FIELD
#include "model/alert.def"
};
extern const struct record_kind alert_record;

struct alert *alert_copy(const struct alert *a); /* in one piece, for free() */
enum alert_state { ALERT_PENDING, ALERT_FIRING, ALERT_RESOLVED, ALERT_STATES };
extern const char *const alert_words[ALERT_STATES];
enum alert_state alert_state(const struct alert *a);

/* Mutes matching alerts until it expires. */
struct silence {
#define FIELD(no, field, type, column, json, most) RECORD_##type field;
#define KEY                                        FIELD
#include "model/silence.def"
};
extern const struct record_kind silence_record;
struct silence *silence_copy(const struct silence *s);
bool silence_fits(const struct silence *s, const struct alert *a, int64_t now_ms);
bool alert_concerns(const struct alert *a, const char *person); /* it is about that person's GPUs or bookings */
