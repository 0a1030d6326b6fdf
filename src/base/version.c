/* version.c: the Makefile defines MUSTER_BUILD and MUSTER_COMMIT for this file alone. */
#include "base/version.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#ifndef MUSTER_BUILD
#define MUSTER_BUILD  MUSTER_VERSION
#define MUSTER_COMMIT ""
#endif
#define TEXT(x)    #x
#define TEXT_OF(x) TEXT(x)

const char muster_commit[] = MUSTER_COMMIT;
const char muster_build[] = MUSTER_BUILD;
const char muster_hub_build[] = MUSTER_BUILD " format " TEXT_OF(MUSTER_FORMAT);
const char muster_agent_build[] = MUSTER_BUILD " wire " TEXT_OF(MUSTER_WIRE);

bool build_parse(const char *text, struct build *ret)
{
    struct build b = {0};
    size_t len = strcspn(text, "+ ");
    const char *rest = text + len;

    if (!isdigit((unsigned char)text[0]) || len >= sizeof(b.version))
        return false;
    snprintf(b.version, sizeof(b.version), "%.*s", (int)len, text);
    if (rest[0] == '+') {
        len = strcspn(++rest, " ");
        snprintf(b.commit, sizeof(b.commit), "%.*s", (int)len, rest);
        rest += len;
    }
    if (sscanf(rest, " format %d", &b.format) != 1)
        sscanf(rest, " wire %d", &b.format);
    *ret = b;
    return true;
}

bool build_differs(const struct build *a, const struct build *b)
{
    return strcmp(a->version, b->version) != 0 || a->format != b->format ||
           (a->commit[0] && b->commit[0] && strcmp(a->commit, b->commit) != 0);
}
