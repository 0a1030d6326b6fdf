/*
 * cmd_slack_socket.c: `muster slack-socket`: Socket Mode as a process the hub starts: lines in, lines out
 * (slack/socket.h).
 */
#include <unistd.h>

#include "cli/cli.h"
#include "cli/cmd.h"
#include "slack/socket.h"

struct slack_socket_conf {
    char *ca_file;
};

static const struct opt slack_socket_opts[] = {
    OPT(slack_socket_conf, ca_file, 0, OPT_PATH, NULL, "FILE", "certificates to trust", .default_text = "the system's"),
    {0},
};
const struct opt_cmd slack_socket_help = {
    .name = "muster slack-socket",
    .summary = "connect to Slack's Socket Mode, for the hub",
    .about = "Internal: the hub starts it if slack.app_token_file is set, and passes the address on standard input.",
    .examples =
        "muster slack-socket  # asks for an address with {\"socket\":\"want\"}, and waits for {\"url\":\"wss://...\"}",
    .opts = slack_socket_opts,
};

int cmd_slack_socket(int argc, char **argv)
{
    struct slack_socket_conf conf = {0};
    struct err err = {0};
    int argi, r = cli_parse(&slack_socket_help, &conf, argc, argv, &argi);

    if (r >= 0)
        return r;
    r = socket_run(&(struct socket_conf){.ca_file = conf.ca_file, .in_fd = STDIN_FILENO, .out_fd = STDOUT_FILENO},
                   &err);
    opt_fini(slack_socket_opts, &conf);
    return r < 0 ? cli_fail(&slack_socket_help, EXIT_REACH, "%s", err.msg) : EXIT_OK;
}
