/*
 * slack_event.h: one thing that Slack sent, whichever way it came: a message, a slash command, a button. It is cut down
 * here to what is used of it, each part checked and bounded; text is as people typed it.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct buf;

#define SLACK_BODY_MAX  (256u << 10) /* of a request, or of a frame */
#define SLACK_ID_MAX    100          /* bytes of a name that Slack gave */
#define SLACK_TEXT_MAX  4000
#define SLACK_VALUE_MAX 2000

enum slack_event_kind {
    HEARD_NOTHING,   /* nothing for us: of a bot, an edit, somebody who joined, a kind we do not know */
    HEARD_CHALLENGE, /* is this address ours? text is what proves it */
    HEARD_MESSAGE,   /* somebody wrote where the bot is, or to it */
    HEARD_COMMAND,   /* a slash command */
    HEARD_BUTTON,    /* text is its value */
    HEARD_KINDS
};

struct slack_event {
    enum slack_event_kind kind;
    bool to_bot;      /* a direct message, or the bot is spoken to by name (the name is not in text then) */
    bool direct;      /* in a direct message: nobody else sees it */
    const char *id;   /* what a repetition has in common with it; "": nothing */
    const char *user; /* who; "U0123" */
    const char *channel;
    const char *ts;     /* of the message; "": it is none */
    const char *thread; /* the one it stands under; "": none */
    const char *text;
    const char *respond; /* where a command or a button is answered; "": nowhere */
};

/* What POST /slack/events has, and a frame's payload of type events_api. For free(); NULL with a sentence. */
struct slack_event *slack_event_parse(struct str json, struct err *err);
/* The field `payload` of POST /slack/action. */
struct slack_event *slack_action_parse(struct str json, struct err *err);
/* A frame of Socket Mode that has an envelope: its id (SLACK_ID_MAX + 1 bytes) too. */
struct slack_event *slack_envelope_parse(struct str json, char *ret_id, struct err *err);
/* A form's fields: get gives one by name, empty where there is none. */
struct slack_event *slack_command_parse(struct str (*get)(void *arg, const char *name), void *arg, struct err *err);

/* A frame of Socket Mode that is none. */
enum slack_frame { SLACK_ENVELOPE, SLACK_HELLO, SLACK_WARNING, SLACK_REFRESH, SLACK_DISABLED, SLACK_OTHER, SLACK_BAD };
enum slack_frame slack_frame_kind(struct str json);

/* Text as Slack writes it (&lt; <https://x|x> <#C1|gpus>) as people typed it. */
void slack_plain(struct buf *out, struct str text);
