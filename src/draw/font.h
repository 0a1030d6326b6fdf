/*
 * font.h: text on cairo, in the system's sans serif and, letter by letter, in whichever other font has what that one
 * lacks (cairo's own text calls know one font at a time). Left to right; no shaping of scripts that join letters.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "draw/cairo_lib.h"

/* Finds the fonts, once for the process. -ENOENT with what to install. */
int font_load(struct err *err);

/* After font_load. Letters without hinting, so that they are as wide as font_width says. */
void font_plain(cairo_t *cr);
/* The width of s in points at this size. What is not UTF-8 counts as U+FFFD. */
double font_width(struct str s, double size, bool bold);
/* s with its base line's left end at the current origin (0, 0) of cr. */
void font_show(cairo_t *cr, struct str s, double size, bool bold);
/* The longest head of s that fits, into out, with "…" where it was cut; a view of out. Control characters become
 * blanks. */
struct str font_fit(struct str s, double size, bool bold, double width, char *out, size_t out_size);
/* Whether some font here has every letter of s; *ret_missing: the first that none has. */
bool font_has(struct str s, uint32_t *ret_missing);
