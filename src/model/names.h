/*
 * names.h: display names of machines and GPU models: `names:` of muster.yaml. Searches, filters and requests use the
 * real names.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

#define NAMES_MAX 4096

struct names;
/* Each text is REAL=DISPLAY, or REAL=DISPLAY=SHORTER. REAL may be a pattern; the first match counts. Returns 0, or
 * -EINVAL with a message in err. */
int names_parse(char *const *texts, size_t n, struct names **ret, struct err *err);
void names_free(struct names *s);
/* Both are never freed; NULL if not set. all may be NULL. False: no entry. */
bool names_find(const struct names *all, const char *real, const char **ret_display, const char **ret_brief);
/* A copy that is never freed, the same for the same text. NULL: there are NAMES_MAX already, or the text is no valid
 * name. Not thread-safe. */
const char *names_keep(struct str text);

/* The name of the nth duplicate: "dgx1" -> "dgx1~2". Cuts the base if both do not fit. */
void name_nth(const char *base, unsigned n, char *out, size_t size);
bool name_is_nth(const char *base, const char *name); /* is it one of those names? */
