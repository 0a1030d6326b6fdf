/* place.c: parses an address of ClickHouse. */
#include "clickhouse/place.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define QUORUM_MOST 16

static int refuse(struct err *err, const char *what)
{
    return err_set(err, -EINVAL, "samples: %s: write clickhouse://user@host:8123/database", what);
}

/* "host", "host:port", "[::1]:port": adds the default port if missing. */
static bool read_host(struct str s, bool secure, char *ret, size_t size)
{
    int close = str_rfind(s, "]"), colon = str_rfind(s, ":");
    bool ported = colon > close && (close >= 0 || str_find(s, ":") == colon);
    struct str host = ported ? str_n(s.p, (size_t)colon) : s;
    uint64_t port = secure ? 8443 : 8123;

    if (ported && (!str_uint(str_drop(s, (size_t)colon + 1), &port) || port == 0 || port > 65535))
        return false;
    if (host.len == 0 || host.len > size - 8 || !str_visible(host, "/?#@\\\"'<>") ||
        (close < 0 && str_find(host, ":") >= 0))
        return false;
    snprintf(ret, size, "%.*s:%u", STR_ARG(host), (unsigned)port);
    return true;
}

static int read_options(struct str query, struct click_place *p, struct err *err)
{
    struct str one, name;

    while (str_cut(&query, '&', &one)) {
        struct str value = one;
        str_cut(&value, '=', &name);
        bool on = value.len == 0;
        if (value.len && !str_eq(name, "quorum") && !str_bool(value, &on))
            return refuse(err, "an option is neither 0 nor 1");
        if (str_eq(name, "secure"))
            p->secure = on;
        else if (str_eq(name, "replicated"))
            p->replicated = on;
        else if (!str_eq(name, "quorum"))
            return err_set(err, -EINVAL,
                           "samples: the option '%.*s' is not known: there are secure, replicated, quorum",
                           (int)MIN(name.len, 40u), name.p);
        else if (!str_int(value, &p->quorum) || p->quorum < 0 || p->quorum > QUORUM_MOST)
            return err_set(err, -EINVAL, "samples: quorum must be a number of replicas, at most %d", QUORUM_MOST);
    }
    return 0;
}

int click_place_read(struct str url, struct click_place *ret, struct err *err)
{
    struct click_place p = {.user = "default", .database = "default"};
    struct str s = str_trim(url), hosts, one;

    if (!str_skip(&s, "clickhouse://"))
        return refuse(err, "that is no address of ClickHouse");
    struct str query = s;
    str_cut(&query, '?', &s);
    int r = read_options(query, &p, err);
    if (r < 0)
        return r;
    int at = str_rfind(s, "@");
    struct str user = at >= 0 ? str_n(s.p, (size_t)at) : STR("");
    s = str_drop(s, at >= 0 ? (size_t)at + 1 : 0);
    if (str_find(user, ":") >= 0)
        return err_set(err, -EINVAL,
                       "samples: a password does not belong into the address: put it into a file and name that with "
                       "samples_password_file");
    struct str database = s;
    str_cut(&database, '/', &hosts);
    if (user.len >= CLICK_WORD || database.len >= CLICK_WORD || !str_letters(user, "_-.") ||
        !str_letters(database, "_"))
        return refuse(err, "user and database are letters, digits and _");
    if (user.len)
        snprintf(p.user, sizeof(p.user), "%.*s", STR_ARG(user));
    if (database.len)
        snprintf(p.database, sizeof(p.database), "%.*s", STR_ARG(database));
    while (str_cut(&hosts, ',', &one)) {
        if (p.n_hosts == CLICK_HOSTS)
            return refuse(err, "those are more than 8 hosts");
        if (!read_host(one, p.secure, p.hosts[p.n_hosts], sizeof(p.hosts[0])))
            return refuse(err, "a host is missing or is no host");
        p.n_hosts++;
    }
    if (p.n_hosts == 0)
        return refuse(err, "a host is missing");
    *ret = p;
    return 0;
}
