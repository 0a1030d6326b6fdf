/*
 * plain.h: text from outside made fit to be shown: on a terminal, in a mail, in a message. Control characters, what
 * turns the direction of letters round, and bytes that are not UTF-8 become U+FFFD: they are seen, and do nothing.
 */
#pragma once

#include "base/str.h"

struct buf;

#define PLAIN_MARK "\xef\xbf\xbd" /* U+FFFD */

bool plain_point(uint32_t c); /* may be shown as it is; of controls none, so a line's end not either */
bool plain_is(struct str s);  /* all of it; then the functions below copy it as it is */
/* May a user write this as a name, a comment or a label? UTF-8 that plain_point accepts, and tabs. */
bool plain_typed(struct str s);
#define CONTROLS "control characters and bidirectional marks" /* what it refuses, for messages */
size_t plain_room(struct str s);                              /* no answer of theirs is longer */

int plain_line(struct buf *out, struct str s);   /* a name, a cell, a sentence: line ends and tabs become blanks */
int plain_text(struct buf *out, struct str s);   /* of many lines: \n and \t stay, \r before \n goes */
int plain_print(struct buf *out, struct str s);  /* as plain_text, but a line of CSV ends in \r\n as before */
int plain_tinted(struct buf *out, struct str s); /* as plain_text, with the colours that format/ draws (SGR) */
/* JSON as it came, to be shown as JSON: what may not be shown stands there as \uXXXX, so that it says the same. */
int plain_json(struct buf *out, struct str s);
/* JSON whose texts are to be shown: what may not be is U+FFFD, also where it was written as an escape; \n and \t stay.
 */
int plain_answer(struct buf *out, struct str s);
