/* reach.c: uses the settings, the Host of a request, the listening addresses, and this machine's interfaces. */
#include "hub/reach.h"

#include "base/buf.h"
#include "base/mem.h"
#include "http/address.h"
#include "http/interfaces.h"
#include "http/origin.h"
#include "hub/handlers.h"
#include "hub/hub.h"

const char *const reach_words[] = {[REACH_OK] = "ok", [REACH_LOOPBACK] = "loopback", [REACH_CONTAINER] = "container"};
const char *const reach_sentences[] =
    {[REACH_OK] = "",
     [REACH_LOOPBACK] = "other machines cannot reach this hub: it listens on this machine alone. Start it with "
                        "--listen 0.0.0.0:8765, or set --address to the URL of the proxy in front of it",
     [REACH_CONTAINER] = "this hub does not know how other machines reach it: it has no address but those of a "
                         "container. Set --address to their URL for it, as http://gpu-hub:8765"};

bool reach_host(const char *address, char ret[OWN_URL_MAX])
{
    struct str rest = str_of(address), host;
    if ((!str_skip(&rest, "http://") && !str_skip(&rest, "https://")) || rest.len >= OWN_URL_MAX - 8 ||
        !str_letters(rest, ".-_:[]") || !host_part(rest, &host))
        return false;
    for (size_t i = 0; i < host.len; i++)
        ret[i] = host.p[i] >= 'A' && host.p[i] <= 'Z' ? (char)(host.p[i] + 32) : host.p[i];
    ret[host.len] = 0;
    return true;
}

/* The URL that the request used. False: unknown. host: without port. */
static bool url_of(const struct request *rq, char ret[OWN_URL_MAX], char host[OWN_URL_MAX])
{
    struct str header = rq->header(rq, "Host");
    bool tls = request_by_tls(rq);
    if (header.len == 0 || header.len > 250)
        return false;
    snprintf(ret, OWN_URL_MAX, "%s://%.*s", tls ? "https" : "http", STR_ARG(header));
    return reach_host(ret, host);
}

static bool is_loopback(const char *host)
{
    return strcmp(host, "localhost") == 0 || str_ends(str_of(host), ".localhost") || address_is_loopback(host);
}

bool reach_requested(const struct api *a, const struct request *rq, char ret[OWN_URL_MAX])
{
    char host[OWN_URL_MAX];
    if (a->address)
        return mem_copy_str(ret, OWN_URL_MAX, a->address);
    return url_of(rq, ret, host) && (!address_ok(str_of(host)) || is_loopback(host) || interfaces_have(host));
}

/* A name is a name of the hub: others were refused with 421. A container's own name only resolves inside it. */
static bool others_reach(const struct api *a, const char *host)
{
    char outside[ADDRESS_TEXT];
    if (is_loopback(host))
        return false;
    if (address_ok(str_of(host)))
        return interfaces_reach(host);
    return strcmp(host, a->own_name) != 0 || interfaces_outside(true, outside);
}

/* One line of where it listens: "http://0.0.0.0:8765". */
static enum reach reach_line(const struct api *a, struct str line, char ret[OWN_URL_MAX])
{
    char host[OWN_URL_MAX], text[OWN_URL_MAX], outside[ADDRESS_TEXT];
    snprintf(text, sizeof(text), "%.*s", (int)MIN(line.len, sizeof(text) - 1), line.p);
    if (!reach_host(text, host) || is_loopback(host))
        return REACH_LOOPBACK;
    bool any = strcmp(host, "0.0.0.0") == 0, any6 = strcmp(host, "::") == 0;
    if (any || any6 ? !interfaces_outside(any6, outside) : !interfaces_reach(host))
        return REACH_CONTAINER;
    bool tls = str_starts(line, "https"), named = tls && !a->pin; /* a certificate of others has a name in it */
    const char *at = named ? a->own_name : any || any6 ? outside : host;
    const char *colon = strrchr(text, ':');
    bool six = strchr(at, ':');
    snprintf(ret, OWN_URL_MAX, "http%s://%s%.250s%s%s", tls ? "s" : "", six ? "[" : "", at, six ? "]" : "", colon);
    return REACH_OK;
}

enum reach reach_url(const struct api *a, const struct request *rq, char ret[OWN_URL_MAX])
{
    char host[OWN_URL_MAX];
    struct str rest = buf_str(&a->hub->addresses), line;
    enum reach best = REACH_LOOPBACK;
    if (a->address ? mem_copy_str(ret, OWN_URL_MAX, a->address) : rq && url_of(rq, ret, host) && others_reach(a, host))
        return REACH_OK;
    ret[0] = 0;
    while (best != REACH_OK && str_line(&rest, &line)) {
        enum reach r = reach_line(a, line, ret);
        best = r == REACH_LOOPBACK ? best : r;
    }
    return best;
}

void reach_command(const struct api *a, const char *url, const char *token, struct buf *out)
{
    buf_adds(out, "curl -fsS ");
    if (a->pin)
        buf_addf(out, "-k --pinnedpubkey %s ", a->pin);
    buf_addf(out, "%s/install | sh -s -- %s", url, token);
}
