/*
 * message.h: a message to send through a channel. It is stored as a note (note.h) until it was sent. All text is
 * borrowed, and never NULL in messages that muster returns.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "model/record.h"

enum message_kind {
    MESSAGE_FIRED,
    MESSAGE_RESOLVED,
    MESSAGE_REMINDER, /* the condition still holds */
    MESSAGE_NOTICE,   /* an event without an end */
    MESSAGE_REPORT,
    MESSAGE_ANSWER, /* a reply to a user */
    MESSAGE_KINDS
};
extern const char *const message_words[MESSAGE_KINDS];

#define MESSAGE_FILES_MAX  4
#define MESSAGE_FILE_BYTES (600u << 10) /* of all files of a message; a note has room for that as text */

struct message_file {
    const char *name; /* "usage.png" */
    const char *type; /* "image/png" */
    struct str bytes;
    const char *title; /* title above the file in Slack; "": its name */
};

struct message {
#define FIELD(no, field, type, column, json, most) RECORD_##type field;
#define KEY                                        FIELD
#include "model/message.def"
    size_t n_files;
    const struct message_file *files;
};
extern const struct record_kind message_record, message_file_record;

struct message *message_copy(const struct message *m); /* in one piece, for free() */

/* Title and text in Slack's format: & < > escaped, cut before Slack would. */
struct buf;
void message_slack(const struct message *m, struct buf *out);
