/*
 * channel.h: channels, from the section `channels` of muster.yaml, and message bodies for each type. The destination
 * is a secret: it is read from a file or the environment on each use, so that a change applies immediately. No error
 * message contains it.
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
    int32_t severity;                        /* minimum severity */
    int32_t quiet_from, quiet_to;            /* minutes of the day; equal: no quiet hours */
    const char *url, *url_file, *url_env;    /* one is set; none for a command or Slack's bot */
    const char *secret_file, *secret_env;    /* at most one is set */
    const char *argv[CHANNEL_WORDS_MAX + 1]; /* of a command; NULL-terminated */
    const char *ca_file;                     /* NULL: the system's */
    bool each;                               /* one message per alert */
    bool to_person;                          /* sends to each affected person separately; then `to` is empty */
    /* for mail and Slack's bot */
    const char *to[CHANNEL_TO_MAX + 1]; /* NULL-terminated; the bot has at most one; if none: see section slack */
    /* for mail */
    const char *user, *from; /* user NULL: no login */
    bool plain;              /* tls: off */
};

/* A channel and its state. Borrowed. */
struct channel_now {
    const char *name, *type;
    const char *error; /* "": no known error */
    int64_t since_ms;  /* failing since */
    size_t waiting;    /* messages */
    size_t passed;     /* persons skipped because they have no address */
};

/* Whether its secret, or its address if that comes from a file, is sent to another machine without TLS; sets the host.
 */
bool channel_in_clear(const struct channel *c, char ret[SECRET_HOST_MAX]);

struct people;
struct channels {
    struct channel v[CHANNELS_MAX];
    size_t n;
    struct arena arena; /* of their text */
};
struct channels *channels_new(void);
void channels_free(struct channels *c);
/* Returns 0, or -EINVAL with "path:line:column: message" in err; c must not be used then. */
int channels_read(struct channels *c, const struct opt_section *section, struct err *err);
/*
 * Adds the channel of Slack's bot for its replies, unless it exists; other messages need its name. Returns -EINVAL if
 * another type has the name, or there is no room.
 */
#define CHANNEL_BOT "slack-bot"
int channels_add_bot(struct channels *c, struct err *err);
const struct channel *channels_find(const struct channels *c, const char *name);

bool mail_address_ok(struct str s);            /* user@host, of plain letters */
size_t channel_joins(const struct channel *c); /* maximum bytes of a digest; 0: a program reads each message */
bool channel_quiet(const struct channel *c, int32_t minute); /* at this minute of the day */
/* The address of this person for a channel `to: person`. NULL: they have none. */
const char *channel_address(const struct channel *c, const struct people *people, const char *person);
/* The destination, and its secret ("" if none). Returns 0, or -errno with a message in err. */
int channel_url(const struct channel *c, struct buf *ret, struct err *err);
int channel_secret(const struct channel *c, struct buf *ret, struct err *err);
/* The request body: JSON, or text for ntfy. */
void channel_body(const struct channel *c, const struct message *m, struct buf *out);
