/* html.h: text into HTML, as an element's content or between double quotes. */
#pragma once

#include "base/str.h"

struct buf;

/* & < > " ' are escaped; control characters, and what is not UTF-8, become U+FFFD. */
void html_text(struct buf *out, struct str s);
void html_cstr(struct buf *out, const char *s);
/* The same between two pieces of HTML. */
void html_text_between(struct buf *out, const char *before, struct str s, const char *behind);
void html_between(struct buf *out, const char *before, const char *s, const char *behind);
