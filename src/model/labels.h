/*
 * labels.h: labels of a node from sources of names (docs/discovery.md): names with values, as one text of lines
 * "name=value\n", sorted by name. Pure. Absent labels are NULL or "", which are the same.
 */
#pragma once

#include "base/str.h"

#define LABELS_MAX      24 /* of one node */
#define LABEL_NAME_MAX  64
#define LABEL_VALUE_MAX 256

/* Letters, digits, '.', '_' and '-', but no '-' at the start: JSON and filters need no escapes. */
bool label_name_ok(struct str s);
bool label_value_ok(struct str s); /* not empty, UTF-8 that plain_point accepts */

/* Returns the next label of *rest, which starts as the whole text; false at the end. */
bool labels_next(struct str *rest, struct str *ret_name, struct str *ret_value);
/* a, and the labels of b whose names a lacks, as far as there is room. The caller frees the result; NULL: no labels. */
char *labels_join(const char *a, const char *b);
/* Adds a label; ignores an invalid or duplicate one and one above LABELS_MAX. Reallocates *labels. */
void labels_add(char **labels, struct str name, struct str value);
static inline bool labels_same(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

struct json;
void labels_json(struct json *j, const char *key, const char *labels); /* as an object */
