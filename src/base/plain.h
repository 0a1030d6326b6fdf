/*
 * plain.h: text from outside made fit to be shown: on a terminal, in a mail, in a message. Control characters, what
 * turns the direction of letters round, and bytes that are not UTF-8 become U+FFFD: they are seen, and do nothing.
 */
#pragma once

#include "base/str.h"

struct buf;

#define PLAIN_MARK "\xef\xbf\xbd" /* U+FFFD */

bool plain_point(uint32_t c); /* may be shown as it is; never a control character, so no line end */
bool plain_is(struct str s);  /* all of it; then the functions below copy it as it is */
/* Is this valid in a name, a comment or a label that a user writes? UTF-8 that plain_point accepts, and tabs. */
bool plain_typed(struct str s);
#define CONTROLS "control characters and bidirectional marks" /* what plain_typed refuses */
size_t plain_room(struct str s);                              /* maximum length of their results */

int plain_line(struct buf *out, struct str s);   /* a name, a cell, a sentence: line ends and tabs become spaces */
int plain_text(struct buf *out, struct str s);   /* of many lines: \n and \t stay, \r before \n goes */
int plain_print(struct buf *out, struct str s);  /* as plain_text, but a line of CSV ends in \r\n as before */
int plain_tinted(struct buf *out, struct str s); /* as plain_text, with the colours that format/ draws (SGR) */
/* JSON, to be shown as JSON: characters that may not be shown become \uXXXX, so that the value stays the same. */
int plain_json(struct buf *out, struct str s);
/* JSON whose texts are to be shown: characters that may not be shown become U+FFFD, also if written as an escape; \n
 * and \t stay. */
int plain_answer(struct buf *out, struct str s);
