/* conf.c: reads the section `follow`, a member of each hub out of one table. */
#include "follow/conf.h"

#include <errno.h>

#include "base/order.h"
#include "parse/ytree.h"

#define TEXT_MAX   500
#define EXPECTED   "expected a list of {url: https://HUB, name: NAME, token_file: FILE}"
#define NAME_BYTES 24

enum member_kind { NAME, ADDRESS, PATH, PIN };
static const struct member {
    const char *name;
    size_t at;
    enum member_kind kind;
} members[] = {
    {"name", offsetof(struct follow_site, name), NAME},
    {"url", offsetof(struct follow_site, url), ADDRESS},
    {"page", offsetof(struct follow_site, page), ADDRESS},
    {"token_file", offsetof(struct follow_site, token_file), PATH},
    {"ca_file", offsetof(struct follow_site, ca_file), PATH},
    {"pin", offsetof(struct follow_site, pin), PIN},
};

struct follow_conf *follow_conf_new(void)
{
    return NEW(struct follow_conf, .n = 0);
}

void follow_conf_free(struct follow_conf *c)
{
    if (!c)
        return;
    arena_fini(&c->arena);
    free(c);
}

struct reading {
    struct follow_conf *c;
    const struct ytree *t;
    struct err *err;
};

static const char **text_at(struct follow_site *s, const struct member *m)
{
    return (const char **)(void *)((char *)s + m->at);
}

static bool address_ok(struct str s)
{
    struct str rest = s;

    return (str_skip(&rest, "https://") || str_skip(&rest, "http://")) && rest.len && str_visible(rest, "@?#\"'<>\\");
}

static int read_value(struct reading *rd, enum member_kind kind, const struct ynode *v, const char **ret)
{
    static const char *const expected[] = {
        [NAME] = "a name of at most 24 letters, digits, '-', '_' and '.'",
        [ADDRESS] = "an address without a password: https://HUB",
        [PATH] = "the path of a file",
        [PIN] = "a pin: sha256//...",
    };
    struct str s = v->kind == YNODE_TEXT && !v->null ? str_trim(v->text) : STR("");

    while (kind == ADDRESS && str_ends(s, "/"))
        s.len--;
    bool ok = s.len && s.len <= TEXT_MAX && str_utf8_ok(s) &&
              (kind != NAME || (s.len <= NAME_BYTES && str_letters(s, "-_."))) && (kind != ADDRESS || address_ok(s)) &&
              (kind != PIN || (str_starts(s, "sha256//") && str_visible(s, "")));
    if (!ok)
        return yfail(rd, v, "expected %s", expected[kind]);
    *ret = arena_strn(&rd->c->arena, s.p, s.len);
    return 0;
}

static int read_member(struct reading *rd, const struct ynode *key, const struct ynode *v, struct follow_site *s)
{
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (str_eq(key->text, members[i].name))
            return read_value(rd, members[i].kind, v, text_at(s, &members[i]));
    if (str_eq(key->text, "token"))
        return yfail(rd, key, "a secret does not belong here: name a file that holds it, token_file");
    return yfail(rd, key, "not understood here: url, name, token_file, page, ca_file and pin are");
}

static int read_one(struct reading *rd, const struct ynode *v)
{
    struct follow_conf *c = rd->c;
    struct follow_site s = {0};
    int r = 0;

    if (v->kind != YNODE_MAP)
        return yfail(rd, v, EXPECTED);
    if (c->n == SITES_MAX)
        return yfail(rd, v, "at most %d hubs are followed", SITES_MAX);
    for (size_t i = 0; i < v->n && r == 0; i++)
        r = read_member(rd, &v->keys[i], &v->v[i], &s);
    if (r < 0)
        return r;
    if (!s.url || !s.name)
        return yfail(rd, v, "%s is missing: {url: https://HUB, name: NAME, token_file: FILE}", s.url ? "name" : "url");
    for (size_t i = 0; i < c->n; i++) {
        if (strcmp(c->v[i].name, s.name) == 0)
            return yfail(rd, v, "two hubs are called '%s'", s.name);
        if (strcmp(c->v[i].url, s.url) == 0)
            return yfail(rd, v, "'%s' and '%s' are one hub", c->v[i].name, s.name);
    }
    if (!s.page)
        s.page = s.url;
    c->v[c->n++] = s;
    return 0;
}

int follow_conf_read(struct follow_conf *c, const struct opt_section *section, struct err *err)
{
    AUTO_YTREE t = {0};
    struct reading rd = {c, &t, err};
    int r = ytree_section(section, NULL, &t, err);

    if (r < 0 || !t.root || (t.root->kind == YNODE_TEXT && t.root->null))
        return r;
    if (t.root->kind != YNODE_LIST)
        return yfail(&rd, t.root, EXPECTED);
    for (size_t i = 0; r == 0 && i < t.root->n; i++)
        r = read_one(&rd, &t.root->v[i]);
    return r;
}

bool follow_site_same(const struct follow_site *a, const struct follow_site *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->url, b->url) == 0 && strcmp(a->page, b->page) == 0 &&
           str_same(a->token_file, b->token_file) && str_same(a->ca_file, b->ca_file) && str_same(a->pin, b->pin);
}
