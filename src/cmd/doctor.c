/* doctor.c: `muster doctor`: checks the installation and suggests fixes. One line per check. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/statvfs.h>

#include <jansson.h>

#include "agent/local.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/plain.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "store/quarantine.h"

#define NODES_TOLD 10

struct doctor_conf {
    struct client_conf client;
    char *data;
};

static const struct opt doctor_opts[] = {
    CLIENT_OPTS(doctor_conf, client),
    OPT(doctor_conf, data, 'd', OPT_PATH, NULL, "DIR", "data or state folder to check"),
    {0},
};
const struct opt_cmd doctor_help = {
    .name = "muster doctor",
    .summary = "check driver, permissions, disk, hub, token and clock, and print what to do",
    .about = "Prints a line per check: ok, note or FAIL, with what to do. It checks the hub of --hub (or MUSTER_HUB), "
             "or the hub on this machine. Exit status 1: a check failed.",
    .examples = "muster doctor  # this machine\n"
                "muster doctor --hub http://hub:8765 --token-file t  # and whether it can reach that hub",
    .opts = doctor_opts,
    .conf_size = sizeof(struct doctor_conf),
};

enum verdict { OK, NOTE, FAIL };
struct report {
    int failed;
};

__attribute__((format(printf, 4, 5))) static void say(struct report *r, enum verdict v, const char *what,
                                                      const char *fmt, ...)
{
    static const char *const words[] = {"ok  ", "note", "FAIL"};
    AUTO_BUF b = BUF_INIT(4096);
    AUTO_BUF clean = BUF_INIT(6ul * 4096);
    va_list ap;
    va_start(ap, fmt);
    buf_vaddf(&b, fmt, ap);
    va_end(ap);
    plain_line(&clean, buf_str(&b)); /* it may contain text of a hub */
    printf("%s  %-12s %s\n", words[v], what, clean.p ? clean.p : "");
    fflush(stdout);
    r->failed += v == FAIL;
}

/* ---- this machine ---- */

struct seen {
    size_t devices, processes, unnamed, ticks;
    struct hello hello;
    char driver[32], collector[64], first[NAME_MAX_LEN];
};

static void see_hello(void *arg, const struct hello *h)
{
    ((struct seen *)arg)->hello = *h;
}
static void see_facts(void *arg, UNUSED uint64_t id, const struct node_fact *f)
{
    struct seen *s = arg;
    s->devices = f->n_devices;
    mem_copy_str(s->driver, sizeof(s->driver), f->driver);
    mem_copy_str(s->collector, sizeof(s->collector), f->collector);
    if (f->n_devices)
        mem_copy_str(s->first, sizeof(s->first), f->devices[0].name);
}
static void see_procs(void *arg, UNUSED uint64_t id, const struct proc_list *l)
{
    struct seen *s = arg;
    s->processes = l->n;
    s->unnamed = 0;
    for (size_t i = 0; i < l->n; i++)
        s->unnamed += l->v[i].uid < 0;
}
static void see_batch(void *arg, const struct batch *b)
{
    ((struct seen *)arg)->ticks += b->n_ticks;
}

static void ask_driver(struct report *r)
{
    enum { WAIT_MS = 10000 };
    struct agent_conf agent;
    struct seen s = {0};
    struct err err = {0};
    struct local_sink sink = {&s, see_hello, see_facts, see_procs, see_batch};
    int got = conf_default(&agent, &err);
    if (got >= 0) {
        got = local_snapshot(&agent, WAIT_MS, &sink, &err);
        conf_fini(&agent);
    }
    if (got < 0)
        say(r, FAIL, "driver", "the collector ended: %s", err.msg);
    else if (s.hello.collect == COLLECT_HUNG || (got == 0 && !s.devices))
        say(r, FAIL, "driver", "does not answer within %d s; look at `dmesg | grep -i nvrm`, a GPU may need a reset",
            WAIT_MS / 1000);
    else if (!s.devices)
        say(r, NOTE, "driver", "no GPU found%s%s; a hub needs none, a node does: is the driver loaded (`nvidia-smi`)?",
            s.hello.why[0] ? ": " : "", s.hello.why);
    else
        say(r, OK, "driver", "%zu × %s%s%s, read through %s", s.devices, s.first, s.driver[0] ? ", driver " : "",
            s.driver, s.collector);
    if (s.processes && s.unnamed)
        say(r, NOTE, "processes",
            "%zu of %zu GPU processes have no visible owner: run the agent on the host (not in a container), or give "
            "it CAP_SYS_PTRACE where /proc is mounted with hidepid",
            s.unnamed, s.processes);
    else if (s.processes)
        say(r, OK, "processes", "%zu on the GPUs, all with an owner", s.processes);
}

static void ask_permissions(struct report *r)
{
    DIR *dev = opendir("/dev");
    struct dirent *e;
    size_t seen = 0, denied = 0;
    while (dev && (e = readdir(dev))) {
        uint64_t n;
        if (strcmp(e->d_name, "nvidiactl") != 0 &&
            !(strncmp(e->d_name, "nvidia", 6) == 0 && str_uint(str_of(e->d_name + 6), &n)))
            continue;
        seen++;
        denied += faccessat(dirfd(dev), e->d_name, R_OK | W_OK, AT_EACCESS) != 0;
    }
    if (dev)
        closedir(dev);
    if (denied)
        say(r, FAIL, "permissions",
            "%zu of %zu files /dev/nvidia* may not be opened: add this user to the group that owns them (`ls -l "
            "/dev/nvidia*`)",
            denied, seen);
    else if (seen)
        say(r, OK, "permissions", "/dev/nvidia* can be opened");
    char stat[64];
    if (file_read_small("/proc/1/stat", stat, sizeof(stat)) < 0)
        say(r, NOTE, "permissions",
            "other people's processes are hidden here (/proc with hidepid): add this user to the group of that mount "
            "(gid=)");
}

static void ask_disk(struct report *r, const char *dir)
{
    enum { LOW_MB = 512 };
    struct statvfs fs;
    if (access(dir, F_OK))
        say(r, OK, "disk", "'%s' is not there yet; it is made when needed", dir);
    else if (access(dir, W_OK))
        say(r, FAIL, "disk", "'%s' may not be written by this user", dir);
    else if (statvfs(dir, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize < (uint64_t)LOW_MB << 20)
        say(r, FAIL, "disk", "'%s' has less than %d MB left: free some, or move it with --data", dir, LOW_MB);
    else
        say(r, OK, "disk", "'%s' can be written", dir);
}

/* Missing and damaged files of the data folder. */
static void ask_data(struct report *r, const char *dir)
{
    char words[512];
    struct err err = {0};
    struct quarantine_summary sum;
    if (access(dir, R_OK | X_OK))
        return;
    if (data_folder_check(dir, &err) < 0) {
        say(r, FAIL, "data", "%s", err.msg);
    } else if (quarantine_list(dir, &sum) == 0) {
        sum.no_records = false; /* an agent's folder has none; a hub's were reported above */
        quarantine_text(&sum, words, sizeof(words));
        if (words[0])
            say(r, NOTE, "data", "'%s': %s", dir, words);
    }
}

/* ---- the hub ---- */

/* The hub runs; prints its status message. */
static void ask_notice(struct report *r, struct str answer)
{
    struct str line;
    str_line(&answer, &line);
    if (str_line(&answer, &line) && line.len)
        say(r, FAIL, "hub", "it says: %.*s", STR_ARG(line));
}

static void ask_clock(struct report *r, const json_t *who, int64_t before_ms, int64_t after_ms)
{
    enum { OFF_MS = 5000 };
    json_int_t hub_ms = json_integer_value(json_object_get(who, "at"));
    if (!hub_ms)
        return;
    int64_t off = (before_ms + after_ms) / 2 - hub_ms;
    char span[24];
    if (off > OFF_MS || off < -OFF_MS)
        say(r, FAIL, "clock", "this machine is %s %s the hub: start a time service (systemd-timesyncd, chrony) on both",
            clock_span(off < 0 ? -off : off, span), off > 0 ? "ahead of" : "behind");
    else
        say(r, OK, "clock", "within %lld ms of the hub's", (long long)(off < 0 ? -off : off));
}

/* The last pull of runs from Weights & Biases. */
static void ask_wandb(struct report *r, const struct doctor_conf *conf)
{
    static const char *const verbs[] = {"pull", "push", "check"};
    AUTO_BUF answer = {0};
    struct err err = {0};
    bool wrong = false;

    if (client_request(&conf->client, "GET", "/api/v1/wandb", str_of(""), &answer, &err) < 0)
        return; /* an older hub, or not permitted */
    json_auto_t *j = client_json(buf_str(&answer));
    json_t *pulled = json_object_get(j, "pulled");
    const char *to = json_string_value(json_object_get(pulled, "to"));
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        const char *error = json_string_value(json_object_get(json_object_get(j, verbs[i]), "error"));
        if (error)
            say(r, FAIL, "wandb", "%s failed: %s", verbs[i], error);
        wrong = wrong || error;
    }
    if (!wrong && to)
        say(r, OK, "wandb", "runs are here up to %s", to);
    else if (!wrong && json_is_true(json_object_get(j, "scheduled")))
        say(r, NOTE, "wandb", "no pull has come to its end yet");
}

/* Nodes that need an admin; the first few, since there may be thousands. */
static void ask_nodes(struct report *r, const struct doctor_conf *conf)
{
    AUTO_BUF answer = {0};
    struct err err = {0};
    size_t i, told = 0;
    if (client_request(&conf->client, "GET", "/api/v1/nodes", str_of(""), &answer, &err) < 0)
        return; /* not readable with this token */
    json_auto_t *all = client_json(buf_str(&answer));
    json_t *n;
    json_array_foreach (all, i, n) {
        const char *name = json_string_value(json_object_get(n, "name"));
        const char *own = json_string_value(json_object_get(n, "own_name"));
        const char *was = json_string_value(json_object_get(n, "belonged_to"));
        bool taken = json_is_true(json_object_get(n, "name_taken")) && own;
        bool twice = json_integer_value(json_object_get(n, "gpus_twice")) > 0;
        if (!name || json_is_true(json_object_get(n, "retired")) || !(was || taken || twice) || ++told > NODES_TOLD)
            continue;
        if (was)
            say(r, NOTE, "node", "%s has GPUs that belonged to %s: if it is that machine, `muster node join %s %s`",
                name, was, name, was);
        else if (taken)
            say(r, NOTE, "node", "%s calls itself %s, as another node does: `muster node rename %s NAME`", name, own,
                name);
        else
            say(r, NOTE, "node",
                "%s has GPUs that another node reports, too: a copied disk image, or one of the two lies", name);
    }
    if (told > NODES_TOLD)
        say(r, NOTE, "node", "and %zu more such nodes", told - NODES_TOLD);
}

static void ask_hub(struct report *r, const struct doctor_conf *conf)
{
    AUTO_BUF answer = {0};
    struct err err = {0};
    bool named = client_named(&conf->client);
    if (client_request(&conf->client, "GET", "/healthz", str_of(""), &answer, &err) < 0) {
        if (named)
            say(r, FAIL, "hub",
                "%s; check that it is running, that the address is right, and that no firewall blocks it", err.msg);
        else
            say(r, NOTE, "hub", "none on this machine, none named with --hub");
        return;
    }
    say(r, OK, "hub", "'%s' answers", client_url(&conf->client));
    ask_notice(r, buf_str(&answer));
    AUTO_BUF who = {0};
    int64_t before = clock_wall_ms();
    if (client_request(&conf->client, "GET", "/api/v1/whoami", str_of(""), &who, &err) < 0) {
        say(r, FAIL, "token", "%s", err.msg);
        return;
    }
    int64_t after = clock_wall_ms();
    json_auto_t *j = client_json(buf_str(&who));
    const char *role = json_string_value(json_object_get(j, "role"));
    const char *read = json_string_value(json_object_get(j, "read"));
    bool asks = read && strcmp(read, "token") == 0, known = role && strcmp(role, "none") != 0;
    if (known)
        say(r, OK, "token", "accepted, role %s", role);
    else if (!asks)
        say(r, NOTE, "token",
            "none given: reading works, writing will not (`muster token new --role member --person LOGIN` on the hub "
            "makes one)");
    else
        say(r, FAIL, "token",
            "none given, and this hub requires one: ask its administrator for `muster token new --role member "
            "--person LOGIN`, and give it with --token-file or in MUSTER_TOKEN");
    if (asks)
        say(r, NOTE, "reading",
            "`read: token` means everybody, programs on the hub's own machine too (it used to mean other machines "
            "alone): give Prometheus and wall screens a token of role reader");
    ask_clock(r, j, before, after);
    ask_nodes(r, conf);
    ask_wandb(r, conf);
}

int cmd_doctor(struct cmd_call *c)
{
    const struct doctor_conf *conf = c->conf;
    struct report rep = {0};
    const char *dir = conf->data;
    char state[512];

    if (c->argc)
        return err_set(&c->err, -EINVAL, "unexpected argument '%s'", c->argv[0]);
    ask_driver(&rep);
    ask_permissions(&rep);
    if (!(dir && dir[0]) && file_state_dir(NULL, state, sizeof(state)) < 0) {
        say(&rep, FAIL, "disk", "no home to keep state in: set MUSTER_DATA or give --data");
    } else {
        dir = dir && dir[0] ? dir : state;
        ask_disk(&rep, dir);
        ask_data(&rep, dir);
    }
    ask_hub(&rep, conf);
    return rep.failed ? EXIT_NO : EXIT_OK;
}
