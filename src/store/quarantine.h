/*
 * quarantine.h: quarantine of damaged files in a data folder. A damaged file is renamed, and every screen shows a
 * notice as long as it exists.
 *
 * A1 No file is overwritten or removed: the second damaged copy of a file is NAME.damaged.2.
 * A2 A quarantined file is recognised by its name alone, also after a restart.
 * A3 A missing or empty muster.db next to logs or history is an error: a new muster.db would invalidate all tokens.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define ASIDE_NAME 128

/*
 * Renames dir/name and its WAL to name.damaged, or name.damaged.2, ... Stores the new name in ret (may be NULL).
 * Returns 0 or -errno.
 */
int quarantine_file(const char *dir, const char *name, char ret[ASIDE_NAME]);
/* Marks a missing file: creates name.missing. Returns 0 or -errno. */
int quarantine_note_missing(const char *dir, const char *name);
/* Length of NAME in `NAME.damaged` or `NAME.damaged.3`; 0 if file has no such suffix. */
size_t quarantine_name_length(const char *file);

/*
 * Requires that no process has the folder open. Returns -ENODATA with a message in err if muster.db is missing or empty
 * although logs or history exist. Returns 0 otherwise, also if muster.db is damaged: opening it reports that.
 */
int data_folder_check(const char *dir, struct err *err);
/*
 * Starts over where data_folder_check fails or muster.db is damaged. Moves all files of the store to the folder
 * set-aside-N in dir and stores its name in ret. If muster.db was missing, creates an empty one in that folder, so that
 * returning nodes find their history. Returns 1; 0 if muster.db is intact and nothing was done; -errno with as little
 * changed as possible.
 */
int quarantine_all(const char *dir, char ret[ASIDE_NAME], struct err *err);

struct quarantine_summary {
    size_t damaged, missing, folders;
    int64_t bytes;                                                         /* of the damaged files */
    char a_damaged[ASIDE_NAME], a_missing[ASIDE_NAME], folder[ASIDE_NAME]; /* the newest of each; "" if none */
    bool no_records;                                                       /* muster.db is missing or empty */
};
int quarantine_list(const char *dir, struct quarantine_summary *ret);
/* The notice for screens; "" if there is nothing to report. */
void quarantine_text(const struct quarantine_summary *a, char *out, size_t size);
