/* cmd_render.c: `muster render`: what Web-GPU-Monitor's render_website.py did: a static page for any web server. */
#include <errno.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "cli/state.h"
#include "compat/board.h"
#include "compat/sheet.h"

struct render_conf {
    struct client_conf client;
    char *input, *output, *title;
    int64_t refresh, stale;
};

static const struct opt render_opts[] = {
    OPT(render_conf, input, 'i', OPT_PATH, NULL, "FILE", "load_data.csv to show instead of a hub",
        .default_text = "load_data.csv here if no hub is set"),
    CLIENT_OPTS(render_conf, client),
    OPT(render_conf, output, 'o', OPT_PATH, ".", "DIR", "folder for index.html; created if needed"),
    OPT(render_conf, title, 0, OPT_STR, "Cluster Overview", "TEXT", "heading of the page"),
    OPT(render_conf, refresh, 0, OPT_DURATION, "60s", "TIME", "time between reloads of the page", .min = 5000,
        .max = 86400000),
    OPT(render_conf, stale, 0, OPT_DURATION, "15m", "TIME", "age at which the page is marked as old", .min = 10000,
        .max = 31536000000),
    {0},
};
const struct opt_cmd render_help = {
    .name = "muster render",
    .summary = "write a static page of all GPUs, red and green, for any web server",
    .about = "Writes one index.html that contains everything. A row is red if the load is 5 % or more, the load of the "
             "memory controller is above 2 %, or a process is on the GPU. A pointer or a tap shows the users and the "
             "memory used. A load_data.csv of `muster fetch` or Web-GPU-Monitor has no memory used; a hub has it. "
             "Hosts that cannot be read are shown with the reason: the hub's, or those of load_data.csv.unread, which "
             "`muster fetch` writes. This file alone makes a page, too.\n\nThe page is replaced as a whole. If "
             "something fails it stays as it is, and the exit status is 3.",
    .examples = "muster fetch -c config.ini; muster render -o /var/www/gpu  # from cron, every 5 minutes\n"
                "muster render --hub http://hub:8765 -o /var/www/gpu  # the same page from a hub",
    .opts = render_opts,
    .conf_size = sizeof(struct render_conf),
};

static int64_t written_ms(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
}

/* The hosts that `muster fetch` could not read when it wrote load_data.csv. */
static int add_unread(const char *path, struct board *b, struct err *err)
{
    AUTO_BUF text = {0};
    int r = file_read(path, BOARD_CSV_MAX, &text, err);

    if (r == 0 && (r = board_unread(buf_str(&text), b, err)) < 0)
        err_prefix(err, r, "'%s'", path);
    return r;
}

/* Without load_data.csv the list of hosts that were not read is enough: `muster fetch` writes it when no host was ever
 * read. A list that is older than load_data.csv is ignored. */
static int from_csv(const char *path, struct board *ret, struct err *err)
{
    AUTO_FREE char *unread = mem_fmt("%s" SHEET_UNREAD, path);
    AUTO_BUF text = {0};
    struct stat st, of_unread;

    bool listed = stat(unread, &of_unread) == 0;
    int r = file_read(path, BOARD_CSV_MAX, &text, err);
    if (r == -ENOENT && listed) {
        *err = (struct err){0};
        *ret = (struct board){.at_ms = written_ms(&of_unread), .notice = ""};
        return add_unread(unread, ret, err);
    }
    if (r < 0)
        return r;
    if (stat(path, &st) < 0)
        return err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
    r = board_csv(buf_str(&text), written_ms(&st), ret, err);
    if (r < 0)
        return err_prefix(err, r, "'%s'", path);
    return listed && written_ms(&of_unread) >= ret->at_ms ? add_unread(unread, ret, err) : 0;
}

static int from_hub(const struct client_conf *client, struct board *ret, struct err *err)
{
    struct hub_state s = {0};

    int r = hub_state_fetch(client, NULL, NULL, &s, err);
    if (r == 0)
        board_view(&s.view, ret);
    hub_state_fini(&s);
    return r;
}

static int put(const struct render_conf *conf, const struct board *b, struct err *err)
{
    AUTO_BUF page = BUF_INIT(BOARD_HTML_MAX);
    AUTO_FREE char *path = mem_fmt("%s/index.html", conf->output);
    struct board_page look = {conf->title, conf->refresh / 1000, conf->stale / 1000};

    board_html(&page, b, &look);
    if (page.err)
        return err_set(err, page.err, "the page would be larger than %u bytes", BOARD_HTML_MAX);
    int r = file_mkdirs(conf->output, 0755, err);
    return r < 0 ? r : file_output(path, 0644, page.p, page.len, err);
}

int cmd_render(struct cmd_call *c)
{
    const struct render_conf *conf = c->conf;
    struct board b = {0};

    if (c->argc)
        return err_set(&c->err, -EINVAL, "'%s' is one word too many", c->argv[0]);
    bool hub = !conf->input && conf->client.hub && conf->client.hub[0];
    int r =
        hub ? from_hub(&conf->client, &b, &c->err) : from_csv(conf->input ? conf->input : "load_data.csv", &b, &c->err);
    if (r >= 0)
        r = put(conf, &b, &c->err);
    board_fini(&b);
    return r < 0 ? cli_fail(&render_help, EXIT_REACH, "%s", c->err.msg) : EXIT_OK;
}
