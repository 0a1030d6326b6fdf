/* man.c: man pages out of the option tables, written at build time. */
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/cmd.h"
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

static int write_page(const char *dir, const char *name, const struct buf *page)
{
    struct err err = {0};
    AUTO_FREE char *path = mem_fmt("%s/%s.1", dir, name);
    if (file_write(path, 0644, page->p, page->len, &err) < 0)
        return cli_fail(&man_help, EXIT_REACH, "%s", err.msg);
    return 0;
}

static void overview(struct buf *out)
{
    buf_adds(out, ".TH MUSTER 1 \"\" \"muster " MUSTER_VERSION "\" \"User Commands\"\n"
                  ".SH NAME\nmuster \\- roll call for every GPU\n"
                  ".SH SYNOPSIS\n.B muster\n.I COMMAND\n[\\fIOPTIONS\\fR]\n"
                  ".SH DESCRIPTION\nWhich GPUs are free, who holds the others, what they do.\n"
                  "One small agent per node, one hub, one page, one terminal.\n.SH COMMANDS\n");
    for (const struct cmd *c = cmds; c->name; c++) {
        if (cmd_group(c))
            buf_addf(out, ".SS %s\n", cmd_group(c));
        if (!c->hidden)
            buf_addf(out, ".TP\n.BR muster\\-%s (1)\n%s\n", c->name, c->help->summary);
    }
    buf_adds(out, ".SH WORDS\nWhat every screen calls how much a GPU is used.\n");
    for (const struct quantity *t = quantities; t->word; t++)
        buf_addf(out, ".TP\n.B %s\n%s\n", t->word, t->meaning);
    buf_adds(out, ".SH METRICS\nNames as JSON has them, with their Prometheus name and unit.\n");
    for (int m = 0; m < M_COUNT; m++) {
        const char *unit = unit_names[metrics[m].unit];
        buf_addf(out, ".TP\n.B %s\n%s (%s%s%s)\n", metrics[m].name, metrics[m].help, metrics[m].prom,
                 unit[0] ? ", " : "", unit);
    }
    buf_adds(out, ".SH EXIT STATUS\n0 done; 1 the answer is no; 2 usage; 3 could not reach or read something.\n");
}

/* A page for each command of a table, and for what may follow it: muster-wandb.1, muster-wandb-pull.1. */
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
        r = write_page(dir, name, &page);
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
    AUTO_BUF page = BUF_INIT(1 << 20);
    overview(&page);
    if ((r = write_page(argv[argi], "muster", &page)))
        return r;
    return write_pages(argv[argi], "muster", cmds);
}
