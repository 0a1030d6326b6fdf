/* cmd_fetch.c: `muster fetch`: what Web-GPU-Monitor's fetch_data.py did, for its users' cron: all hosts at once, once.
 */
#include <errno.h>
#include <event2/event.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/timer.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "compat/sheet.h"
#include "net/ssh.h"
#include "relay/list.h"

#define OUT_MAX (64u << 20)

struct fetch_conf {
    char *ini, *output, *ssh_config, *known_hosts, *jump, *program;
    bool accept_new_keys;
    int64_t timeout, connections;
};

static const struct opt fetch_opts[] = {
    OPT(fetch_conf, ini, 'c', OPT_PATH, "config.ini", "FILE",
        "file with the hosts: [common] user, hosts, key_filename"),
    OPT(fetch_conf, output, 'o', OPT_PATH, "load_data.csv", "FILE", "file to write; - for standard output"),
    OPT(fetch_conf, timeout, 0, OPT_DURATION, "60s", "TIME", "maximum time per host", .min = 1000, .max = 3600000),
    OPT(fetch_conf, connections, 0, OPT_INT, "64", "N", "maximum number of hosts read at the same time", .min = 1,
        .max = 1024),
    OPT(fetch_conf, accept_new_keys, 0, OPT_BOOL, NULL, NULL,
        "accept the key of a new host (ssh's accept-new); a changed key is always refused"),
    OPTN(fetch_conf, "ssh.config", ssh_config, 0, OPT_PATH, NULL, "FILE", "configuration file of ssh",
         .default_text = "the user's"),
    OPTN(fetch_conf, "ssh.known_hosts", known_hosts, 0, OPT_PATH, NULL, "FILE", "file of trusted host keys",
         .default_text = "the user's"),
    OPTN(fetch_conf, "ssh.jump", jump, 0, OPT_STR, NULL, "HOST", "jump host"),
    OPTN(fetch_conf, "ssh.program", program, 0, OPT_STR, "ssh", "PROGRAM", "ssh program to start"),
    {0},
};
const struct opt_cmd fetch_help = {
    .name = "muster fetch",
    .summary = "read hosts over ssh once and write Web-GPU-Monitor's load_data.csv",
    .about =
        "Reads the old config.ini, reads all hosts at the same time with one connection each, and writes the old CSV "
        "byte for byte. A host that cannot be read is named on standard error and has no rows; the other hosts have "
        "theirs. `muster render` shows it anyway: it is in a second file, load_data.csv.unread. The file is replaced "
        "as a whole, or not at all if every host failed; the page then names them all.\n\nA host with an unknown key "
        "is not read, as with ssh. On a terminal it asks once whether to accept such keys; elsewhere --accept-new-keys "
        "accepts them, as the old script did.\n\nExit status 0: at least one host was read; 3: none was.",
    .examples = "muster fetch -c config.ini  # writes load_data.csv here\n"
                "muster fetch -c config.ini -o -  # to standard output",
    .opts = fetch_opts,
    .conf_size = sizeof(struct fetch_conf),
};

struct call {
    struct fetch *all;
    const struct relay_target *to;
    struct ssh *ssh;
    struct sheet *sheet;
    struct timer *late;
    bool due, fine; /* due: to be asked, or asked again should its key be taken */
    char why[160];
};

struct fetch {
    struct event_base *loop;
    struct ssh_conf ssh;
    int64_t timeout;
    size_t n, begun, under_way, max;
    struct call *calls;
};

static void begin_more(struct fetch *f);

static void call_done(void *arg, const char *why, int status)
{
    struct call *c = arg;
    struct fetch *f = c->all;
    c->due = status == SSH_KEY_UNKNOWN;
    c->fine = sheet_whole(c->sheet);
    mem_copy_str(c->why, sizeof(c->why), sheet_reason(c->sheet)[0] ? sheet_reason(c->sheet) : why);
    if (!c->fine)
        cli_fail(&fetch_help, EXIT_REACH, "%s: %s", c->to->name, c->why);
    timer_free(c->late);
    c->late = NULL;
    c->ssh = NULL;
    f->under_way--;
    begin_more(f);
}

static void on_line(void *arg, struct str line)
{
    struct call *c = arg;
    sheet_line(c->sheet, line);
    if (sheet_ended(c->sheet)) {
        ssh_stop(c->ssh);
        call_done(c, "nvidia-smi said nothing", 0);
    }
}

static void on_late(void *arg)
{
    struct call *c = arg;
    ssh_stop(c->ssh);
    call_done(c, "it did not send everything in time", 0);
}

static void call_begin(struct call *c)
{
    static const struct ssh_calls calls = {.line = on_line, .ended = call_done};
    struct fetch *f = c->all;
    struct ssh_target to = {.host = c->to->host, .user = c->to->user, .port = c->to->port};
    struct err err = {0};
    c->late = timer_new(f->loop, on_late, c);
    timer_after(c->late, f->timeout);
    if (ssh_start(&c->ssh, f->loop, &f->ssh, &to, str_of(sheet_script()), &calls, c, &err) < 0)
        call_done(c, err.msg, 0);
}

static void begin_more(struct fetch *f)
{
    while (f->begun < f->n && f->under_way < f->max) {
        struct call *c = &f->calls[f->begun++];
        if (!c->due)
            continue;
        f->under_way++;
        call_begin(c);
    }
}

static void ask_hosts(struct fetch *f)
{
    f->begun = 0;
    begin_more(f);
    event_base_dispatch(f->loop);
}

/* A person at a terminal is asked once: hosts whose keys are taken are known from then on. */
static bool person_trusts(const struct fetch *f)
{
    size_t n = 0;
    char line[16] = "";
    for (size_t i = 0; i < f->n; i++)
        n += f->calls[i].due;
    if (!n || f->ssh.accept_new || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return false;
    fprintf(stderr, "Take the key%s of %zu host%s and know %s from now on? A key that changes later is refused. [y/N] ",
            n == 1 ? "" : "s", n, n == 1 ? "" : "s", n == 1 ? "it" : "them");
    return fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y');
}

/* After load_data.csv, so that it is the newer of the two: what is older is of another time, and no longer so. */
static int put_unread(const struct fetch_conf *conf, const struct fetch *f, struct err *err)
{
    AUTO_FREE char *path = mem_fmt("%s" SHEET_UNREAD, conf->output);
    struct stat st;
    if (stat(conf->output, &st) == 0 && !S_ISREG(st.st_mode)) /* nothing belongs beside a device or a pipe */
        return 0;
    AUTO_BUF out = BUF_INIT(OUT_MAX);
    for (size_t i = 0; i < f->n; i++)
        if (!f->calls[i].fine) {
            csv_add(&out, f->calls[i].to->name);
            buf_addc(&out, ',');
            csv_add(&out, f->calls[i].why);
            buf_addc(&out, '\n');
        }
    if (out.len)
        return file_write(path, 0644, out.p, out.len, err);
    unlink(path); /* mostly there is none */
    return 0;
}

static int put(const struct fetch_conf *conf, const struct fetch *f, struct err *err)
{
    AUTO_BUF out = BUF_INIT(OUT_MAX);
    bool file = strcmp(conf->output, "-") != 0;
    size_t fine = 0;
    int r = 0;
    buf_adds(&out, SHEET_HEADER);
    for (size_t i = 0; i < f->n; i++)
        if (f->calls[i].fine) {
            sheet_rows(f->calls[i].sheet, f->calls[i].to->name, &out);
            fine++;
        }
    if (fine && !file)
        return cli_print(&fetch_help, &out);
    if (!fine)
        cli_fail(&fetch_help, EXIT_REACH, "no host could be read; no rows were written");
    else if (out.err)
        r = err_set(err, out.err, "too many rows");
    else
        r = file_output(conf->output, 0644, out.p, out.len, err);
    if (r == 0 && file)
        r = put_unread(conf, f, err);
    if (r < 0)
        return cli_fail(&fetch_help, EXIT_REACH, "%s", err->msg);
    return fine ? EXIT_OK : EXIT_REACH;
}

static int fetch(const struct fetch_conf *conf, const struct target_list *l, const char *key)
{
    struct fetch f = {.loop = event_base_new(), .timeout = conf->timeout, .n = l->n, .max = (size_t)conf->connections};
    f.ssh = (struct ssh_conf){.program = conf->program,
                              .config = conf->ssh_config,
                              .key = key,
                              .known_hosts = conf->known_hosts,
                              .jump = conf->jump,
                              .accept_new = conf->accept_new_keys,
                              .connect_ms = MIN(conf->timeout, 10000)};
    f.calls = mem_zero(l->n, sizeof(*f.calls));
    for (size_t i = 0; i < l->n; i++)
        f.calls[i] = (struct call){.all = &f, .to = &l->v[i], .sheet = sheet_new(), .due = true};
    ask_hosts(&f);
    if (person_trusts(&f)) {
        f.ssh.accept_new = true;
        ask_hosts(&f);
    }
    struct err err = {0};
    int r = put(conf, &f, &err);
    for (size_t i = 0; i < l->n; i++)
        sheet_free(f.calls[i].sheet);
    free(f.calls);
    event_base_free(f.loop);
    return r;
}

int cmd_fetch(struct cmd_call *c)
{
    const struct fetch_conf *conf = c->conf;
    struct relay_settings s = {.ini = conf->ini};
    struct target_list l = {0};
    AUTO_FREE char *key = NULL;

    if (c->argc)
        return err_set(&c->err, -EINVAL, "'%s' is one word too many", c->argv[0]);
    int r = target_list_of(&s, &l, &key, &c->err);
    if (r >= 0)
        r = fetch(conf, &l, key);
    target_list_fini(&l);
    return r;
}
