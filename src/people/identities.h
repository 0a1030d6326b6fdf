/*
 * identities.h: which persons the processes of one moment belong to: logins looked up in struct people, with the groups
 * of that moment, each person once. For one thread.
 */
#pragma once

#include "model/now.h"
#include "people/people.h"

struct identities;
struct identities *identities_new(const struct people *c, int64_t at_ms); /* takes a reference of its own */
void identities_free(struct identities *r);                               /* with all it ever returned */
/* NULL: the login says all there is to know. */
const struct identity *identities_who(struct identities *r, const char *node, const struct proc_fact *f);
void identities_node(struct identities *r, struct node_now *n); /* every process of it */
