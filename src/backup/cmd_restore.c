/* cmd_restore.c: `muster restore`: restores a backup to a data folder. */
#include <errno.h>

#include "backup/backup.h"
#include "base/clock.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "cli/progress.h"

struct restore_conf {
    char *data;
    bool force, quiet;
};

static const struct opt restore_opts[] = {
    OPT(restore_conf, data, 'd', OPT_PATH, NULL, "DIR", "folder to create", .default_text = "that of `muster up`"),
    OPT(restore_conf, force, 'f', OPT_BOOL, NULL, NULL,
        "replace a folder that is not empty; the old one is kept next to it"),
    OPT(restore_conf, quiet, 'q', OPT_BOOL, NULL, NULL, "print no progress"),
    {0},
};
const struct opt_cmd restore_help = {
    .name = "muster restore",
    .summary = "restore a backup into a data folder",
    .args = "FILE",
    .about = "It first reads all of FILE: a file that is damaged, truncated, or from a newer muster changes nothing. "
             "It creates the new folder next to DIR and then renames it, so that DIR is always the old or the new "
             "folder. Stop the hub before; start it afterwards.",
    .examples = "muster restore muster.backup --data /var/lib/muster --force",
    .opts = restore_opts,
    .conf_size = sizeof(struct restore_conf),
    .no = (const int[]){EBADMSG, ENOTSUP, ENOTEMPTY, EBUSY, 0},
};

int cmd_restore(struct cmd_call *c)
{
    const struct restore_conf *conf = c->conf;
    struct backup_sum sum = {0};
    struct progress p;
    char state[4096], old[4096], iso[32];
    const char *dir = conf->data;

    if (c->argc != 1)
        return err_set(&c->err, -EINVAL, "expected one FILE, made by `muster backup`");
    if (!dir && file_state_dir(NULL, state, sizeof(state)) == 0)
        dir = state;
    if (!dir)
        return err_set(&c->err, -EINVAL, "no destination: use --data DIR");
    progress_start(&p, "restore", "bytes", 0, conf->quiet);
    int r =
        backup_restore(c->argv[0], dir, conf->force, &(struct backup_watch){progress_watch, &p}, &sum, old, &c->err);
    progress_end(&p);
    if (r == 0 && !conf->quiet)
        fprintf(stderr, "'%s' is as of %s: %llu chunks of history, %llu batches%s%s%s\n", dir,
                clock_iso(sum.made_ms, iso), (unsigned long long)sum.chunks, (unsigned long long)sum.batches,
                *old ? "; the previous content is in '" : "", old, *old ? "'" : "");
    return r == -EINVAL ? cli_fail(&restore_help, EXIT_REACH, "%s", c->err.msg) : r;
}
