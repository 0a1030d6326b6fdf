/*
 * pattern.h: regular expressions whose cost is bounded whatever they are and whatever they are given: every place of
 * the text is visited once per instruction, nothing is tried again. What they have: . [a-z] [^x] \d \w \s \b and their
 * capitals, ^ $, ( ) (?: ), |, * + ? {n} {n,} {n,m} and their lazy forms, (?i) in front. No back-references, no
 * look-around. Bytes, not characters: é is two of them.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define PATTERN_OPS   512 /* instructions, repetitions written out */
#define PATTERN_DEPTH 16  /* parentheses */

struct pattern;
/* -EINVAL with a sentence. */
int pattern_new(struct str text, struct pattern **ret, struct err *err);
void pattern_free(struct pattern *p);
/* The first match: what the first group took in it, or all of it where there is no group. False: it does not match, or
 * the group took nothing. */
bool pattern_find(const struct pattern *p, struct str text, struct str *ret);
