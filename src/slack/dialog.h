/*
 * dialog.h: what the bot says. A text somebody wrote becomes requests of the hub's own API, made in that person's name,
 * and their answers become a message: so nobody sees or does through the bot what they may not on the page. Pure:
 * whoever has a hub (slack/dialog_run.h) makes the requests. docs/slack.md, "What to say".
 *
 * Y1 Ordinary talk is never answered: in a channel only a message that is a keyword of the old bot, whole and letter by
 * letter (behind the prefix), is. Y2 What is said to us gets an answer always, if only a sentence. Y3 Blocks are within
 * Slack's limits, and names in them cannot mention anybody: & < > are escaped. Y4 Any text is survived; at most
 * DIALOG_TEXT_MAX bytes of it are read.
 */
#pragma once

#include "base/str.h"
#include "model/message.h"

struct buf;
struct people;
struct zone;

#define DIALOG_TEXT_MAX  2000
#define DIALOG_CALLS_MAX 4
#define DIALOG_BYTES_MAX (560u << 10) /* of all files: a longer list is cut, and says so; a message carries them */

/* ---- the question ---- */

enum dialog_way {
    DIALOG_TALK,  /* a message in a channel that names nobody: the old keywords alone */
    DIALOG_TO_US, /* a slash command (without the slash word), a mention (with or without it), a direct message */
};
enum dialog_legacy {
    DIALOG_HOSTS,
    DIALOG_ALL,
    DIALOG_ALL_CMD,
    DIALOG_ALL_DETAIL,
    DIALOG_HELP,
    DIALOG_WHERE,
    DIALOG_OLDS
};

struct dialog_conf {
    const char *prefix;                /* before a keyword; "": none */
    const char *keywords[DIALOG_OLDS]; /* "": that one is off. With all of them off, names of hosts are too */
    bool open;                         /* reading for everybody, also who is mapped to nobody */
    const char *url;                   /* where people find the page; NULL or "": where the hub listens */
};
extern const struct dialog_conf dialog_usual; /* HOSTS, ALL, ..., no prefix, not open */

struct dialog_params {
    struct str text; /* as it was typed: Slack's escapes are gone (slack_plain) */
    enum dialog_way way;
    const char *person; /* whom the asker is mapped to; NULL or "": nobody */
    const char *called; /* what to call them where they are not known: a Slack id; may be NULL */
    bool own_rights;    /* whoever asks has rights of their own, mapped or not: the API says what they may */
    int64_t now_ms;
    const struct dialog_conf *conf;              /* NULL: dialog_usual */
    const struct zone *zone;                     /* NULL: UTC */
    const struct people *people;                 /* NULL: nobody is told of */
    const char *name, *url;                      /* the cluster's; where the page is, NULL: not known */
    bool (*is_node)(void *arg, struct str name); /* NULL: none is */
    void *arg;
};

/* ---- the answer ---- */

/* Borrowed from the conversation. */
struct dialog_answer {
    const char *text;   /* plain, without markup or escapes: for notifications and terminals */
    const char *blocks; /* Slack's, a JSON array of at most 50; "": text says it all */
    size_t n_files;
    const struct message_file *files; /* as "ALL.txt", with the title "response: ALL" */
    bool ephemeral;                   /* for the asker's eyes alone: something was not understood, or is not allowed */
    bool refused;                     /* the answer is no: not understood, not allowed, nothing free */
};

/* ---- the way from one to the other ---- */

struct dialog;
/* Copies what it needs. NULL: ordinary talk, nothing is to be said. */
struct dialog *dialog_new(const struct dialog_params *k);
void dialog_free(struct dialog *s);

/* A request of the hub's API. */
struct dialog_call {
    const char *method, *target; /* "GET", "/api/v1/free?count=4" */
    struct str body;             /* JSON; empty: none */
};
const struct dialog_call *dialog_next_call(const struct dialog *s); /* NULL: the answer is there */
/* The reply to dialog_next_call's, whatever it is. */
void dialog_add_reply(struct dialog *s, int status, struct str body);
const struct dialog_answer *dialog_answer(struct dialog *s);

/* As POST /api/v1/say answers: {"text", "blocks", "files": [{"name", "title", "type", "base64"}], "ephemeral"}. */
void dialog_json(struct buf *out, const struct dialog_answer *a);

/* A message that has no blocks of its own as blocks; of an alert with buttons that silence it. Onto the end of out. */
void dialog_message_json(struct buf *out, const struct message *m);

/*
 * The person with that Slack id ("U0123"), or with that mail; NULL: nobody. Names in Slack are not asked: everybody
 * chooses their own.
 */
const char *slack_find_person(const struct people *c, const char *slack_id, const char *mail);
