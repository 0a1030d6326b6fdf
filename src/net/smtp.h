/*
 * smtp.h: sends one mail to a server. The call waits: libcurl's SMTP does so for the last reply even where it is told
 * not to, so a program of its own does it for the hub (muster mail-send), which gets the question and gives the result
 * as lines.
 *
 * M1 It goes through TLS with a certificate that is checked, or not at all, unless `plain` says otherwise. M2 It takes
 * no longer than it may. M3 Each receiver is accounted for: the server has taken the mail for them, may take it later,
 * or never will. M4 No sentence holds the password, nor what the server says to it.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct buf;

#define SMTP_TO_MAX    20
#define SMTP_ERROR_MAX 320

struct smtp_request {
    const char *url;       /* smtps://host:465, or smtp://host:587, where STARTTLS is demanded */
    bool plain;            /* without TLS */
    const char *ca_file;   /* NULL: the system's */
    const char *user;      /* NULL: it does not log in */
    const char *password;  /* with user */
    const char *from;      /* plain addresses, without <> */
    const char *const *to; /* NULL-ended, SMTP_TO_MAX at most */
    struct str mail;       /* with CRLF */
    int64_t timeout_ms;
};

enum smtp_verdict { SMTP_TAKEN, SMTP_LATER, SMTP_NEVER };
struct smtp_result {
    enum smtp_verdict to[SMTP_TO_MAX]; /* each receiver, in the order of the question */
    size_t n_taken, n_later, n_never;
    char error[SMTP_ERROR_MAX]; /* why not all have it; "": they do */
};

/* 0, or -errno with a sentence: libcurl is not there. */
int smtp_send(const struct smtp_request *k, struct smtp_result *ret, struct err *err);

/* Both as lines, "name value"; the mail is what comes after the line "mail". */
#define SMTP_ASK_MAX (4u << 20)
int smtp_request_write(struct buf *out, const struct smtp_request *k); /* -EMSGSIZE */
struct smtp_request_text {
    struct smtp_request k; /* points into what was read */
    const char *to[SMTP_TO_MAX + 1];
};
int smtp_request_read(char *text, size_t n, struct smtp_request_text *ret); /* text is written to. 0 or -EBADMSG */
void smtp_result_write(struct buf *out, const struct smtp_result *r, size_t n_to);
int smtp_result_read(struct str text, size_t n_to, struct smtp_result *ret); /* -EBADMSG: not of so many receivers */
