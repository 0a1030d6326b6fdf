/*
 * identity.h: which node this is (a random id kept in the state folder) and which run of the agent (a random number).
 */
#pragma once

#include "base/err.h"
#include "model/fact.h"

struct node_identity {
    struct node_id node;
    uint64_t run; /* 64 random bits, never 0 */
    int lock_fd;  /* held while the agent runs: one agent per state folder; -1 none */
    bool fresh;   /* the id was made just now */
};

/* Makes dir (0700) and the id when they are not there. -EBUSY: another agent runs on this folder. */
int identity_open(struct node_identity *ret, const char *dir, struct err *err);
/* For the wire on standard output: the id when one is there, else all zero; makes and locks nothing. */
void identity_peek(struct node_identity *ret, const char *dir);
void identity_close(struct node_identity *id);
