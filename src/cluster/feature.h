/* feature.h: other hubs on the same PostgreSQL server; other features use hub/peer_hubs.h. */
#pragma once

#include "hub/hub.h"

struct member;
struct route;
extern const struct route cluster_routes[];   /* routes.c */
struct member *cluster_member(struct hub *h); /* NULL: single hub */
/*
 * The server in these settings, in libpq's format; the caller frees it. NULL if none: all data is in the data folder.
 */
int cluster_place(const struct hub_conf *conf, char **ret, struct err *err);
/* The configured server, without a password, and its password file (NULL if none); NULL if none. Borrowed. */
const char *cluster_store(const struct hub_conf *conf, const char **ret_password_file);
/* The flags for a command to use this hub's data: its server, or its data folder. */
void cluster_flags(const struct hub_conf *conf, const char *data, struct buf *out);
