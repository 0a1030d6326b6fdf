/*
 * cmd_wait.c: `muster wait`: waits until N GPUs are free. The hub keeps the queue. This program joins it, sends a
 * heartbeat periodically, and prints the GPUs it got or starts the command on them. Without a hub it watches this
 * machine.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/plain.h"
#include "book/cmd_gpu_request.h"
#include "book/cmd_me.h"
#include "cli/listing.h"
#include "cli/spawn.h"
#include "now/cmd_local.h"

#define BEAT_MS     2000  /* while waiting: maximum delay of the result */
#define RENEW_MS    10000 /* while the command runs */
#define ASK_MS      5000
#define LEAVE_MS    500
#define LEAVE_TRIES 5

struct wait_conf {
    struct client_conf client;
    struct gpu_request_conf wish;
    int64_t gpus, timeout, hold;
    char *person, *comment;
    bool uuids, json, quiet, list, tell;
    int64_t leave;
};

static const struct opt wait_opts[] = {
    OPT(wait_conf, gpus, 'n', OPT_INT, "1", "N", "number of GPUs", .min = 1, .max = BOOKING_DEVICES,
        .verbs = "wait tell"),
    GPU_REQUEST_OPTS(wait_conf, wish),
    OPT(wait_conf, hold, 0, OPT_DURATION, "0", "TIME",
        "without a command: how long the GPUs stay reserved for you to start something", .min = 0, .max = 3600000,
        .default_text = "2m, with --tell 30m", .verbs = "wait tell"),
    OPT(wait_conf, timeout, 't', OPT_DURATION, "0", "TIME", "maximum time to wait; then exit status 1", .min = 0,
        .max = 30 * 86400000ll, .default_text = "no limit, with --tell 1d", .verbs = "wait tell"),
    OPT(wait_conf, person, 'p', OPT_STR, NULL, "NAME", "user who gets the GPUs (admins, or with bookings.auth: open)",
        .verbs = "wait tell leave"),
    OPT(wait_conf, comment, 'm', OPT_STR, NULL, "TEXT", "purpose, shown to other users", .verbs = "wait tell"),
    OPT(wait_conf, tell, 0, OPT_BOOL, NULL, NULL,
        "join the queue and exit; a message (mail, Slack) reports when it is your turn", .verb = true),
    OPT(wait_conf, leave, 0, OPT_INT, "0", "ID", "leave the queue; --list prints the IDs", .min = 0, .max = INT64_MAX,
        .default_text = "", .verb = true),
    OPT(wait_conf, list, 'l', OPT_BOOL, NULL, NULL, "list the queue", .verb = true),
    OPT(wait_conf, uuids, 'u', OPT_BOOL, NULL, NULL, "print comma-separated UUIDs, for CUDA_VISIBLE_DEVICES",
        .verbs = "wait"),
    OPT(wait_conf, json, 0, OPT_BOOL, NULL, NULL, "print the hub's response as JSON", .verbs = "wait list"),
    OPT(wait_conf, quiet, 'q', OPT_BOOL, NULL, NULL, "print nothing on standard error while waiting", .verbs = "wait"),
    CLIENT_OPTS(wait_conf, client),
    {0},
};
const struct opt_cmd wait_help = {
    .name = "muster wait",
    .summary = "wait until GPUs are free, then print them or start a command on them",
    .args = "[-- COMMAND [ARGUMENT]...]",
    .about =
        "Joins the hub's queue (--hub, MUSTER_HUB, or the hub on this machine) and waits for GPUs that are free and "
        "not "
        "booked by other users. First come, first served. The GPUs you get are booked for you for a short time "
        "(--hold). Ctrl-C leaves the queue.\n\n"
        "With a command it waits for GPUs of this machine (or those of --host) and starts the command with "
        "CUDA_VISIBLE_DEVICES and MUSTER_DEVICES set. The GPUs are booked until the command ends; the exit status is "
        "the command's.\n\n"
        "With --tell it exits immediately and you get a message when it is your turn (docs/alerts.md). Without a hub "
        "it "
        "watches this machine only, and there is no queue.",
    .examples = "muster wait --gpus 4 --model H200 --same-host -- torchrun --nproc-per-node 4 train.py\n"
                "muster wait --gpus 1 --mem 40G --timeout 2h && echo now\n"
                "muster wait -n 2 --for 2m --host 'dgx*'  # free for two minutes\n"
                "muster wait -n 4 --tell --hold 1h  # a message comes\n"
                "muster wait --list",
    .opts = wait_opts,
    .verb = "wait",
    .leads = true,
    .conf_size = sizeof(struct wait_conf),
    .no = (const int[]){EEXIST, EBUSY, EACCES, ENOENT, 0},
};

static volatile sig_atomic_t stopped; /* the signal */

static void on_signal(int sig)
{
    stopped = sig;
}

struct waiter {
    const struct wait_conf *conf;
    struct gpu_request_conf wish;
    struct client_conf client;
    char person[BOOKING_PERSON_MAX];
    char id[24]; /* empty: not in the queue */
    struct found_gpus found;
    struct buf raw; /* the hub's last word, and of it: */
    char state[16]; /* "waiting", "yours", ... */
    int64_t ahead;
    int64_t begin_ms;
    bool line; /* the terminal's line has text */
    bool deaf; /* the hub does not respond, and a message was printed */
};

/* ---- progress messages ---- */

__attribute__((format(printf, 3, 4))) static void say(struct waiter *w, bool passing, const char *fmt, ...)
{
    bool screen = isatty(STDERR_FILENO);
    AUTO_BUF b = BUF_INIT(65536);
    AUTO_BUF clean = BUF_INIT(6ul * 65536);
    va_list ap;

    if (w->conf->quiet || (passing && !screen))
        return;
    if (w->line)
        fputs("\r\033[K", stderr);
    va_start(ap, fmt);
    buf_vaddf(&b, fmt, ap);
    va_end(ap);
    plain_line(&clean, buf_str(&b));
    fputs(clean.p ? clean.p : "", stderr);
    if (!passing)
        fputc('\n', stderr);
    fflush(stderr);
    w->line = passing;
}

static void say_place(struct waiter *w)
{
    char span[24], place[40];

    snprintf(place, sizeof(place), w->ahead > 0 ? "%lld ahead of you" : "next in the queue", (long long)w->ahead);
    say(w, true, "waiting for %lld GPU%s: %s, %s so far", (long long)w->conf->gpus, w->conf->gpus == 1 ? "" : "s",
        place, clock_span(clock_mono_ms() - w->begin_ms, span));
}

/* Sleeps, unless a signal comes or the time is up. False: stop waiting. */
static bool rest(const struct waiter *w, int64_t ms)
{
    int64_t left = w->conf->timeout ? w->begin_ms + w->conf->timeout - clock_mono_ms() : ms;

    if (!stopped && left > 0)
        poll(NULL, 0, (int)MIN(ms, left));
    return !stopped && (!w->conf->timeout || clock_mono_ms() - w->begin_ms < w->conf->timeout);
}

/* ---- in the hub's queue ---- */

static int ask(struct waiter *w, const char *path, struct str body, struct err *err)
{
    buf_fini(&w->raw);
    int r = client_request(&w->client, "POST", path, body, &w->raw, err);

    if (r < 0)
        return r;
    json_auto_t *o = client_json(buf_str(&w->raw));
    const char *state = json_string_value(json_object_get(o, "state"));
    if (!state)
        return err_set(err, -EPROTO, "'%s' sent an unexpected response; is it a muster hub?", client_url(&w->client));
    snprintf(w->state, sizeof(w->state), "%s", state);
    snprintf(w->id, sizeof(w->id), "%lld", (long long)int_of(o, "id"));
    w->ahead = int_of(o, "ahead");
    found_read(o, &w->found);
    return 0;
}

/* Of its own wait. */
static void path_of(const struct waiter *w, struct buf *path)
{
    buf_addf(path, "/api/v1/waits/%s", w->id);
    client_param(path, "person", w->person);
}

static int queue_up(struct waiter *w, struct err *err)
{
    AUTO_BUF body = BUF_INIT(8192);
    struct json j = json_on(&body);

    json_obj(&j, NULL);
    gpu_request_json(&j, &w->wish, w->conf->gpus);
    if (w->conf->hold)
        json_int(&j, "hold", w->conf->hold);
    if (w->conf->tell)
        json_bool(&j, "tell", true);
    if (w->conf->tell && w->conf->timeout)
        json_int(&j, "timeout", w->conf->timeout);
    json_some(&j, "person", w->person);
    json_some(&j, "comment", w->conf->comment);
    json_end_obj(&j);
    w->id[0] = 0;
    return ask(w, "/api/v1/waits", buf_str(&body), err);
}

static int beat(struct waiter *w, struct err *err)
{
    AUTO_BUF path = BUF_INIT(1024);

    path_of(w, &path);
    return ask(w, path.p, str_of("{}"), err);
}

static int leave(struct waiter *w, struct err *err)
{
    AUTO_BUF path = BUF_INIT(1024);
    AUTO_BUF raw = {0};

    if (!w->id[0])
        return 0;
    path_of(w, &path);
    int r = -EEXIST;
    for (int i = 0; r == -EEXIST && i < LEAVE_TRIES; i++) { /* another hub changed it: it is read again each second */
        if (i)
            poll(NULL, 0, LEAVE_MS);
        buf_reset(&raw);
        r = client_request(&w->client, "DELETE", path.p, str_of(""), &raw, err);
    }
    w->id[0] = 0;
    return r;
}

/* Trouble that passes: the hub starts again, the network is away. */
static bool passes(int code)
{
    return code == -EHOSTUNREACH || code == -EREMOTEIO;
}

/* 0: they are ours; 1: not any more, by a signal or the time; -errno. */
static int stand(struct waiter *w, struct err *err)
{
    int r = queue_up(w, err);

    if (r == 0 && strcmp(w->state, "waiting") == 0)
        say(w, false, "waiting for %lld GPU%s at %s, %lld ahead of you", (long long)w->conf->gpus,
            w->conf->gpus == 1 ? "" : "s", client_url(&w->client), (long long)w->ahead);
    while (r == 0 || passes(r)) {
        if (r < 0 && !w->deaf)
            say(w, false, "the hub does not answer; trying on (%s)", err->msg);
        w->deaf = r < 0;
        if (r == 0 && strcmp(w->state, "yours") == 0)
            return 0;
        if (r == 0 && strcmp(w->state, "waiting") == 0)
            say_place(w);
        if (!rest(w, BEAT_MS))
            return 1;
        bool lost = r == 0 && strcmp(w->state, "waiting") != 0;
        if (lost)
            say(w, false, "the hub received nothing from this command for too long: queueing again, at the end");
        r = lost || !w->id[0] ? queue_up(w, err) : beat(w, err);
    }
    return r;
}

/* In line, and away. */
static int be_told(struct waiter *w, struct err *err)
{
    int r = queue_up(w, err);

    if (r == 0)
        printf("wait %s: %lld ahead of you; a message comes when it is your turn\n", w->id, (long long)w->ahead);
    return r;
}

/* ---- this machine alone ---- */

static int watch(struct waiter *w, struct err *err)
{
    struct local_view h = {0};
    int r = local_view_open(&h, 1000, err);
    bool told = false;

    while (r >= 0 && rest(w, 0)) {
        size_t n;
        int64_t now_ms = clock_wall_ms();
        AUTO_BUF places = BUF_INIT(BOOKING_PLACES_MAX);
        r = local_next(h.local, 1000, err);
        if (r <= 0 && r != -EINTR)
            continue;
        live_tick(h.live, now_ms);
        const struct node_now *const *nodes = live_nodes(h.live, false, &n);
        struct pick_request p = gpu_request_local(&w->wish, w->conf->gpus, now_ms);
        if (n && nodes[0]->n_devices && (r = pick_possible(nodes, n, &p, err)) < 0)
            break;
        buf_reset(&w->found.uuids);
        if (pick_among(nodes, n, NULL, &p, &w->found.uuids, NULL) == 0) {
            pick_places(h.live, buf_str(&w->found.uuids), &places);
            mem_copy_str(w->found.places, sizeof(w->found.places), places.p);
            local_view_close(&h);
            return 0;
        }
        if (!told)
            say(w, false, "waiting for %lld of this machine's GPUs; without a hub there is no queue",
                (long long)w->conf->gpus);
        told = true;
        say_place(w);
    }
    local_view_close(&h);
    return r < 0 ? r : 1;
}

/* ---- then ---- */

/* Until it ends; what it runs on stays held in our name meanwhile. */
static int run(struct waiter *w, char **argv)
{
    int why = 0, status = 0;

    setenv("CUDA_VISIBLE_DEVICES", w->found.uuids.p, 1);
    setenv("MUSTER_DEVICES", w->found.places, 1);
    pid_t child = spawn_start(argv, &why);
    if (child < 0)
        return cli_fail(&wait_help, 127, "cannot start '%s': %s", argv[0], strerror(why));
    AUTO_CLOSE int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
    for (int told = 0; pidfd >= 0;) {
        struct pollfd fd = {.fd = pidfd, .events = POLLIN};
        poll(&fd, 1, RENEW_MS);
        if (fd.revents)
            break;
        if (stopped && !told) {
            kill(child, stopped);
            told = 1;
        }
        if (w->id[0])
            beat(w, NULL);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        if (stopped)
            kill(child, stopped);
    return spawn_code(status);
}

static int then(struct waiter *w, char **argv)
{
    AUTO_BUF out = BUF_INIT(1u << 20);
    char span[24];

    say(w, false, "after %s: %s", clock_span(clock_mono_ms() - w->begin_ms, span), w->found.places);
    if (argv && w->id[0] && !w->found.here) {
        char own[NAME_MAX_LEN];
        leave(w, NULL);
        return cli_fail(&wait_help, EXIT_NO, "%s is not on this machine (%s): the command was not started",
                        w->found.places, gpu_request_host(own));
    }
    if (argv) {
        int code = run(w, argv);
        leave(w, NULL);
        return code;
    }
    if (w->conf->json && w->raw.len)
        plain_json(&out, buf_str(&w->raw));
    else
        buf_addf(&out, "%s\n", w->conf->uuids ? w->found.uuids.p : w->found.places);
    return cli_print(&wait_help, &out);
}

static int wait_for(struct cmd_call *c)
{
    const struct wait_conf *conf = c->conf;
    char **argv = c->argc ? c->argv : NULL;
    struct waiter w = {.conf = conf,
                       .wish = conf->wish,
                       .client = conf->client,
                       .found = {.uuids = BUF_INIT(BOOKING_DEVICES * (size_t)UUID_MAX)},
                       .begin_ms = clock_mono_ms()};
    struct sigaction act = {.sa_handler = on_signal};
    char own[NAME_MAX_LEN] = "";
    bool hub = client_hub_responds(&conf->client);
    int r = 0, code = EXIT_OK;

    w.client.limit_ms = ASK_MS;
    if ((conf->tell || conf->leave) && (argv || !hub))
        return err_set(&c->err, -EINVAL, "%s",
                       argv ? "--tell and --leave cannot be combined with a command" : "no hub is running");
    if (argv && hub && !w.wish.host) { /* where the command can run */
        gpu_request_host(own);
        w.wish.host = own;
    }
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGHUP, &act, NULL);
    if (hub)
        r = me_at_hub(&w.client, conf->person, w.person, &c->err);
    if (r == 0 && conf->leave)
        snprintf(w.id, sizeof(w.id), "%lld", (long long)conf->leave);
    if (r == 0)
        r = conf->leave  ? leave(&w, &c->err)
            : conf->tell ? be_told(&w, &c->err)
            : hub        ? stand(&w, &c->err)
                         : watch(&w, &c->err);
    if (r == 0 && (conf->leave || conf->tell))
        ;
    else if (r == 0)
        code = then(&w, argv);
    else
        leave(&w, NULL);
    if (r == 1 && w.line)
        fputc('\n', stderr);
    if (r == 1)
        code = stopped ? 128 + stopped : cli_fail(&wait_help, EXIT_NO, "not so many were free in time");
    buf_fini(&w.found.uuids);
    buf_fini(&w.raw);
    return r < 0 ? r : code;
}

/* ---- who waits ---- */

enum { C_ID, C_PERSON, C_STATE, C_WANTS, C_SINCE, C_WHERE, C_COMMENT };
static const struct column_spec columns[] = {
    [C_ID] = {"id", "ID", CELL_INT, .right = true, .weight = 90},
    [C_PERSON] = {"person", "USER", CELL_TEXT, .weight = 100},
    [C_STATE] = {"state", "STATE", CELL_TEXT, .weight = 80},
    [C_WANTS] = {"wants", "REQUEST", CELL_TEXT, .weight = 99},
    [C_SINCE] = {"since", "WAITING", CELL_TEXT, .weight = 95},
    [C_WHERE] = {"where", "GPUS", CELL_TEXT, .weight = 70},
    [C_COMMENT] = {"comment", "COMMENT", CELL_TEXT, .weight = 30},
};

static void fill_row(struct cell *c, json_t *o, const struct listing_at *at)
{
    AUTO_BUF wants = BUF_INIT(1024);
    char span[24];

    buf_addf(&wants, "%lld", (long long)int_of(o, "count"));
    if (text_of(o, "model")[0])
        buf_addf(&wants, " like %s", text_of(o, "model"));
    if (int_of(o, "mem"))
        buf_addf(&wants, " with %.4g GiB", (double)int_of(o, "mem") / (double)(1 << 30));
    if (text_of(o, "node")[0])
        buf_addf(&wants, " on %s", text_of(o, "node"));
    if (json_is_true(json_object_get(o, "same_host")))
        buf_adds(&wants, ", all on one");
    cell_text(&c[C_WANTS], buf_str(&wants));
    cell_text(&c[C_SINCE], str_of(clock_span(at->at_ms - int_of(o, "since"), span)));
    cell_text(&c[C_WHERE], str_of(text_of(o, "where")));
    cell_text(&c[C_COMMENT], str_of(text_of(o, "comment")));
}

static int list_waits(struct cmd_call *c)
{
    const struct wait_conf *conf = c->conf;
    struct hub_listing l = {LISTING(wait_help, columns, fill_row, "the queue is empty"), .path = "/api/v1/waits",
                            .member = "rows", .width = 160};
    int r = listing_fetch(&l, &conf->client, conf->json ? LIST_JSON : LIST_TABLE, NULL, &c->err);

    return r < 0 ? cli_fail(&wait_help, EXIT_REACH, "%s", c->err.msg) : r;
}

int cmd_wait(struct cmd_call *c)
{
    const struct wait_conf *conf = c->conf;

    if (c->argc && strcmp(c->argv[0], "idle") == 0) { /* --for 2m idle */
        int more = 0, r = opt_args(wait_opts, c->conf, c->argc, c->argv, &more, &c->err);
        if (r)
            return r < 0 ? r : cli_help(&wait_help);
        c->argc -= more;
        c->argv += more;
    }
    return conf->list ? list_waits(c) : wait_for(c);
}
