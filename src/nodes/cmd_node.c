/* cmd_node.c: `muster node`: lists a hub's nodes; renames and retires one, or sets it aside for maintenance. */
#include <errno.h>

#include <jansson.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/plain.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "format/render.h"
#include "model/rows.h"

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
};

static int list(const struct node_conf *conf)
{
    static const struct column_spec cols[] =
        {{.name = "name", .title = "NAME", .weight = 9},
         {.name = "state", .title = "STATE", .weight = 8},
         {.name = "devices", .title = "GPUS", .type = CELL_INT, .right = true, .weight = 7},
         {.name = "agent", .title = "AGENT", .weight = 3},
         {.name = "address", .title = "ADDRESS", .weight = 4},
         {.name = "id", .title = "ID", .weight = 5},
         {.name = "reason", .title = "REASON", .weight = 6}};
    AUTO_BUF answer = {0};
    AUTO_BUF out = BUF_INIT(64 << 20);
    struct err err = {0};
    if (client_ask(&conf->client, "GET", "/api/v1/nodes", str_of(""), &answer, &err) < 0)
        return cli_fail(&node_help, EXIT_REACH, "%s", err.msg);
    if (conf->json) {
        plain_json(&out, str_trim(buf_str(&answer)));
        buf_addc(&out, '\n');
        return cli_print(&node_help, &out);
    }
    json_t *root = client_json(buf_str(&answer)), *n;
    if (!json_is_array(root)) {
        json_decref(root);
        return cli_fail(&node_help, EXIT_REACH, "'%s' does not answer as a hub does", client_url(&conf->client));
    }
    struct rows r;
    size_t i;
    rows_init(&r, cols, ARRAY_LEN(cols));
    json_array_foreach(root, i, n)
    {
        struct cell *c = rows_add(&r);
        for (size_t k = 0; k < ARRAY_LEN(cols); k++) {
            json_t *v = json_object_get(n, cols[k].name);
            if (json_is_string(v) && json_string_length(v))
                cell_text(&c[k], str_n(json_string_value(v), json_string_length(v)));
            else if (json_is_integer(v))
                cell_int(&c[k], json_integer_value(v));
        }
        if (json_is_true(json_object_get(n, "retired")))
            cell_text(&c[1], STR("retired"));
    }
    json_decref(root);
    render_rows_text(&out, &r, &(struct term){.width = cli_width(160)});
    rows_fini(&r);
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
    struct json j = json_on(&body);
    json_obj(&j, NULL);
    json_cstr(&j, "old", old);
    json_end_obj(&j);
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

int cmd_node(int argc, char **argv)
{
    struct node_conf conf = {0};
    int argi, r = cli_parse(&node_help, &conf, argc, argv, &argi);
    if (r < 0) {
        int n = argc - argi;
        char **a = argv + argi;
        if (n == 1 && strcmp(a[0], "list") == 0)
            r = list(&conf);
        else if (n == 3 && strcmp(a[0], "rename") == 0)
            r = change(&conf, a[1], a[2], NULL);
        else if (n == 2 && strcmp(a[0], "retire") == 0)
            r = change(&conf, a[1], NULL, "retired");
        else if (n == 2 && strcmp(a[0], "maintenance") == 0)
            r = change(&conf, a[1], NULL, "maintenance");
        else if (n == 3 && strcmp(a[0], "join") == 0)
            r = join(&conf, a[1], a[2]);
        else if (n >= 2 && strcmp(a[0], "delete") == 0)
            r = remove_nodes(&conf, a + 1, n - 1);
        else
            r = cli_fail(&node_help, EXIT_USAGE, "expected %s", node_help.args);
    }
    opt_fini(node_opts, &conf);
    return r;
}
