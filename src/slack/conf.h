/*
 * conf.h: the section `slack` of muster.yaml: the bot of this hub. Its tokens are secrets: they come from files or the
 * environment when they are needed, so that a new one counts at once, and no sentence here holds one.
 */
#pragma once

#include "base/err.h"
#include "base/opt.h"

struct buf;

/* Commands of the old bot, by the words that start them. */
enum slack_word { WORD_HOSTS, WORD_ALL, WORD_ALL_CMD, WORD_ALL_DETAIL, WORD_HELP, WORD_WHERE, SLACK_WORDS };

/* What there is a secret for. */
enum slack_key {
    SLACK_TOKEN,     /* xoxb-...: to post; without it there is no bot */
    SLACK_APP_TOKEN, /* xapp-...: Socket Mode */
    SLACK_SIGNING,   /* HTTP events, slash commands and buttons */
    SLACK_KEYS
};

struct slack_conf;
struct slack_conf *slack_conf_new(void); /* as if nothing was told: no bot */
void slack_conf_free(struct slack_conf *c);
/* 0, or -EINVAL with "path:line:column: sentence"; c is of no use then. */
int slack_conf_read(struct slack_conf *c, const struct opt_section *section, struct err *err);

bool slack_conf_has(const struct slack_conf *c, enum slack_key key);
/* The secret; ret is overwritten and the caller's. 0 or -errno with a sentence. */
int slack_conf_secret(const struct slack_conf *c, enum slack_key key, struct buf *ret, struct err *err);
/* None of these is NULL. */
const char *slack_conf_channel(const struct slack_conf *c); /* where what names no other goes; "": nowhere */
const char *slack_conf_prefix(const struct slack_conf *c);  /* before a command; "": nothing */
const char *slack_conf_word(const struct slack_conf *c, enum slack_word word); /* "": it is off */
bool slack_conf_open(const struct slack_conf *c);         /* may everybody in Slack read, mapped to a person or not? */
const char *slack_conf_url(const struct slack_conf *c);   /* where people find the page; "": where the hub listens */
const char *slack_conf_api(const struct slack_conf *c);   /* without a slash behind */
const char *slack_conf_hooks(const struct slack_conf *c); /* the same: what addresses to answer to begin with */
const char *slack_conf_ca_file(const struct slack_conf *c); /* NULL, as an exception: the system's */
