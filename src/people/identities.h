/*
 * identities.h: maps the logins of processes to persons (struct people) with their groups at one time. Each person is
 * made once. Not thread-safe.
 */
#pragma once

#include "model/now.h"
#include "people/people.h"

struct identities;
struct identities *identities_new(const struct people *c, int64_t at_ms); /* takes its own reference */
void identities_free(struct identities *r);                               /* also frees all results */
/* NULL: only the login is known. */
const struct identity *identities_find(struct identities *r, const char *node, const struct proc_fact *f);
void identities_node(struct identities *r, struct node_now *n); /* sets it for all processes of n */
