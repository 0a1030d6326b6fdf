/* wording.h: title and text of one message about alerts of one rule. */
#pragma once

#include "alert/rule.h"
#include "model/alert.h"
#include "model/message.h"

#define WORDING_PLACES 10 /* named in a message; the others are counted */

struct wording_params {
    int32_t kind; /* enum message_kind: fired, resolved, reminder, or notice (fired and is over) */
    int64_t now_ms;
    const struct alert_rule *rule; /* NULL if it no longer exists */
    struct live *live;             /* state of the nodes; NULL: unknown */
    const char *person;            /* recipient; empty: a channel */
    const struct alert *const *v;  /* alerts of the rule, sorted by place */
    size_t n;
};
struct wording {
    char title[1000], text[3000]; /* cut between characters */
};
void wording_of(const struct wording_params *k, struct wording *ret);

/* Returns the next of the persons an alert concerns: "kim, lee". */
bool wording_person(struct str *rest, struct str *ret);
/* Whether this person owns what another user has taken. The owner is the last person of such an alert. */
bool wording_owner(const struct alert_rule *rule, const struct alert *a, const char *person);
