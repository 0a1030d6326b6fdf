/* top.c: `muster top`: the live screen, of this machine or of a hub's whole cluster. */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/cli.h"
#include "cmd/cmd.h"
#include "cmd/feeds.h"
#include "query/filter.h"
#include "tui/run.h"
#include "tui/top.h"

enum theme { THEME_AUTO, THEME_DARK, THEME_LIGHT };
static const char *const theme_words[] = {"auto", "dark", "light", NULL};
static const char *const look_words[] = {"overview", "devices", "processes", "people", "history", "events", NULL};

struct top_conf {
    struct client_conf client;
    int64_t every;
    int look, theme;
    bool ascii;
};

static const struct opt top_opts[] = {
    CLIENT_OPTS(top_conf, client),
    OPTN(top_conf, "view", look, 'v', OPT_CHOICE, "overview", "NAME", "begin with this one", .choices = look_words),
    OPT(top_conf, every, 0, OPT_DURATION, "1s", "TIME", "time between frames; + and - change it", .min = 250,
        .max = 16000),
    OPT(top_conf, theme, 0, OPT_CHOICE, "auto", "NAME", "the terminal's ground, where COLORFGBG does not say it",
        .choices = theme_words),
    OPT(top_conf, ascii, 0, OPT_BOOL, NULL, NULL, "marks, meters and plots from plain ASCII"),
    {0},
};
const struct opt_cmd top_face = {
    .name = "muster top",
    .summary = "a live screen of this machine, or of a hub's whole cluster",
    .args = "[FILTER…]",
    .about =
        "Without --hub (or MUSTER_HUB) it reads this machine, as its agent would, and needs no hub. With one it "
        "shows every node, live.\n\n"
        "Keys: o overview, d devices, p processes, u people, h history, e events; Enter looks nearer, Esc goes back; / "
        "filters, s sorts, r turns the order round, space pauses, + and - set the speed, ? lists them all, q "
        "quits. NO_COLOR in the environment means no colours.",
    .examples = "muster top  # this machine\n"
                "muster top --hub http://hub:8765  # every node\n"
                "muster top --hub http://hub:8765 -v processes user:kim  # what kim runs, everywhere",
    .opts = top_opts,
};

/* "15;0" or "0;default;15": the last number is the ground; 7 and 15 are light. */
static bool is_light(enum theme theme)
{
    const char *ground = getenv("COLORFGBG");
    struct str s = str_of(ground ? ground : "");
    int at = str_rfind(s, ";");
    int64_t v;

    if (theme != THEME_AUTO || at < 0)
        return theme == THEME_LIGHT;
    return str_int(str_n(s.p + at + 1, s.len - (size_t)at - 1), &v) && (v == 7 || v == 15);
}

static int show(const struct top_conf *conf, const char *filter, const char *me)
{
    struct err err = {0};
    struct feed feed;
    bool hub = conf->client.hub && conf->client.hub[0];

    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return cli_fail(&top_face, EXIT_USAGE, "it needs a terminal; `muster ls` is for pipes");
    /* Nobody else writes on the screen meanwhile, not the collector either. */
    AUTO_CLOSE int loud = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3), quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (quiet >= 0)
        dup2(quiet, STDERR_FILENO);
    int r = hub ? feed_hub_open(&feed, &conf->client, &err) : feed_local_open(&feed, conf->every, &err);
    if (r == 0) {
        struct run_conf run = {.ascii = conf->ascii,
                               .colour = cli_colour(),
                               .light = is_light((enum theme)conf->theme),
                               .every_ms = conf->every,
                               .me = me,
                               .filter = filter,
                               .look = conf->look};
        r = run_screen(&feed, &run, &err);
        if (hub)
            feed_hub_close(&feed);
        else
            feed_local_close(&feed);
    }
    if (loud >= 0)
        dup2(loud, STDERR_FILENO);
    if (r < 0)
        return cli_fail(&top_face, r == -EINVAL ? EXIT_USAGE : EXIT_REACH, "%s", err.msg);
    return r && r != SIGINT ? 128 + r : EXIT_OK;
}

int cmd_top(int argc, char **argv)
{
    struct top_conf conf = {0};
    AUTO_BUF words = BUF_INIT(4096);
    struct passwd *pw = getpwuid(getuid());
    struct filter_err bad = {0};
    struct filter *f = NULL;
    int argi, r = cli_parse(&top_face, &conf, argc, argv, &argi);

    if (r < 0) {
        const char *me = pw ? pw->pw_name : "";
        for (int i = argi; i < argc; i++)
            buf_addf(&words, "%s%s", i > argi ? " " : "", argv[i]);
        if (words.len && filter_new(buf_str(&words), me, &f, &bad) < 0)
            r = cli_fail(&top_face, EXIT_USAGE, "column %u of '%.200s': %s", bad.column, words.p, bad.message);
        else
            r = show(&conf, words.len ? words.p : NULL, me);
        filter_free(f);
    }
    opt_fini(top_opts, &conf);
    return r;
}
