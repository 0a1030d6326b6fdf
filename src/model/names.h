/*
 * names.h: what machines and models of GPUs are called on screens: `names:` of muster.yaml. The real names stay what
 * they are known, searched and asked for by.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

#define NAMES_MAX 4096

struct names;
/* Each text is REAL=DISPLAY, or REAL=DISPLAY=SHORTER; REAL may be a pattern, and the first that fits counts. 0 or
 * -EINVAL with a sentence. */
int names_parse(char *const *texts, size_t n, struct names **ret, struct err *err);
void names_free(struct names *s);
/* Both last for good; NULL where there is none. all may be NULL. False: nothing is said of it. */
bool names_find(const struct names *all, const char *real, const char **ret_display, const char **ret_brief);
/* A copy that lasts for good, the same for the same text. NULL: there are NAMES_MAX of them, or it is no name. Not for
 * several threads. */
const char *names_keep(struct str text);

/* What the nth of several is called: "dgx1" -> "dgx1~2". The base is cut where both have no room. */
void name_nth(const char *base, unsigned n, char *out, size_t size);
bool name_is_nth(const char *base, const char *name); /* is it one of those? */
