/* cmd_top.c: `muster top`: the live screen of this machine or of a hub's cluster. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "now/filter.h"
#include "tui/feed.h"
#include "tui/screen.h"
#include "tui/top.h"

enum theme { THEME_AUTO, THEME_DARK, THEME_LIGHT };
static const char *const theme_words[] = {"auto", "dark", "light", NULL};

struct top_conf {
    struct client_conf client;
    int64_t every;
    int look, theme, span;
    bool ascii, compact, tree;
    struct opt_list sort;
    char *filter; /* from the operands; NULL: none */
    const char *me;
};
static struct top_conf conf; /* global, since the settings read and write it */

static const struct opt top_opts[] = {
    CLIENT_OPTS(top_conf, client),
    OPTN(top_conf, "view", look, 'v', OPT_CHOICE, "overview", "NAME", "view to start with", .choices = look_words),
    OPT(top_conf, compact, 'c', OPT_BOOL, NULL, NULL, "show several nodes or GPUs per line; key c"),
    OPT(top_conf, tree, 0, OPT_BOOL, NULL, NULL, "show processes as a tree; key t"),
    OPT(top_conf, sort, 's', OPT_LIST, NULL, "VIEW:COLUMN", "order of a view, e.g. processes:sm; a minus reverses it"),
    OPT(top_conf, span, 0, OPT_CHOICE, "hour", "SPAN", "period of the history view", .choices = history_words),
    OPT(top_conf, every, 0, OPT_DURATION, "1s", "TIME", "time between frames; + and - change it", .min = 250,
        .max = 16000),
    OPT(top_conf, theme, 0, OPT_CHOICE, "auto", "NAME", "background of the terminal, if COLORFGBG does not name it",
        .choices = theme_words),
    OPT(top_conf, ascii, 0, OPT_BOOL, NULL, NULL, "use ASCII characters only"),
    {0},
};
const struct opt_cmd top_help = {
    .name = "muster top",
    .summary = "show a live screen of this machine, or of a hub's cluster",
    .args = "[FILTER…]",
    .about =
        "Without --hub (or MUSTER_HUB) it reads this machine and needs no hub. With a hub it shows "
        "every node, live; also if this machine has no GPU driver, but runs a hub.\n\n"
        "Keys: o overview, d devices, p processes, u users, h history, e events, a alerts; Enter shows more, Esc "
        "goes back; / filters, s sorts, r reverses the order, space pauses, + and - set the speed, c shows many per "
        "line, ? lists them all, q quits. W saves view, order and speed for the next start, in "
        "$XDG_CONFIG_HOME/muster/top.env (or ~/.config). NO_COLOR in the environment means no colours.",
    .examples = "muster top  # this machine\n"
                "muster top --hub http://hub:8765  # every node\n"
                "muster top --hub http://hub:8765 -v processes user:kim  # what kim runs, everywhere",
    .opts = top_opts,
};

/* "15;0" or "0;default;15": the last number is the background; 7 and 15 are light. */
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

/* ---- settings ---- */

/* The settings file. Returns false without a home directory. */
static bool settings_path(char out[512])
{
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int n = xdg && xdg[0] == '/'     ? snprintf(out, 512, "%s/muster/top.env", xdg)
            : home && home[0] == '/' ? snprintf(out, 512, "%s/.config/muster/top.env", home)
                                     : -1;

    return n > 0 && n < 512;
}

static void save(const struct top *t, char said[160])
{
    char path[512], every[48];
    struct err err = {0};
    AUTO_BUF b = BUF_INIT(8192);
    const struct opt *o = opt_find(top_opts, str_of("every"));

    buf_addf(&b, "# settings that `muster top` starts with; its key W writes them\n");
    buf_addf(&b, "MUSTER_VIEW=%s\nMUSTER_EVERY=%s\n", look_words[t->look], opt_number(o, t->every_ms, every));
    buf_addf(&b, "MUSTER_COMPACT=%s\nMUSTER_TREE=%s\n", t->compact ? "true" : "false", t->tree ? "true" : "false");
    buf_addf(&b, "MUSTER_SPAN=%s\nMUSTER_SORT=", history_words[t->span]);
    for (int l = 0; look_words[l]; l++)
        buf_addf(&b, "%s%s:%s%s", l ? "," : "", look_words[l], t->turned[l] ? "-" : "",
                 list_order_word((enum top_view)l, t->order[l]));
    buf_addc(&b, '\n');
    if (!settings_path(path)) {
        snprintf(said, 160, "not saved: HOME is not set");
        return;
    }
    char *slash = strrchr(path, '/');
    *slash = 0;
    int r = file_mkdirs(path, 0700, &err);
    *slash = '/';
    if (r == 0)
        r = file_write(path, 0600, b.p, b.len, &err);
    snprintf(said, 160, r < 0 ? "not saved: %.140s" : "saved in %.140s", r < 0 ? err.msg : path);
}

/* Formats the order of a view: "processes:-sm". */
static bool set_sort(struct top *t, struct str s)
{
    struct str view;

    if (!str_cut(&s, ':', &view))
        return false;
    bool turned = s.len && s.p[0] == '-';
    s = turned ? str_n(s.p + 1, s.len - 1) : s;
    for (int l = 0; look_words[l]; l++)
        for (unsigned k = 0; str_eq(view, look_words[l]) && list_order_word((enum top_view)l, k); k++)
            if (str_eq(s, list_order_word((enum top_view)l, k))) {
                t->order[l] = k;
                t->turned[l] = turned;
                return true;
            }
    return false;
}

static void prepare(struct top *t)
{
    t->look = (enum top_view)conf.look;
    t->compact = conf.compact;
    t->tree = conf.tree;
    t->span = (unsigned)conf.span;
    t->save = save;
    for (size_t i = 0; i < conf.sort.n; i++)
        set_sort(t, str_of(conf.sort.v[i]));
}

/* ---- the loop: keys, signals, the feed; and frames, one per key, or one per interval with new data ---- */

struct loop {
    struct top top;
    struct sheet sheet;
    int64_t frame_ms, tick_ms; /* monotonic: time of the last one */
    bool fresh;                /* nothing was shown yet */
};

static void draw(struct loop *l)
{
    int w, h;

    screen_measure(&w, &h);
    sheet_size(&l->sheet, w, h);
    top_draw(&l->top, &l->sheet);
    screen_show(&l->sheet);
}

/* Handles all pending keys. Returns false to quit. */
static bool take_keys(struct loop *l, bool *ret_any)
{
    int key, y = 0, x = 0;
    bool twice = false;

    while ((key = screen_key(&y, &x, &twice)) != KEY__NONE) {
        *ret_any = true;
        if (key == KEY__CLICK)
            top_click(&l->top, y, x, twice);
        else if (key == TOP_REDRAW)
            screen_redraw();
        else if (!top_key(&l->top, key))
            return false;
    }
    return true;
}

/* Returns 0 to continue, or the number of the signal that ends the program. */
static int take_signals(bool *ret_any)
{
    int no;

    while ((no = screen_signal()) != 0) {
        if (no != SIGWINCH)
            return no;
        *ret_any = true; /* draw() measures */
    }
    return 0;
}

/*
 * Draws a frame when time or data requires it: the first data immediately, then one per interval without reading in
 * between. Adds a tick to the plots once a second, regardless of the frame rate.
 */
static void take_data(struct loop *l)
{
    const struct feed *feed = l->top.feed;
    int64_t now = clock_mono_ms();

    if (l->top.paused || (now - l->frame_ms < l->top.every_ms && !l->fresh))
        return;
    bool changed = feed->read(feed->arg), tick = now - l->tick_ms >= 1000;
    if (l->fresh && !changed && now - l->frame_ms < l->top.every_ms)
        return;
    l->fresh = l->fresh && !changed;
    l->tick_ms = tick ? now : l->tick_ms;
    l->frame_ms = now;
    top_refresh(&l->top, tick);
    draw(l);
}

static int turn(struct loop *l)
{
    const struct feed *feed = l->top.feed;

    for (;;) {
        bool any = false;
        int64_t left = MAX(0, l->frame_ms + l->top.every_ms - clock_mono_ms());
        struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                               {.fd = screen_signal_fd(), .events = POLLIN},
                               {.fd = l->fresh && !l->top.paused ? feed->fd(feed->arg) : -1, .events = POLLIN}};
        if (poll(fds, ARRAY_LEN(fds), l->top.paused ? 60000 : (int)left) < 0 && errno != EINTR)
            return SIGHUP;
        int no = take_signals(&any);
        if (no)
            return no;
        if (!take_keys(l, &any))
            return 0;
        if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL)) /* the terminal is gone */
            return SIGHUP;
        if (any)
            draw(l); /* before reading data: a key never waits for it */
        take_data(l);
    }
}

/*
 * The first frame appears before the feed has data, and a key is handled immediately, whatever the feed does. Returns
 * 0 when the user quits, or the number of the signal that ends the program. Restores the terminal.
 */
static int run_screen(const struct feed *feed, struct err *err)
{
    struct loop l = {.fresh = true, .sheet.ascii = conf.ascii};
    int r = screen_open(cli_colour(), is_light((enum theme)conf.theme), &l.sheet.ascii, err);

    if (r < 0) {
        screen_close();
        return r;
    }
    top_init(&l.top, feed, conf.me, conf.every);
    prepare(&l.top);
    top_refresh(&l.top, false);
    if (conf.filter) {
        top_key(&l.top, '/');
        for (const char *c = conf.filter; *c; c++)
            top_key(&l.top, (unsigned char)*c);
        top_key(&l.top, TOP_ENTER);
    }
    draw(&l);
    l.frame_ms = clock_mono_ms();
    r = turn(&l);
    screen_close();
    top_fini(&l.top);
    sheet_fini(&l.sheet);
    return r;
}

static int show(void)
{
    struct err err = {0};
    struct feed feed;
    bool hub = client_shows_hub(&conf.client);

    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return cli_fail(&top_help, EXIT_USAGE, "it needs a terminal; for pipes use `muster ls`");
    /* No other code may write to the terminal meanwhile, including the collector. */
    AUTO_CLOSE int loud = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3), quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (quiet >= 0)
        dup2(quiet, STDERR_FILENO);
    int r = hub ? feed_hub_open(&feed, &conf.client, &err) : feed_local_open(&feed, conf.every, &err);
    if (r == 0) {
        r = run_screen(&feed, &err);
        feed.close(feed.arg);
    }
    if (loud >= 0)
        dup2(loud, STDERR_FILENO);
    if (r < 0)
        return cli_fail(&top_help, r == -EINVAL ? EXIT_USAGE : EXIT_REACH, "%s", err.msg);
    return r && r != SIGINT ? 128 + r : EXIT_OK;
}

/* Reads saved settings, the environment, and flags. Returns -1 to continue, or an exit code. */
static int parse(int argc, char **argv, int *ret_argi)
{
    struct err err = {0};
    struct top scratch = {0};
    char path[512];
    int r = 0;

    opt_defaults(top_opts, &conf);
    if (settings_path(path) && access(path, R_OK) == 0)
        r = opt_env_file(top_opts, &conf, path, &err);
    if (r == 0)
        r = opt_env(top_opts, &conf, &err);
    if (r == 0)
        r = opt_args_mixed(top_opts, &conf, argc, argv, ret_argi, &err);
    for (size_t i = 0; r == 0 && i < conf.sort.n; i++)
        if (!set_sort(&scratch, str_of(conf.sort.v[i])))
            r = err_set(&err, -EINVAL, "--sort '%.60s' is not VIEW:COLUMN, e.g. processes:sm or devices:-util",
                        conf.sort.v[i]);
    if (r < 0)
        return cli_fail(&top_help, EXIT_USAGE, "%s", err.msg);
    return r == 0 ? -1 : cli_help(&top_help);
}

int cmd_top(int argc, char **argv)
{
    AUTO_BUF words = BUF_INIT(4096);
    struct passwd *pw = getpwuid(getuid());
    struct filter_err bad = {0};
    struct filter *f = NULL;
    int argi = argc, r = parse(argc, argv, &argi);

    if (r < 0) {
        conf.me = pw ? pw->pw_name : "";
        for (int i = argi; i < argc; i++)
            buf_addf(&words, "%s%s", i > argi ? " " : "", argv[i]);
        conf.filter = words.len ? words.p : NULL;
        if (words.len && filter_new(buf_str(&words), conf.me, &f, &bad) < 0)
            r = cli_fail(&top_help, EXIT_USAGE, "column %u of '%.200s': %s", bad.column, words.p, bad.message);
        else
            r = show();
        filter_free(f);
    }
    opt_fini(top_opts, &conf);
    return r;
}
