/* listing.h: the names in a folder's page, as Python's http.server, nginx or Apache write one. Pure. */
#pragma once

#include "base/str.h"

#define LISTING_NAME_MAX 255

/* The next link to a file of this folder, decoded, into ret[256]; false when there is none left. Folders, other
 * servers' and names that do not fit are passed over. */
bool listing_next(struct str *rest, char ret[LISTING_NAME_MAX + 1]);
int64_t listing_date_ms(struct str date); /* "Sun, 15 Nov 2026 08:41:39 GMT" of a header; 0: it is none */
