/* carrier.c: which carrier serves which type of channel, and what carriers share. */
#include "notify/carrier.h"

#include "net/http.h"

static const struct carrier *const own[CHANNEL_TYPES] = {
    [CHANNEL_SLACK] = &carrier_http,      [CHANNEL_WEBHOOK] = &carrier_http, [CHANNEL_NTFY] = &carrier_http,
    [CHANNEL_COMMAND] = &carrier_command, [CHANNEL_MAIL] = &carrier_mail,
};

const struct carrier *carrier_of(const struct carriers *s, enum channel_type type)
{
    return own[type] ? own[type] : s->registered[type];
}

int carriers_http(struct carriers *s, struct http **ret, struct err *err)
{
    int r = s->http ? 0 : http_new(&s->http, s->h->loop, err);

    if (r == 0)
        *ret = s->http;
    return r;
}

void carriers_fini(struct carriers *s)
{
    http_free(s->http);
    s->http = NULL;
}
