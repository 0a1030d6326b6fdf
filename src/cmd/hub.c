/* hub.c: `muster hub`: the hub in the foreground; `muster up` starts it as a separate process. */
#include <errno.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/version.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "cli/local_hub.h"
#include "cluster/feature.h"
#include "cmd/local_token.h"
#include "hub/feature.h"
#include "hub/server.h"

const struct opt_cmd hub_help = {
    .name = "muster hub",
    .summary = "receive samples from agents; serve the page, the API and /metrics",
    .about =
        "Listens on 127.0.0.1 by default, and prints the address. Agents need a token to send; --read sets who may "
        "read.\n\n"
        "SIGHUP reloads the configuration and the certificate, and applies all of it or nothing. On SIGTERM the hub "
        "writes all samples to disk and exits.",
    .examples = "muster hub  # on http://127.0.0.1:8765\n"
                "muster hub --listen 0.0.0.0:8765 --tls  # for the whole network; prints the pin for agents\n"
                "muster hub --config muster.yaml --read token  # readers need a token\n"
                "muster hub --nodes gpu[01-20] --ssh-user monitor  # read twenty machines over ssh, without agents",
    .opts = hub_opts,
    .file = true,
};

struct command_line {
    int argc;
    char **argv;
    const struct hub *hub;
    const char *data;
};

static int reload(void *arg, struct hub_conf *ret, struct err *err)
{
    const struct command_line *c = arg;
    int argi;
    int r = cli_load(&hub_help, ret, c->argc, c->argv, &argi, err);
    return r > 0 ? -EINVAL : r;
}

/* Writes hub.url for the hub's own user. */
static void say_where(void *arg)
{
    const struct command_line *c = arg;
    AUTO_BUF out = BUF_INIT(64u << 10);
    struct err err = {0};
    hub_addresses(c->hub, &out);
    if (hub_pin(c->hub))
        buf_addf(&out, "%s\n", hub_pin(c->hub));
    if (local_hub_write(c->data, buf_str(&out), &err) < 0)
        log_warn("hub", "the command line will need a token: %s", err.msg);
}

/* Prints the address, and how to add a node. One write: `muster up` reads address and pin together. */
static void announce(const struct hub *h, const char *flags, bool demo)
{
    AUTO_BUF out = BUF_INIT(64u << 10);
    AUTO_BUF command = BUF_INIT(1024);
    struct str rest, line;
    char url[OWN_URL_MAX];
    hub_addresses(h, &out);
    rest = buf_str(&out);
    while (str_line(&rest, &line))
        printf("muster %s on %.*s\n", muster_build, STR_ARG(line));
    if (hub_pin(h))
        printf("agents trust it with --pin %s\n", hub_pin(h));
    enum reach reach = hub_reach(h, url, &command);
    if (reach == REACH_OK && !demo)
        printf("add a node: `muster token new --role enroll %s`, then there: %s\n", flags, command.p);
    else if (!demo)
        printf("%s\n", reach_sentences[reach]);
    fflush(stdout);
}

/* Users who can read the data folder may administer the hub: `muster node`, `muster doctor`. */
static int give_own_token(const struct hub_conf *conf, const char *data, struct err *err)
{
    AUTO_FREE char *place = NULL;
    int r = cluster_place(conf, &place, err);

    if (r == 0)
        r = local_token(place, data, "admin.token", ROLE_ADMIN, "the hub's own user", err);
    if (r == -ENOSPC && place) { /* nothing else in its folder is needed */
        log_warn("hub", "the command line will need a token: %s", err->msg);
        *err = (struct err){0};
        r = 0;
    }
    return r;
}

int cmd_hub(int argc, char **argv)
{
    struct hub_conf conf = {0};
    struct hub *h = NULL;
    struct err err = {0};
    struct command_line line = {.argc = argc, .argv = argv};
    AUTO_BUF flags = BUF_INIT(8192);
    int argi, r = cli_parse(&hub_help, &conf, argc, argv, &argi);
    if (r >= 0)
        goto out;
    log_set_level((enum log_level)conf.log_level);
    log_set_json(conf.log_format == 1);
    char data[512];
    r = hub_conf_data(&conf, data, sizeof(data), &err);
    if (r == 0)
        r = features_check(&conf, &err);
    if (r == 0 && conf.start_empty)
        r = local_start_empty(data, "hub", &err);
    if (r == 0)
        r = give_own_token(&conf, data, &err);
    bool demo = conf.demo;
    cluster_flags(&conf, data, &flags);
    if (r == 0)
        r = hub_open(&h, &conf, &err);
    if (r < 0) {
        r = cli_fail(&hub_help, r == -EINVAL ? EXIT_USAGE : EXIT_REACH, "%s", err.msg);
        goto out;
    }
    log_info("hub", "muster %s, on %s", muster_hub_build, hub_is_alone(h) ? "a local store" : "a shared store");
    line.hub = h;
    line.data = data;
    say_where(&line); /* before the address is announced */
    announce(h, buf_str(&flags).p, demo);
    r = hub_run(h, reload, say_where, &line) < 0 ? EXIT_REACH : EXIT_OK;
    local_hub_end(data);
    hub_close(h);
out:
    opt_fini(hub_opts, &conf);
    return r;
}
