/*
 * key.h: finds the API key of W&B: in the flag, $WANDB_API_KEY, a file, or netrc, in this order. It is never part of an
 * error.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct buf;

#define KEY_MAX 1024 /* bytes; how long one is, is not ours to say */

struct key_ask {
    const char *flag;     /* --api; NULL or empty: not given */
    const char *file;     /* --key-file; likewise */
    const char *base_url; /* whose host netrc is asked for */
    const char *env;      /* NULL: $WANDB_API_KEY; "": none */
    const char *netrc;    /* NULL: $NETRC, else ~/.netrc */
};
/*
 * ret: the key, to be wiped by key_wipe. -ENOENT with a sentence that lists where one was looked for; -EINVAL: what was
 * found is not a key (spaces or control characters in it); or a file that cannot be read, or that others can read.
 */
int key_find(const struct key_ask *ask, struct buf *ret, struct err *err);
void key_wipe(struct buf *key); /* overwrites it, and frees */

/* The password of a machine in the text of a netrc, else that of `default`. 0, -ENOENT, or -EBADMSG: not a netrc. */
int netrc_find(struct str text, struct str host, struct buf *ret);
