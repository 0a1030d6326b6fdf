/* origin.c: decides whether a request was meant for this hub: by its Host and its Origin. No names are resolved. */
#include "http/origin.h"

#include "base/order.h"
#include "http/address.h"

static bool is_port(struct str s)
{
    uint64_t port;
    return s.len <= 5 && str_uint(s, &port) && port <= 65535;
}

bool host_part(struct str h, struct str *ret)
{
    if (h.len == 0 || h.len > 255)
        return false;
    if (h.p[0] == '[') {
        const char *end = memchr(h.p, ']', h.len);
        if (!end)
            return false;
        size_t n = (size_t)(end - h.p) + 1;
        if (n != h.len && (h.p[n] != ':' || !is_port(str_drop(h, n + 1))))
            return false;
        *ret = str_n(h.p + 1, n - 2);
        return true;
    }
    const char *colon = memchr(h.p, ':', h.len);
    *ret = str_n(h.p, colon ? (size_t)(colon - h.p) : h.len);
    return ret->len > 0 && (!colon || is_port(str_drop(h, ret->len + 1)));
}

bool host_allowed(struct str host_header, const char *const *names, size_t n)
{
    struct str host;
    char low[256];
    if (!host_part(host_header, &host))
        return false;
    for (size_t i = 0; i < host.len; i++)
        low[i] = host.p[i] >= 'A' && host.p[i] <= 'Z' ? (char)(host.p[i] + 32) : host.p[i];
    host.p = low;
    if (str_eq(host, "localhost") || str_ends(host, ".localhost") || address_ok(host))
        return true;
    return ANY(n, i, str_glob(str_of(names[i]), host));
}

bool origin_allowed(struct str origin, struct str host_header, bool has_cookie)
{
    if (origin.len == 0)
        return !has_cookie;
    if (!str_skip(&origin, "https://") && !str_skip(&origin, "http://"))
        return false; /* "null" and whatever else */
    if (origin.len != host_header.len || origin.len == 0)
        return false;
    for (size_t i = 0; i < origin.len; i++) {
        char a = origin.p[i], b = host_header.p[i];
        if ((a | 32) != (b | 32) || ((a ^ b) == 32 && ((a | 32) < 'a' || (a | 32) > 'z')))
            return false;
    }
    return true;
}
