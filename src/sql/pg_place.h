/* pg_place.h: the URL of a server. */
#pragma once

#include <stdbool.h>

bool pg_is_place(const char *place); /* postgres://... */
/* The URL without its password and query string, which may contain one too. The caller frees it. */
char *pg_shown_place(const char *url);
