/*
 * backup.h: a data folder into one file and back, also while a hub has it open.
 *
 * K1 Every batch that was acknowledged before the backup began is in it exactly once, and every blob it names. K2 The
 * hub is never waited for and never made to wait: reading holds no lock that a writer needs. K3 A backup that is
 * damaged or cut off is refused before anything is changed. K4 kill -9 or a failure at any point of a restore leaves
 * the folder as it was, or wholly replaced. K5 What a newer muster wrote is refused with a sentence.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct backup_watch { /* how far it is; may be NULL */
    void (*at)(void *arg, int64_t done, int64_t total);
    void *arg;
};

struct backup_sum {
    int64_t made_ms;
    uint64_t batches, chunks, rows; /* batches still in logs; rows: all */
    int64_t bytes;                  /* of the backup */
    uint32_t damaged;               /* log files that could not be read and are not in it */
    char version[32];               /* of the muster that made it */
};

/* To an open file; syncing and naming it is the caller's. now_ms is written into it. */
int backup_write(const char *dir, int fd, int64_t now_ms, const struct backup_watch *watch, struct backup_sum *ret,
                 struct err *err);

/* Reads all of it and checks what can be checked. 0 or -errno with a sentence. */
int backup_check(const char *path, const struct backup_watch *watch, struct backup_sum *ret, struct err *err);

/*
 * Checked first, then into a folder beside, then put in place. -ENOTEMPTY when dir has something in it and force is not
 * set; with force the old folder is kept, and old (4096 bytes) says where; else it is empty.
 */
int backup_restore(const char *path, const char *dir, bool force, const struct backup_watch *watch,
                   struct backup_sum *ret, char *old, struct err *err);
