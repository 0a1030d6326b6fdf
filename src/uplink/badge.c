/*
 * badge.c: the two tokens a sender may have for a hub (the one it was given, and the node's own), and which of them is
 * in use. They are never printed, and wiped from memory at the end.
 */
#include "uplink/badge.h"

#include <errno.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"

struct badge {
    char *given, *own;  /* NULL if none */
    bool use_own, kept; /* kept: the own one is on disk */
    char *path;
    char *spent; /* the file of the given token, which the agent removes; NULL if it is not the agent's */
};

static bool token_ok(const char *s)
{
    return s[0] && strlen(s) <= 256 && str_visible(str_of(s), "");
}

static void wipe(char *s)
{
    if (s)
        explicit_bzero(s, strlen(s));
    free(s);
}

static int token_read(const char *path, char **ret, struct err *err)
{
    struct buf b = {0};
    int r = file_read_secret(path, &b, err);

    if (r < 0)
        return r;
    char *s = buf_take(&b);
    if (!token_ok(s)) {
        wipe(s);
        return err_set(err, -EINVAL, "'%s' contains no token: its first line has whitespace or invalid characters",
                       path);
    }
    *ret = s;
    return 0;
}

int badge_open(struct badge **ret, const struct badge_conf *conf, const char *dir, struct err *err)
{
    struct badge *t = NEW(struct badge, .path = dir ? mem_fmt("%s/token", dir) : NULL,
                          .spent = conf->removable ? mem_str(conf->token_file) : NULL);
    struct err quiet = {0};
    int r = 0;
    if (conf->token_file)
        r = token_read(conf->token_file, &t->given, err);
    else if (conf->token && !token_ok(conf->token))
        r = err_set(err, -EINVAL, "the token contains whitespace or invalid characters, or is too long");
    else
        t->given = mem_str(conf->token);
    if ((r == -ENOENT || r == -EPERM) && t->path && access(t->path, R_OK) == 0) {
        if (r == -EPERM)
            log_warn("agent", "%s; the node's own token is used", err->msg);
        r = 0; /* the file is for the first contact: an enrolled node can do without it */
    }
    if (r < 0) {
        badge_free(t);
        return r;
    }
    r = t->path ? token_read(t->path, &t->own, &quiet) : -ENOENT;
    if (r < 0 && r != -ENOENT)
        log_warn("agent", "%s; the given token is used", quiet.msg);
    t->use_own = t->kept = t->own != NULL;
    *ret = t;
    return 0;
}

void badge_free(struct badge *t)
{
    if (!t)
        return;
    wipe(t->given);
    wipe(t->own);
    FREE_ALL(t->path, t->spent, t);
}

const char *badge_now(const struct badge *t)
{
    return t->use_own ? t->own : t->given;
}

void badge_turn(struct badge *t)
{
    if (t->own && t->given)
        t->use_own = !t->use_own;
}

int badge_keep(struct badge *t, const char *own, struct err *err)
{
    if (!token_ok(own))
        return err_set(err, -EINVAL, "it contains whitespace or invalid characters");
    AUTO_FREE char *line = mem_fmt("%s\n", own);
    int r = t->path ? file_write(t->path, 0600, line, strlen(line), err) : 0;
    explicit_bzero(line, strlen(line));
    wipe(t->own); /* also when the disk failed: the hub knows us by the new one */
    t->own = mem_str(own);
    t->use_own = true;
    t->kept = t->path && r == 0;
    return r;
}

void badge_accepted(struct badge *t)
{
    if (!t->use_own || !t->kept || !t->spent)
        return;
    if (unlink(t->spent) == 0)
        log_info("agent", "the enrol token is no longer needed: removed '%s'", t->spent);
    else if (errno != ENOENT)
        log_warn("agent", "cannot remove the token for the first contact, '%s': %s", t->spent, strerror(errno));
    wipe(t->given);
    t->given = NULL;
    free(t->spent);
    t->spent = NULL;
}

bool badge_in(const struct badge *t, struct str text)
{
    return (t->given && str_find(text, t->given) >= 0) || (t->own && str_find(text, t->own) >= 0);
}
