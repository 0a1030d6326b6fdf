/* pg_place.h: where a server is, as a URL. */
#pragma once

#include <stdbool.h>

bool pg_is_place(const char *place); /* postgres://... */
/* The URL without its password, nor what follows a question mark, where one may stand too. For free(). */
char *pg_shown_place(const char *url);
