/* place.h: the address of a store that several hubs share, in libpq's format. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/secret.h"

/* Whether it may be in settings, which other users can read. */
int place_check(const char *url, struct err *err);
/*
 * Adds the password of this file (NULL: none), and the options a hub needs. The caller frees it. Returns NULL and sets
 * err on failure.
 */
char *place_of(const char *url, const char *password_file, struct err *err);
/* Whether a connection to this place can cross a network without TLS; the first such host goes to ret. */
bool place_is_open(const char *place, char ret[SECRET_HOST_MAX]);
/* The same for hub N: identifies its writes. */
char *place_for_hub(const char *place, int64_t hub);
