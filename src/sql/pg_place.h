/* pg_place.h: where a server is, as a URL. */
#pragma once

#include <stdbool.h>

bool pg_is_place(const char *place); /* postgres://... */
/* The URL without its password and query string, which may contain one too. The caller frees it. */
char *pg_shown_place(const char *url);
