/*
 * channel.c: reads channels and their secrets from muster.yaml, and writes a message in the format of each type. Does
 * not send.
 */
#include "notify/channel.h"

#include <errno.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/zone.h"
#include "model/fact.h"
#include "parse/ytree.h"
#include "people/people.h"

#define TEXT_MAX 2000

const char *const channel_words[CHANNEL_TYPES] = {"slack", "webhook", "ntfy", "command", "mail", "slack-bot"};

struct channels *channels_new(void)
{
    return mem_zero(1, sizeof(struct channels));
}

void channels_free(struct channels *c)
{
    if (!c)
        return;
    arena_fini(&c->arena);
    free(c);
}

const struct channel *channels_find(const struct channels *c, const char *name)
{
    return FIND(c->v, c->n, e, strcmp(e->name, name) == 0);
}

const char *channel_address(const struct channel *c, const struct people *people, const char *person)
{
    const struct person *p = people_find(people, person);

    if (c->type == CHANNEL_MAIL)
        return p && p->mail && mail_address_ok(str_of(p->mail)) ? p->mail : NULL;
    if (c->type == CHANNEL_SLACK_BOT)
        return !p ? NULL : p->slack ? p->slack : p->mail; /* Slack maps a mail address to a user */
    return person;                                        /* the receiver maps the name */
}

/* ---- muster.yaml ---- */

struct reading {
    struct channels *c;
    const struct ytree *t;
    struct err *err;
};

static int read_text(struct reading *rd, const struct ynode *at, const char *what, const char **ret)
{
    struct str s = at->kind == YNODE_TEXT ? str_trim(at->text) : STR("");

    if (!s.len || s.len > TEXT_MAX || !str_utf8_ok(s))
        return yfail(rd, at, "expected %s", what);
    *ret = arena_strn(&rd->c->arena, s.p, s.len);
    return 0;
}

static const char *const web_urls[] = {"https://", "http://", NULL}, *const mail_urls[] = {"smtps://", "smtp://", NULL};

static bool url_ok(const struct channel *c, struct str s)
{
    const char *const *v = c->type == CHANNEL_MAIL ? mail_urls : web_urls;

    while (*v && !str_starts(s, *v))
        v++;
    if (!*v || !str_visible(s, ""))
        return false;
    s = str_drop(s, strlen(*v));
    if (c->type == CHANNEL_MAIL) /* host and port only: the user is a separate key */
        return s.len && str_find(s, "/") < 0 && str_find(s, "@") < 0;
    return s.len > 0;
}

/* Whether the text needs no quotes, and cannot end a line or an address. */
bool mail_address_ok(struct str s)
{
    int at = str_find(s, "@");

    return at > 0 && s.len <= 254 && (size_t)at + 1 < s.len && str_rfind(s, "@") == at &&
           str_visible(s, "<>()[],;:\\\"");
}

static int read_word(struct reading *rd, const struct ynode *at, const char *const *words, int n, const char *list,
                     int *ret)
{
    *ret = at->kind == YNODE_TEXT ? (int)FIRST((size_t)n, i, str_eq(str_trim(at->text), words[i])) : n;
    return *ret < n ? 0 : yfail(rd, at, "expected %s", list);
}

static int read_quiet(struct reading *rd, const struct ynode *at, struct channel *c)
{
    struct str rest = at->kind == YNODE_TEXT ? at->text : STR(""), from;

    if (!str_cut(&rest, '-', &from) || !minute_parse(from, &c->quiet_from) || !minute_parse(rest, &c->quiet_to))
        return yfail(rd, at, "expected quiet hours, as \"22:00-07:00\"");
    return 0;
}

static int read_command(struct reading *rd, const struct ynode *at, struct channel *c)
{
    size_t n = at->kind == YNODE_LIST ? at->n : 1;
    int r = 0;

    if (at->kind == YNODE_MAP || !n || n > CHANNEL_WORDS_MAX)
        return yfail(rd, at, "expected a program and its words: [/usr/local/bin/tell, -v]");
    for (size_t i = 0; i < n && r == 0; i++)
        r = read_text(rd, at->kind == YNODE_LIST ? &at->v[i] : at, "a program or one of its words", &c->argv[i]);
    if (r == 0 && (!c->argv[0] || c->argv[0][0] != '/'))
        return yfail(rd, at, "expected the program with its whole path: /usr/local/bin/tell");
    return r;
}

/* Recipients: one, a list, or the word person. The format of an address depends on the type: see read_one. */
static int read_to(struct reading *rd, const struct ynode *at, struct channel *c)
{
    size_t n = at->kind == YNODE_LIST ? at->n : 1;
    int r = 0;

    if (at->kind == YNODE_MAP || !n || n > CHANNEL_TO_MAX)
        return yfail(rd, at, "expected whom: an address, a list of up to %d, or person", CHANNEL_TO_MAX);
    c->to_person = at->kind == YNODE_TEXT && str_eq(str_trim(at->text), "person");
    for (size_t i = 0; i < n && r == 0 && !c->to_person; i++)
        r = read_text(rd, at->kind == YNODE_LIST ? &at->v[i] : at, "whom: an address, or person", &c->to[i]);
    return r;
}

static int read_from(struct reading *rd, const struct ynode *at, struct channel *c)
{
    int r = read_text(rd, at, "a mail address: muster@example.org", &c->from);

    if (r == 0 && !mail_address_ok(str_of(c->from)))
        return yfail(rd, at, "expected a mail address: muster@example.org");
    return r;
}

static int read_switch(struct reading *rd, const struct ynode *at, bool *ret)
{
    if (at->kind != YNODE_TEXT || !str_bool(str_trim(at->text), ret))
        return yfail(rd, at, "expected on or off");
    return 0;
}

static int read_member(struct reading *rd, const struct ynode *key, const struct ynode *v, struct channel *c)
{
    bool tls = true;
    int n = 0, r;

    if (str_eq(key->text, "type")) {
        r = read_word(rd, v, channel_words, CHANNEL_TYPES, "slack, slack-bot, mail, webhook, ntfy or command", &n);
        c->type = (enum channel_type)n;
        return r;
    }
    if (str_eq(key->text, "severity")) {
        r = read_word(rd, v, severity_words, SEVERITIES, "info, warning or critical", &n);
        c->severity = n;
        return r;
    }
    if (str_eq(key->text, "quiet"))
        return read_quiet(rd, v, c);
    if (str_eq(key->text, "command"))
        return read_command(rd, v, c);
    if (str_eq(key->text, "url"))
        return read_text(rd, v, "an address: https://...", &c->url);
    if (str_eq(key->text, "url_file"))
        return read_text(rd, v, "a file that holds the address", &c->url_file);
    if (str_eq(key->text, "url_env"))
        return read_text(rd, v, "a variable that holds the address", &c->url_env);
    if (str_eq(key->text, "secret_file"))
        return read_text(rd, v, "a file that holds the secret", &c->secret_file);
    if (str_eq(key->text, "secret_env"))
        return read_text(rd, v, "a variable that holds the secret", &c->secret_env);
    if (str_eq(key->text, "ca_file"))
        return read_text(rd, v, "a file of certificates", &c->ca_file);
    if (str_eq(key->text, "to"))
        return read_to(rd, v, c);
    if (str_eq(key->text, "from"))
        return read_from(rd, v, c);
    if (str_eq(key->text, "user"))
        return read_text(rd, v, "the name to log in with", &c->user);
    if (str_eq(key->text, "each"))
        return read_switch(rd, v, &c->each);
    if (str_eq(key->text, "tls")) {
        r = read_switch(rd, v, &tls);
        c->plain = !tls;
        return r;
    }
    return yfail(rd, key,
                 "not understood here: type, url, url_file, url_env, secret_file, secret_env, ca_file, to, from, "
                 "user, tls, command, severity, each and quiet are");
}

static int check_mail(struct reading *rd, const struct ynode *v, const struct channel *c)
{
    if (!c->from || (!c->to[0] && !c->to_person))
        return yfail(rd, v, "a mail needs from and to");
    if (!c->user != (!c->secret_file && !c->secret_env))
        return yfail(rd, v, "user and secret_file (or secret_env) go together");
    for (size_t i = 0; c->to[i]; i++)
        if (!mail_address_ok(str_of(c->to[i])))
            return yfail(rd, ynode_get(v, "to"), "expected mail addresses: ops@example.org");
    if (c->plain && c->url && str_starts(str_of(c->url), "smtps://"))
        return yfail(rd, ynode_get(v, "tls"), "smtps:// has TLS");
    return 0;
}

/* Checks that the members fit together. */
static int check_one(struct reading *rd, const struct ynode *v, const struct channel *c)
{
    int urls = !!c->url + !!c->url_file + !!c->url_env;
    bool mail = c->type == CHANNEL_MAIL, bot = c->type == CHANNEL_SLACK_BOT, command = c->type == CHANNEL_COMMAND;

    if (command && (!c->argv[0] || urls || c->ca_file))
        return yfail(rd, v, "a command needs command, and nothing of url");
    if (bot && (urls || c->secret_file || c->secret_env || c->ca_file || c->argv[0]))
        return yfail(rd, v, "a slack-bot has to alone; the rest is in the section slack");
    if (!command && !bot && (urls != 1 || c->argv[0]))
        return yfail(rd, v, "expected one of url_file, url_env and url");
    if (c->url && !url_ok(c, str_of(c->url)))
        return yfail(rd, ynode_get(v, "url"), "expected an address: %s...", mail ? "smtps://" : "https://");
    if (c->secret_file && c->secret_env)
        return yfail(rd, v, "expected one of secret_file and secret_env");
    if (!mail && (c->user || c->from || c->plain))
        return yfail(rd, v, "user, from and tls are of mail alone");
    if (!mail && !bot && c->to[0])
        return yfail(rd, v, "only mail and slack-bot have 'to', except for to: person");
    if (c->to_person && (c->type == CHANNEL_SLACK || c->type == CHANNEL_NTFY))
        return yfail(rd, v, "this type of channel cannot notify single users");
    if (bot && c->to[0] && c->to[1])
        return yfail(rd, ynode_get(v, "to"), "a slack-bot has one place to post to: \"#ops\"");
    return mail ? check_mail(rd, v, c) : 0;
}

static int read_one(struct reading *rd, const struct ynode *key, const struct ynode *v)
{
    struct channel *c = &rd->c->v[rd->c->n];
    int r = 0;

    if (!name_ok(str_trim(key->text), CHANNEL_NAME_MAX) || memchr(key->text.p, ',', key->text.len))
        return yfail(rd, key, "expected the name of a channel, up to %d bytes without commas", CHANNEL_NAME_MAX);
    if (rd->c->n == CHANNELS_MAX)
        return yfail(rd, key, "at most %d channels", CHANNELS_MAX);
    if (v->kind != YNODE_MAP || !ynode_get(v, "type"))
        return yfail(rd, v, "expected {type: slack, url_file: FILE, severity: warning}");
    *c = (struct channel){.name = arena_strn(&rd->c->arena, str_trim(key->text).p, str_trim(key->text).len),
                          .severity = -1};
    if (channels_find(rd->c, c->name))
        return yfail(rd, key, "this channel is there already");
    for (size_t i = 0; i < v->n && r == 0; i++)
        r = read_member(rd, &v->keys[i], &v->v[i], c);
    if (r < 0)
        return r;
    if (c->severity < 0)
        c->severity = c->to_person ? SEV_INFO : SEV_WARNING;
    r = check_one(rd, v, c);
    rd->c->n += r == 0;
    return r;
}

int channels_read(struct channels *c, const struct opt_section *section, struct err *err)
{
    AUTO_YTREE t = {0};
    struct reading rd = {c, &t, err};
    int r = ytree_section(section, "names of channels", &t, err);

    for (size_t i = 0; r == 0 && t.root && i < t.root->n; i++)
        r = read_one(&rd, &t.root->keys[i], &t.root->v[i]);
    return r;
}

int channels_add_bot(struct channels *c, struct err *err)
{
    const struct channel *there = channels_find(c, CHANNEL_BOT);

    if (there)
        return there->type == CHANNEL_SLACK_BOT
                   ? 0
                   : err_set(err, -EINVAL, "channel '" CHANNEL_BOT "' is the bot's own: call yours otherwise");
    if (c->n == CHANNELS_MAX)
        return err_set(err, -EINVAL, "at most %d channels, one of them the bot's", CHANNELS_MAX);
    c->v[c->n++] = (struct channel){.name = CHANNEL_BOT, .type = CHANNEL_SLACK_BOT, .severity = SEVERITIES};
    return 0;
}

/* ---- when, where ---- */

size_t channel_joins(const struct channel *c)
{
    static const size_t bytes[CHANNEL_TYPES] = {[CHANNEL_SLACK] = 2900, /* a block of Slack's has 3000 characters */
                                                [CHANNEL_SLACK_BOT] = 2900,
                                                [CHANNEL_NTFY] = 3500, /* 4096 with the title */
                                                [CHANNEL_MAIL] = 60000};

    return bytes[c->type];
}

bool channel_quiet(const struct channel *c, int32_t minute)
{
    if (c->quiet_from <= c->quiet_to)
        return minute >= c->quiet_from && minute < c->quiet_to;
    return minute >= c->quiet_from || minute < c->quiet_to;
}

int channel_url(const struct channel *c, struct buf *ret, struct err *err)
{
    AUTO_BUF b = BUF_INIT(4096);
    int r = c->url ? buf_adds(&b, c->url) : file_or_env_secret(c->url_file, c->url_env, &b, err);

    if (r < 0)
        return r;
    if (!url_ok(c, buf_str(&b)))
        return err_set(err, -EINVAL, "what %s holds is not an address",
                       c->url_file  ? c->url_file
                       : c->url_env ? c->url_env
                                    : "url");
    *ret = b;
    b = (struct buf){0};
    return 0;
}

int channel_secret(const struct channel *c, struct buf *ret, struct err *err)
{
    *ret = BUF_INIT(4096);
    if (!c->secret_file && !c->secret_env)
        return buf_adds(ret, "");
    return file_or_env_secret(c->secret_file, c->secret_env, ret, err);
}

bool channel_in_clear(const struct channel *c, char ret[SECRET_HOST_MAX])
{
    bool hidden = c->url_file || c->url_env, secret = c->secret_file || c->secret_env;
    AUTO_BUF url = {0};

    if (c->type == CHANNEL_MAIL ? !c->user || !c->plain : !hidden && !secret && c->type != CHANNEL_SLACK)
        return false;
    return (c->url || hidden) && channel_url(c, &url, NULL) == 0 && secret_in_clear(url.p, ret);
}

/* ---- bodies ---- */

static void body_slack(const struct message *m, struct buf *out)
{
    AUTO_BUF text = BUF_INIT(8u << 20);

    message_slack(m, &text);
    json_print(out, "{'text':%s}", buf_str(&text).p);
}

static void body_json(const struct message *m, struct buf *out)
{
    struct json j = json_on(out);
    struct str rest = str_of(m->alerts), one;
    int64_t id;

    json_obj(&j, NULL);
    json_int(&j, "id", m->id);
    json_int(&j, "at", m->created_ms);
    json_cstr(&j, "channel", m->channel);
    json_some(&j, "to", m->to);
    json_some(&j, "person", m->person);
    json_cstr(&j, "kind", message_words[m->kind]);
    json_cstr(&j, "severity", severity_words[m->severity]);
    json_cstr(&j, "rule", m->rule);
    json_cstr(&j, "title", m->title);
    json_cstr(&j, "text", m->text);
    json_arr(&j, "alerts");
    while (str_cut(&rest, ',', &one))
        if (str_int(one, &id))
            json_int(&j, NULL, id);
    json_end_arr(&j);
    json_end_obj(&j);
    buf_addc(out, '\n');
}

void channel_body(const struct channel *c, const struct message *m, struct buf *out)
{
    if (c->type == CHANNEL_SLACK)
        body_slack(m, out);
    else if (c->type == CHANNEL_NTFY)
        buf_addf(out, "%s%s%s", m->title, m->text[0] ? "\n" : "", m->text);
    else
        body_json(m, out);
}
