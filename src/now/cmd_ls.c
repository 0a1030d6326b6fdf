/* cmd_ls.c: `muster ls`: lists GPUs and their users, of this machine or of a hub. */
#include <pwd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "cli/state.h"
#include "format/render.h"
#include "now/cmd_local.h"
#include "now/ls.h"
#include "now/view.h"

struct ls_conf {
    struct client_conf client;
    bool detail, json, csv, free, mine, watch, ascii, wide;
    char *columns;
    struct opt_list picked; /* columns, one entry each */
    int64_t every, width;
    struct filter *filter; /* of the operands, --free and --mine; NULL: none */
    const char *me;
};

static const struct opt ls_opts[] = {
    CLIENT_OPTS(ls_conf, client),
    OPT(ls_conf, free, 0, OPT_BOOL, NULL, NULL, "only free GPUs, as the filter 'free'"),
    OPT(ls_conf, mine, 0, OPT_BOOL, NULL, NULL, "only GPUs with your processes, as the filter 'mine'"),
    OPT(ls_conf, detail, 'l', OPT_BOOL, NULL, NULL, "print a line per process, too"),
    OPT(ls_conf, wide, 0, OPT_BOOL, NULL, NULL, "print every column, at any width of the screen"),
    OPT(ls_conf, columns, 'o', OPT_STR, NULL, "NAMES",
        "columns to print, in this order, comma-separated; names as in JSON and CSV"),
    OPT(ls_conf, json, 0, OPT_BOOL, NULL, NULL, "print JSON: an array with an object per GPU"),
    OPT(ls_conf, csv, 0, OPT_BOOL, NULL, NULL, "print CSV"),
    OPT(ls_conf, watch, 'w', OPT_BOOL, NULL, NULL, "repeat until interrupted"),
    OPT(ls_conf, every, 0, OPT_DURATION, "2s", "TIME", "with --watch: time between updates", .min = 200,
        .max = 3600000),
    OPT(ls_conf, width, 0, OPT_INT, NULL, "COLUMNS", "width of the output",
        .default_text = "the terminal's, 160 in a pipe", .min = 20, .max = 1000),
    OPT(ls_conf, ascii, 0, OPT_BOOL, NULL, NULL, "use ASCII characters only"),
    {0},
};
const struct opt_cmd ls_help = {
    .name = "muster ls",
    .summary = "list GPUs and their users",
    .args = "[FILTER…]",
    .about = "Without --hub (or MUSTER_HUB) it reads this machine, as its agent would, and needs no hub. Without a "
             "GPU driver it shows the hub that runs on this machine, if any.\n\n"
             "A filter selects GPUs: kim, dgx1, h200 or train.py (a user, a node, a model or a program), states "
             "(free, held, busy, unknown, starting, offline, hung, missing), mine, user:kim, model:h200, "
             "host:dgx*, program:python, mem>40G, memfree>=50%, idle>2h, since>30m, and any metric by name (util>50%, "
             "temp>80, power>300W), joined by and, or, not and parentheses; a space means and. docs/filter.md "
             "describes filters. Exit status 1: no GPU matches.",
    .examples = "muster ls  # this machine\n"
                "muster ls --hub http://hub:8765 --free  # which can I use now?\n"
                "muster ls kim  # the GPUs that kim uses\n"
                "muster ls free h200 'memfree>=40G'  # a free H200 with 40 GiB\n"
                "muster ls held 'idle>2h' not user:root  # allocated, and idle\n"
                "muster ls -o node,gpu,user,mem_used  # only what I need\n"
                "muster ls '(hung or missing) host:dgx*'  # needs repair\n"
                "muster ls --json | jq '.[] | select(.state == \"held\")'",
    .opts = ls_opts,
    .conf_size = sizeof(struct ls_conf),
};

/* Data to show; free with picture_fini(). */
struct picture {
    struct local_view here; /* this machine */
    struct hub_state hub;   /* or a hub's */
    struct view view;
    struct arena arena; /* of the filtered view */
};

static void picture_fini(struct picture *p)
{
    local_view_close(&p->here);
    hub_state_fini(&p->hub);
    arena_fini(&p->arena);
    *p = (struct picture){0};
}

static int from_hub(const struct ls_conf *conf, struct picture *p, struct err *err)
{
    int r = hub_state_fetch(&conf->client, conf->filter ? filter_text(conf->filter) : NULL, conf->me, &p->hub, err);
    if (r == 0)
        p->view = p->hub.view;
    return r;
}

/* ---- this machine ---- */

static int look(const struct ls_conf *conf, struct picture *p)
{
    int64_t now = clock_wall_ms();
    live_tick(p->here.live, now);
    int r = view_of(p->here.live, &(struct view_query){.show_cmd = true}, now, &p->view);
    arena_reset(&p->arena);
    if (r == 0 && conf->filter)
        view_filter(&p->view, conf->filter, &p->arena);
    return r;
}

static int from_here(const struct ls_conf *conf, struct picture *p, struct err *err)
{
    int r = local_view_once(&p->here, err);
    return r < 0 ? r : look(conf, p);
}

/* Reasons why nodes cannot be read or have an uncertain identity, for screens too narrow for the column with reasons.
 */
static void unread(const struct view *v, struct buf *out)
{
    for (size_t i = 0; i < v->n; i++)
        if ((v->nodes[i]->n_devices == 0 || v->nodes[i]->collect != COLLECT_OK || v->nodes[i]->was[0] ||
             strchr(v->nodes[i]->name, '~')) &&
            v->nodes[i]->reason[0])
            buf_addf(out, "! %s: %s\n", v->nodes[i]->name, v->nodes[i]->reason);
}

static int show(const struct ls_conf *conf, const struct picture *p)
{
    AUTO_BUF out = BUF_INIT(256 << 20);
    struct term t = {.width = conf->wide    ? 0
                              : conf->width ? (int)conf->width
                                            : cli_width(160),
                     .colour = cli_colour(),
                     .ascii = conf->ascii};
    AUTO_ROWS r = {0};
    ls_rows(&p->view, conf->wide || conf->columns ? LS_ALL : conf->detail ? LS_DETAIL : LS_PLAIN, &r);
    if (conf->columns)
        rows_pick(&r, conf->picked.v, conf->picked.n, NULL);
    if (conf->watch)
        fputs("\033[H\033[2J", stdout);
    if (conf->json)
        render_rows_json(&out, &r);
    else if (conf->csv)
        render_rows_csv(&out, &r);
    else {
        if (p->view.demo)
            buf_adds(&out, "DEMO: a recorded cluster, not real machines\n");
        if (p->view.notice)
            buf_addf(&out, "! %s\n", p->view.notice);
        struct tally all;
        view_tally(&p->view, &all);
        view_answer(&p->view, &all, &out);
        view_counts(&p->view, &all, "\n", conf->ascii ? " | " : " · ", &out);
        buf_addc(&out, '\n');
        AUTO_FREE bool *kept = mem_zero(r.n_cols, sizeof(*kept));
        if (r.n || !conf->filter)
            render_rows_fit(&out, &r, &t, kept);
        if (!ls_shows(&r, kept, "REASON"))
            unread(&p->view, &out);
        if (!ls_shows(&r, kept, "SERVICE"))
            ls_services(&p->view, &out);
        if (conf->detail && !ls_shows(&r, kept, "NOTE"))
            ls_notes(&p->view, &out);
    }
    bool none = r.n == 0;
    int code = cli_print(&ls_help, &out);
    return code ? code : conf->filter && none ? EXIT_NO : EXIT_OK;
}

/* Watches this machine. The collector stays open, so that only the first frame waits for the driver. */
static int watch_here(const struct ls_conf *conf)
{
    enum { WAIT_MS = 8000 };
    struct picture p = {0};
    struct err err = {0};
    int code = EXIT_OK, r = local_view_open(&p.here, conf->every, &err);
    while (r >= 0 && code != EXIT_REACH && (r = local_next(p.here.local, WAIT_MS, &err)) >= 0)
        if ((r = look(conf, &p)) >= 0)
            code = show(conf, &p);
    if (r < 0)
        code = cli_fail(&ls_help, EXIT_REACH, "%s", err.msg[0] ? err.msg : strerror(-r));
    picture_fini(&p);
    return code;
}

static int once(const struct ls_conf *conf)
{
    struct picture p = {0};
    struct err err = {0};
    bool hub = client_shows_hub(&conf->client);
    int r = hub ? from_hub(conf, &p, &err) : from_here(conf, &p, &err);
    r = r < 0 ? cli_fail(&ls_help, EXIT_REACH, "%s", err.msg) : show(conf, &p);
    picture_fini(&p);
    return r;
}

/* Combines the operands, --free and --mine into one filter. Returns -1 to continue, or an exit code. */
static int read_filter(struct ls_conf *conf, char **words, int n)
{
    AUTO_BUF said = BUF_INIT(65536), all = BUF_INIT(65536);
    struct filter_err err = {0};
    if (!n && !conf->free && !conf->mine)
        return -1;
    struct passwd *pw = getpwuid(getuid());
    conf->me = pw ? pw->pw_name : "";
    for (int i = 0; i < n; i++)
        buf_addf(&said, "%s%s", i ? " " : "", words[i]);
    /* separately first: error columns refer to the typed text */
    if (n && filter_new(buf_str(&said), conf->me, &conf->filter, &err) < 0)
        return cli_fail(&ls_help, EXIT_USAGE, "column %u of '%.200s': %s", err.column, said.p, err.message);
    if (!conf->free && !conf->mine)
        return -1;
    filter_free(conf->filter);
    conf->filter = NULL;
    if (n)
        buf_addf(&all, "(%s) ", said.p);
    buf_addf(&all, "%s%s", conf->free ? "free" : "", conf->mine ? conf->free ? " mine" : "mine" : "");
    if (filter_new(buf_str(&all), conf->me, &conf->filter, &err) < 0)
        return cli_fail(&ls_help, EXIT_USAGE, "%s", err.message);
    return -1;
}

/* Splits and checks --columns before any query. Returns -1 to continue, or an exit code. */
static int read_columns(struct ls_conf *conf)
{
    struct view nothing = {0};
    struct err err = {0};
    AUTO_ROWS r = {0};

    if (!conf->columns)
        return -1;
    struct str rest = str_of(conf->columns), one;
    while (str_cut(&rest, ',', &one)) {
        conf->picked.v = mem_grow(conf->picked.v, conf->picked.n + 1, sizeof(*conf->picked.v));
        conf->picked.v[conf->picked.n++] = mem_strn(one.p, one.len);
    }
    ls_rows(&nothing, LS_ALL, &r);
    int bad = rows_pick(&r, conf->picked.v, conf->picked.n, &err);
    return bad ? cli_fail(&ls_help, EXIT_USAGE, "%s", err.msg) : -1;
}

int cmd_ls(struct cmd_call *c)
{
    struct ls_conf *conf = c->conf;
    int r = read_filter(conf, c->argv, c->argc);

    if (r < 0)
        r = read_columns(conf);
    if (r < 0 && conf->json && conf->csv)
        r = cli_fail(&ls_help, EXIT_USAGE, "--json and --csv exclude each other");
    else if (r < 0 && conf->watch && !client_shows_hub(&conf->client))
        r = watch_here(conf);
    else if (r < 0)
        do {
            r = once(conf);
            if (conf->watch)
                usleep((useconds_t)(conf->every * 1000));
        } while (conf->watch && r != EXIT_REACH);
    filter_free(conf->filter);
    for (size_t i = 0; i < conf->picked.n; i++)
        free(conf->picked.v[i]);
    free(conf->picked.v);
    return r;
}
