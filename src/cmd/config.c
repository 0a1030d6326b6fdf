/* config.c: `muster config`: shows the hub's settings, and checks a configuration file. */

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "hub/conf.h"
#include "hub/feature.h"

enum { CONFIG_MAX = 1 << 20 };

/* `show` accepts the hub's flags too, to show the effect of a command line. */
const struct opt_cmd config_help = {
    .name = "muster config",
    .summary = "show the hub's settings, check a configuration file",
    .args = "show | check [FILE|-]",
    .about = "`show` prints every setting with its current value (defaults, file, environment, flags) as YAML that can "
             "be saved and edited, without secrets. `check` reads a file (default: the one that the hub would read) "
             "and prints errors with their line.",
    .examples = "muster config show > muster.yaml  # a file with everything in it\n"
                "muster config show | muster config check -  # always fine\n"
                "muster config check /etc/muster/muster.yaml",
    .opts = hub_opts,
    .file = true,
};

static int check(const char *path)
{
    AUTO_BUF text = BUF_INIT(CONFIG_MAX);
    struct err err = {0};
    struct hub_conf scratch = {0};
    bool in = strcmp(path, "-") == 0;
    int r = in ? buf_read_fd(&text, STDIN_FILENO) : file_read(path, CONFIG_MAX, &text, &err);
    if (r < 0 && in)
        err_set(&err, r, "cannot read standard input: %s", strerror(-r));
    if (r < 0)
        return cli_fail(&config_help, EXIT_REACH, "%s", err.msg);
    opt_defaults(hub_opts, &scratch);
    r = opt_yaml(hub_opts, &scratch, buf_str(&text), in ? "standard input" : path, &err);
    if (r == 0)
        r = features_check(&scratch, &err);
    opt_fini(hub_opts, &scratch);
    return r < 0 ? cli_fail(&config_help, EXIT_NO, "%s", err.msg) : EXIT_OK;
}

int cmd_config(int argc, char **argv)
{
    struct hub_conf conf = {0};
    int argi, r = cli_parse(&config_help, &conf, argc, argv, &argi);
    if (r < 0) {
        int n = argc - argi;
        if (n == 1 && strcmp(argv[argi], "show") == 0) {
            AUTO_BUF out = BUF_INIT(CONFIG_MAX);
            opt_show(hub_opts, &conf, &out);
            r = cli_print(&config_help, &out);
        } else if ((n == 1 || n == 2) && strcmp(argv[argi], "check") == 0 && argi > 1) {
            r = cli_fail(&config_help, EXIT_USAGE, "'%s' is not used by `muster config check`", argv[1]);
        } else if ((n == 1 || n == 2) && strcmp(argv[argi], "check") == 0) {
            r = check(n == 2 ? argv[argi + 1] : "/etc/muster/muster.yaml");
        } else {
            r = cli_fail(&config_help, EXIT_USAGE, "expected show, or check [FILE|-]");
        }
    }
    opt_fini(hub_opts, &conf);
    return r;
}
