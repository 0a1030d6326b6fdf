/* server.h: a hub from start to end, for `muster hub`. */
#pragma once

#include "hub/conf.h"
#include "hub/reach.h"

struct hub;

/* Reads the configuration again for SIGHUP, into a zeroed conf. Returns 0, or -errno with a message in err. */
typedef int hub_reload_fn(void *arg, struct hub_conf *ret, struct err *err);

/* Takes ownership of conf (empties it) if it returns 0. Listens, but serves no request before hub_run. */
int hub_open(struct hub **ret, struct hub_conf *conf, struct err *err);
/* One line per address, "https://127.0.0.1:8765". */
int hub_addresses(const struct hub *h, struct buf *out);
/* The URL for other machines, and the command that adds a node; both empty unless the result is REACH_OK. */
enum reach hub_reach(const struct hub *h, char url[OWN_URL_MAX], struct buf *command);
const char *hub_pin(const struct hub *h); /* of a certificate made here; NULL: none */
/* The pin of its certificate, also a configured one, for its own processes. False: no TLS. */
bool hub_local_pin(const struct hub *h, char out[64]);
/* Runs until SIGTERM or SIGINT and returns 0. taken (may be NULL) is called after each successful reload. */
int hub_run(struct hub *h, hub_reload_fn *reload, void (*taken)(void *arg), void *arg);
void hub_close(struct hub *h); /* makes all accepted data durable first */
