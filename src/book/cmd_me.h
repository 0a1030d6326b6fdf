/* cmd_me.h: the person for whom a command books or waits at a hub. */
#pragma once

#include "cli/client.h"
#include "model/booking.h"

/* The person to send: `told` if set; else our login, if the hub has no person for our token; else "". */
int me_at_hub(const struct client_conf *conf, const char *told, char out[BOOKING_PERSON_MAX], struct err *err);
