/* cmd_import.h: exported history into a data folder or to a hub, for `muster import` and for whatever makes such lines.
 */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "cli/client.h"

struct import_params {
    const char *data;                 /* a folder; NULL: to the hub */
    const struct client_conf *client; /* borrowed, like everything here */
    bool dry_run;                     /* read everything, change nothing */
    bool quiet;                       /* no progress */
};
struct import_done {
    uint64_t samples, there;    /* of all, those that were there already */
    uint64_t moments, new_ones; /* of nodes, of which there are samples; those with one that was not there */
    uint64_t processes, events, jobs, left_out;
    size_t nodes;
};

/* Imports files, - is standard input; or, with in, its content: files[0] is its name in errors. Returns 0, -EBADMSG
 * with "file:line:column: message" in err, or -errno; earlier data stays. */
int import_run(const struct import_params *ask, char *const *files, size_t n, FILE *in, struct import_done *ret,
               struct err *err);
/* "3 samples (1 were there already), ..." */
void import_print(const struct import_done *done, bool dry_run, FILE *to);
