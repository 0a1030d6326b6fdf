/*
 * key.h: finds the API key of W&B: in the flag, $WANDB_API_KEY, a file, or netrc, in this order. It is never part of an
 * error.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct buf;

#define KEY_MAX 1024 /* bytes; W&B may choose the length of keys */

struct key_params {
    const char *flag;     /* --api; NULL or empty: not given */
    const char *file;     /* --key-file; likewise */
    const char *base_url; /* its host is looked up in netrc */
    const char *env;      /* NULL: $WANDB_API_KEY; "": not set */
    const char *netrc;    /* NULL: $NETRC, else ~/.netrc */
};
/*
 * ret: the key; wipe it with key_wipe. Returns -ENOENT with a message that lists the places searched; -EINVAL if the
 * text found is not a key (spaces or control characters in it); or an error if a file is not readable, or is readable
 * by others.
 */
int key_find(const struct key_params *ask, struct buf *ret, struct err *err);
void key_wipe(struct buf *key); /* overwrites it, and frees */

/* The password of a machine in the text of a netrc, else that of `default`. 0, -ENOENT, or -EBADMSG: not a netrc. */
int netrc_find(struct str text, struct str host, struct buf *ret);
