/* cmd_session.c: `muster session`: lists and ends login sessions of browsers, over HTTP. */
#include <errno.h>

#include "base/buf.h"
#include "base/time_text.h"
#include "cli/listing.h"

struct session_conf {
    struct client_conf client;
    char *person;
    bool json;
};

static const struct opt session_opts[] = {
    CLIENT_OPTS(session_conf, client),
    OPT(session_conf, person, 'p', OPT_STR, NULL, "LOGIN", "list: only sessions of this user", .verbs = "list"),
    OPT(session_conf, json, 0, OPT_BOOL, NULL, NULL, "list: print the hub's response as JSON", .verbs = "list"),
    {0},
};
const struct opt_cmd session_help = {
    .name = "muster session",
    .summary = "list and end login sessions of browsers",
    .args = "list | end ID",
    .about = "`list` prints the browsers that are logged in, the last used first: all of them with an admin's token, "
             "your own with a member's. `end` logs one of them out at its next request. `muster token revoke` ends all "
             "sessions of a token.",
    .examples = "muster session list\n"
                "muster session list --person kim\n"
                "muster session end 0123456789abcdef  # the ID that `list` shows",
    .opts = session_opts,
    .conf_size = sizeof(struct session_conf),
    .no = (const int[]){ENOENT, 0},
};

enum { C_ID, C_PERSON, C_ROLE, C_TOKEN, C_CREATED, C_USED, C_UNTIL, C_COUNT };
static const struct column_spec columns[C_COUNT] = {
    [C_ID] = {"id", "ID", CELL_TEXT, .weight = 100},
    [C_PERSON] = {"person", "USER", CELL_TEXT, .weight = 95},
    [C_ROLE] = {"role", "ROLE", CELL_TEXT, .weight = 70},
    [C_TOKEN] = {"token", "TOKEN", CELL_TEXT, .weight = 80},
    [C_CREATED] = {"created", "LOGGED IN", CELL_TEXT, .weight = 60},
    [C_USED] = {"used", "LAST USED", CELL_TEXT, .weight = 90},
    [C_UNTIL] = {"until", "UNTIL", CELL_TEXT, .weight = 50},
};

static void fill_row(struct cell *c, json_t *o, const struct listing_at *at)
{
    char when[MOMENT_TEXT];

    for (int i = C_CREATED; i <= C_UNTIL; i++)
        cell_text(&c[i], str_of(time_text(int_of(o, columns[i].name), at->zone, when)));
}

static int list_sessions(struct cmd_call *c)
{
    const struct session_conf *conf = c->conf;
    AUTO_BUF path = BUF_INIT(4096);

    buf_adds(&path, "/api/v1/sessions");
    client_param(&path, "person", conf->person);
    struct hub_listing l = {.path = path.err ? NULL : path.p,
                            .member = "rows",
                            LISTING(session_help, columns, fill_row, "there is no such session")};
    return listing_fetch(&l, &conf->client, conf->json ? LIST_JSON : LIST_TABLE, NULL, &c->err);
}

static int end_session(struct cmd_call *c, const char *id)
{
    const struct session_conf *conf = c->conf;
    AUTO_BUF path = BUF_INIT(200), answer = {0};

    if (!*id || id[strspn(id, "0123456789abcdef")])
        return err_set(&c->err, -EINVAL, "'%.40s' is not the ID of a session; `muster session list` shows them", id);
    buf_addf(&path, "/api/v1/sessions/%s", id);
    return path.err ? err_set(&c->err, -EINVAL, "the ID is too long")
                    : client_request(&conf->client, "DELETE", path.p, str_of(""), &answer, &c->err);
}

int cmd_session(struct cmd_call *c)
{
    const char *verb = c->argc ? c->argv[0] : "";

    if (strcmp(verb, "list") == 0 && c->argc == 1)
        return list_sessions(c);
    if (strcmp(verb, "end") == 0 && c->argc == 2)
        return end_session(c, c->argv[1]);
    return err_set(&c->err, -EINVAL, "expected list, or end ID");
}
