/* key.c: searches the places of the key in order. */
#include "wandb_pull/key.h"

#include <errno.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"

#define NETRC_MAX (256u << 10)

void key_wipe(struct buf *key)
{
    if (key->p)
        explicit_bzero(key->p, key->cap);
    buf_fini(key);
}

/* ---- netrc ---- */

/*
 * Reads the next word: between spaces, or between double quotes with backslashes. Returns false at the end, or if the
 * text is cut off.
 */
static bool word(struct str *rest, struct buf *ret, bool *bad)
{
    size_t i = 0;
    buf_reset(ret);
    for (;;) {
        while (i < rest->len && strchr(" \t\r\n", rest->p[i]) && rest->p[i])
            i++;
        if (i == rest->len || rest->p[i] != '#')
            break;
        while (i < rest->len && rest->p[i] != '\n') /* a comment */
            i++;
    }
    bool quoted = i < rest->len && rest->p[i] == '"', any = i < rest->len;
    for (i += quoted; i < rest->len; i++) {
        char c = rest->p[i];
        if (quoted ? c == '"' : c == ' ' || c == '\t' || c == '\r' || c == '\n')
            break;
        if (c == '\\' && quoted && i + 1 < rest->len)
            c = rest->p[++i];
        if (!c || buf_addc(ret, c) < 0)
            *bad = true;
    }
    if (quoted && i == rest->len)
        *bad = true;
    i += quoted && i < rest->len;
    *rest = str_n(rest->p + i, rest->len - i);
    return any && !*bad;
}

/* A macro ends at an empty line. */
static void pass_macro(struct str *rest)
{
    struct str line;
    str_line(rest, &line);
    while (str_line(rest, &line) && str_trim(line).len)
        ;
}

int netrc_find(struct str text, struct str host, struct buf *ret)
{
    AUTO_BUF w = BUF_INIT(KEY_MAX);
    bool bad = false, in = false, is_default = false, inside = false, have = false;

    while (word(&text, &w, &bad)) {
        struct str s = buf_str(&w);
        if (str_eq(s, "machine")) {
            if (!word(&text, &w, &bad))
                return -EBADMSG;
            in = str_eq_str(buf_str(&w), host);
            is_default = false;
            inside = true;
        } else if (str_eq(s, "default")) {
            in = is_default = inside = true;
        } else if (str_eq(s, "macdef")) {
            pass_macro(&text);
        } else if (inside && (str_eq(s, "login") || str_eq(s, "account"))) {
            if (!word(&text, &w, &bad))
                return -EBADMSG;
        } else if (inside && str_eq(s, "password")) {
            if (!word(&text, &w, &bad))
                return -EBADMSG;
            if (in && !have) {
                buf_reset(ret);
                buf_addstr(ret, buf_str(&w));
                have = true;
            }
            explicit_bzero(w.p, w.len);
            if (in && !is_default)
                return 0;
        } else {
            return -EBADMSG;
        }
        if (is_default && have)
            return 0; /* nothing counts behind it, as everywhere */
    }
    return bad ? -EBADMSG : -ENOENT;
}

/* ---- where one may be ---- */

static int accept_key(struct str found, const char *where, struct buf *ret, struct err *err)
{
    struct str s = str_trim(found);
    if (!s.len || s.len > KEY_MAX || !str_visible(s, ""))
        return err_set(err, -EINVAL, "what %s has is not a key of W&B: expected up to %d letters, digits and signs",
                       where, KEY_MAX);
    *ret = BUF_INIT(KEY_MAX + 1);
    buf_addstr(ret, s);
    return 0;
}

/* "https://api.wandb.ai:443/x" -> api.wandb.ai */
static struct str host_of(const char *url)
{
    const char *at = strstr(url, "://"), *p = at ? at + 3 : url;
    return str_n(p, strcspn(p, ":/?#"));
}

static int from_file(const char *path, struct buf *ret, struct err *err)
{
    struct buf b = {0};
    int r = file_read_secret(path, &b, err);
    if (r < 0)
        return r;
    AUTO_FREE char *where = mem_fmt("the file '%.100s'", path);
    r = accept_key(buf_str(&b), where, ret, err);
    key_wipe(&b);
    return r;
}

/* Returns -ENOENT without a message if netrc does not exist or does not have the host. */
static int from_netrc(const struct key_params *ask, char path[512], struct buf *ret, struct err *err)
{
    const char *named = ask->netrc ? ask->netrc : getenv("NETRC"), *home = getenv("HOME");
    struct buf text = {0}, found = BUF_INIT(KEY_MAX);
    struct err said = {0};
    path[0] = 0;
    if (named && *named)
        snprintf(path, 512, "%s", named);
    else if (home && *home && !ask->netrc)
        snprintf(path, 512, "%s/.netrc", home);
    else
        return -ENOENT;
    int r = file_read(path, NETRC_MAX, &text, &said);
    if (r == -ENOENT)
        return r;
    if (r < 0)
        return err_set(err, r, "%s", said.msg);
    struct str host = host_of(ask->base_url);
    r = netrc_find(buf_str(&text), host, &found);
    key_wipe(&text);
    AUTO_FREE char *where = mem_fmt("'%.60s' for %.*s", path, (int)MIN(host.len, 60u), host.p);
    if (r == 0)
        r = accept_key(buf_str(&found), where, ret, err);
    else if (r == -EBADMSG)
        r = err_set(err, r, "'%.200s' is not a netrc that can be read: expected 'machine HOST login USER password KEY'",
                    path);
    key_wipe(&found);
    return r;
}

int key_find(const struct key_params *ask, struct buf *ret, struct err *err)
{
    const char *env = ask->env ? ask->env : getenv("WANDB_API_KEY");
    char path[512];

    if (ask->flag && *ask->flag)
        return accept_key(str_of(ask->flag), "--api", ret, err);
    if (env && *env)
        return accept_key(str_of(env), "WANDB_API_KEY", ret, err);
    if (ask->file && *ask->file)
        return from_file(ask->file, ret, err);
    struct str host = host_of(ask->base_url);
    int r = from_netrc(ask, path, ret, err);
    if (r == -ENOENT)
        return err_set(err, r,
                       "there is no key of W&B: set WANDB_API_KEY, or give --key-file FILE, or put 'machine %.*s login "
                       "user password KEY' into %s",
                       (int)MIN(host.len, 60u), host.p, path[0] ? path : "~/.netrc");
    return r;
}
