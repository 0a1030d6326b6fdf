/*
 * roll.h: which persons the processes of one moment belong to: logins looked up in struct people, with the groups of
 * that moment, each person once. For one thread.
 */
#ifndef PEOPLE_ROLL_H
#define PEOPLE_ROLL_H

#include "model/now.h"
#include "people/people.h"

struct roll;
struct roll *roll_new(const struct people *c, int64_t at_ms); /* takes a reference of its own */
void roll_free(struct roll *r);                               /* with all it ever returned */
/* NULL: the login says all there is to know. */
const struct identity *roll_who(struct roll *r, const char *node, const struct proc_fact *f);
void roll_node(struct roll *r, struct node_now *n); /* every process of it */

#endif
