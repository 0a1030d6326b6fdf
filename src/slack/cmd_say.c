/* cmd_say.c: `muster say`: asks the hub what the Slack bot would answer, and prints it. */
#include <errno.h>
#include <jansson.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/plain.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/cmd.h"

struct cmd_say_conf {
    struct client_conf client;
    char *save;
    bool talk, json;
};

static const struct opt dialog_opts[] = {
    CLIENT_OPTS(cmd_say_conf, client),
    OPT(cmd_say_conf, save, 's', OPT_PATH, NULL, "DIR", "folder for charts", .default_text = "charts are only named"),
    OPT(cmd_say_conf, talk, 0, OPT_BOOL, NULL, NULL, "treat TEXT as talk in a channel: keywords only"),
    OPT(cmd_say_conf, json, 0, OPT_BOOL, NULL, NULL, "print the hub's response as JSON: text, blocks, files"),
    {0},
};
const struct opt_cmd say_help = {
    .name = "muster say",
    .summary = "try the Slack bot in a terminal, without Slack",
    .args = "TEXT...",
    .about = "Sends TEXT to the hub as a message to its Slack bot, in the name of the token's user, and prints the "
             "reply. Commands (book, wait, silence, release) take effect. `muster say help` lists the commands; "
             "docs/slack.md describes them. Exit status 1: the reply is no.",
    .examples = "muster say free 4\n"
                "muster say usage me last 30d --save /tmp  # and the chart\n"
                "muster say book 2 h200 for 4h\n"
                "muster say --talk ALL  # a keyword of the old bot",
    .opts = dialog_opts,
    .conf_size = sizeof(struct cmd_say_conf),
};

static int put_file(const struct cmd_say_conf *conf, json_t *f, struct buf *out, struct err *err)
{
    const char *name = json_string_value(json_object_get(f, "name"));
    const char *type = json_string_value(json_object_get(f, "type"));
    json_t *b64 = json_object_get(f, "base64");
    AUTO_BUF bytes = BUF_INIT(16u << 20);

    if (!name || !type || strchr(name, '/') || name[0] == '.' ||
        base64_read(str_n(json_string_value(b64), json_string_length(b64)), &bytes) < 0)
        return err_set(err, -EPROTO, "the hub sent an unexpected response; is it a muster hub?");
    if (strncmp(type, "text/", 5) == 0) {
        buf_addstr(out, buf_str(&bytes));
        return EXIT_OK;
    }
    if (!conf->save) {
        buf_addf(out, "(%s, %zu bytes: --save DIR keeps it)\n", name, bytes.len);
        return EXIT_OK;
    }
    AUTO_BUF path = BUF_INIT(4096);
    buf_addf(&path, "%s/%s", conf->save, name);
    buf_addf(out, "%s\n", path.p);
    return cli_save(&say_help, path.p, true, &bytes);
}

static int put_answer(const struct cmd_say_conf *conf, const struct buf *raw, struct err *err)
{
    json_auto_t *o = client_json(buf_str(raw));
    const char *text = json_string_value(json_object_get(o, "text"));
    AUTO_BUF out = BUF_INIT(64u << 20);
    json_t *f;
    int r = EXIT_OK;
    size_t i;

    if (!text)
        return err_set(err, -EPROTO, "the hub sent an unexpected response; is it a muster hub?");
    if (conf->json)
        plain_json(&out, buf_str(raw));
    else if (text[0])
        buf_addf(&out, "%s\n", text);
    json_array_foreach (json_object_get(o, "files"), i, f)
        if (r == EXIT_OK && !conf->json)
            r = put_file(conf, f, &out, err);
    if (r == EXIT_OK)
        r = cli_print(&say_help, &out);
    return r == EXIT_OK && json_is_true(json_object_get(o, "refused")) ? EXIT_NO : r;
}

int cmd_say(struct cmd_call *c)
{
    const struct cmd_say_conf *conf = c->conf;
    AUTO_BUF text = BUF_INIT(65536);
    AUTO_BUF body = BUF_INIT(1u << 20);
    AUTO_BUF raw = {0};
    if (!c->argc)
        return err_set(&c->err, -EINVAL, "no text; example: muster say free 4");
    for (int i = 0; i < c->argc; i++)
        buf_addf(&text, "%s%s", i ? " " : "", c->argv[i]);
    json_print(&body, conf->talk ? "{'text':%s,'talk':true}" : "{'text':%s}", buf_str(&text).p);
    int r = client_request(&conf->client, "POST", "/api/v1/say", buf_str(&body), &raw, &c->err);
    return r < 0 ? r : put_answer(conf, &raw, &c->err);
}
