/*
 * cmd_vesta_history.c: `muster vesta history`: vesta's database as history of ours. What is in it are pickles of
 * Python, which a program of Python reads (vesta_history.py, which this one has inside), in a process of its own with
 * bounded memory. It writes an export; from there on this is an import like any other.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "base/zone.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "compat/cmd_vesta.h"
#include "history/cmd_import.h"

enum { SCRIPT_FD = 3 };

extern const char asset_vesta_history[], asset_vesta_history_end[];
extern char **environ;

struct vesta_history_conf {
    char *data, *zone, *python;
    bool dry_run, quiet, jsonl;
};

static const struct opt history_opts[] = {
    OPT(vesta_history_conf, data, 'd', OPT_PATH, NULL, "DIR", "data folder to import into; no hub may have it open"),
    OPT(vesta_history_conf, zone, 'z', OPT_STR, NULL, "ZONE", "time zone of vesta's server, e.g. Asia/Tokyo",
        .default_text = "this machine's"),
    OPT(vesta_history_conf, python, 0, OPT_PATH, "/usr/bin/python3", "FILE", "Python 3.9 or later"),
    OPT(vesta_history_conf, dry_run, 0, OPT_BOOL, NULL, NULL, "read everything, change nothing"),
    OPT(vesta_history_conf, jsonl, 0, OPT_BOOL, NULL, NULL, "print the format of `muster export` instead"),
    OPT(vesta_history_conf, quiet, 'q', OPT_BOOL, NULL, NULL, "print no progress"),
    {0},
};
const struct opt_cmd vesta_history_help = {
    .name = "muster vesta history",
    .summary = "import the database of vesta",
    .args = "FILE",
    .about = "Reads gpu_states.db: every row of every host, with its GPUs, users and processes. Vesta may run "
             "meanwhile. Rows that contain anything but plain data are counted and skipped; nothing in them is "
             "executed. Existing samples are skipped, so that you can run it again after an interruption, or when "
             "vesta has more. A sender of vesta that posts to this hub continues as the same node.",
    .examples = "muster vesta history data/gpu_states.db --dry-run\n"
                "muster vesta history data/gpu_states.db --zone Asia/Tokyo --data /var/lib/muster",
    .opts = history_opts,
    .conf_size = sizeof(struct vesta_history_conf),
    .no = (const int[]){EBADMSG, 0},
};

/* The converter as a file that is nowhere. */
static int script_open(struct err *err)
{
    /* cppcheck-suppress comparePointers ; one asset, two labels */
    size_t n = (uintptr_t)asset_vesta_history_end - (uintptr_t)asset_vesta_history;
    int fd = memfd_create("vesta_history.py", MFD_CLOEXEC);

    if (fd < 0 || write(fd, asset_vesta_history, n) != (ssize_t)n)
        return err_set(err, -EIO, "cannot make a file in memory: %s", strerror(errno));
    lseek(fd, 0, SEEK_SET);
    return fd;
}

/* Started, its standard output to be read from *ret_out. */
static int script_start(const struct vesta_history_conf *conf, char *file, pid_t *ret_pid, int *ret_out,
                        struct err *err)
{
    char isolated[] = "-I", no_bytes[] = "-B", script[] = "/dev/fd/3", zone[] = "--zone", quiet[] = "--quiet",
         end[] = "--";
    char *argv[10] = {conf->python, isolated, no_bytes, script};
    size_t n = 4;
    int pipes[2];
    AUTO_CLOSE int fd = script_open(err);

    if (fd < 0)
        return fd;
    if (conf->zone) {
        argv[n++] = zone;
        argv[n++] = conf->zone;
    }
    if (conf->quiet)
        argv[n++] = quiet;
    argv[n++] = end;
    argv[n] = file;
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, pipes[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, fd, SCRIPT_FD);
    posix_spawn_file_actions_addclosefrom_np(&files, SCRIPT_FD + 1);
    int r = posix_spawn(ret_pid, conf->python, &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    close(pipes[1]);
    if (r != 0) {
        close(pipes[0]);
        return err_set(err, -r, "cannot start '%s': %s; name the interpreter with --python", conf->python, strerror(r));
    }
    *ret_out = pipes[0];
    return 0;
}

/* Its own words are on standard error already. */
static int script_end(pid_t pid, struct err *err)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : err_set(err, -EIO, "not all of the database was read");
}

static int print_all(FILE *in, struct err *err)
{
    char bytes[1 << 16];
    size_t n;

    while ((n = fread(bytes, 1, sizeof(bytes), in)) > 0)
        if (fwrite(bytes, 1, n, stdout) != n)
            return err_set(err, -EIO, "cannot write: %s", strerror(errno));
    return fflush(stdout) ? err_set(err, -EIO, "cannot write: %s", strerror(errno)) : 0;
}

static int take(const struct vesta_history_conf *conf, char *file, struct err *err)
{
    struct import_params ask = {conf->data, NULL, conf->dry_run, true}; /* the converter says how far it is */
    struct import_done done = {0};
    struct err late = {0};
    struct zone *zone = NULL;
    pid_t pid = 0;
    int out = -1, r = zone_load(conf->zone, &zone, err); /* a mistake in its name is said here */

    zone_free(zone);
    r = r ?: script_start(conf, file, &pid, &out, err);
    if (r < 0)
        return r;
    AUTO_FILE FILE *in = fdopen(out, "r");
    r = conf->jsonl ? print_all(in, err) : import_run(&ask, &file, 1, in, &done, err);
    fclose(in);
    in = NULL; /* one that still writes ends with it */
    int ended = script_end(pid, &late);
    if (ended < 0 && (r == 0 || r == -EBADMSG)) /* what it wrote ends where it ended */
        r = err_set(err, ended, "%s", late.msg);
    if (r == 0 && !conf->jsonl) {
        fprintf(stderr, "%s: ", vesta_history_help.name);
        if (!conf->dry_run)
            fprintf(stderr, "of %" PRIu64 " moments %" PRIu64 " new, %" PRIu64 " there already; ", done.moments,
                    done.new_ones, done.moments - done.new_ones);
        import_print(&done, conf->dry_run, stderr);
    }
    return r;
}

int cmd_vesta_history(struct cmd_call *c)
{
    const struct vesta_history_conf *conf = c->conf;

    if (c->argc != 1)
        return err_set(&c->err, -EINVAL, "expected one FILE: vesta's gpu_states.db");
    if (!conf->data && !conf->dry_run && !conf->jsonl)
        return err_set(&c->err, -EINVAL, "no destination: use --data DIR, or --dry-run");
    if (access(c->argv[0], R_OK) < 0)
        return err_set(&c->err, -errno, "cannot open '%s': %s", c->argv[0], strerror(errno));
    int r = take(conf, c->argv[0], &c->err);
    return MIN(r, EXIT_OK);
}
