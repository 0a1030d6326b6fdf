/*
 * note.h: a note: bytes by kind and number, in a format of its owner. Alerts, silences, pending messages, sent reports,
 * counters: records that are only read by kind.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

enum note_kind {
    NOTE_ALERT = 1,
    NOTE_SILENCE,
    NOTE_MESSAGE,
    NOTE_REPORT = 10,
    NOTE_GPUS = 20,
    NOTE_BOT = 30,
    NOTE_SESSION = 40,
    NOTE_LINK,
    NOTE_AUDIT, /* the audit log (access/audit.h): its ids grow with time */
    NOTE_TOTALS = 50,
    NOTE_KINDS
};

#define NOTE_MAX  (1u << 20) /* maximum size in bytes */
#define NOTE_GONE (-1)

struct note {
    int32_t kind;    /* enum note_kind */
    int64_t id;      /* above 0, by kind */
    int64_t over_ms; /* end of use, after which it expires like other records; 0: it is kept; put NOTE_GONE: delete
                      * it */
    struct str bytes;
};

/* The first id of this time, for a kind whose ids grow with time. */
static inline int64_t note_id_at(int64_t at_ms)
{
    const int64_t end_ms = 1ll << 43; /* the year 2248 */

    return (at_ms < 0 ? 0 : at_ms < end_ms ? at_ms : end_ms - 1) << 20;
}
