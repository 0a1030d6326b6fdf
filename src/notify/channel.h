/*
 * channel.h: channels: where messages go, and how: the section `channels` of muster.yaml, and a message as each kind of
 * channel takes it. Where a channel leads is a secret: it comes from a file or the environment when it is needed, so
 * that a new one counts at once, and no sentence here holds it.
 */
#pragma once

#include "base/mem.h"
#include "base/opt.h"
#include "base/secret.h"
#include "model/alert.h"
#include "model/message.h"

struct buf;

#define CHANNELS_MAX      50
#define CHANNEL_NAME_MAX  60
#define CHANNEL_WORDS_MAX 16 /* of a command */
#define CHANNEL_TO_MAX    20 /* addresses of a mail */

enum channel_type {
    CHANNEL_SLACK,
    CHANNEL_WEBHOOK,
    CHANNEL_NTFY,
    CHANNEL_COMMAND,
    CHANNEL_MAIL,
    CHANNEL_SLACK_BOT,
    CHANNEL_TYPES
};
extern const char *const channel_words[CHANNEL_TYPES];

struct channel {
    const char *name;
    enum channel_type type;
    int32_t severity;                        /* nothing below it */
    int32_t quiet_from, quiet_to;            /* minutes of the day; the same: no quiet hours */
    const char *url, *url_file, *url_env;    /* one of them; of a command and of Slack's bot none */
    const char *secret_file, *secret_env;    /* at most one */
    const char *argv[CHANNEL_WORDS_MAX + 1]; /* of a command; NULL-ended */
    const char *ca_file;                     /* NULL: the system's */
    bool each;                               /* every alert is a message of its own */
    bool to_person;                          /* to whom an alert concerns, each one alone; then `to` is empty */
    /* of mail and of Slack's bot */
    const char *to[CHANNEL_TO_MAX + 1]; /* NULL-ended; of the bot one, or none: as the section slack says */
    /* of mail */
    const char *user, *from; /* user NULL: it does not log in */
    bool plain;              /* tls: off */
};

/* A channel and how it does. Borrowed. */
struct channel_now {
    const char *name, *type;
    const char *error; /* "": it works, as far as is known */
    int64_t since_ms;  /* it fails since */
    size_t waiting;    /* messages */
    size_t passed;     /* persons who are not told for want of an address */
};

/* Its secret, or its address if that comes from a file, goes to another machine without TLS: the host goes to ret. */
bool channel_in_clear(const struct channel *c, char ret[SECRET_HOST_MAX]);

struct people;
struct channels {
    struct channel v[CHANNELS_MAX];
    size_t n;
    struct arena arena; /* of their text */
};
struct channels *channels_new(void);
void channels_free(struct channels *c);
/* 0, or -EINVAL with "path:line:column: sentence"; c is of no use then. */
int channels_read(struct channels *c, const struct opt_section *section, struct err *err);
/*
 * The channel of Slack's bot, where it answers who asks it; nothing is told there but what names it. Added unless
 * it is there. -EINVAL: the name is taken by another type, or there is no room.
 */
#define CHANNEL_BOT "slack-bot"
int channels_add_bot(struct channels *c, struct err *err);
const struct channel *channels_find(const struct channels *c, const char *name);

bool mail_address_ok(struct str s);            /* user@host, of plain letters */
size_t channel_joins(const struct channel *c); /* bytes of a digest it takes; 0: a program reads each message */
bool channel_quiet(const struct channel *c, int32_t minute); /* is it, at this minute of the day? */
/* Where that person is told through a channel `to: person`. NULL: they have no address there. */
const char *channel_address(const struct channel *c, const struct people *people, const char *person);
/* Where it leads, and its secret ("": it has none). 0 or -errno with a sentence. */
int channel_url(const struct channel *c, struct buf *ret, struct err *err);
int channel_secret(const struct channel *c, struct buf *ret, struct err *err);
/* What is sent: JSON, or of ntfy text. */
void channel_body(const struct channel *c, const struct message *m, struct buf *out);
