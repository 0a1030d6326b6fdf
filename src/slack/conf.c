/* conf.c: reads the section `slack`, member by member out of one table. */
#include "slack/conf.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "parse/ytree.h"

#define TEXT_MAX 500

struct slack_conf {
    const char *file[SLACK_KEYS], *env[SLACK_KEYS];
    const char *channel, *prefix, *api, *hooks, *ca_file, *url;
    const char *words[SLACK_WORDS];
    bool open;
    struct arena arena;
};

enum kind { TEXT, PATH, ADDRESS };

static const struct member {
    const char *name;
    size_t at;
    enum kind kind;
} members[] = {
    {"token_file", offsetof(struct slack_conf, file[SLACK_TOKEN]), PATH},
    {"token_env", offsetof(struct slack_conf, env[SLACK_TOKEN]), TEXT},
    {"app_token_file", offsetof(struct slack_conf, file[SLACK_APP_TOKEN]), PATH},
    {"app_token_env", offsetof(struct slack_conf, env[SLACK_APP_TOKEN]), TEXT},
    {"signing_file", offsetof(struct slack_conf, file[SLACK_SIGNING]), PATH},
    {"signing_env", offsetof(struct slack_conf, env[SLACK_SIGNING]), TEXT},
    {"channel", offsetof(struct slack_conf, channel), TEXT},
    {"prefix", offsetof(struct slack_conf, prefix), TEXT},
    {"api", offsetof(struct slack_conf, api), ADDRESS},
    {"hooks", offsetof(struct slack_conf, hooks), ADDRESS},
    {"ca_file", offsetof(struct slack_conf, ca_file), PATH},
    {"url", offsetof(struct slack_conf, url), ADDRESS},
};
static const struct member words[SLACK_WORDS] = {
    {"hosts", offsetof(struct slack_conf, words[WORD_HOSTS]), TEXT},
    {"all", offsetof(struct slack_conf, words[WORD_ALL]), TEXT},
    {"all_cmd", offsetof(struct slack_conf, words[WORD_ALL_CMD]), TEXT},
    {"all_detail", offsetof(struct slack_conf, words[WORD_ALL_DETAIL]), TEXT},
    {"help", offsetof(struct slack_conf, words[WORD_HELP]), TEXT},
    {"where", offsetof(struct slack_conf, words[WORD_WHERE]), TEXT},
};

struct slack_conf *slack_conf_new(void)
{
    struct slack_conf *c = mem_zero(1, sizeof(*c));

    *c = (struct slack_conf){
        .channel = "",
        .prefix = "",
        .url = "",
        .api = "https://slack.com/api",
        .hooks = "https://hooks.slack.com",
        .words = {"HOSTS", "ALL", "ALL_cmd", "ALL_detail", "HELP", "WHERE"},
    };
    return c;
}

void slack_conf_free(struct slack_conf *c)
{
    if (!c)
        return;
    arena_fini(&c->arena);
    free(c);
}

/* ---- muster.yaml ---- */

struct reading {
    struct slack_conf *c;
    const struct ytree *t;
    struct err *err;
};

static bool address_ok(struct str s)
{
    if (!str_starts(s, "https://") && !str_starts(s, "http://"))
        return false;
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.p[i] <= 32 || (unsigned char)s.p[i] > 126 || s.p[i] == '@' || s.p[i] == '?')
            return false;
    return s.len > strlen("https://");
}

static int read_value(struct reading *rd, const struct member *m, const struct ynode *v)
{
    struct str s = v->kind == YNODE_TEXT ? str_trim(v->text) : STR("");
    bool word = m >= words && m < words + SLACK_WORDS; /* empty: that one is off */
    bool empty = (word || m->at == offsetof(struct slack_conf, prefix)) && v->kind == YNODE_TEXT;

    if ((!s.len && !empty) || s.len > TEXT_MAX || !str_utf8_ok(s))
        return ytree_fail(rd->t, v, rd->err, "expected %s",
                          m->kind == PATH      ? "the path of a file"
                          : m->kind == ADDRESS ? "an address: https://..."
                                               : "a word, or text in quotes");
    while (m->kind == ADDRESS && s.len && s.p[s.len - 1] == '/')
        s.len--;
    if (m->kind == ADDRESS && !address_ok(s))
        return ytree_fail(rd->t, v, rd->err, "expected an address: https://...");
    *(const char **)(void *)((char *)rd->c + m->at) = arena_strn(&rd->c->arena, s.p, s.len);
    return 0;
}

static const struct member *find(const struct member *m, size_t n, struct str name)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(name, m[i].name))
            return &m[i];
    return NULL;
}

static int read_words(struct reading *rd, const struct ynode *v)
{
    int r = 0;

    if (v->kind != YNODE_MAP)
        return ytree_fail(rd->t, v, rd->err, "expected {hosts: HOSTS, all: ALL, help: HELP}");
    for (size_t i = 0; i < v->n && r == 0; i++) {
        const struct member *m = find(words, SLACK_WORDS, v->keys[i].text);
        r = m ? read_value(rd, m, &v->v[i])
              : ytree_fail(rd->t, &v->keys[i], rd->err,
                           "not understood here: hosts, all, all_cmd, all_detail, help and where are");
    }
    return r;
}

static int read_member(struct reading *rd, const struct ynode *key, const struct ynode *v)
{
    const struct member *m = find(members, ARRAY_LEN(members), key->text);

    if (m)
        return read_value(rd, m, v);
    if (str_eq(key->text, "keywords"))
        return read_words(rd, v);
    if (str_eq(key->text, "open"))
        return v->kind == YNODE_TEXT && str_bool(str_trim(v->text), &rd->c->open)
                   ? 0
                   : ytree_fail(rd->t, v, rd->err, "expected true or false");
    if (str_eq(key->text, "token") || str_eq(key->text, "app_token") || str_eq(key->text, "signing"))
        return ytree_fail(rd->t, key, rd->err, "a secret does not belong here: name a file that holds it, %.*s_file",
                          STR_ARG(key->text));
    return ytree_fail(rd->t, key, rd->err,
                      "not understood here: token_file, token_env, app_token_file, app_token_env, signing_file, "
                      "signing_env, channel, prefix, keywords, open, url, api, hooks and ca_file are");
}

static int check(const struct reading *rd)
{
    static const char *const names[SLACK_KEYS] = {"token", "app_token", "signing"};
    const struct slack_conf *c = rd->c;

    for (int i = 0; i < SLACK_KEYS; i++)
        if (c->file[i] && c->env[i])
            return ytree_fail(rd->t, rd->t->root, rd->err, "expected one of %s_file and %s_env", names[i], names[i]);
    if (!slack_conf_has(c, SLACK_TOKEN))
        return ytree_fail(rd->t, rd->t->root, rd->err,
                          "expected token_file or token_env: without the bot's token nothing can be posted");
    for (int i = 0; i < SLACK_WORDS; i++)
        for (int k = 0; k < i; k++)
            if (c->words[i][0] && strcmp(c->words[i], c->words[k]) == 0)
                return ytree_fail(rd->t, rd->t->root, rd->err, "the keywords %s and %s are the same word",
                                  words[k].name, words[i].name);
    return 0;
}

int slack_conf_read(struct slack_conf *c, const struct opt_section *section, struct err *err)
{
    AUTO_YTREE t = {0};

    if (!section->text)
        return 0;
    int r =
        ytree_read(str_of(section->text), &(struct ytree_ask){.path = section->path, .line = section->line}, &t, err);
    struct reading rd = {c, &t, err};
    if (r < 0 || !t.root)
        return r;
    if (t.root->kind != YNODE_MAP)
        return ytree_fail(&t, t.root, err, "expected {token_file: FILE, app_token_file: FILE, channel: \"#gpus\"}");
    for (size_t i = 0; r == 0 && i < t.root->n; i++)
        r = read_member(&rd, &t.root->keys[i], &t.root->v[i]);
    return r < 0 ? r : check(&rd);
}

/* ---- what it says ---- */

bool slack_conf_has(const struct slack_conf *c, enum slack_key key)
{
    return c->file[key] || c->env[key];
}

int slack_conf_secret(const struct slack_conf *c, enum slack_key key, struct buf *ret, struct err *err)
{
    AUTO_BUF b = {0};
    int r = file_or_env_secret(c->file[key], c->env[key], &b, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < b.len; i++)
        if ((unsigned char)b.p[i] <= 32 || (unsigned char)b.p[i] > 126) /* it would be a header of its own */
            return err_set(err, -EINVAL, "what %s holds is not a token", c->file[key] ? c->file[key] : c->env[key]);
    *ret = b;
    b = (struct buf){0};
    return 0;
}

const char *slack_conf_channel(const struct slack_conf *c)
{
    return c->channel;
}

const char *slack_conf_prefix(const struct slack_conf *c)
{
    return c->prefix;
}

const char *slack_conf_word(const struct slack_conf *c, enum slack_word word)
{
    return c->words[word];
}

bool slack_conf_open(const struct slack_conf *c)
{
    return c->open;
}

const char *slack_conf_url(const struct slack_conf *c)
{
    return c->url;
}

const char *slack_conf_api(const struct slack_conf *c)
{
    return c->api;
}

const char *slack_conf_hooks(const struct slack_conf *c)
{
    return c->hooks;
}

const char *slack_conf_ca_file(const struct slack_conf *c)
{
    return c->ca_file;
}
