/*
 * secret.h: keeps secrets (tokens, passwords in addresses) out of places where others read them: process lists,
 * screens, logs.
 */
#pragma once

#include "base/opt.h"

/*
 * An address with *** for what lets one in: user and password before the host, values of a query that are called token,
 * key and the like, and the path where the host takes hooks (Slack's), since such a path is the secret. Without a
 * scheme (kim:pw@proxy:3128) it is taken for one of the web. True: something was left out; false: it stands there as it
 * was.
 */
bool secret_url(struct buf *out, struct str url);
int secret_text(struct buf *out, struct str s); /* the same for every address in a sentence */

/* The host of an address ("db", "db:8123", "[::1]:5432") without its port and brackets. */
struct str secret_host(struct str host);
/* Is it this machine: a name or an address of loopback, a socket, or no host at all? */
bool secret_host_is_local(struct str host);
#define SECRET_HOST_MAX 128
/* Does this address lead to another machine without TLS (http://, smtp://)? Its host goes to ret. */
bool secret_in_clear(const char *url, char ret[SECRET_HOST_MAX]);

/*
 * A secret given as a flag shows in ps: here it is moved elsewhere and the place where it stood overwritten, for
 * options of type OPT_SECRET and for addresses (.url) that hold one. argv then points to the copies, which stay for
 * good. Called first thing in main. Up to "--".
 */
void secret_args(const struct opt *opts, int argc, char **argv);
