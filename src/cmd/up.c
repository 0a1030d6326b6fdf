/*
 * up.c: `muster up`: a hub and this machine's agent, or a demo's simulated cluster, started and stopped together. Each
 * is a separate process: a crash is logged, the process is restarted, and the others continue.
 */
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "cli/child_process.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/local_hub.h"
#include "cluster/feature.h"
#include "cmd/local_token.h"
#include "collect/collect.h"
#include "http/ports.h"
#include "hub/feature.h"
#include "sim/demo.h"

/* Only these options are ours; the others are the hub's, which gets them as they are. */
struct up_conf {
    bool demo, no_agent;
    char *data;
};

/* What the arguments say: ours, and those of the hub without its environment and its file. */
struct up_args {
    struct up_conf up;
    struct hub_conf hub;
};

static const struct opt up_opts[] = {
    OPT(up_conf, demo, 0, OPT_BOOL, NULL, NULL, "show a recorded demo cluster, as on a machine without a GPU"),
    OPTN(up_conf, "no_agent", no_agent, 0, OPT_BOOL, NULL, NULL,
         "start the hub only: no agent for this machine, no demo"),
    OPT(up_conf, data, 'd', OPT_PATH, NULL, "DIR", "data folder of the hub",
        .default_text = "$XDG_STATE_HOME/muster, /var/lib/muster for root"),
    {0},
};
const struct opt_cmd up_help = {
    .name = "muster up",
    .summary = "start a hub and this machine's agent together",
    .args = "[OPTIONS OF muster hub]",
    .about = "Starts the hub and an agent for this machine's GPUs, and prints the address. Without a GPU it shows a "
             "demo: six nodes that play a trace recorded on an H200, marked as a demo on every screen. It accepts "
             "every option of `muster hub`.\n\nIt prints the command that adds other nodes. On a terminal it also "
             "prints a link that logs in one browser within ten minutes.",
    .examples = "muster up  # this machine, on http://127.0.0.1:8765\n"
                "muster up --demo --listen 127.0.0.1:9000  # the recorded cluster, on another port\n"
                "muster up --listen 0.0.0.0:8765 --tls  # for the whole network, with its own certificate",
    .opts = up_opts,
};

/* The most used options of the hub; --help all lists the others. */
static const char *const hub_flags[] = {"listen", "name", "config", "tls", "read", "nodes", "keep_raw"};

static int print_help(const char *what)
{
    AUTO_BUF out = BUF_INIT(1 << 20);
    struct opt few[ARRAY_LEN(up_opts) + ARRAY_LEN(hub_flags)] = {0};
    struct opt_cmd help = up_help;
    size_t n = ARRAY_LEN(up_opts) - 1;

    if (what && strcmp(what, "all") == 0) {
        opt_help(&up_help, &out);
        buf_addc(&out, '\n');
        opt_help(&hub_help, &out);
        return cli_print(&up_help, &out);
    }
    memcpy(few, up_opts, sizeof(up_opts));
    for (size_t i = 0; i < ARRAY_LEN(hub_flags); i++)
        few[n++] = *opt_find(hub_help.opts, str_of(hub_flags[i]));
    help.opts = few;
    opt_help(&help, &out);
    buf_adds(&out, "\n`muster up --help all` shows every option of the hub.\n");
    return cli_print(&up_help, &out);
}

/* Our options and those of the hub in one table, for a struct up_args. The caller frees it. */
static struct opt *all_options(void)
{
    size_t own = ARRAY_LEN(up_opts) - 1, n = 0;

    while (hub_opts[n].name)
        n++;
    struct opt *v = mem_zero(own + n + 1, sizeof(*v));
    memcpy(v, up_opts, own * sizeof(*v));
    memcpy(v + own, hub_opts, n * sizeof(*v));
    for (size_t i = 0; i < own + n; i++)
        v[i].offset += i < own ? offsetof(struct up_args, up) : offsetof(struct up_args, hub);
    return v;
}

static char **copy_args(int argc, char **argv)
{
    char **v = mem_zero((size_t)argc + 1, sizeof(*v));

    memcpy(v, argv, (size_t)argc * sizeof(*v));
    return v;
}

/* -1 to continue, or an exit code. Leaves argv as it is. */
static int read_args(struct up_args *args, int argc, char **argv)
{
    AUTO_FREE struct opt *opts = all_options();
    AUTO_FREE char **words = copy_args(argc, argv);
    struct err err = {0};
    int argi = argc, r = opt_args_mixed(opts, args, argc, words, &argi, &err);

    if (r == 1) {
        int i = 1;
        while (i < argc && strcmp(argv[i], "--help") != 0 && strcmp(argv[i], "-h") != 0)
            i++;
        return print_help(i < argc ? argv[i + 1] : NULL);
    }
    if (r < 0)
        return cli_fail(&up_help, EXIT_USAGE, "%s", err.msg);
    return argi < argc ? cli_fail(&up_help, EXIT_USAGE, "'%s' is not expected here; see --help", words[argi]) : -1;
}

/* Passes on the lines of the hub's standard output, and reads its address and pin from them. */
static int wait_for_address(struct child_process *hub, struct buf *url, struct buf *pin, struct err *err)
{
    AUTO_BUF seen = BUF_INIT(64 << 10);
    char chunk[1024];
    ssize_t n;
    while ((n = read(hub->out, chunk, sizeof(chunk))) > 0 || (n < 0 && errno == EINTR)) {
        if (n < 0)
            continue;
        fwrite(chunk, 1, (size_t)n, stdout);
        fflush(stdout);
        if (buf_add(&seen, chunk, (size_t)n))
            break;
        int at = str_find(buf_str(&seen), "http");
        if (at < 0 || !memchr(seen.p + at, '\n', seen.len - (size_t)at))
            continue;
        struct str rest = str_n(seen.p + at, seen.len - (size_t)at), word;
        str_word(&rest, &word);
        buf_addstr(url, word);
        at = str_find(buf_str(&seen), "sha256//");
        rest = str_n(seen.p + at, at < 0 ? 0 : seen.len - (size_t)at);
        if (at >= 0 && str_word(&rest, &word))
            buf_addstr(pin, word);
        return 0;
    }
    return err_set(err, -ECHILD, "the hub did not start");
}

/* The hub gets all arguments except --no-agent, and behind them what was decided here. Leaves argv as it is. */
static void hub_args(struct child_process *hub, int argc, char **argv, const struct up_conf *conf, bool demo,
                     const char *config)
{
    AUTO_FREE struct opt *opts = all_options();
    AUTO_FREE char **words = copy_args(argc, argv);

    argc = opt_args_drop(opts, "no_agent", argc, words);
    child_process_args(hub, (const char *const[]){"muster", "hub", NULL});
    for (int i = 1; i < argc; i++)
        child_process_arg(hub, words[i]);
    child_process_args(hub, (const char *const[]){"--data", conf->data,
                                                  demo         ? "--demo"
                                                  : conf->demo ? "--no-demo"
                                                               : NULL,
                                                  NULL});
    if (config)
        child_process_args(hub, (const char *const[]){"--config", config, NULL});
}

static void source_args(struct child_process *p, const char *story, const char *url, struct str pin, const char *data)
{
    bool demo = story[0];
    AUTO_FREE char *token = mem_fmt("%s/%s", data, demo ? "demo.token" : "agent.token");
    AUTO_FREE char *state = mem_fmt("%s/agent", data);
    AUTO_FREE char *own = mem_fmt("%s/demo-nodes.tokens", data); /* so that they are the same nodes next time */
    const char *const made[] = {"muster",      "simulate", "--hub", url,       "--token-file", token, "--tokens", own,
                                "--cast-demo", "--until",  story,   "--quiet", "--drain",      "2s",  NULL};
    const char *const real[] =
        {"muster", "agent", "--hub", url, "--token-file", token, "--state-dir", state, pin.len ? "--pin" : NULL,
         pin.p,    NULL};
    child_process_args(p, demo ? made : real);
}

/* Runs until a signal, or until the hub exits. */
static int watch(struct child_process *hub, struct child_process *source, int sigfd)
{
    for (;;) {
        struct pollfd fds[2] = {{.fd = sigfd, .events = POLLIN}, {.fd = hub->out, .events = POLLIN}};
        poll(fds, 2, (int)child_process_due(source));
        if (fds[1].revents) {
            char chunk[1024];
            ssize_t n = read(hub->out, chunk, sizeof(chunk));
            if (n > 0)
                fwrite(chunk, 1, (size_t)n, stdout), fflush(stdout);
            else if (n == 0)
                hub->out = (close(hub->out), -1);
        }
        struct signalfd_siginfo si;
        if (fds[0].revents && read(sigfd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
            if (si.ssi_signo == SIGHUP)
                kill(hub->pid, SIGHUP);
            else if (si.ssi_signo != SIGCHLD)
                return 0;
        }
        int status;
        pid_t pid;
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
            if (pid == hub->pid) {
                hub->pid = 0;
                return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_REACH;
            }
            if (pid == source->pid)
                child_process_ended(source, status);
        }
    }
}

/* Waits for a part that is about to exit. Returns the exit status to use. */
static int end_status(struct child_process *p)
{
    int status;
    while (waitpid(p->pid, &status, 0) < 0)
        if (errno != EINTR)
            return EXIT_REACH;
    p->pid = 0;
    return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : EXIT_REACH;
}

/* A link that logs a browser in once as the hub's own user. Only on a terminal: others can read a journal. */
static void print_link(char *url, char *pin, const char *data)
{
    AUTO_FREE char *file = mem_fmt("%s/admin.token", data);
    struct client_conf conf = {.hub = url, .token_file = file, .pin = pin, .limit_ms = 5000};
    AUTO_BUF answer = {0}, where = {0};
    struct err err = {0};
    if (!isatty(STDOUT_FILENO))
        return;
    int r = client_request(&conf, "POST", "/api/v1/once", str_of("{}"), &answer, &err);
    json_auto_t *o = r < 0 ? NULL : client_json(buf_str(&answer));
    const char *once = json_string_value(json_object_get(o, "once"));
    json_auto_t *at = !once || client_request(&conf, "GET", "/api/v1/install", str_of(""), &where, &err) < 0
                          ? NULL
                          : client_json(buf_str(&where));
    const char *outside = json_string_value(json_object_get(at, "url")); /* NULL: only reachable from this machine */
    if (once)
        printf("log a browser in, once and within ten minutes: %s/login#once=%s\n", outside ? outside : url, once);
    else
        fprintf(stderr, "no link to log in with: %s\n", r < 0 ? err.msg : "the hub's answer is not understood");
    fflush(stdout);
}

/* The folder of the hub on this machine at this address ("0.0.0.0:8765"). Returns false if it is not this user's hub.
 */
static bool asks_hub(const char *address, char url[256], char folder[4096])
{
    const char *colon = strrchr(address, ':');
    struct str host = str_n(address, (size_t)(colon - address));
    struct client_conf conf = {.hub = url};

    if (!host.len || str_eq(host, "*") || str_eq(host, "0.0.0.0"))
        host = STR("127.0.0.1");
    else if (str_eq(host, "[::]"))
        host = STR("[::1]");
    snprintf(url, 256, "http://%.*s%s", (int)MIN(host.len, 200u), host.p, colon);
    return client_folder(&conf, folder);
}

static int check_ports(const struct hub_conf *conf, struct err *err)
{
    char url[256], folder[4096];
    int r = 0;

    for (size_t i = 0; r == 0 && i < conf->listen.n; i++) {
        r = ports_try(conf->listen.v[i], err);
        if (r == -EADDRINUSE && asks_hub(conf->listen.v[i], url, folder))
            err_set(err, r, "muster is already running on %s (data folder '%s')", url, folder);
    }
    return r;
}

/* Rejects invalid settings like the hub, before the demo's week is generated. *ret: its PostgreSQL server; NULL if
 * none. */
static int check_hub(const struct child_process *hub, bool demo, char **ret, struct err *err)
{
    struct hub_conf conf = {0};
    int argi, r = cli_load(&hub_help, &conf, (int)hub->argc - 1, hub->argv + 1, &argi, err);

    if (r == 0)
        r = features_check(&conf, err);
    if (r == 0)
        r = cluster_place(&conf, ret, err);
    if (r == 0 && *ret && demo)
        r = err_set(err, -EINVAL,
                    "a demo's nodes do not belong into a store that others share: without a GPU here give --no-agent, "
                    "or leave --store out");
    if (r == 0 && demo && (conf.tls || conf.tls_cert))
        r = err_set(err, -EINVAL,
                    "the demo does not support TLS: remove --tls, or start the hub alone with --no-agent");
    if (r == 0)
        r = check_ports(&conf, err);
    opt_fini(hub_opts, &conf);
    return r;
}

static int check_running(const char *data, struct err *err)
{
    AUTO_BUF url = BUF_INIT(1024), pin = BUF_INIT(128);

    if (!local_hub_find_in(data, &url, &pin))
        return 0;
    return err_set(err, -EBUSY,
                   "muster is already running on %s (data folder '%s'); stop that one first, or give this one another "
                   "folder with --data",
                   url.p, data);
}

/* What its parts need before they start. story: when the demo's opened; "": no demo. */
static int prepare_data(const struct child_process *hub, const struct up_args *args, bool demo, char story[32],
                        struct err *err)
{
    const char *data = args->up.data;
    AUTO_FREE char *place = NULL;
    int r = check_running(data, err);

    if (!r)
        r = check_hub(hub, demo, &place, err);
    if (!r && args->hub.start_empty) /* the hub finds it done */
        r = local_start_empty(data, "up", err);
    if (!r)
        r = demo ? demo_prepare(data, story, err) : file_mkdirs(data, 0700, err);
    if (!r)
        r = local_token(place, data, "admin.token", ROLE_ADMIN, "the hub's own user", err);
    if (!r && !args->up.no_agent)
        r = local_token(place, data, demo ? "demo.token" : "agent.token", ROLE_ENROLL,
                        demo ? "the demo's nodes" : "this machine's agent", err);
    return r;
}

static int start_all(struct child_process *hub, struct child_process *source, const struct up_args *args, bool demo,
                     struct err *err)
{
    const char *data = args->up.data;
    bool alone = args->up.no_agent;
    AUTO_BUF url = BUF_INIT(1024);
    AUTO_BUF pin = BUF_INIT(128);
    char story[32] = "";
    int r = prepare_data(hub, args, demo, story, err);
    if (!r)
        r = child_process_start(hub, true, err);
    if (!r)
        r = wait_for_address(hub, &url, &pin, err);
    if (!r && !alone) {
        source_args(source, story, url.p, buf_str(&pin), data);
        r = child_process_start(source, false, err);
    }
    if (!r)
        print_link(url.p, pin.len ? pin.p : NULL, data);
    return r;
}

static int signals_as_fd(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

int cmd_up(int argc, char **argv)
{
    struct up_args args = {0};
    struct up_conf *conf = &args.up;
    struct err err = {0};
    struct child_process hub = {.what = "hub", .area = "up", .out = -1}, source = {.area = "up", .out = -1};
    char state[512];
    AUTO_FREE char *config = NULL; /* up here: no goto may jump over it */
    int r = read_args(&args, argc, argv);
    if (r >= 0)
        goto out;
    bool demo = !conf->no_agent && (conf->demo || !collector_nvml.present(&(struct collect_conf){.tick_ms = 1000}));
    if (!conf->data || !conf->data[0]) {
        if (file_state_dir(demo ? "demo" : NULL, state, sizeof(state)) < 0) {
            r = cli_fail(&up_help, EXIT_USAGE, "no place for data: give --data");
            goto out;
        }
        free(conf->data);
        conf->data = mem_str(state);
    }
    source.what = demo ? "demo" : "agent";
    if (demo && !conf->demo)
        fprintf(stderr, "no GPU driver on this machine: showing a recorded demo cluster (`muster up --no-agent` starts "
                        "the hub alone)\n");
    bool told = args.hub.config || getenv("MUSTER_CONFIG") || access("/etc/muster/muster.yaml", F_OK) == 0;
    if (demo && !told)
        config = mem_fmt("%s/demo.yaml", conf->data);
    if (config && demo_config(conf->data, &err) < 0) {
        r = cli_fail(&up_help, EXIT_REACH, "%s", err.msg);
        goto out;
    }
    unsetenv("MUSTER_DATA"); /* its parts are told each by arguments; the demo would take it as its own --data */
    hub_args(&hub, argc, argv, conf, demo, config);
    int sigfd = signals_as_fd();
    r = start_all(&hub, &source, &args, demo, &err);
    if (r == -ECHILD) /* the hub has said why */
        r = end_status(&hub);
    else if (r < 0)
        r = cli_fail(&up_help, r == -EINVAL ? EXIT_USAGE : EXIT_REACH, "%s", err.msg);
    else
        r = watch(&hub, &source, sigfd);
    child_process_stop(&source);
    child_process_stop(&hub);
    close(sigfd);
out:
    child_process_fini(&hub);
    child_process_fini(&source);
    opt_fini(up_opts, conf);
    opt_fini(hub_opts, &args.hub);
    return r;
}
