/* feature.h: other hubs on the same PostgreSQL server; hub/others.h is what features ask. */
#pragma once

#include "hub/hub.h"

struct member;
struct route;
extern const struct route cluster_routes[];   /* routes.c */
struct member *cluster_member(struct hub *h); /* NULL: this hub is alone */
/* The server that these settings name, as libpq wants it, for free(); NULL: none, all is in the data folder. */
int cluster_place(const struct hub_conf *conf, char **ret, struct err *err);
/* That server as the settings say it, without a password, and the file with one (NULL: none); NULL: none. Borrowed. */
const char *cluster_store(const struct hub_conf *conf, const char **ret_password_file);
/* The flags by which a command finds what this hub has: its server, or its data folder. */
void cluster_flags(const struct hub_conf *conf, const char *data, struct buf *out);
