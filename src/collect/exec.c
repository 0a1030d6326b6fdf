/*
 * exec.c: the collector of custom metrics: commands that keep running or are run repeatedly, and files that another
 * program writes. Each entry has its own schedule, process group, time limit and output limit. A failing entry causes a
 * remark and does not affect the others.
 *
 * An entry is `[@PERIOD] COMMAND`, run by the shell, or `[@PERIOD] FILE`. FILE is a regular file that is not
 * executable; with the prefix "file:" it need not exist yet. PERIOD (default: 10 s) is the pause between two runs of a
 * command, or the interval at which a file is checked.
 */
#include "collect/exec.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "collect/piped.h"

#define EXEC_ENTRIES    32
#define EXEC_PERIOD_MS  10000
#define EXEC_PERIOD_MIN 100
#define EXEC_PERIOD_MAX 86400000ll
#define EXEC_SILENCE_MS 30000 /* and twice its period: a command that prints nothing for this long is stopped */
#define EXEC_BYTES_MAX  (256u << 10)

struct entry {
    char *what; /* command or path */
    bool file;
    int64_t period_ms;
    int64_t next_ms, heard_ms, window_ms; /* monotonic: next run or check; last output; when bytes was reset to 0 */
    size_t bytes;                         /* printed since window_ms */
    struct piped p;
    struct timespec changed; /* of a file, when it was last read */
    bool read_once;
    struct exec_types types;
    struct exec_bad bad;
    char why[120];
};

struct collector {
    size_t n;
    struct entry entries[EXEC_ENTRIES];
};

static bool exec_present(const struct collect_conf *conf)
{
    return conf->exec && conf->exec[0];
}

static bool is_plain_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && !(st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH));
}

static int entry_init(struct entry *e, const char *text, struct err *err)
{
    struct str rest = str_trim(str_of(text)), period;

    *e = (struct entry){.p = PIPED_NONE, .period_ms = EXEC_PERIOD_MS};
    if (str_skip(&rest, "@") && (!str_word(&rest, &period) || !str_duration_ms(period, &e->period_ms) ||
                                 e->period_ms < EXEC_PERIOD_MIN || e->period_ms > EXEC_PERIOD_MAX))
        return err_set(err, -EINVAL, "exec '%s': '@' needs a period from 100ms to 1d after it", text);
    rest = str_trim(rest);
    e->file = str_skip(&rest, "file:");
    if (rest.len == 0)
        return err_set(err, -EINVAL, "exec '%s': no command", text);
    e->what = mem_strn(rest.p, rest.len);
    e->file |= is_plain_file(e->what);
    return 0;
}

static int exec_open(struct collector **ret, const struct collect_conf *conf, struct err *err)
{
    struct collector *c = mem_zero(1, sizeof(*c));
    int r = 0;

    for (size_t i = 0; r == 0 && conf->exec && conf->exec[i]; i++) {
        if (c->n == EXEC_ENTRIES)
            r = err_set(err, -EINVAL, "more than %d exec entries", EXEC_ENTRIES);
        else
            r = entry_init(&c->entries[c->n++], conf->exec[i], err);
    }
    if (r < 0) {
        collector_exec.close(c);
        return r;
    }
    *ret = c;
    return 0;
}

static void exec_close(struct collector *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n; i++) {
        piped_stop(&c->entries[i].p);
        free(c->entries[i].what);
    }
    free(c);
}

/* ---- files ---- */

static void file_look(struct entry *e, struct reading *ret, int64_t mono)
{
    struct stat st;
    struct err err = {0};
    AUTO_BUF text = {0};

    if (mono < e->next_ms)
        return;
    e->next_ms = mono + e->period_ms;
    int r = stat(e->what, &st);
    if (r < 0 || !S_ISREG(st.st_mode)) {
        mem_copy_str(e->why, sizeof(e->why), r < 0 ? strerror(errno) : "not a regular file");
        return;
    }
    /* The file was not written since the last read. */
    if (e->read_once && st.st_mtim.tv_sec == e->changed.tv_sec && st.st_mtim.tv_nsec == e->changed.tv_nsec)
        return;
    if (file_read(e->what, EXEC_BYTES_MAX, &text, &err) < 0) {
        collect_text(e->why, sizeof(e->why), str_of(err.msg));
        return;
    }
    e->read_once = true;
    e->changed = st.st_mtim;
    e->why[0] = 0;
    e->bad = (struct exec_bad){0};
    e->types.n = 0;
    exec_text(&e->types, buf_str(&text), ret, &e->bad);
}

/* ---- commands ---- */

static void command_stop(struct entry *e, int64_t mono, const char *why)
{
    mem_copy_str(e->why, sizeof(e->why), why);
    piped_stop(&e->p);
    e->next_ms = mono + e->period_ms;
}

static void command_start(struct entry *e, int64_t mono)
{
    const char *argv[] = {"/bin/sh", "-c", e->what, NULL};
    struct err err = {0};

    e->types.n = 0;
    e->heard_ms = e->window_ms = mono;
    e->bytes = 0;
    e->next_ms = mono + e->period_ms;
    if (piped_start(&e->p, argv, EXEC_BYTES_MAX, &err) < 0)
        collect_text(e->why, sizeof(e->why), str_of(err.msg));
}

static void command_look(struct entry *e, struct reading *ret, int64_t mono)
{
    if (!e->p.pid && e->p.fd < 0 && mono >= e->next_ms)
        command_start(e, mono);
    if (!e->p.pid && e->p.fd < 0)
        return;
    size_t at = 0;
    struct str line;
    char words[40];
    struct exec_bad bad = {0};
    int r = piped_read(&e->p);
    while (piped_line(&e->p, &at, &line))
        exec_text(&e->types, line, ret, &bad);
    if (bad.n || at)
        e->bad = bad; /* only the newest lines count */
    if (at) {
        e->heard_ms = mono;
        e->bytes += at;
    }
    piped_consumed(&e->p, at);
    if (r == 1)
        command_stop(e, mono, e->p.status ? piped_words(e->p.status, words) : "");
    else if (r == -ENOBUFS || e->bytes > EXEC_BYTES_MAX)
        command_stop(e, mono, "it prints too much");
    else if (mono - e->heard_ms > MAX(EXEC_SILENCE_MS, 2 * e->period_ms))
        command_stop(e, mono, "it printed nothing for too long");
    else if (mono - e->window_ms > e->period_ms) {
        e->window_ms = mono;
        e->bytes = 0;
        e->why[0] = 0; /* runs, and is not stopped: all is well */
    }
}

/* One remark for all entries: the first entry with a problem sets it. */
static int exec_remark(const struct collector *c, struct err *err)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct entry *e = &c->entries[i];
        if (e->why[0])
            return err_set(err, 0, "'%.60s': %s", e->what, e->why);
        if (e->bad.n)
            return err_set(err, 0, "'%.60s': %zu line%s skipped, first: '%s'", e->what, e->bad.n,
                           e->bad.n == 1 ? "" : "s", e->bad.first);
    }
    return 0;
}

static int exec_read(struct collector *c, struct reading *ret, struct err *err)
{
    int64_t mono = clock_mono_ms();

    for (size_t i = 0; i < c->n; i++) {
        if (c->entries[i].file)
            file_look(&c->entries[i], ret, mono);
        else
            command_look(&c->entries[i], ret, mono);
    }
    return exec_remark(c, err);
}

const struct collector_ops collector_exec = {
    .name = "exec",
    .present = exec_present,
    .open = exec_open,
    .read = exec_read,
    .close = exec_close,
};
