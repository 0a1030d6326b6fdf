/* cmd_node.c: `muster node`: lists a hub's nodes; renames and retires nodes, or sets them to maintenance. */
#include <errno.h>
#include <stdarg.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/plain.h"
#include "cli/listing.h"
#include "model/state.h"

struct node_conf {
    struct client_conf client;
    bool json, undo, yes;
};

static const struct opt node_opts[] = {
    CLIENT_OPTS(node_conf, client),
    OPT(node_conf, json, 0, OPT_BOOL, NULL, NULL, "list: print JSON", .verbs = "list"),
    OPT(node_conf, undo, 0, OPT_BOOL, NULL, NULL, "retire, maintenance: undo it", .verbs = "retire maintenance"),
    OPT(node_conf, yes, 'y', OPT_BOOL, NULL, NULL, "retire, join, delete: skip the confirmation on a terminal",
        .verbs = "retire join delete"),
    {0},
};
const struct opt_cmd node_help = {
    .name = "muster node",
    .summary = "list, rename, retire, join and delete nodes; set maintenance",
    .args = "list | rename NODE NAME | retire NODE | maintenance NODE | join NEW OLD | delete NODE...",
    .about =
        "NODE is a name or an ID. `retire` removes a node from the screens; its history stays, and --undo shows it "
        "again. `delete` removes a node that never sent a sample, and its token. `join` merges a reinstalled "
        "machine with its old entry: history, usage and bookings of OLD, which must be offline, move to NEW, and "
        "OLD is deleted. A node in maintenance is shown, but not as free. On a terminal retire, join and delete "
        "ask for confirmation (except with --yes). This needs an admin token; the user who runs the local hub has "
        "one.",
    .examples = "muster node list  # every node the hub has ever seen\n"
                "muster node rename ip-10-0-0-7 dgx7  # a name that users know\n"
                "muster node join dgx7~2 dgx7  # the reinstalled machine\n"
                "muster node retire dgx3 --undo  # back on the screens\n"
                "muster node maintenance dgx7 --undo  # back to work",
    .opts = node_opts,
    .conf_size = sizeof(struct node_conf),
};

static const struct column_spec columns[] = {
    {"name", "NAME", CELL_TEXT, .weight = 9},
    {"state", "STATE", CELL_TEXT, .weight = 8},
    {"devices", "GPUS", CELL_INT, .right = true, .weight = 7},
    {"agent", "AGENT", CELL_TEXT, .weight = 3},
    {"address", "ADDRESS", CELL_TEXT, .weight = 4},
    {"id", "ID", CELL_TEXT, .weight = 5},
    {"reason", "REASON", CELL_TEXT, .weight = 6},
};

static void fill_row(struct cell *c, json_t *node, UNUSED const struct listing_at *at)
{
    if (json_is_true(json_object_get(node, "retired")))
        cell_text(&c[1], STR("retired"));
    else
        cell_screen(&c[1], "%s", state_shown(text_of(node, "state")));
}

static int list_nodes(struct cmd_call *c)
{
    const struct node_conf *conf = c->conf;
    AUTO_BUF answer = {0}, out = BUF_INIT(64 << 20);
    struct hub_listing l = {LISTING(node_help, columns, fill_row, NULL), .path = "/api/v1/nodes", .width = 160,
                            .plain = true};

    if (!conf->json)
        return listing_fetch(&l, &conf->client, LIST_TABLE, NULL, &c->err);
    int r = client_request(&conf->client, "GET", l.path, str_of(""), &answer, &c->err);
    if (r < 0)
        return r;
    plain_json(&out, str_trim(buf_str(&answer)));
    buf_addc(&out, '\n');
    return cli_print(&node_help, &out);
}

/* Sends one request about one node: `after` follows its name in the path. */
static int ask_about(const struct node_conf *conf, const char *method, const char *node, const char *after,
                     struct str body)
{
    AUTO_BUF path = BUF_INIT(1024);
    AUTO_BUF answer = {0};
    struct err err = {0};
    buf_adds(&path, "/api/v1/nodes/");
    buf_addurl(&path, str_of(node));
    buf_adds(&path, after);
    if (client_request(&conf->client, method, path.p, body, &answer, &err) < 0)
        return cli_fail(&node_help, err.code == -ENOENT ? EXIT_NO : EXIT_REACH, "%s", err.msg);
    return EXIT_OK;
}

/* Asks the user on a terminal. Returns true without a terminal. */
__attribute__((format(printf, 2, 3))) static bool is_confirmed(const struct node_conf *conf, const char *fmt, ...)
{
    AUTO_BUF text = BUF_INIT(4096), clean = BUF_INIT(6ul * 4096);
    char answer[8];
    va_list ap;

    if (conf->yes || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return true;
    va_start(ap, fmt);
    buf_vaddf(&text, fmt, ap);
    va_end(ap);
    plain_line(&clean, buf_str(&text));
    fprintf(stderr, "%s [y/N] ", clean.p);
    return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

/* Prints the result. */
__attribute__((format(printf, 1, 2))) static int print_done(const char *fmt, ...)
{
    AUTO_BUF out = BUF_INIT(4096);
    va_list ap;

    va_start(ap, fmt);
    buf_vaddf(&out, fmt, ap);
    va_end(ap);
    return cli_print(&node_help, &out);
}

static int change(const struct node_conf *conf, const char *node, const char *name, const char *flag)
{
    AUTO_BUF body = BUF_INIT(4096);
    struct json j = json_on(&body);
    json_obj(&j, NULL);
    if (name)
        json_cstr(&j, "name", name);
    if (flag)
        json_bool(&j, flag, !conf->undo);
    json_end_obj(&j);
    return ask_about(conf, "PATCH", node, "", buf_str(&body));
}

static int rename_node(const struct node_conf *conf, const char *node, const char *name)
{
    int code = change(conf, node, name, NULL);

    return code ? code : print_done("%s is called %s now\n", node, name);
}

static int retire(const struct node_conf *conf, const char *node)
{
    if (!conf->undo && !is_confirmed(conf, "Retire %s? It leaves the screens; its history stays.", node))
        return cli_fail(&node_help, EXIT_NO, "%s is not retired", node);
    int code = change(conf, node, NULL, "retired");
    if (code)
        return code;
    if (conf->undo)
        return print_done("%s is on the screens again\n", node);
    return print_done("%s is retired: it left the screens, its history stays. To undo: muster node retire %s --undo\n",
                      node, node);
}

static int maintain(const struct node_conf *conf, const char *node)
{
    int code = change(conf, node, NULL, "maintenance");

    if (code)
        return code;
    if (conf->undo)
        return print_done("%s is no longer in maintenance\n", node);
    return print_done("%s is in maintenance: its GPUs are not free. To undo: muster node maintenance %s --undo\n", node,
                      node);
}

static int join(const struct node_conf *conf, const char *node, const char *old)
{
    AUTO_BUF body = BUF_INIT(4096);

    if (!is_confirmed(conf, "Move history, usage and bookings of %s to %s and delete %s? There is no undo.", old, node,
                      old))
        return cli_fail(&node_help, EXIT_NO, "%s is not changed", old);
    json_print(&body, "{'old':%s}", old);
    int code = ask_about(conf, "POST", node, "/join", buf_str(&body));
    return code ? code : print_done("%s has the history, usage and bookings of %s now\n", node, old);
}

static int remove_nodes(const struct node_conf *conf, char **nodes, int n)
{
    int code = EXIT_OK;

    for (int i = 0; i < n; i++) {
        if (!is_confirmed(conf, "Delete %s and its token? There is no undo.", nodes[i]))
            return cli_fail(&node_help, EXIT_NO, "%s is not deleted", nodes[i]);
        int r = ask_about(conf, "DELETE", nodes[i], "", str_of(""));
        code = r ? r : code;
        if (r == EXIT_OK)
            print_done("%s is deleted\n", nodes[i]);
    }
    return code;
}

int cmd_node(struct cmd_call *c)
{
    const struct node_conf *conf = c->conf;
    int n = c->argc;
    char **a = c->argv;

    if (n == 1 && strcmp(a[0], "list") == 0)
        return list_nodes(c);
    if (n == 3 && strcmp(a[0], "rename") == 0)
        return rename_node(conf, a[1], a[2]);
    if (n == 2 && strcmp(a[0], "retire") == 0)
        return retire(conf, a[1]);
    if (n == 2 && strcmp(a[0], "maintenance") == 0)
        return maintain(conf, a[1]);
    if (n == 3 && strcmp(a[0], "join") == 0)
        return join(conf, a[1], a[2]);
    if (n >= 2 && strcmp(a[0], "delete") == 0)
        return remove_nodes(conf, a + 1, n - 1);
    return err_set(&c->err, -EINVAL, "expected %s", node_help.args);
}
