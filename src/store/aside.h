/*
 * aside.h: damaged files of a data folder: they are kept under another name, and every screen says so for as long as
 * they are there. A1 Nothing is overwritten and nothing is removed: the second damage to a file is NAME.damaged.2. A2
 * What is set aside can be found by its name alone, also by the next run. A3 A muster.db that is not there, or empty,
 * beside logs or history is refused: a new one would make everybody a stranger.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define ASIDE_NAME 128

/* dir/name, with its WAL, becomes name.damaged, or name.damaged.2, ...: which, in ret (may be NULL). 0 or -errno. */
int aside_put(const char *dir, const char *name, char ret[ASIDE_NAME]);
/* name is not there and should be: a file name.missing says so. 0 or -errno. */
int aside_miss(const char *dir, const char *name);
/* `name.damaged`, `name.damaged.3`: the length of name; 0: it is no such thing. */
size_t aside_of(const char *file);

/*
 * Nobody has the folder open. -ENODATA and a sentence when muster.db is not there, or has nothing in it, although logs
 * or history are; 0 otherwise, also for one that is damaged: opening it tells.
 */
int aside_check(const char *dir, struct err *err);
/*
 * Begin anew where aside_check refuses, or where muster.db is damaged: everything of the store moves to the folder
 * set-aside-N within dir, whose name is in ret; where muster.db was missing it gets an empty one: a data
 * folder in which nodes that come back find their history. 1; 0: muster.db is sound, nothing was done; -errno, as much
 * as possible left as it was.
 */
int aside_all(const char *dir, char ret[ASIDE_NAME], struct err *err);

struct aside_sum {
    size_t damaged, missing, folders;
    int64_t bytes;                                                         /* of the damaged ones */
    char a_damaged[ASIDE_NAME], a_missing[ASIDE_NAME], folder[ASIDE_NAME]; /* the newest of each; "": none */
    bool no_records;                                                       /* muster.db is not there, or empty */
};
int aside_look(const char *dir, struct aside_sum *ret);
/* What a screen says of it; "": nothing. */
void aside_words(const struct aside_sum *a, char *out, size_t size);
