/*
 * local_hub.h: where the hub of a data folder listens. It is left in the folder (hub.url, mode 0600) while the hub
 * runs, so that its user's command line knows to whom the token in there may be sent, and to nobody else.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct buf;

/* A line for each address; one for the pin, if the hub has one. */
int local_hub_say(const char *dir, struct str addresses, struct err *err);
void local_hub_end(const char *dir);
/* The hub of our own data folder, or of its demo's, if it runs: its address on this machine, and the pin of a
 * certificate that it made itself. False if there is none; nothing is added then. */
bool local_hub_find(struct buf *ret_url, struct buf *ret_pin);
bool local_hub_find_in(const char *dir, struct buf *ret_url, struct buf *ret_pin); /* the hub of this data folder */
bool local_hub_runs(const char *dir); /* the hub of this folder, as its owner */
/* The admin token in dir where that is the folder of the hub at this URL, and it runs. Nothing is added otherwise. */
int local_hub_token_in(const char *dir, const char *url, struct buf *ret, struct err *err);
bool local_hub_is_here(const char *url); /* the address is this machine's own */
/* A folder that only we or root can have made as it is: whoever has taken the hub's port can name any. */
bool local_hub_is_ours(const char *dir);
/* The admin token of a hub of ours that runs and listens at this URL; unnamed: the user gave none. Nothing is added
 * where there is none. */
int local_hub_token(const char *url, bool unnamed, struct buf *ret, struct err *err);
