/*
 * message.h: what is to be told through a channel. It is a note (note.h) until it was sent. All text is borrowed, and
 * never NULL in what is handed out.
 */
#ifndef MODEL_MESSAGE_H
#define MODEL_MESSAGE_H

#include <stdint.h>

enum message_kind { MESSAGE_FIRED, MESSAGE_RESOLVED, MESSAGE_KINDS };
extern const char *const message_words[MESSAGE_KINDS];

struct message {
    int64_t id; /* above 0; of one channel those with lower ones go first */
    int64_t created_ms;
    int32_t kind, severity;
    const char *channel;
    const char *rule;
    const char *title;  /* one line, without an end */
    const char *text;   /* lines; may be empty */
    const char *alerts; /* their numbers, commas between; of many the first ones */
};

struct message *message_copy(const struct message *m); /* in one piece, for free() */

#endif
