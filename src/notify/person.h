/*
 * person.h: sends a message to one person who expects it, through all their channels. Alerts are sent with other rules
 * (alert/notify_group.h).
 */
#pragma once

#include "hub/hub.h"

/*
 * Stores and sends the message; done (may be NULL) is called when it is stored. Returns the number of channels; 0:
 * none for this person, or they opted out, and done is not called. rule: name to match with their `tell` list.
 */
size_t notify_person(struct hub *h, const char *person, const char *rule, const char *title, const char *text,
                     store_done_fn *done, void *arg);
bool notify_reaches(const struct hub *h, const char *person, const char *rule); /* whether any channel would be used */
