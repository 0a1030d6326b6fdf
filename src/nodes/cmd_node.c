/* cmd_node.c: `muster node`: lists a hub's nodes; renames and retires one, or sets it aside for maintenance. */
#include <errno.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/plain.h"
#include "cli/listing.h"

struct node_conf {
    struct client_conf client;
    bool json, undo;
};

static const struct opt node_opts[] = {
    CLIENT_OPTS(node_conf, client),
    OPT(node_conf, json, 0, OPT_BOOL, NULL, NULL, "list: as JSON"),
    OPT(node_conf, undo, 0, OPT_BOOL, NULL, NULL, "retire, maintenance: take it back"),
    {0},
};
const struct opt_cmd node_help = {
    .name = "muster node",
    .summary = "list, rename, retire, join, delete nodes; set them aside for maintenance",
    .args = "list | rename NODE NAME | retire NODE | maintenance NODE | join NEW OLD | delete NODE...",
    .about = "NODE is a name or an id. A retired node leaves the screens; its history stays. One that "
             "never sent a sample can be deleted, and its token with it. `join` gives NEW the history, usage and "
             "bookings of OLD, which "
             "is silent and is no more then: a machine that was set up anew. A node in maintenance is "
             "shown, "
             "but not as free. Needs an admin token, which a local hub's own user has already.",
    .examples = "muster node list  # every node the hub has ever seen\n"
                "muster node rename ip-10-0-0-7 dgx7  # a name people know\n"
                "muster node join dgx7~2 dgx7  # it was set up anew, and has the same GPUs\n"
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
}

static int list_nodes(struct cmd_call *c)
{
    const struct node_conf *conf = c->conf;
    AUTO_BUF answer = {0}, out = BUF_INIT(64 << 20);
    struct hub_listing l = {LISTING(node_help, columns, fill_row, NULL), .path = "/api/v1/nodes", .width = 160,
                            .plain = true};

    if (!conf->json)
        return listing_ask(&l, &conf->client, LIST_TABLE, NULL, &c->err);
    int r = client_ask(&conf->client, "GET", l.path, str_of(""), &answer, &c->err);
    if (r < 0)
        return r;
    plain_json(&out, str_trim(buf_str(&answer)));
    buf_addc(&out, '\n');
    return cli_print(&node_help, &out);
}

/* One request about one node: `after` goes behind its name in the path. */
static int ask_about(const struct node_conf *conf, const char *method, const char *node, const char *after,
                     struct str body)
{
    AUTO_BUF path = BUF_INIT(1024);
    AUTO_BUF answer = {0};
    struct err err = {0};
    buf_adds(&path, "/api/v1/nodes/");
    buf_addurl(&path, str_of(node));
    buf_adds(&path, after);
    if (client_ask(&conf->client, method, path.p, body, &answer, &err) < 0)
        return cli_fail(&node_help, err.code == -ENOENT ? EXIT_NO : EXIT_REACH, "%s", err.msg);
    return EXIT_OK;
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

static int join(const struct node_conf *conf, const char *node, const char *old)
{
    AUTO_BUF body = BUF_INIT(4096);
    json_print(&body, "{'old':%s}", old);
    return ask_about(conf, "POST", node, "/join", buf_str(&body));
}

static int remove_nodes(const struct node_conf *conf, char **nodes, int n)
{
    int code = EXIT_OK;
    for (int i = 0; i < n; i++) {
        int r = ask_about(conf, "DELETE", nodes[i], "", str_of(""));
        if (r != EXIT_OK)
            code = r;
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
        return change(conf, a[1], a[2], NULL);
    if (n == 2 && strcmp(a[0], "retire") == 0)
        return change(conf, a[1], NULL, "retired");
    if (n == 2 && strcmp(a[0], "maintenance") == 0)
        return change(conf, a[1], NULL, "maintenance");
    if (n == 3 && strcmp(a[0], "join") == 0)
        return join(conf, a[1], a[2]);
    if (n >= 2 && strcmp(a[0], "delete") == 0)
        return remove_nodes(conf, a + 1, n - 1);
    return err_set(&c->err, -EINVAL, "expected %s", node_help.args);
}
