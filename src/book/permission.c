/* permission.c: who may book: an admin for all persons, a person for themselves; with typed names, any client. */
#include "book/permission.h"

#include <errno.h>

#include "base/plain.h"

const char *const book_auth_words[BOOK_AUTHS + 1] = {"token", "proxy", "open", NULL};

static bool known(enum book_auth auth, const struct booker *who)
{
    if (who->role != ROLE_MEMBER && who->role != ROLE_ADMIN)
        return false;
    return who->token || auth != BOOK_TOKEN; /* a proxy's word counts in the other two */
}

int book_check(enum book_auth auth, const struct booker *who, struct err *err)
{
    if (who->role != ROLE_READER && (auth == BOOK_OPEN || known(auth, who)))
        return 0;
    if (who->role != ROLE_NONE && who->token)
        return err_set(err, -EPERM, "a token of role '%s' cannot book: use a member's token", role_words[who->role]);
    if (auth == BOOK_PROXY)
        return err_set(err, -EACCES, "log in to book: through the proxy that knows you, or with a member's token");
    return err_set(err, -EACCES,
                   "booking needs a token: make one on the hub with `muster token new --role member --person NAME`, "
                   "log in with it or send it as 'Authorization: Bearer TOKEN'");
}

static bool is_admin(enum book_auth auth, const struct booker *who)
{
    return who->role == ROLE_ADMIN && known(auth, who);
}

static bool same(struct str typed, const char *person)
{
    return person[0] && str_eq(typed, person);
}

int book_for(enum book_auth auth, const struct booker *who, struct str typed, char ret[BOOKING_PERSON_MAX],
             struct err *err)
{
    int r = book_check(auth, who, err);
    const char *own = known(auth, who) ? who->person : "";

    if (r < 0)
        return r;
    typed = str_trim(typed);
    if (!typed.len && own[0])
        typed = str_of(own);
    if (!typed.len)
        return err_set(err, -EINVAL,
                       is_admin(auth, who) || auth == BOOK_OPEN
                           ? "say for whom: \"person\" is missing"
                           : "this token names nobody: make one with `muster token new --role member --person NAME`");
    if (!booking_person_ok(typed))
        return err_set(err, -EINVAL, "person must be a name of at most %d bytes without " CONTROLS,
                       BOOKING_PERSON_MAX - 1);
    if (auth != BOOK_OPEN && !is_admin(auth, who) && !same(typed, own))
        return err_set(err, -EPERM, "you are logged in as %s: only an admin books for another user",
                       own[0] ? own : "nobody");
    memcpy(ret, typed.p, typed.len);
    ret[typed.len] = 0;
    return 0;
}

int book_check_change(enum book_auth auth, const struct booker *who, struct str typed, const struct booking *h,
                      struct err *err)
{
    int r = book_check(auth, who, err);

    if (r < 0)
        return r;
    if (is_admin(auth, who) || (known(auth, who) && same(str_of(who->person), h->person)))
        return 0;
    if (auth == BOOK_OPEN && same(str_trim(typed), h->person))
        return 0;
    if (auth == BOOK_OPEN)
        return err_set(err, -EPERM, "this booking is %s's: only that name, or an admin, changes it", h->person);
    return err_set(err, -EPERM, "this booking is %s's: only its owner or an admin changes it", h->person);
}

void book_by(const struct booker *who, const char *typed, char ret[BOOKING_PERSON_MAX])
{
    if (who->person[0] && (who->token || !typed[0]))
        snprintf(ret, BOOKING_PERSON_MAX, "%s", who->person);
    else if (who->token)
        snprintf(ret, BOOKING_PERSON_MAX, "token %s", who->id);
    else
        snprintf(ret, BOOKING_PERSON_MAX, "%s", typed);
}
