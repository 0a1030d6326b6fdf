/* man.c: man pages from the option tables, written at build time. */
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "hub/conf.h"
#include "model/metric.h"
#include "model/quantities.h"

static const struct opt man_opts[] = {{0}};
const struct opt_cmd man_help = {
    .name = "muster man",
    .summary = "write the man pages into a folder",
    .args = "DIR",
    .examples = "muster man build/man  # what `make man` does",
    .opts = man_opts,
};

static int write_page(const char *dir, const char *name, int section, const struct buf *page)
{
    struct err err = {0};
    AUTO_FREE char *path = mem_fmt("%s/%s.%d", dir, name, section);
    if (file_write(path, 0644, page->p, page->len, &err) < 0)
        return cli_fail(&man_help, EXIT_REACH, "%s", err.msg);
    return 0;
}

/* The parts of muster.1 after the commands. */
static const char overview_end[] =
    ".SH ENVIRONMENT\n"
    "Every option is also a variable: \\fB\\-\\-show\\-cmdlines\\fR is \\fBMUSTER_SHOW_CMDLINES\\fR.\n"
    "A flag overrides a variable, and a variable overrides the configuration file.\n"
    ".TP\n.B MUSTER_HUB\nURL of the hub that commands connect to (default: the hub on this machine).\n"
    ".TP\n.B MUSTER_TOKEN\nAccess token; \\fBMUSTER_TOKEN_FILE\\fR names a file that contains it.\n"
    ".TP\n.B MUSTER_PIN\nPublic key of the hub to trust, as \\fBsha256//BASE64\\fR.\n"
    ".TP\n.B MUSTER_CONFIG\nConfiguration file of the hub (default: /etc/muster/muster.yaml).\n"
    ".TP\n.B MUSTER_DATA\nData folder of the hub, see FILES.\n"
    ".TP\n.B NO_COLOR\nIf set, the output has no colours.\n"
    ".SH FILES\n"
    ".TP\n.I /etc/muster/muster.yaml\nConfiguration of the hub, see\n.BR muster.yaml (5).\n"
    ".TP\n.I /etc/muster/agent.env\nConfiguration of the agent: lines \\fBMUSTER_NAME=value\\fR.\n"
    ".TP\n.I /var/lib/muster\nData folder of a hub that runs as a system service:\n"
    "history, bookings, tokens. \\fB\\-\\-data\\fR names another one.\n"
    ".TP\n.I ~/.local/state/muster\nData folder of a hub that a user starts with \\fBmuster up\\fR.\n"
    ".TP\n.I /var/lib/muster\\-agent\nState folder of the agent: node id, token, and samples that wait for the hub.\n"
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\nThe command succeeded.\n"
    ".TP\n.B 1\nThe answer is no: no GPU is free, a booking is taken, an alert is firing.\n"
    ".TP\n.B 2\nThe options or arguments are wrong.\n"
    ".TP\n.B 3\nA hub, a file or a device could not be reached or read.\n"
    ".SH EXAMPLES\n.nf\n"
    "muster up                                  # start a hub and an agent on this machine\n"
    "muster ls                                  # list GPUs and their users\n"
    "muster top                                 # the same live, in the terminal\n"
    "muster wait \\-n 2 \\-\\- python train.py      # start a command when two GPUs are free\n"
    "muster book dgx1:0,1 \\-\\-for 4h             # book two GPUs\n"
    "muster usage \\-\\-last 30d \\-\\-by team         # GPU\\-hours of each team\n"
    ".fi\n"
    ".SH SEE ALSO\n"
    ".BR muster\\-agent (1),\n.BR muster\\-hub (1),\n.BR muster\\-up (1),\n.BR muster.yaml (5),\n"
    ".BR muster\\-metrics (7)\n";

static void overview(struct buf *out)
{
    buf_adds(out, ".TH MUSTER 1 \"\" \"muster " MUSTER_VERSION "\" \"muster manual\"\n"
                  ".SH NAME\nmuster \\- monitor the GPUs of a cluster\n"
                  ".SH SYNOPSIS\n.B muster\n.I COMMAND\n[\\fIOPTIONS\\fR]\n"
                  ".SH DESCRIPTION\n"
                  "muster shows which GPUs are free, who uses the others and how well, and keeps months of history.\n"
                  ".PP\n"
                  "An agent on each node sends samples to a hub. The hub stores them and serves a web page, an HTTP\n"
                  "API and Prometheus metrics. The other commands are clients of the hub.\n"
                  "\\fBmuster COMMAND \\-\\-help\\fR describes a command.\n.SH COMMANDS\n");
    for (const struct cmd *c = cmds; c->name; c++) {
        if (cmd_group(c))
            buf_addf(out, ".SS %s\n", cmd_group(c));
        if (!c->hidden)
            buf_addf(out, ".TP\n.BR muster\\-%s (1)\n%s\n", c->name, c->help->summary);
    }
    buf_adds(out, ".SH QUANTITIES\nThe names that every screen uses for how much a GPU is used.\n");
    for (const struct quantity *t = quantities; t->word; t++)
        buf_addf(out, ".TP\n.B %s\n%s\n", t->word, t->meaning);
    buf_adds(out, overview_end);
}

static void metrics_page(struct buf *out)
{
    buf_adds(out, ".TH MUSTER\\-METRICS 7 \"\" \"muster " MUSTER_VERSION "\" \"muster manual\"\n"
                  ".SH NAME\nmuster\\-metrics \\- metrics of a GPU\n"
                  ".SH DESCRIPTION\nThe names are those of the JSON API. The name in Prometheus and the unit are in\n"
                  "parentheses. A metric that a driver does not report is absent.\n.SH METRICS\n");
    for (int m = 0; m < M_COUNT; m++) {
        const char *unit = unit_names[metrics[m].unit];
        buf_addf(out, ".TP\n.B %s\n%s (%s%s%s)\n", metrics[m].name, metrics[m].help, metrics[m].prom,
                 unit[0] ? ", " : "", unit);
    }
    buf_adds(out, ".SH SEE ALSO\n.BR muster (1),\n.BR muster\\-history (1),\n.BR muster\\-plot (1)\n");
}

static void yaml_page(struct buf *out)
{
    buf_adds(out, ".TH MUSTER.YAML 5 \"\" \"muster " MUSTER_VERSION "\" \"muster manual\"\n"
                  ".SH NAME\nmuster.yaml \\- configuration of a muster hub\n"
                  ".SH DESCRIPTION\n"
                  "\\fBmuster hub\\fR reads /etc/muster/muster.yaml, or the file that \\fB\\-\\-config\\fR or\n"
                  "\\fBMUSTER_CONFIG\\fR names. The file is YAML. A name with a dot is nested:\n"
                  "\\fBrule.preset\\fR is the key \\fBpreset\\fR below \\fBrule\\fR. An unknown key is an error.\n"
                  ".PP\n"
                  "\\fBmuster config show\\fR prints the current settings as such a file, and\n"
                  "\\fBmuster config check\\fR reports errors with their line.\n"
                  "On SIGHUP the hub reads the file again and applies all of it, or nothing if it has an error.\n"
                  ".SH KEYS\n");
    opt_man_keys(hub_opts, out);
    buf_adds(out, ".SH EXAMPLES\n.nf\n"
                  "listen: [\"0.0.0.0:8765\"]\n"
                  "tls: true\n"
                  "read: token\n"
                  "keep_raw: 14d\n"
                  "rule:\n"
                  "  stale_after: 15s\n"
                  ".fi\n"
                  ".SH SEE ALSO\n.BR muster (1),\n.BR muster\\-hub (1),\n.BR muster\\-config (1)\n");
}

/* Pages without a command. */
static const struct {
    const char *name;
    int section;
    void (*write)(struct buf *out);
} own_pages[] = {{"muster", 1, overview}, {"muster-metrics", 7, metrics_page}, {"muster.yaml", 5, yaml_page}};

/* Writes a page for each command of a table, and for its subcommands: muster-wandb.1, muster-wandb-pull.1. */
static int write_pages(const char *dir, const char *before, const struct cmd *table)
{
    AUTO_BUF page = BUF_INIT(1 << 20);
    int r = 0;
    for (const struct cmd *c = table; c->name && r == 0; c++) {
        if (c->hidden)
            continue;
        buf_reset(&page);
        opt_man(c->help, &page);
        AUTO_FREE char *name = mem_fmt("%s-%s", before, c->name);
        r = write_page(dir, name, 1, &page);
        if (r == 0 && c->verbs)
            r = write_pages(dir, name, c->verbs);
    }
    return r;
}

int cmd_man(int argc, char **argv)
{
    int argi, r = cli_parse(&man_help, NULL, argc, argv, &argi);
    if (r >= 0)
        return r;
    if (argi + 1 != argc)
        return cli_fail(&man_help, EXIT_USAGE, "expected one folder");
    struct err err = {0};
    if (file_mkdirs(argv[argi], 0755, &err) < 0)
        return cli_fail(&man_help, EXIT_REACH, "%s", err.msg);
    for (size_t i = 0; i < ARRAY_LEN(own_pages); i++) {
        AUTO_BUF page = BUF_INIT(1 << 20);
        own_pages[i].write(&page);
        if ((r = write_page(argv[argi], own_pages[i].name, own_pages[i].section, &page)))
            return r;
    }
    return write_pages(argv[argi], "muster", cmds);
}
