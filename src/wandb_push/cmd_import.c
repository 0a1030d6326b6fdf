/* cmd_import.c: `muster wandb import`: datasets of the old dashboard, and its blacklist, into wandb.db. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "cli/progress.h"
#include "wandb_pull/blacklist.h"
#include "wandb_pull/cmd_talk.h"
#include "wandb_pull/cmd_wandb.h"
#include "wandb_push/dataset.h"

#define BAD_SHOWN 10 /* lines of a file that are reported individually */

struct wandb_import_conf {
    struct runs_conf runs;
    char *zone, *blacklist;
    bool quiet;
};

static const struct opt wandb_import_opts[] = {
    RUNS_OPTS(wandb_import_conf, runs),
    OPT(wandb_import_conf, zone, 'z', OPT_STR, NULL, "ZONE", "time zone of the files",
        .default_text = "that of the stored runs, else Asia/Tokyo"),
    OPT(wandb_import_conf, blacklist, 0, OPT_PATH, NULL, "FILE",
        "runs that do not count; replaces the stored blacklist"),
    OPT(wandb_import_conf, quiet, 'q', OPT_BOOL, NULL, NULL, "print no progress"),
    {0},
};
const struct opt_cmd wandb_import_help = {
    .name = "muster wandb import",
    .summary = "import datasets of the W&B dashboard",
    .args = "FILE...",
    .about = "Reads all_runs_data.csv in any set of columns it has had; - is standard input. For each day of a run it "
             "keeps the row that was logged last, from a file or from the store: importing a file twice changes "
             "nothing. Rows that cannot be read are printed with their lines, and the others are imported; the exit "
             "status is then 1. A blacklist is a JSON list of {\"run_path\": \"team/project/run\"}: such runs are in "
             "no table and no dataset, but their rows are kept.",
    .examples = "muster wandb import all_runs_data.csv\n"
                "muster wandb import --zone Europe/Berlin old/*.csv\n"
                "muster wandb import --blacklist blacklist.json",
    .opts = wandb_import_opts,
    .conf_size = sizeof(struct wandb_import_conf),
    .no = (const int[]){EBADMSG, 0},
};

struct import {
    struct wandb_store *store;
    const char *file;
    uint64_t put[WANDB_ROW_KINDS], bad, shown;
    struct progress progress;
    int64_t bytes;
};

static int take_row(void *arg, const struct dataset_row *row, struct err *err)
{
    struct import *x = arg;
    enum wandb_put put;
    int r = wandb_row_put(x->store, &row->run, &row->day, &put, err);

    if (r == 0)
        x->put[put]++;
    return r;
}

static void take_bad(void *arg, uint64_t line, const char *why)
{
    struct import *x = arg;

    x->bad++;
    if (++x->shown > BAD_SHOWN)
        return;
    progress_end(&x->progress);
    fprintf(stderr, "%s: %s:%" PRIu64 ": %s\n", wandb_import_help.name, x->file, line, why);
}

static int take_file(struct import *x, const char *path, const struct zone *zone, struct err *err)
{
    const struct dataset_take take = {take_row, take_bad, x};
    bool in = strcmp(path, "-") == 0;
    AUTO_CLOSE int fd = in ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    char bytes[65536];
    ssize_t n;
    int r = 0;

    if (fd < 0)
        return err_set(err, -ENOENT, "cannot open '%s': %s", path, strerror(errno));
    x->file = in ? "standard input" : path;
    x->shown = 0;
    struct dataset *d = dataset_new(zone, &take);
    while (r == 0 && ((n = read(fd, bytes, sizeof(bytes))) > 0 || (n < 0 && errno == EINTR))) {
        if (n < 0)
            continue;
        r = dataset_feed(d, str_n(bytes, (size_t)n), err);
        progress_at(&x->progress, x->bytes += n);
    }
    if (r == 0 && n < 0)
        r = err_set(err, -EIO, "cannot read '%s': %s", x->file, strerror(errno));
    else if (r == 0)
        r = dataset_end(d, err);
    if (r == -EINVAL) {
        err_prefix(err, r, "%s", x->file);
        r = -EBADMSG;
    }
    if (x->shown > BAD_SHOWN)
        fprintf(stderr, "%s: %s: and %" PRIu64 " more\n", wandb_import_help.name, x->file, x->shown - BAD_SHOWN);
    dataset_free(d);
    return r;
}

static int take_blacklist(struct import *x, const char *path, struct err *err)
{
    AUTO_BUF text = {0};
    AUTO_BLACKLIST b = {0};
    int r = file_read(path, BLACKLIST_BYTES_MAX, &text, err);

    if (r == 0 && blacklist_read(buf_str(&text), &b, err) < 0) {
        err_prefix(err, -EBADMSG, "%s", path);
        return -EBADMSG;
    }
    r = r ?: wandb_barred_set(x->store, b.v, b.n, err);
    if (r == 0)
        fprintf(stderr, "%s: %zu %s of '%s' %s nowhere from now on\n", wandb_import_help.name, b.n,
                b.n == 1 ? "run" : "runs", path, b.n == 1 ? "counts" : "count");
    return r;
}

static int take_all(struct import *x, const struct wandb_import_conf *conf, int n, char **files, struct err *err)
{
    const char *stored = wandb_store_zone(x->store);
    const char *name = conf->zone ? conf->zone : stored[0] ? stored : "Asia/Tokyo";
    struct zone *zone = NULL;
    int64_t total = 0, one;
    int r = conf->blacklist ? take_blacklist(x, conf->blacklist, err) : 0;

    if (n > 0 && r == 0)
        r = zone_load(name, &zone, err);
    if (n > 0 && r == 0)
        r = wandb_zone_set(x->store, name, err);
    for (int i = 0; i < n; i++)
        if ((one = file_size(files[i])) > 0)
            total += one;
    progress_start(&x->progress, "import", "bytes", total, conf->quiet);
    for (int i = 0; r == 0 && i < n; i++)
        r = take_file(x, files[i], zone, err);
    progress_end(&x->progress);
    zone_free(zone);
    int f = wandb_rows_end(x->store, clock_wall_ms(), r == 0 ? err : NULL); /* rows before a bad file stay */
    return r == 0 ? f : r;
}

int cmd_wandb_import(struct cmd_call *c)
{
    const struct wandb_import_conf *conf = c->conf;
    struct import x = {0};
    struct talk t = {0};

    if (!c->argc && !conf->blacklist)
        return err_set(&c->err, -EINVAL, "expected FILE, a dataset of the W&B dashboard; - is standard input");
    int r = talk_place(&conf->runs, true, &t, &c->err);
    r = r ?: talk_store(&t, true, &x.store, &c->err);
    r = r ?: take_all(&x, conf, c->argc, c->argv, &c->err);
    wandb_store_close(x.store);
    uint64_t all = x.bad;
    for (int i = 0; i < WANDB_ROW_KINDS; i++)
        all += x.put[i];
    if (all)
        fprintf(stderr,
                "%s: %" PRIu64 " row%s: %" PRIu64 " new, %" PRIu64 " newer than those stored, %" PRIu64
                " the same, %" PRIu64 " older and left out, %" PRIu64 " bad\n",
                wandb_import_help.name, all, all == 1 ? "" : "s", x.put[WANDB_ROW_NEW], x.put[WANDB_ROW_NEWER],
                x.put[WANDB_ROW_SAME], x.put[WANDB_ROW_OLDER], x.bad);
    return r < 0 ? r : x.bad ? EXIT_NO : EXIT_OK;
}
