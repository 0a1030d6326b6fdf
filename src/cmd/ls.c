/* ls.c: `muster ls`: which GPUs there are and who is on them: this machine's at once, or a hub's. */
#include <errno.h>
#include <signal.h>

#include "agent/local.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cmd/cli.h"
#include "cmd/client.h"
#include "cmd/cmd.h"
#include "query/ls.h"
#include "query/view.h"
#include "render/render.h"

struct ls_conf {
    struct client_conf client;
    bool detail, json, csv, free, watch, ascii;
    int64_t every, width;
};

static const struct opt ls_opts[] = {
    CLIENT_OPTS(ls_conf, client),
    OPT(ls_conf, free, 0, OPT_BOOL, NULL, NULL, "only free GPUs; exit status 1 when there is none"),
    OPT(ls_conf, detail, 'l', OPT_BOOL, NULL, NULL, "a line per process too"),
    OPT(ls_conf, json, 0, OPT_BOOL, NULL, NULL, "as JSON: an array with an object per GPU"),
    OPT(ls_conf, csv, 0, OPT_BOOL, NULL, NULL, "as CSV"),
    OPT(ls_conf, watch, 'w', OPT_BOOL, NULL, NULL, "show it again and again, until interrupted"),
    OPT(ls_conf, every, 0, OPT_DURATION, "2s", "TIME", "watch: time between", .min = 200, .max = 3600000),
    OPT(ls_conf, width, 0, OPT_INT, NULL, "COLUMNS", "as wide as this (default: the terminal, 160 in a pipe)",
        .min = 20, .max = 1000),
    OPT(ls_conf, ascii, 0, OPT_BOOL, NULL, NULL, "marks from plain ASCII"),
    {0},
};
const struct opt_cmd ls_face = {
    .name = "muster ls",
    .summary = "which GPUs there are and who is on them",
    .about = "Without --hub (or MUSTER_HUB) it reads this machine, as its agent would, and needs no hub.",
    .examples = "muster ls  # this machine\n"
                "muster ls --hub http://hub:8765 --free  # which can I use now?\n"
                "muster ls --json | jq '.[] | select(.state == \"held\")'",
    .opts = ls_opts,
};

/* What is shown: nodes that somebody owns, ended with picture_fini. */
struct picture {
    struct live *live;      /* this machine */
    struct node_now *nodes; /* a hub's */
    const struct node_now **list;
    size_t n;
    struct view view;
};

static void picture_fini(struct picture *p)
{
    live_free(p->live);
    for (size_t i = 0; i < p->n; i++)
        node_now_fini(&p->nodes[i]);
    free(p->nodes);
    free(p->list);
    *p = (struct picture){0};
}

static int from_hub(const struct ls_conf *conf, struct picture *p, struct err *err)
{
    AUTO_BUF json = {0};
    int r = client_ask(&conf->client, "GET", "/api/v1/state", str_of(""), &json, err);
    if (r < 0)
        return r;
    if (state_parse(buf_str(&json), &p->nodes, &p->n, &p->view.demo, &p->view.at_ms, err) < 0)
        return err_prefix(err, -EBADMSG, "'%s' answered something else than a hub would", client_url(&conf->client));
    p->list = mem_zero(p->n + 1, sizeof(*p->list));
    for (size_t i = 0; i < p->n; i++)
        p->list[i] = &p->nodes[i];
    p->view.nodes = p->list;
    p->view.n = p->n;
    return 0;
}

/* ---- this machine: the four things of local.h into a live state of its own ---- */

struct taker {
    struct live *live;
    struct node_now *node;
};

static void take_hello(void *arg, const struct hello *h)
{
    struct taker *t = arg;
    int64_t now = clock_wall_ms();
    if (!t->node)
        t->node = live_node(t->live, "local", h->name, now);
    live_hello(t->live, t->node, h, "", now);
}
static void take_facts(void *arg, uint64_t id, const struct node_fact *f)
{
    struct taker *t = arg;
    if (t->node)
        live_facts(t->live, t->node, id, f, clock_wall_ms());
}
static void take_procs(void *arg, uint64_t id, const struct proc_list *l)
{
    struct taker *t = arg;
    if (t->node)
        live_procs(t->live, t->node, id, l, clock_wall_ms());
}
static void take_batch(void *arg, const struct batch *b)
{
    struct taker *t = arg;
    if (t->node)
        live_batch(t->live, t->node, b, 0, clock_wall_ms());
}

static int look(struct picture *p)
{
    int64_t now = clock_wall_ms();
    live_tick(p->live, now);
    free(p->list);
    p->list = mem_zero(live_count(p->live) + 1, sizeof(*p->list));
    return view_of(p->live, &(struct view_ask){.show_cmd = true}, now, p->list, &p->view);
}

static int from_here(struct picture *p, struct err *err)
{
    enum { WAIT_MS = 8000 };
    struct agent_conf agent;
    int r = conf_default(&agent, err);
    if (r < 0)
        return r;
    p->live = live_new(&state_rule_default, NULL, NULL);
    struct taker t = {.live = p->live};
    struct local_sink sink = {&t, take_hello, take_facts, take_procs, take_batch};
    r = local_snapshot(&agent, WAIT_MS, &sink, err);
    conf_fini(&agent);
    if (r < 0)
        return r;
    return look(p);
}

/* Leave the rows of free devices. */
static void keep_free(struct rows *r)
{
    size_t state = 0, kept = 0;
    while (state + 1 < r->n_cols && strcmp(r->cols[state].name, "state") != 0)
        state++;
    for (size_t i = 0; i < r->n; i++) {
        struct cell *row = r->cells + i * r->n_cols, *to = r->cells + kept * r->n_cols;
        const char *word = row[state].json_text;
        if (word && strcmp(word, dev_states[DEV_FREE].word) == 0) {
            for (size_t k = 0; to != row && k < r->n_cols; k++) {
                struct cell moved = to[k]; /* swapped, so that rows_fini still frees each once */
                to[k] = row[k];
                row[k] = moved;
            }
            kept++;
        }
    }
    for (size_t i = kept * r->n_cols; i < r->n * r->n_cols; i++) {
        free(r->cells[i].json_text);
        free(r->cells[i].screen);
    }
    r->n = kept;
}

static int show(const struct ls_conf *conf, const struct picture *p)
{
    AUTO_BUF out = BUF_INIT(256 << 20);
    struct term t = {.width = conf->width ? (int)conf->width : cli_width(160),
                     .colour = cli_colour(),
                     .ascii = conf->ascii};
    struct rows r;
    ls_rows(&p->view, conf->detail, &r);
    if (conf->free)
        keep_free(&r);
    if (conf->watch)
        buf_adds(&out, "\033[H\033[2J");
    if (conf->json)
        render_rows_json(&out, &r);
    else if (conf->csv)
        render_rows_csv(&out, &r);
    else {
        if (p->view.demo)
            buf_adds(&out, "DEMO: a recorded cluster, not real machines\n");
        view_answer(&p->view, &out);
        buf_addc(&out, '\n');
        render_rows_text(&out, &r, &t);
    }
    bool none = r.n == 0;
    rows_fini(&r);
    int code = cli_print(&ls_face, &out);
    return code ? code : conf->free && none ? EXIT_NO : EXIT_OK;
}

/* This machine again and again: the collector stays, so that only the first look waits for the driver. */
static int watch_here(const struct ls_conf *conf)
{
    enum { WAIT_MS = 8000 };
    struct agent_conf agent;
    struct picture p = {0};
    struct local *l = NULL;
    struct err err = {0};
    int code = EXIT_OK, r = conf_default(&agent, &err);
    if (r < 0)
        return cli_fail(&ls_face, EXIT_REACH, "%s", err.msg);
    agent.tick = conf->every;
    p.live = live_new(&state_rule_default, NULL, NULL);
    struct taker t = {.live = p.live};
    struct local_sink sink = {&t, take_hello, take_facts, take_procs, take_batch};
    r = local_open(&l, &agent, &sink, &err);
    while (r >= 0 && code != EXIT_REACH && (r = local_next(l, WAIT_MS, &err)) >= 0)
        if ((r = look(&p)) >= 0)
            code = show(conf, &p);
    if (r < 0)
        code = cli_fail(&ls_face, EXIT_REACH, "%s", err.msg[0] ? err.msg : strerror(-r));
    local_close(l);
    picture_fini(&p);
    conf_fini(&agent);
    return code;
}

static int once(const struct ls_conf *conf)
{
    struct picture p = {0};
    struct err err = {0};
    bool hub = conf->client.hub && conf->client.hub[0];
    int r = hub ? from_hub(conf, &p, &err) : from_here(&p, &err);
    r = r < 0 ? cli_fail(&ls_face, EXIT_REACH, "%s", err.msg) : show(conf, &p);
    picture_fini(&p);
    return r;
}

int cmd_ls(int argc, char **argv)
{
    struct ls_conf conf = {0};
    int argi, r = cli_parse(&ls_face, &conf, argc, argv, &argi);
    if (r >= 0)
        goto out;
    if (argi != argc) {
        r = cli_fail(&ls_face, EXIT_USAGE, "unexpected argument '%s'", argv[argi]);
        goto out;
    }
    if (conf.json && conf.csv) {
        r = cli_fail(&ls_face, EXIT_USAGE, "--json and --csv exclude each other");
        goto out;
    }
    if (conf.watch && !(conf.client.hub && conf.client.hub[0])) {
        r = watch_here(&conf);
        goto out;
    }
    do {
        r = once(&conf);
        if (conf.watch)
            usleep((useconds_t)(conf.every * 1000));
    } while (conf.watch && r != EXIT_REACH);
out:
    opt_fini(ls_opts, &conf);
    return r;
}
