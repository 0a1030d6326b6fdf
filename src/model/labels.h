/*
 * labels.h: what sources of names say of a node beside its name (docs/discovery.md): names with values, as one text of
 * lines "name=value\n", sorted by name. Pure. Absent labels are NULL or "", which are the same.
 */
#pragma once

#include "base/str.h"

#define LABELS_MAX      24 /* of one node */
#define LABEL_NAME_MAX  64
#define LABEL_VALUE_MAX 256

/* Letters, digits, '.', '_' and '-', which is not the first: nothing that JSON or a filter would have to escape. */
bool label_name_ok(struct str s);
bool label_value_ok(struct str s); /* not empty, UTF-8 that plain_point accepts */

/* The next one of *rest, which begins as the whole text; false: there is none. */
bool labels_next(struct str *rest, struct str *ret_name, struct str *ret_value);
/* a, and those of b whose names a does not have, as far as there is room. The caller's to free; NULL: none at all. */
char *labels_join(const char *a, const char *b);
/* One more; one that cannot be, or is there already, or is one too many, is left out. *labels is allocated anew. */
void labels_add(char **labels, struct str name, struct str value);
static inline bool labels_same(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

struct json;
void labels_json(struct json *j, const char *key, const char *labels); /* as an object */
