/* list.c: reads entries with their ranges, and the old file. */
#include "relay/list.h"

#include <errno.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/order.h"
#include "base/rand.h"
#include "model/labels.h"

#define INI_MAX   (1u << 20)
#define DEPTH_MAX 4 /* ranges in one name */

void target_list_fini(struct target_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        FREE_ALL(l->v[i].host, l->v[i].user, l->v[i].labels);
    free(l->v);
    lookup_fini(&l->by_name);
    *l = (struct target_list){0};
}

/* ---- one machine ---- */

/* "gpu01", "gpu01:2222", "[::1]:2222", "::1". Returns false if the port is invalid. */
static bool split_port(struct str s, struct str *host, int *port)
{
    int64_t v;
    int end = str_find(s, "]"), colon = str_rfind(s, ":");
    *host = s;
    *port = 0;
    if (s.len && s.p[0] == '[' && end > 0) {
        *host = str_n(s.p + 1, (size_t)end - 1);
        s = str_n(s.p + end + 1, s.len - (size_t)end - 1);
        if (s.len == 0)
            return true;
        colon = 0;
        if (s.p[0] != ':')
            return false;
    } else if (colon < 0 || str_find(s, ":") != colon) { /* no port, or a plain IPv6 address */
        return true;
    } else {
        *host = str_n(s.p, (size_t)colon);
    }
    if (!str_int(str_n(s.p + colon + 1, s.len - (size_t)colon - 1), &v) || v < 1 || v > 65535)
        return false;
    *port = (int)v;
    return true;
}

/* ---- by name ---- */

int64_t target_list_find(const struct target_list *l, struct str name)
{
    size_t at = 0, i;

    while ((i = lookup_next_place(&l->by_name, fnv64(name.p, name.len), &at)) != SIZE_MAX)
        if (str_eq(name, l->v[i].name))
            return (int64_t)i;
    return -1;
}

void target_list_label(struct target_list *l, struct str name, const char *labels)
{
    int64_t at = labels ? target_list_find(l, name) : -1;
    if (at < 0)
        return;
    char *all = labels_join(l->v[at].labels, labels);
    free(l->v[at].labels);
    l->v[at].labels = all;
}

bool target_list_put(struct target_list *l, struct str name, const char *host, const char *user, int port)
{
    if (!name_ok(name, ORIGIN_NAME_MAX) || target_list_find(l, name) >= 0 || l->n == TARGETS_MAX)
        return false;
    lookup_add_place(&l->by_name, fnv64(name.p, name.len), l->n);
    VEC_ROOM(l->v, l->n, l->cap);
    struct relay_target *t = &l->v[l->n++];
    *t = (struct relay_target){.host = mem_str(host), .user = user && user[0] ? mem_str(user) : NULL, .port = port};
    memcpy(t->name, name.p, name.len);
    return true;
}

void target_list_join(struct target_list *l, const struct target_list *more)
{
    for (size_t i = 0; i < more->n; i++) {
        const struct relay_target *t = &more->v[i];
        target_list_put(l, str_of(t->name), t->host, t->user, t->port);
        target_list_label(l, str_of(t->name), t->labels);
    }
}

static int add_one(struct target_list *l, struct str entry, const char *user, struct err *err)
{
    struct str host, name = entry, who = str_n("", 0);
    int port, at = str_rfind(entry, "@");
    if (at >= 0) {
        who = str_n(entry.p, (size_t)at);
        name = str_n(entry.p + at + 1, entry.len - (size_t)at - 1);
    }
    if (at == 0 || !split_port(name, &host, &port) || !host.len)
        return err_set(err, -EINVAL, "'%.*s' is not host, user@host or host:port", STR_ARG(entry));
    if (!name_ok(name, ORIGIN_NAME_MAX))
        return err_set(err, -EINVAL, "'%.*s' cannot be a node's name: too long, or with characters no host has",
                       STR_ARG(entry));
    AUTO_FREE char *at_host = mem_strn(host.p, host.len);
    AUTO_FREE char *as_user = who.len ? mem_strn(who.p, who.len) : mem_str(user);
    if (!target_list_put(l, name, at_host, as_user, port) && l->n == TARGETS_MAX && target_list_find(l, name) < 0)
        return err_set(err, -EINVAL, "more than %d nodes", TARGETS_MAX);
    return 0;
}

/* ---- ranges ---- */

static int expand(struct target_list *l, struct buf *done, struct str rest, int depth, const char *user,
                  struct err *err);

/* "01-20" or "7": each number, as wide as the first is written. */
static int expand_part(struct target_list *l, struct buf *done, struct str part, struct str rest, int depth,
                       const char *user, struct err *err)
{
    struct str from = part, to = part;
    int dash = str_find(part, "-");
    int64_t a, b;
    if (dash >= 0) {
        from = str_n(part.p, (size_t)dash);
        to = str_n(part.p + dash + 1, part.len - (size_t)dash - 1);
    }
    if (from.len > 9 || to.len > 9 || !str_int(from, &a) || !str_int(to, &b) || a < 0 || b < a || b - a >= TARGETS_MAX)
        return err_set(err, -EINVAL, "'%.*s' is not a range as 01-20", STR_ARG(part));
    size_t len = done->len;
    for (int64_t i = a; i <= b; i++) {
        buf_addf(done, "%0*lld", (int)from.len, (long long)i);
        int r = expand(l, done, rest, depth + 1, user, err);
        if (r < 0)
            return r;
        buf_cut(done, len);
    }
    return 0;
}

static int expand(struct target_list *l, struct buf *done, struct str rest, int depth, const char *user,
                  struct err *err)
{
    int open = str_find(rest, "["), close = str_find(rest, "]");
    size_t len = done->len;
    struct str part;
    int r = 0;
    if (open < 0 || (close > open && memchr(rest.p + open, ':', (size_t)(close - open)))) { /* no range, or IPv6 */
        buf_addstr(done, rest);
        if (!done->err)
            r = add_one(l, buf_str(done), user, err);
        else
            r = err_set(err, -EINVAL, "a node's name is too long");
        buf_cut(done, len);
        return r;
    }
    if (close < open || depth == DEPTH_MAX)
        return err_set(err, -EINVAL, "'%.*s' has no range as gpu[01-20]", STR_ARG(rest));
    struct str inside = str_n(rest.p + open + 1, (size_t)(close - open) - 1);
    buf_add(done, rest.p, (size_t)open);
    rest = str_n(rest.p + close + 1, rest.len - (size_t)close - 1);
    if (!inside.len)
        r = err_set(err, -EINVAL, "an empty range");
    while (r == 0 && str_cut(&inside, ',', &part))
        r = expand_part(l, done, str_trim(part), rest, depth, user, err);
    buf_cut(done, len);
    return r;
}

int target_list_add(struct target_list *l, struct str text, const char *user, struct err *err)
{
    size_t at = 0;
    int depth = 0, r = 0;
    for (size_t i = 0; i <= text.len && r == 0; i++) {
        char c = i < text.len ? text.p[i] : ',';
        depth += (c == '[') - (c == ']');
        if (i < text.len && (c != ',' || depth > 0))
            continue;
        struct str entry = str_trim(str_n(text.p + at, i - at));
        AUTO_BUF done = BUF_INIT(1024);
        if (entry.len)
            r = expand(l, &done, entry, 0, user, err);
        at = i + 1;
    }
    return r;
}

/* ---- config.ini ---- */

void ini_fini(struct ini *i)
{
    FREE_ALL(i->user, i->hosts, i->key);
    *i = (struct ini){0};
}

static char **ini_field(struct ini *i, struct str name)
{
    return str_eq_nocase(name, "user")           ? &i->user
           : str_eq_nocase(name, "hosts")        ? &i->hosts
           : str_eq_nocase(name, "key_filename") ? &i->key
                                                 : NULL;
}

int ini_parse(struct str text, struct ini *ret, struct err *err)
{
    struct ini got = {0};
    struct str line;
    bool common = false, seen = false;
    char **last = NULL;
    while (str_line(&text, &line)) {
        struct str s = str_trim(line);
        bool more = line.len && (line.p[0] == ' ' || line.p[0] == '\t');
        if (!s.len || s.p[0] == '#' || s.p[0] == ';')
            continue;
        if (more && last) { /* a continued value */
            char *longer = mem_fmt("%s %.*s", *last, STR_ARG(s));
            free(*last);
            *last = longer;
            continue;
        }
        last = NULL;
        if (s.p[0] == '[') {
            common = str_eq(s, "[common]");
            seen = seen || common;
            continue;
        }
        size_t at = FIRST(s.len, i, s.p[i] == '=' || s.p[i] == ':');
        char **to = common && at < s.len ? ini_field(&got, str_trim(str_n(s.p, at))) : NULL;
        if (!to)
            continue;
        struct str value = str_trim(str_n(s.p + at + 1, s.len - at - 1));
        free(*to);
        *to = mem_strn(value.p, value.len);
        last = to;
    }
    if (!seen || !got.hosts || !str_trim(str_of(got.hosts)).len) {
        ini_fini(&got);
        return err_set(err, -EINVAL, seen ? "[common] names no hosts" : "there is no section [common]");
    }
    *ret = got;
    return 0;
}

int target_list_of(const struct relay_settings *s, struct target_list *ret, char **ret_key, struct err *err)
{
    struct target_list l = {0};
    struct ini ini = {0};
    int r = 0;
    for (size_t i = 0; i < s->nodes.n && r == 0; i++)
        r = target_list_add(&l, str_of(s->nodes.v[i]), s->user, err);
    if (r < 0)
        err_prefix(err, r, "nodes");
    if (r == 0 && s->ini) {
        AUTO_BUF text = {0};
        if ((r = file_read(s->ini, INI_MAX, &text, err)) == 0 &&
            ((r = ini_parse(buf_str(&text), &ini, err)) < 0 ||
             (r = target_list_add(&l, str_of(ini.hosts), ini.user ? ini.user : s->user, err)) < 0))
            err_prefix(err, r, "%s", s->ini);
    }
    if (r < 0) {
        target_list_fini(&l);
    } else {
        const char *key = s->key ? s->key : ini.key && ini.key[0] ? ini.key : NULL;
        *ret = l;
        *ret_key = key ? mem_str(key) : NULL;
    }
    ini_fini(&ini);
    return r;
}
