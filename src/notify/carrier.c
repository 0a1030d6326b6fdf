/* carrier.c: maps channel types to carriers. */
#include "notify/carrier.h"

static const struct carrier *const own[CHANNEL_TYPES] = {
    [CHANNEL_SLACK] = &carrier_http,      [CHANNEL_WEBHOOK] = &carrier_http, [CHANNEL_NTFY] = &carrier_http,
    [CHANNEL_COMMAND] = &carrier_command, [CHANNEL_MAIL] = &carrier_mail,
};

const struct carrier *carrier_of(const struct carriers *s, enum channel_type type)
{
    return own[type] ? own[type] : s->registered[type];
}
