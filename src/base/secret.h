/*
 * secret.h: keeps secrets (tokens, passwords in addresses) out of places where others read them: process lists,
 * screens, logs.
 */
#pragma once

#include "base/opt.h"

/*
 * Writes an address with *** in place of its secrets. These are the user and password before the host, and values of a
 * query that are called token, key and the like. For hosts of hooks (Slack's) the path is the secret. An address
 * without a scheme (kim:pw@proxy:3128) is read as a web address. Returns true if a secret was replaced, false if the
 * address is unchanged.
 */
bool secret_url(struct buf *out, struct str url);
int secret_text(struct buf *out, struct str s); /* the same for every address in a text */

/* The host of an address ("db", "db:8123", "[::1]:5432") without its port and brackets. */
struct str secret_host(struct str host);
/* Is it this machine: a loopback name or address, a socket, or no host? */
bool secret_host_is_local(struct str host);
#define SECRET_HOST_MAX 128
/* Does this address lead to another machine without TLS (http://, smtp://)? Its host goes to ret. */
bool secret_in_clear(const char *url, char ret[SECRET_HOST_MAX]);

/*
 * A secret in a flag shows in ps. This moves it elsewhere and overwrites the original, for options of type OPT_SECRET
 * and for addresses (.url) that hold a secret. argv then points to the copies, which are never freed. Call first in
 * main. Up to "--".
 */
void secret_args(const struct opt *opts, int argc, char **argv);
