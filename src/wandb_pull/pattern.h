/*
 * pattern.h: regular expressions with bounded cost for any expression and text: every position of the text is visited
 * once per instruction, without backtracking. Supported: . [a-z] [^x] \d \w \s \b and their capitals, ^ $, ( ) (?: ),
 * |, * + ? {n} {n,} {n,m} and their lazy forms, (?i) in front. No back-references, no look-around. Bytes, not
 * characters: é is two of them.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define PATTERN_OPS   512 /* instructions, repetitions written out */
#define PATTERN_DEPTH 16  /* parentheses */

struct pattern;
/* Returns 0, or -EINVAL with a message in err. */
int pattern_new(struct str text, struct pattern **ret, struct err *err);
void pattern_free(struct pattern *p);
/*
 * Finds the first match: the text of its first group, or the whole match without a group. Returns false if there is no
 * match, or if the group matched nothing.
 */
bool pattern_find(const struct pattern *p, struct str text, struct str *ret);
