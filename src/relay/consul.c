/* consul.c: builds the addresses of Consul's HTTP API and reads the index in its replies. */
#include "relay/consul.h"

#include <errno.h>
#include <jansson.h>

#include "base/buf.h"

#define LOCAL "http://127.0.0.1:8500/v1/health/service/"

static bool service_ok(struct str s)
{
    return s.len > 0 && s.len <= 128 && str_visible(s, "/?#&%:\\\"");
}

int consul_base(const char *what, struct buf *ret, struct err *err)
{
    struct str s = str_of(what);
    if (str_find(s, "://") < 0) {
        if (!service_ok(s))
            return err_set(err, -EINVAL, "'%.80s' is neither an address nor the name of a service", what);
        buf_adds(ret, LOCAL);
    } else {
        bool plain = (str_starts(s, "http://") || str_starts(s, "https://")) && str_visible(s, "#");
        if (!plain || (str_find(s, "/v1/catalog/service/") < 0 && str_find(s, "/v1/health/service/") < 0))
            return err_set(err, -EINVAL, "'%.120s' is not .../v1/catalog/service/NAME or .../v1/health/service/NAME",
                           what);
    }
    buf_addstr(ret, s);
    return ret->err ? err_set(err, -EINVAL, "the address is too long") : 0;
}

void consul_url(struct str base, uint64_t index, struct buf *ret)
{
    buf_addstr(ret, base);
    if (index)
        buf_addf(ret, "%cindex=%llu&wait=%ds", memchr(base.p, '?', base.len) ? '&' : '?', (unsigned long long)index,
                 CONSUL_WAIT_MS / 1000);
}

uint64_t consul_index(uint64_t had, struct str header)
{
    uint64_t v;
    return str_uint(header, &v) && v >= had ? v : 0;
}

int consul_old_conf(struct str text, struct buf *ret, struct err *err)
{
    json_auto_t *j = json_loadb(text.p ? text.p : "", text.len, 0, NULL);
    const char *uri = json_string_value(json_object_get(j, "CONSUL_SERVICE_URI"));
    int r = uri && uri[0] ? buf_adds(ret, uri) : -ENOENT;
    return r < 0 ? err_set(err, -EINVAL, "it is not JSON with a CONSUL_SERVICE_URI") : 0;
}
