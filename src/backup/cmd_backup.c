/* cmd_backup.c: `muster backup`: writes a hub's data folder to one file, also while the hub runs. */
#include <errno.h>

#include "backup/backup.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "cli/data_folder.h"
#include "cli/progress.h"
#include "format/render.h"

struct backup_conf {
    char *data, *hub;
    bool check, quiet;
};

static const struct opt backup_opts[] = {
    DATA_FOLDER_OPTS(backup_conf),
    OPT(backup_conf, check, 0, OPT_BOOL, NULL, NULL, "check that FILE is complete instead of writing it"),
    OPT(backup_conf, quiet, 'q', OPT_BOOL, NULL, NULL, "print no progress"),
    {0},
};
const struct opt_cmd backup_help = {
    .name = "muster backup",
    .summary = "write a hub's data into one file, while it runs",
    .args = "FILE",
    .about =
        "Contains everything the hub has acknowledged: history, processes, events, names, tokens, and the small files "
        "of the data folder (certificate, local token). The hub keeps running at full speed. FILE appears when it is "
        "complete and on disk; - writes to standard output. It contains secrets, so only you may read it.",
    .examples = "muster backup /backup/muster-$(date +%F)  # today's\n"
                "muster backup - | ssh vault 'cat > muster.backup'  # on another machine\n"
                "muster backup --check muster.backup  # is it complete?",
    .opts = backup_opts,
    .conf_size = sizeof(struct backup_conf),
};

static void say(const char *what, const struct backup_sum *s)
{
    AUTO_BUF size = BUF_INIT(64);
    char iso[32];

    render_amount(&size, "bytes", (double)s->bytes);
    fprintf(stderr, "%s: %s of %s, by muster %s: %llu chunks of history, %llu batches not yet in chunks%s\n", what,
            size.p, clock_iso(s->made_ms, iso), s->version, (unsigned long long)s->chunks,
            (unsigned long long)s->batches, s->damaged ? "; a damaged log is not in it" : "");
}

static int check(const char *path, bool quiet)
{
    struct progress p;
    struct backup_sum sum = {0};
    struct err err = {0};

    progress_start(&p, "reading", "bytes", 0, quiet);
    int r = backup_check(path, &(struct backup_watch){progress_watch, &p}, &sum, &err);
    progress_end(&p);
    if (r < 0)
        return cli_fail(&backup_help, r == -ENOENT ? EXIT_REACH : EXIT_NO, "%s", err.msg);
    if (!quiet)
        say(path, &sum);
    return EXIT_OK;
}

struct making {
    const char *dir;
    struct progress progress;
    struct backup_sum sum;
};

static int make(void *arg, FILE *to, struct err *err)
{
    struct making *m = arg;
    struct backup_watch watch = {progress_watch, &m->progress};

    return backup_write(m->dir, fileno(to), clock_wall_ms(), &watch, &m->sum, err);
}

static int backup(const struct backup_conf *conf, const char *path)
{
    struct err err = {0};
    char dir[DATA_FOLDER_MAX];
    struct making m = {.dir = dir};
    bool out = strcmp(path, "-") == 0;

    if (data_folder(conf->data, conf->hub, dir, &err) < 0)
        return cli_fail(&backup_help, EXIT_REACH, "%s", err.msg);
    if (out && isatty(STDOUT_FILENO))
        return cli_fail(&backup_help, EXIT_USAGE, "a backup is not for reading: send it into a file or a pipe");
    progress_start(&m.progress, "backup", "bytes", 0, conf->quiet);
    int r = cli_stream(out ? NULL : path, make, &m, &err);
    progress_end(&m.progress);
    if (r < 0)
        return cli_fail(&backup_help, EXIT_REACH, "%s", err.msg);
    if (!conf->quiet)
        say(path, &m.sum);
    return EXIT_OK;
}

int cmd_backup(struct cmd_call *c)
{
    const struct backup_conf *conf = c->conf;

    if (c->argc != 1)
        return err_set(&c->err, -EINVAL, "expected one FILE to write to");
    return conf->check ? check(c->argv[0], conf->quiet) : backup(conf, c->argv[0]);
}
