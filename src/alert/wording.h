/* wording.h: the words of one message about alerts of one rule: a line, and what stands below it. */
#pragma once

#include "alert/rule.h"
#include "model/alert.h"
#include "model/message.h"

#define WORDING_PLACES 10 /* named in a message; the others are counted */

struct wording_ask {
    int32_t kind; /* enum message_kind: fired, resolved, reminder, or notice: it fired and is over */
    int64_t now_ms;
    const struct alert_rule *rule; /* NULL: it is not there any more */
    struct live *live;             /* how its node is now; NULL: not known */
    const char *person;            /* to whom it is written; empty: to everybody */
    const struct alert *const *v;  /* of that rule, by place */
    size_t n;
};
struct wording {
    char title[1000], text[3000]; /* cut between characters */
};
void wording_of(const struct wording_ask *k, struct wording *ret);

/* The next of the persons an alert concerns: "kim, lee". */
bool wording_person(struct str *rest, struct str *ret);
/* Is it this person's own, which somebody else has taken? The last person of such an alert is whose it is. */
bool wording_owner(const struct alert_rule *rule, const struct alert *a, const char *person);
