/* pg_place.c: parses the URL of a server. */
#include "sql/pg_place.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

bool pg_is_place(const char *place)
{
    return str_starts(str_of(place), "postgres://") || str_starts(str_of(place), "postgresql://");
}

char *pg_shown_place(const char *url)
{
    struct str all = str_n(url, strcspn(url, "?"));
    int scheme = str_find(all, "://"), at = str_find(all, "@");
    struct str user = at > 0 ? str_n(url + scheme + 3, (size_t)(at - scheme - 3)) : STR("");
    int colon = str_find(user, ":");

    if (colon < 0)
        return mem_strn(all.p, all.len);
    return mem_fmt("%.*s%.*s", scheme + 3 + colon, url, (int)all.len - at, url + at);
}
