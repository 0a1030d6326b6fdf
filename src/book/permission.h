/* permission.h: decides who may book for whom, and who may change a booking. Pure functions. */
#pragma once

#include "access/auth.h"
#include "model/booking.h"

/* Required identity. token: an access token; proxy: also a user named by a trusted proxy; open: any client that types a
 * name. */
enum book_auth { BOOK_TOKEN, BOOK_PROXY, BOOK_OPEN, BOOK_AUTHS };
extern const char *const book_auth_words[BOOK_AUTHS + 1]; /* ends with NULL */

/* The client. */
struct booker {
    enum role role;
    bool token;         /* by a token, or a cookie made from one; false: no token, or named by a proxy */
    const char *person; /* of the token or the proxy; "": none */
    const char *id;     /* the token's */
};

/* Whether the client may book, at least for its own user. -EACCES: needs a token; -EPERM: not with this token; with a
 * message in err. */
int book_check(enum book_auth auth, const struct booker *who, struct err *err);
/*
 * The person of a new booking: typed ("" if no name was typed) or the client's. Returns 0; -EACCES, -EPERM as above;
 * -EINVAL: a name is required, or the name is invalid.
 */
int book_for(enum book_auth auth, const struct booker *who, struct str typed, char ret[BOOKING_PERSON_MAX],
             struct err *err);
/* typed: the client's name, if names are typed. Returns 0, -EACCES or -EPERM. */
int book_check_change(enum book_auth auth, const struct booker *who, struct str typed, const struct booking *h,
                      struct err *err);
/* The client's name for a record: its person, or "token ID", or the typed name. */
void book_by(const struct booker *who, const char *typed, char ret[BOOKING_PERSON_MAX]);
