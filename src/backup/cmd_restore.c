/* cmd_restore.c: `muster restore`: a backup becomes a data folder again. */
#include <errno.h>

#include "backup/backup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "cli/progress.h"

struct restore_conf {
    char *data;
    bool force, quiet;
};

static const struct opt restore_opts[] = {
    OPT(restore_conf, data, 'd', OPT_PATH, NULL, "DIR", "the folder to make (default: the one `muster up` uses)"),
    OPT(restore_conf, force, 'f', OPT_BOOL, NULL, NULL, "DIR is not empty: keep what is there beside it"),
    OPT(restore_conf, quiet, 'q', OPT_BOOL, NULL, NULL, "no progress"),
    {0},
};
const struct opt_cmd restore_help = {
    .name = "muster restore",
    .summary = "a backup becomes a data folder again",
    .args = "FILE",
    .about =
        "FILE is read through first: one that is damaged, cut off, or of a newer muster changes nothing. The folder "
        "is made beside DIR and put in its place at once, so that DIR is the old one or the new one, whatever "
        "happens. Stop the hub before; start it afterwards.",
    .examples = "muster restore muster.backup --data /var/lib/muster --force",
    .opts = restore_opts,
};

int cmd_restore(int argc, char **argv)
{
    struct restore_conf conf = {0};
    struct backup_sum sum = {0};
    struct progress p;
    struct err err = {0};
    char state[4096], old[4096], iso[32];
    int argi, r = cli_parse(&restore_help, &conf, argc, argv, &argi);

    if (r >= 0)
        goto out;
    if (argc - argi != 1) {
        r = cli_fail(&restore_help, EXIT_USAGE, "expected one FILE, made by `muster backup`");
        goto out;
    }
    const char *dir = conf.data;
    if (!dir && file_state_dir(NULL, state, sizeof(state)) == 0)
        dir = state;
    if (!dir) {
        r = cli_fail(&restore_help, EXIT_USAGE, "say where to with --data DIR");
        goto out;
    }
    progress_start(&p, "restore", "bytes", 0, conf.quiet);
    r = backup_restore(argv[argi], dir, conf.force, &(struct backup_watch){progress_watch, &p}, &sum, old, &err);
    progress_end(&p);
    if (r < 0)
        r = cli_fail(&restore_help,
                     r == -EBADMSG || r == -ENOTSUP || r == -ENOTEMPTY || r == -EBUSY ? EXIT_NO : EXIT_REACH, "%s",
                     err.msg);
    else if (!conf.quiet)
        fprintf(stderr, "'%s' is as of %s: %llu chunks of history, %llu batches%s%s%s\n", dir,
                clock_iso(sum.made_ms, iso), (unsigned long long)sum.chunks, (unsigned long long)sum.batches,
                *old ? "; what was there is in '" : "", old, *old ? "'" : "");
out:
    opt_fini(restore_opts, &conf);
    return r;
}
