/*
 * person.h: one sentence to one person, who waits for it, through every channel that leads to them. Alerts have their
 * own way, with rules of who is told (alert/tell.h).
 */
#pragma once

#include "hub/hub.h"

/*
 * Stored, then sent; done hears of that once all of it is stored (NULL: nobody wants to know). How many channels; 0:
 * none leads to that person, or they do not want to hear of it, and done is not called. rule: what their list of `tell`
 * may name.
 */
size_t notify_person(struct hub *h, const char *person, const char *rule, const char *title, const char *text,
                     store_done_fn *done, void *arg);
bool notify_reaches(const struct hub *h, const char *person, const char *rule); /* would that tell them? */
