/* cmd_me.h: in whose name a command books or waits at a hub. */
#pragma once

#include "cli/client.h"
#include "model/booking.h"

/* Whom to name: the one told; else, where the hub does not know us by our token, our login; else "". */
int me_at_hub(const struct client_conf *conf, const char *told, char out[BOOKING_PERSON_MAX], struct err *err);
