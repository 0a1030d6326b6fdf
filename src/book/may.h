/* may.h: decides who may book for whom, and who may change a booking. Pure functions. */
#pragma once

#include "access/auth.h"
#include "model/booking.h"

/* token: who has one; proxy: whom a trusted proxy names, too; open: whoever types a name. */
enum book_auth { BOOK_TOKEN, BOOK_PROXY, BOOK_OPEN, BOOK_AUTHS };
extern const char *const book_auth_words[BOOK_AUTHS + 1]; /* ends with NULL */

/* Who asks. */
struct booker {
    enum role role;
    bool token;         /* by a token, or a cookie made from one; false: nobody, or a proxy's word */
    const char *person; /* the token's or the proxy's; empty: nobody's */
    const char *id;     /* the token's */
};

/* May book at all (for themselves at least). -EACCES: needs a token; -EPERM: not with this one; with a sentence. */
int book_may(enum book_auth auth, const struct booker *who, struct err *err);
/*
 * Whose a new booking is: typed (empty: nobody was named) or the asker. 0; -EACCES, -EPERM as above; -EINVAL: it must
 * be said for whom, or the name is none.
 */
int book_for(enum book_auth auth, const struct booker *who, struct str typed, char ret[BOOKING_PERSON_MAX],
             struct err *err);
/* typed: as whom they change it, where names are typed. 0, -EACCES, -EPERM. */
int book_may_change(enum book_auth auth, const struct booker *who, struct str typed, const struct booking *h,
                    struct err *err);
/* The asker in a record: their name, or "token ID", or the one they typed. */
void book_by(const struct booker *who, const char *typed, char ret[BOOKING_PERSON_MAX]);
