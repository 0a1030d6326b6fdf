/*
 * mime.h: a message as a mail: headers, plain text, HTML, pictures and files.
 *
 * I1 Whatever a message holds, no header ends early and none is added: what is not plain text is encoded, control
 * characters become blanks. I2 Lines end with CRLF, have no byte above 126 and no more than 78 of them, but for long
 * addresses: any server takes them. I3 The same message gives the same bytes, its Message-ID among them, so that a
 * second copy is known for one. I4 What is told of an alert later refers to the mail that told it first.
 */
#pragma once

#include "model/message.h"

struct buf;

#define MIME_MAX (2u << 20) /* room for any message */

struct mime_params {
    const struct message *m;
    const char *from;      /* plain addresses: user@host, and nothing that would need quotes */
    const char *const *to; /* NULL-ended; NULL or none: not said */
    const char *hub;       /* its name */
};
/* 0 or -EMSGSIZE: out has no room. */
int mime_mail(struct buf *out, const struct mime_params *k);
/* The HTML of a message that brings none: small, nothing to load, in the colours of whoever reads it. */
void mime_html(struct buf *out, const struct message *m, const char *hub);
/* A header, folded, and encoded (RFC 2047) where it must be. */
void mime_header(struct buf *out, const char *name, struct str value);
