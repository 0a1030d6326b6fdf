/*
 * backup.h: backs up a data folder to one file and restores it, also while a hub has it open.
 *
 * K1 Every batch that was acknowledged before the backup started is in it exactly once, with every blob it names.
 * K2 The backup never waits for the hub and never delays it: reading holds no lock that a writer needs.
 * K3 A damaged or truncated backup is refused before anything is changed.
 * K4 kill -9 or a failure at any point of a restore leaves the folder as it was, or wholly replaced.
 * K5 A backup of a newer muster is refused with a message in err.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct backup_watch { /* progress; may be NULL */
    void (*at)(void *arg, int64_t done, int64_t total);
    void *arg;
};

struct backup_sum {
    int64_t made_ms;
    uint64_t batches, chunks, rows; /* batches: still in logs; rows: all */
    int64_t bytes;                  /* of the backup */
    uint32_t damaged;               /* unreadable log files, which are omitted */
    char version[32];               /* version of the muster that wrote it */
};

/* Writes to an open file; the caller syncs and names it. now_ms is stored in it. */
int backup_write(const char *dir, int fd, int64_t now_ms, const struct backup_watch *watch, struct backup_sum *ret,
                 struct err *err);

/* Reads all of it and checks what can be checked. Returns 0, or -errno with a message in err. */
int backup_check(const char *path, const struct backup_watch *watch, struct backup_sum *ret, struct err *err);

/*
 * Checks the backup, writes it to a temporary folder next to dir, then renames that. Returns -ENOTEMPTY if dir is not
 * empty and force is not set. With force the old folder is kept, and old (4096 bytes) gets its path; otherwise old is
 * empty.
 */
int backup_restore(const char *path, const char *dir, bool force, const struct backup_watch *watch,
                   struct backup_sum *ret, char *old, struct err *err);
