/* conf.c: reads the section `slack`, member by member out of one table. */
#include "slack/conf.h"

#include <errno.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "parse/ytree.h"

#define TEXT_MAX 500

enum kind { TEXT, WORD /* may be empty */, PATH, ADDRESS };

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
    {"prefix", offsetof(struct slack_conf, say.prefix), WORD},
    {"api", offsetof(struct slack_conf, server.api), ADDRESS},
    {"hooks", offsetof(struct slack_conf, server.hooks), ADDRESS},
    {"ca_file", offsetof(struct slack_conf, server.ca_file), PATH},
    {"url", offsetof(struct slack_conf, say.url), ADDRESS},
};
static const char *const words[DIALOG_OLDS] = {"hosts", "all", "all_cmd", "all_detail", "help", "where"};

struct slack_conf *slack_conf_new(void)
{
    return NEW(struct slack_conf, .channel = "", .say = dialog_usual,
               .server = {.api = "https://slack.com/api", .hooks = "https://hooks.slack.com"});
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
    return (str_starts(s, "https://") || str_starts(s, "http://")) && str_visible(s, "@?") &&
           s.len > strlen("https://");
}

static int read_value(struct reading *rd, enum kind kind, const struct ynode *v, const char **ret)
{
    struct str s = v->kind == YNODE_TEXT ? str_trim(v->text) : STR("");
    bool empty = kind == WORD && v->kind == YNODE_TEXT;

    if ((!s.len && !empty) || s.len > TEXT_MAX || !str_utf8_ok(s))
        return yfail(rd, v, "expected %s",
                     kind == PATH      ? "the path of a file"
                     : kind == ADDRESS ? "an address: https://..."
                                       : "a word, or text in quotes");
    while (kind == ADDRESS && s.len && s.p[s.len - 1] == '/')
        s.len--;
    if (kind == ADDRESS && !address_ok(s))
        return yfail(rd, v, "expected an address: https://...");
    *ret = arena_strn(&rd->c->arena, s.p, s.len);
    return 0;
}

static int read_words(struct reading *rd, const struct ynode *v)
{
    int r = 0;

    if (v->kind != YNODE_MAP)
        return yfail(rd, v, "expected {hosts: HOSTS, all: ALL, help: HELP}");
    for (size_t i = 0; i < v->n && r == 0; i++) {
        size_t k = FIRST(DIALOG_OLDS, w, str_eq(v->keys[i].text, words[w]));
        r = k < DIALOG_OLDS
                ? read_value(rd, WORD, &v->v[i], &rd->c->say.keywords[k])
                : yfail(rd, &v->keys[i], "not understood here: hosts, all, all_cmd, all_detail, help and where are");
    }
    return r;
}

static int read_member(struct reading *rd, const struct ynode *key, const struct ynode *v)
{
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (str_eq(key->text, members[i].name))
            return read_value(rd, members[i].kind, v, (const char **)(void *)((char *)rd->c + members[i].at));
    if (str_eq(key->text, "keywords"))
        return read_words(rd, v);
    if (str_eq(key->text, "open"))
        return v->kind == YNODE_TEXT && str_bool(str_trim(v->text), &rd->c->say.open)
                   ? 0
                   : yfail(rd, v, "expected true or false");
    if (str_eq(key->text, "token") || str_eq(key->text, "app_token") || str_eq(key->text, "signing"))
        return yfail(rd, key, "a secret does not belong here: name a file that holds it, %.*s_file",
                     STR_ARG(key->text));
    return yfail(rd, key,
                 "not understood here: token_file, token_env, app_token_file, app_token_env, signing_file, "
                 "signing_env, channel, prefix, keywords, open, url, api, hooks and ca_file are");
}

static int check(const struct reading *rd)
{
    static const char *const names[SLACK_KEYS] = {"token", "app_token", "signing"};
    const struct slack_conf *c = rd->c;

    for (int i = 0; i < SLACK_KEYS; i++)
        if (c->file[i] && c->env[i])
            return yfail(rd, rd->t->root, "expected one of %s_file and %s_env", names[i], names[i]);
    if (!slack_conf_has(c, SLACK_TOKEN))
        return yfail(rd, rd->t->root,
                     "expected token_file or token_env: without the bot's token nothing can be posted");
    for (int i = 0; i < DIALOG_OLDS; i++)
        for (int k = 0; k < i; k++)
            if (c->say.keywords[i][0] && strcmp(c->say.keywords[i], c->say.keywords[k]) == 0)
                return yfail(rd, rd->t->root, "the keywords %s and %s are the same word", words[k], words[i]);
    return 0;
}

int slack_conf_read(struct slack_conf *c, const struct opt_section *section, struct err *err)
{
    AUTO_YTREE t = {0};
    struct reading rd = {c, &t, err};
    int r = ytree_section(section, "{token_file: FILE, app_token_file: FILE, channel: \"#gpus\"}", &t, err);

    if (!t.root)
        return r;
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
    if (!str_visible(buf_str(&b), "")) /* it would be a header of its own */
        return err_set(err, -EINVAL, "what %s holds is not a token", c->file[key] ? c->file[key] : c->env[key]);
    *ret = b;
    b = (struct buf){0};
    return 0;
}
