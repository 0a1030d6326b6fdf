/*
 * local_hub.h: the addresses of the hub of a data folder, in its file hub.url (mode 0600) while the hub runs. The
 * user's commands send the token of the folder only to these addresses.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct buf;

/* One line per address; one for the pin, if the hub has one. */
int local_hub_write(const char *dir, struct str addresses, struct err *err);
void local_hub_end(const char *dir);
/* Finds the running hub of this user's data folder, or of its demo: its address on this machine, and the pin of its
 * self-signed certificate. Returns false and adds nothing if none runs. */
bool local_hub_find(struct buf *ret_url, struct buf *ret_pin);
bool local_hub_find_in(const char *dir, struct buf *ret_url, struct buf *ret_pin); /* the hub of this data folder */
bool local_hub_runs(const char *dir); /* the hub of this folder runs, as its owner */
/* Appends the admin token of dir if that is the folder of the running hub at this URL. */
int local_hub_token_in(const char *dir, const char *url, struct buf *ret, struct err *err);
bool local_hub_is_local(const char *url); /* the address belongs to this machine */
/* Whether only this user or root can have created the folder: another program on the hub's port can report any folder.
 */
bool local_hub_is_trusted(const char *dir);
/* Appends the admin token of this user's running hub at this URL, if any; unnamed: the user gave no URL. */
int local_hub_token(const char *url, bool unnamed, struct buf *ret, struct err *err);
