/*
 * conf.h: the section `slack` of muster.yaml: the bot of this hub. Its tokens are secrets: they come from files or the
 * environment when they are needed, so that a new one counts at once, and no sentence here holds one.
 */
#pragma once

#include "base/err.h"
#include "base/mem.h"
#include "base/opt.h"
#include "slack/dialog.h"
#include "slack/web_api.h"

struct buf;

/* What there is a secret for. */
enum slack_key {
    SLACK_TOKEN,     /* xoxb-...: to post; without it there is no bot */
    SLACK_APP_TOKEN, /* xapp-...: Socket Mode */
    SLACK_SIGNING,   /* HTTP events, slash commands and buttons */
    SLACK_KEYS
};

struct slack_conf {
    const char *file[SLACK_KEYS], *env[SLACK_KEYS];
    const char *channel; /* where what names no other goes; "": nowhere */
    struct dialog_conf say;
    struct slack_server server; /* no address has a slash behind */
    struct arena arena;         /* of the text above */
};
struct slack_conf *slack_conf_new(void); /* as if nothing was told: no bot */
void slack_conf_free(struct slack_conf *c);
/* 0, or -EINVAL with "path:line:column: sentence"; c is of no use then. */
int slack_conf_read(struct slack_conf *c, const struct opt_section *section, struct err *err);

bool slack_conf_has(const struct slack_conf *c, enum slack_key key);
/* The secret; ret is overwritten and the caller's. 0 or -errno with a sentence. */
int slack_conf_secret(const struct slack_conf *c, enum slack_key key, struct buf *ret, struct err *err);
