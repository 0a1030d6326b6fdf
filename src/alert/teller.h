/*
 * teller.h: what is news of the alerts, and the messages it makes (alert/tell.h). That somebody is told of an alert is
 * stored with the messages that tell it, in one piece: a restart tells nothing twice and forgets nothing.
 */
#ifndef ALERT_TELLER_H
#define ALERT_TELLER_H

#include "alert/alert_state.h"
#include "alert/show.h"
#include "hub/hub.h"
#include "model/message.h"

struct herald;
struct herald *herald_new(struct hub *h);
void herald_free(struct herald *t);
/* This alert is over: whoever was told of it is to be told that; of a notice, and of a critical one that nobody was
 * told of yet, that it was. Read back after a restart, too. */
void herald_over(struct herald *t, const struct alert *a, int64_t now_ms);
size_t herald_passed(const struct herald *t, const char *channel); /* persons not told for want of an address */
/*
 * Something happened that a person wants to hear of at once, through every channel that leads to him: stored, then
 * told; done hears of that (NULL: nobody wants to know). How many channels; 0: none leads to him, or he does not want
 * to hear of it, and done is not called. rule: what his list of `tell` may name.
 */
size_t herald_person(struct hub *h, const char *person, const char *rule, const char *title, const char *text,
                     store_done_fn *done, void *arg);
bool herald_reaches(void *hub, const char *person, const char *rule); /* would that tell him? */
/* After a look: what is due is told. The lookout learns what was, and what now has of it is gone then. */
void herald_tick(struct herald *t, const struct alerts_now *now, const struct alert_rules *rules, struct lookout *w,
                 int64_t now_ms);

#endif
