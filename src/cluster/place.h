/* place.h: where a store that several hubs share is, as an address of libpq's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/secret.h"

/* Is it one that may stand in settings, where others read it? */
int place_check(const char *url, struct err *err);
/* With the password of this file (NULL: none), and what a hub needs to be told. For free(); NULL: err. */
char *place_of(const char *url, const char *password_file, struct err *err);
/* A connection to this place can cross a network without TLS: the first such host goes to ret. */
bool place_is_open(const char *place, char ret[SECRET_HOST_MAX]);
/* The same for hub N: what it writes is known by that. */
char *place_for_hub(const char *place, int64_t hub);
