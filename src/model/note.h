/*
 * note.h: a note: bytes by kind and number, which its owner writes as it likes. Alerts, silences, messages still to be
 * sent, which report went out, counters: records that nobody asks for by anything but their kind.
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

#define NOTE_MAX  (1u << 20) /* bytes of one */
#define NOTE_GONE (-1)

struct note {
    int32_t kind;    /* enum note_kind */
    int64_t id;      /* above 0, by kind */
    int64_t over_ms; /* from when on it is over, and may go with the other records in time; 0: it is open and stays;
                        put NOTE_GONE: take it away */
    struct str bytes;
};

/* The first id of this time, for a kind whose ids grow with time. */
static inline int64_t note_id_at(int64_t at_ms)
{
    const int64_t end_ms = 1ll << 43; /* the year 2248 */

    return (at_ms < 0 ? 0 : at_ms < end_ms ? at_ms : end_ms - 1) << 20;
}
