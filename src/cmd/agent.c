/* agent.c: `muster agent` and `muster-agent`: runs the agent or its collector process, or connects to the running
 * agent. */
#include "agent/agent.h"

#include <errno.h>

#include "agent/control.h"
#include "agent/spawn.h"
#include "base/buf.h"
#include "base/plain.h"
#include "base/secret.h"
#include "base/version.h"
#include "cli/cmd.h"

#define ASK_MS 10000

const struct opt_cmd agent_help = {
    .name = "muster agent",
    .summary = "read this node's GPUs and send them to a hub",
    .args = "[pause TIME | resume | status]",
    .about = "Runs until SIGTERM; SIGHUP reloads the settings. It is installed on nodes as muster-agent, with the same "
             "options.\n\n`pause` releases the driver for the given time, for a reset or an upgrade; `resume` ends the "
             "pause; `status` prints the state of the running agent. They act on the agent with the same state folder.",
    .examples = "muster-agent --hub https://hub:8765 --token-file /etc/muster/token  # send this node\n"
                "muster-agent pause 10m  # release the driver\n"
                "muster-agent status  # print its state\n",
    .opts = agent_opts,
};

static const char *program = "muster agent";

static int fail(int status, const char *why)
{
    AUTO_BUF open = BUF_INIT(65536);
    AUTO_BUF clean = BUF_INIT(6ul * 65536);

    secret_text(&open, str_of(why));
    plain_text(&clean, buf_str(&open)); /* it may quote a hub */
    fprintf(stderr, "%s: %s\n", program, clean.p ? clean.p : "");
    return status;
}

static int print_help(void)
{
    struct opt_cmd help = agent_help;
    AUTO_BUF out = BUF_INIT(256u << 10);

    help.name = program;
    opt_help(&help, &out);
    fputs(out.p ? out.p : "", stdout);
    return EXIT_OK;
}

static int ask(const struct agent_conf *conf, int argc, char **argv)
{
    AUTO_BUF line = BUF_INIT(256), answer = BUF_INIT(64u << 10);
    struct err err = {0};

    for (int i = 0; i < argc; i++)
        buf_addf(&line, "%s%s", i ? " " : "", argv[i]);
    if (strcmp(argv[0], "pause") != 0 && strcmp(argv[0], "resume") != 0 && strcmp(argv[0], "status") != 0) {
        snprintf(err.msg, sizeof(err.msg), "unknown word '%.80s'; there are pause TIME, resume and status", argv[0]);
        return fail(EXIT_USAGE, err.msg);
    }
    if (line.err || strchr(line.p, '\n'))
        return fail(EXIT_USAGE, "that is too much to ask");
    if (!conf->state_dir)
        return fail(EXIT_REACH, "no folder for lasting state: set --state-dir, or HOME");
    int r = control_request(conf->state_dir, line.p, ASK_MS, &answer, &err);
    if (r < 0)
        return fail(r == -EREMOTEIO ? EXIT_USAGE : EXIT_REACH, err.msg);
    AUTO_BUF clean = BUF_INIT(plain_room(buf_str(&answer)));
    plain_text(&clean, buf_str(&answer));
    fputs(clean.p ? clean.p : "", stdout);
    return EXIT_OK;
}

static int run(struct agent_conf *conf, int argc, char **argv, int argi)
{
    struct err err = {0};

    if (conf->child_fd >= 0)
        return spawn_be_collector(conf);
    if (argi < argc)
        return ask(conf, argc - argi, argv + argi);
    if (conf->hub.n == 0 && !conf->to_stdout)
        return fail(EXIT_USAGE, "no hub given: --hub URL, or MUSTER_HUB in the environment or in " CONF_ENV_FILE);
    if (conf->hub.n && conf->to_stdout)
        return fail(EXIT_USAGE, "--stdout and --hub exclude each other");
    int r = agent_run(conf, argc, argv, &err);
    return r < 0 ? fail(EXIT_REACH, err.msg) : EXIT_OK;
}

int cmd_agent(int argc, char **argv)
{
    struct agent_conf conf = {0};
    struct err err = {0};
    int argi = 0;

    const char *slash = argc ? strrchr(argv[0], '/') : NULL;
    if (argc && strcmp(slash ? slash + 1 : argv[0], "agent") != 0)
        program = "muster-agent";
    if (argc > 1 && strcmp(argv[1], "agent") == 0) { /* `muster-agent agent`: how it starts itself as a collector */
        argc--;
        argv++;
    }
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        printf("muster-agent %s, wire format %d\n", muster_build, MUSTER_WIRE);
        return EXIT_OK;
    }
    int r = conf_load(&conf, argc, argv, &argi, &err);
    if (r == 1)
        return print_help();
    if (r < 0)
        return fail(EXIT_USAGE, err.msg);
    int status = run(&conf, argc, argv, argi);
    conf_fini(&conf);
    return status;
}
