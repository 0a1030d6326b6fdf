/*
 * note.h: alerts, silences and messages as the bytes of a note (model/note.h). They are JSON, so that a later muster
 * can read them when it has more members.
 */
#pragma once

#include "base/err.h"
#include "model/alert.h"
#include "model/message.h"

struct buf;

void alert_write(const struct alert *a, struct buf *out);
void silence_write(const struct silence *s, struct buf *out);
void message_write(const struct message *m, struct buf *out);
/* For free(). NULL: it is not one, with a sentence. What is not known is passed over. */
struct alert *alert_read(struct str bytes, struct err *err);
struct silence *silence_read(struct str bytes, struct err *err);
struct message *message_read(struct str bytes, struct err *err);
