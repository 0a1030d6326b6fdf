/* local_hub.c: reads and writes hub.url in a data folder, and compares an address with it. */
#include "cli/local_hub.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "http/address.h"

#define URLS_MAX (64u << 10)

static const char *const leaves[] = {NULL, "demo"}; /* subfolders of the state folder with data of `muster up` */

int local_hub_write(const char *dir, struct str addresses, struct err *err)
{
    AUTO_FREE char *path = mem_fmt("%s/hub.url", dir);
    return file_write(path, 0600, addresses.p, addresses.len, err);
}

void local_hub_end(const char *dir)
{
    AUTO_FREE char *path = mem_fmt("%s/hub.url", dir);
    unlink(path);
}

struct place {
    struct str scheme, host, port;
};

static bool place_parse(struct str url, struct place *ret)
{
    int at = str_find(url, "://");
    if (at < 0)
        return false;
    ret->scheme = str_n(url.p, (size_t)at);
    struct str path = str_n(url.p + at + 3, url.len - (size_t)at - 3), rest;
    str_cut(&path, '/', &rest);
    int colon = str_rfind(rest, ":"), bracket = str_rfind(rest, "]");
    bool port = colon >= 0 && colon > bracket;
    ret->host = str_n(rest.p, port ? (size_t)colon : rest.len);
    ret->port = port                           ? str_n(rest.p + colon + 1, rest.len - (size_t)colon - 1)
                : str_eq(ret->scheme, "https") ? str_of("443")
                                               : str_of("80");
    return ret->host.len > 0 && str_find(rest, "@") < 0;
}

/* A wildcard address includes this machine. */
static bool host_is_here(struct str host, bool listens)
{
    AUTO_FREE char *text = mem_strn(host.p, host.len);
    return str_eq(host, "localhost") || str_eq(host, "[::1]") || (host.len && address_is_loopback(text)) ||
           (listens && (str_eq(host, "0.0.0.0") || str_eq(host, "[::]")));
}

static bool listens_at(struct str line, const struct place *asked)
{
    struct place own;
    return place_parse(line, &own) && str_eq_str(own.scheme, asked->scheme) && str_eq_str(own.port, asked->port) &&
           (str_eq_str(own.host, asked->host) || (host_is_here(own.host, true) && host_is_here(asked->host, false)));
}

/*
 * Whether its process runs and belongs to the folder's owner: another program that now has its port gets no token.
 * Root may run a hub in a user's folder.
 */
bool local_hub_runs(const char *dir)
{
    AUTO_FREE char *lock = mem_fmt("%s/lock", dir);
    char pid[24] = "", proc[64];
    struct stat own, is;
    int64_t n;
    if (file_read_small(lock, pid, sizeof(pid)) < 0 || !str_int(str_trim(str_of(pid)), &n) || n < 1)
        return false;
    snprintf(proc, sizeof(proc), "/proc/%lld", (long long)n);
    return stat(lock, &own) == 0 && stat(proc, &is) == 0 &&
           (own.st_uid == is.st_uid || (is.st_uid == 0 && geteuid() == 0));
}

/* Returns 1 if url is the hub of this folder, 0 if not, -ENOENT if the folder has no addresses. */
static int hub_is(const char *dir, const char *url)
{
    AUTO_FREE char *path = mem_fmt("%s/hub.url", dir);
    AUTO_BUF text = {0};
    struct err ignored = {0};
    struct place asked;
    struct str rest, line;
    int r = file_read(path, URLS_MAX, &text, &ignored);
    if (r < 0)
        return r;
    rest = buf_str(&text);
    while (place_parse(str_of(url), &asked) && str_line(&rest, &line))
        if (listens_at(str_trim(line), &asked))
            return local_hub_runs(dir);
    return 0;
}

/* The address by which this machine reaches it. */
static void add_reachable(const struct place *p, struct buf *ret)
{
    const char *host = str_eq(p->host, "0.0.0.0") ? "127.0.0.1" : str_eq(p->host, "[::]") ? "[::1]" : NULL;
    struct str named = host ? str_of(host) : p->host;
    buf_addf(ret, "%.*s://%.*s:%.*s", STR_ARG(p->scheme), STR_ARG(named), STR_ARG(p->port));
}

/* Loopback before other addresses. */
bool local_hub_find_in(const char *dir, struct buf *ret_url, struct buf *ret_pin)
{
    AUTO_FREE char *path = mem_fmt("%s/hub.url", dir);
    AUTO_BUF text = {0};
    struct err ignored = {0};
    struct place best = {0}, p;
    struct str rest, line, pin = STR("");
    if (!local_hub_runs(dir) || file_read(path, URLS_MAX, &text, &ignored) < 0)
        return false;
    rest = buf_str(&text);
    while (str_line(&rest, &line)) {
        line = str_trim(line);
        if (str_starts(line, "sha256//"))
            pin = line;
        else if (place_parse(line, &p) &&
                 (!best.host.len || (host_is_here(p.host, true) && !host_is_here(best.host, true))))
            best = p;
    }
    if (!best.host.len)
        return false;
    add_reachable(&best, ret_url);
    buf_addstr(ret_pin, pin);
    return true;
}

bool local_hub_find(struct buf *ret_url, struct buf *ret_pin)
{
    char dir[512];
    for (size_t i = 0; i < ARRAY_LEN(leaves); i++)
        if (file_state_dir(leaves[i], dir, sizeof(dir)) == 0 && local_hub_find_in(dir, ret_url, ret_pin))
            return true;
    return false;
}

static int read_token(const char *dir, struct buf *ret, struct err *err)
{
    AUTO_FREE char *path = mem_fmt("%s/admin.token", dir);
    return access(path, R_OK) == 0 ? file_read_secret(path, ret, err) : 0;
}

int local_hub_token_in(const char *dir, const char *url, struct buf *ret, struct err *err)
{
    return hub_is(dir, url) == 1 ? read_token(dir, ret, err) : 0;
}

bool local_hub_is_trusted(const char *dir)
{
    struct stat st;
    return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_uid == geteuid() || st.st_uid == 0) &&
           !(st.st_mode & (S_IWGRP | S_IWOTH));
}

bool local_hub_is_local(const char *url)
{
    struct place asked;
    return place_parse(str_of(url), &asked) && host_is_here(asked.host, false);
}

int local_hub_token(const char *url, bool unnamed, struct buf *ret, struct err *err)
{
    char dir[512];
    bool said = false;
    for (size_t i = 0; i < ARRAY_LEN(leaves); i++) {
        int r = file_state_dir(leaves[i], dir, sizeof(dir)) == 0 ? hub_is(dir, url) : -1;
        if (r == 1)
            return read_token(dir, ret, err);
        said |= r == 0;
    }
    /* a hub of an older release has no file, but holds its lock */
    bool older = unnamed && !said && file_state_dir(NULL, dir, sizeof(dir)) == 0 && local_hub_runs(dir);
    return older ? read_token(dir, ret, err) : 0;
}
