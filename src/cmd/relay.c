/* relay.c: `muster relay`: reads machines without an agent over ssh and sends their data to a hub. */
#include "cmd/relay.h"

#include <errno.h>
#include <event2/event.h>
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/sandbox.h"
#include "base/timer.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "compat/files.h"
#include "relay/relay.h"

#define TELL_MS    600000 /* interval of its state in the log */
#define LOOK_MS    1000
#define SOURCES_MS 10000

const struct opt relay_cmd_opts[] = {
    OPT(relay_conf, config, 'c', OPT_PATH, NULL, "FILE", "settings in YAML, read again at SIGHUP", .no_file = true),
    OPT(relay_conf, hub, 0, OPT_STR, NULL, "URL", "the hub to send to", .url = true),
    OPT(relay_conf, token, 0, OPT_SECRET, NULL, "TOKEN",
        "a token of role relay; better in a file: flags show in process lists"),
    OPT(relay_conf, token_file, 0, OPT_PATH, NULL, "FILE", "file that holds it"),
    OPT(relay_conf, pin, 0, OPT_STR, NULL, "PIN", "the hub's public key, sha256//…, as the hub prints it"),
    OPT(relay_conf, ca_file, 0, OPT_PATH, NULL, "FILE", "certificates to trust instead of the system's"),
    OPT(relay_conf, proxy, 0, OPT_STR, NULL, "URL", "HTTP proxy; 'none' ignores http_proxy and https_proxy too",
        .url = true),
#define SETTING(name, member, ...) OPT_ROW(relay_conf, name, machines.member, __VA_ARGS__)
#include "relay/settings.def"
    OPT(relay_conf, sandbox, 0, OPT_BOOL, NULL, NULL,
        "the relay and every ssh can write only to sandbox_folders and temporary folders (Landlock)"),
    OPT(relay_conf, sandbox_folders, 0, OPT_LIST, NULL, "DIR", "folders that they can write to"),
    OPT(relay_conf, log_level, 0, OPT_CHOICE, "info", "LEVEL", "error, warn, info or debug", .choices = log_levels),
    OPT(relay_conf, log_format, 0, OPT_CHOICE, "text", "FORMAT", "text or json", .choices = log_formats),
    {0},
};
const struct opt_cmd relay_help = {
    .name = "muster relay",
    .summary = "read machines without an agent, over ssh or by their files, and send them to a hub",
    .about = "Keeps one ssh connection per machine open, on which a small shell script prints a sample every few "
             "seconds. It installs and writes nothing there, and needs no root. ssh runs without questions: the host "
             "keys must be known and the key must be accepted. A hub with the setting `nodes` starts a relay itself; "
             "use this command to run a relay elsewhere.\n\nMachines that run the scripts of GPU Monitor are read from "
             "its files: pulled over HTTP (--files-pull) or pushed into a folder (--files-watch).\n\nSIGHUP reloads "
             "the settings: it connects to new machines, and shows removed ones as unlisted for ten minutes.",
    .examples =
        "muster relay --hub http://hub:8765 --token-file relay.token --nodes gpu[01-20]  # twenty machines\n"
        "muster relay --hub http://hub:8765 --token-file relay.token --nodes a --nodes root@b:2222 --ssh-jump gate",
    .opts = relay_cmd_opts,
    .file = true,
};

struct run {
    struct event_base *loop;
    struct relay *relay;
    struct files *files;
    struct post *post;
    struct buf said; /* last report about the sources */
    int64_t said_ms; /* monotonic; 0: never */
    int argc;
    char **argv;
};

static void on_stop(UNUSED evutil_socket_t sig, UNUSED short what, void *arg)
{
    struct run *r = arg;
    event_base_loopbreak(r->loop);
}

/* All or nothing: files_set fails only if files_check fails, or if a source cannot be opened. */
static int take_settings(struct run *r, const struct relay_conf *conf, struct err *err)
{
    int got = files_check(&conf->machines, err);
    if (got == 0)
        got = relay_set(r->relay, &conf->machines, err);
    return got < 0 ? got : files_set(r->files, &conf->machines, err);
}

static void on_reload(UNUSED evutil_socket_t sig, UNUSED short what, void *arg)
{
    struct run *r = arg;
    struct relay_conf conf = {0};
    struct err err = {0};
    int argi, got = cli_load(&relay_help, &conf, r->argc, r->argv, &argi, &err);
    if (got == 0)
        got = take_settings(r, &conf, &err);
    if (got < 0)
        log_error("relay", "cannot apply the settings, the old ones stay: %s", err.msg);
    else
        log_info("relay", "settings read again");
    opt_fini(relay_cmd_opts, &conf);
}

static void on_tell(void *arg)
{
    struct run *r = arg;
    struct relay_stat st;
    relay_stat(r->relay, &st);
    st.nodes += files_count(r->files, st.states);
    log_info("relay", "%zu machine%s: %zu ok, %zu failed, %zu hung, %zu without nvidia-smi; %llu rounds so far",
             st.nodes, st.nodes == 1 ? "" : "s", st.states[COLLECT_OK], st.states[COLLECT_FAILED],
             st.states[COLLECT_HUNG], st.states[COLLECT_NONE], (unsigned long long)st.rounds);
}

/* Reports the state of the sources when it changes, and periodically: every screen shows failing ones. */
static void on_sources(void *arg)
{
    struct run *r = arg;
    AUTO_BUF text = BUF_INIT(256u << 10);
    struct json j = json_on(&text);
    int64_t now = clock_mono_ms();
    post_send_labels(r->post);
    json_arr(&j, NULL);
    relay_sources(r->relay, &j);
    files_sources(r->files, &j);
    json_end_arr(&j);
    bool none = text.len == 2 && !r->said_ms, same = str_eq_str(buf_str(&text), buf_str(&r->said));
    if (none || text.err || (same && now - r->said_ms < SOURCES_MS))
        return;
    r->said_ms = MAX(now, 1);
    buf_reset(&r->said);
    buf_addstr(&r->said, buf_str(&text));
    post_send_sources(r->post, &text);
}

/* Three pipes per machine. */
static void raise_files(void)
{
    struct rlimit rl;
    if (getrlimit(RLIMIT_NOFILE, &rl) == 0 && rl.rlim_cur < rl.rlim_max) {
        rl.rlim_cur = rl.rlim_max;
        setrlimit(RLIMIT_NOFILE, &rl);
    }
}

static int read_token(const struct relay_conf *c, struct buf *ret, struct err *err)
{
    if (!c->hub)
        return err_set(err, -EINVAL, "no hub is given: --hub http://hub:8765");
    if (c->token)
        return buf_adds(ret, c->token);
    if (!c->token_file)
        return err_set(err, -EINVAL,
                       "no token is given: `muster token new --role relay` on the hub makes one; then "
                       "--token-file FILE");
    return file_read_secret(c->token_file, ret, err);
}

static int dispatch(struct run *run)
{
    static const struct {
        int sig;
        event_callback_fn call;
    } signals[] = {{SIGTERM, on_stop}, {SIGINT, on_stop}, {SIGHUP, on_reload}};
    struct event *events[ARRAY_LEN(signals)];
    struct timer *tell = timer_new(run->loop, on_tell, run), *look = timer_new(run->loop, on_sources, run);
    for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
        events[i] = evsignal_new(run->loop, signals[i].sig, signals[i].call, run);
        event_add(events[i], NULL);
    }
    timer_every(tell, TELL_MS);
    timer_every(look, LOOK_MS);
    int r = event_base_dispatch(run->loop) < 0 ? EXIT_REACH : EXIT_OK;
    on_tell(run);
    for (size_t i = 0; i < ARRAY_LEN(events); i++)
        event_free(events[i]);
    timer_free(tell);
    timer_free(look);
    return r;
}

int cmd_relay(int argc, char **argv)
{
    struct relay_conf conf = {0};
    struct err err = {0};
    struct run run = {.argc = argc, .argv = argv};
    AUTO_BUF token = BUF_INIT(4096);
    int argi, r = cli_parse(&relay_help, &conf, argc, argv, &argi);
    if (r >= 0)
        goto out;
    log_set_level((enum log_level)conf.log_level);
    log_set_json(conf.log_format == 1);
    mallopt(M_ARENA_MAX, 1);
    signal(SIGPIPE, SIG_IGN);
    raise_files();
    run.loop = event_base_new();
    r = read_token(&conf, &token, &err);
    if (r == 0 && conf.sandbox)
        r = sandbox_start("relay", NULL, &conf.sandbox_folders, &err);
    if (r == 0) {
        struct post_conf pc = {.hub = conf.hub,
                               .token = token.p,
                               .ca_file = conf.ca_file,
                               .pin = conf.pin,
                               .proxy = conf.proxy};
        r = post_open(&run.post, run.loop, &pc, &err);
    }
    if (r == 0 && (r = files_new(&run.files, run.loop, run.post, &err)) == 0) {
        run.relay = relay_new(run.loop, run.post);
        run.said = BUF_INIT(256u << 10);
        r = take_settings(&run, &conf, &err);
    }
    if (r < 0)
        r = cli_fail(&relay_help, r == -EINVAL ? EXIT_USAGE : EXIT_REACH, "%s", err.msg);
    else
        r = dispatch(&run);
    relay_free(run.relay);
    files_free(run.files);
    post_close(run.post);
    buf_fini(&run.said);
    process_end_all(run.loop); /* all ssh processes */
    event_base_free(run.loop);
out:
    opt_fini(relay_cmd_opts, &conf);
    return r;
}
