/* cmd_token.c: `muster token`: make, list and revoke tokens in a hub's data folder, beside a running hub. */
#include <errno.h>

#include "access/audit.h"
#include "access/auth.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/plain.h"
#include "base/time_text.h"
#include "base/zone.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "cli/data_folder.h"
#include "cluster/place.h"
#include "format/render.h"
#include "model/rows.h"
#include "store/records.h"

struct token_conf {
    char *data, *hub, *store, *password_file, *role, *person, *node, *note;
    int64_t expires, uses;
    bool json;
};

static const struct opt token_opts[] = {
    DATA_FOLDER_OPTS(token_conf),
    OPT(token_conf, store, 0, OPT_STR, NULL, "URL",
        "PostgreSQL server of the hubs, as in their settings: postgres://USER@HOST/DATABASE", .url = true),
    OPTN(token_conf, "store_password_file", password_file, 0, OPT_PATH, NULL, "FILE",
         "file with the password of the server", .default_text = "~/.pgpass"),
    OPT(token_conf, role, 'r', OPT_STR, NULL, "ROLE",
        "new: agent (one node), enroll (adds nodes), relay (sends for nodes without an agent), member (a user), "
        "admin, reader (reads everything, writes nothing: Prometheus, wall screens)",
        .verbs = "new"),
    OPT(token_conf, person, 'p', OPT_STR, NULL, "LOGIN", "new: user of the token; required for member", .verbs = "new"),
    OPT(token_conf, node, 0, OPT_STR, NULL, "ID", "new: node of an agent token",
        .default_text = "the first node that uses it", .verbs = "new"),
    OPT(token_conf, note, 0, OPT_STR, NULL, "TEXT", "new: a note, shown by list", .verbs = "new"),
    OPT(token_conf, expires, 'e', OPT_DURATION, "0", "TIME", "new: time until it expires, e.g. 1d; 0: never", .min = 0,
        .max = TOKEN_SPAN_MAX, .verbs = "new"),
    OPT(token_conf, uses, 'u', OPT_INT, "0", "N",
        "new, enroll: maximum number of nodes; 0: any number, 100 at once and then 10 per second", .min = 0,
        .max = TOKEN_USES_MAX, .verbs = "new"),
    OPT(token_conf, json, 0, OPT_BOOL, NULL, NULL, "list: print JSON", .verbs = "list"),
    {0},
};
const struct opt_cmd token_help = {
    .name = "muster token",
    .summary = "create, list and revoke tokens",
    .args = "new|list|revoke [ID]",
    .about =
        "`new` prints the token on standard output, once: the hub stores only a hash. `revoke` takes effect at the "
        "next request. The hub may run meanwhile. You need write access to its data folder, or --store for hubs "
        "that share a store.",
    .examples = "muster token new --role enroll --expires 1d --uses 20 > enroll.token  # for adding 20 nodes today\n"
                "muster token new --role member --person kim  # for kim's browser and command line\n"
                "muster token new --role reader --note prometheus  # reads, writes nothing\n"
                "muster token revoke 3f9a1c02  # the ID that `list` shows",
    .opts = token_opts,
    .conf_size = sizeof(struct token_conf),
};

/* The role of the new one, or -EINVAL. */
static int check_new(const struct token_conf *conf, struct err *err)
{
    int role = conf->role && conf->role[0] ? role_by_word(str_of(conf->role)) : -1;
    if (role <= ROLE_NONE)
        return err_set(err, -EINVAL, "--role: expected agent, enroll, relay, member, admin, reader or hub");
    if (role == ROLE_MEMBER && !(conf->person && conf->person[0]))
        return err_set(err, -EINVAL, "a member's token needs a user: --person LOGIN");
    if (role == ROLE_READER && conf->person && conf->person[0])
        return err_set(err, -EINVAL, "a reader has no user: omit --person, or use the role member");
    if (conf->uses && role != ROLE_ENROLL)
        return err_set(err, -EINVAL, "--uses: only an enroll token is used up");
    if (conf->expires && conf->expires < TOKEN_SPAN_MIN)
        return err_set(err, -EINVAL, "--expires: at least a minute");
    return role;
}

static int new_token(struct store *s, const struct token_conf *conf, int role, struct err *err)
{
    struct store_token t = {.created_ms = clock_wall_ms(), .uses = conf->uses};
    if (conf->expires)
        t.expires_ms = t.created_ms + conf->expires;
    if ((conf->person && !mem_copy_str(t.person, sizeof(t.person), conf->person)) ||
        (conf->node && !mem_copy_str(t.node, sizeof(t.node), conf->node)) ||
        (conf->note && !mem_copy_str(t.note, sizeof(t.note), conf->note)))
        return err_set(err, -EINVAL, "a name or note is too long");
    if (!plain_typed(str_of(t.person)) || !plain_typed(str_of(t.node)) || !plain_typed(str_of(t.note)))
        return err_set(err, -EINVAL, "names and notes are text without " CONTROLS);
    char text[64];
    token_new(t.id, t.hash, text);
    mem_copy_str(t.role, sizeof(t.role), role_words[role]);
    int r = store_put_now(s, STORE_TOKEN, &t, err);
    if (r == 0)
        r = audit_command(s, "token new", 201, t.id, t.role, err);
    if (r == 0)
        printf("%s\n", text);
    return r;
}

static const char *state_of(const struct store_token *t)
{
    return t->revoked_ms                                       ? "revoked"
           : t->expires_ms && clock_wall_ms() >= t->expires_ms ? "expired"
           : t->uses && t->enrolled >= t->uses                 ? "used up"
                                                               : "valid";
}

struct token_rows {
    struct rows r;
    struct zone *zone; /* the reader's */
};

/* In JSON as ISO time; on a screen in the reader's zone. */
static void put_moment(struct cell *c, int64_t ms, const struct zone *zone)
{
    char iso[32], text[MOMENT_TEXT];
    if (!ms)
        return;
    cell_text(c, str_of(clock_iso(ms, iso)));
    cell_screen(c, "%s", time_text(ms, zone, text));
}

static void add_row(void *arg, const struct store_token *t)
{
    struct token_rows *to = arg;
    struct cell *c = rows_add(&to->r);
    char used[32];
    cell_text(&c[0], str_of(t->id));
    cell_text(&c[1], str_of(t->role));
    if (t->person[0] || t->node[0])
        cell_text(&c[2], str_of(t->person[0] ? t->person : t->node));
    put_moment(&c[3], t->created_ms, to->zone);
    put_moment(&c[4], t->used_ms, to->zone);
    cell_text(&c[5], str_of(state_of(t)));
    if (t->note[0])
        cell_text(&c[6], str_of(t->note));
    put_moment(&c[7], t->expires_ms, to->zone);
    if (strcmp(t->role, role_words[ROLE_ENROLL]) == 0) {
        snprintf(used, sizeof(used), t->uses ? "%lld of %lld" : "%lld", (long long)t->enrolled, (long long)t->uses);
        cell_text(&c[8], str_of(used));
    }
}

static int list(struct store *s, const struct token_conf *conf)
{
    static const struct column_spec cols[] = {{.name = "id", .title = "ID", .weight = 9},
                                              {.name = "role", .title = "ROLE", .weight = 8},
                                              {.name = "for", .title = "USER", .weight = 7},
                                              {.name = "created", .title = "CREATED", .weight = 3},
                                              {.name = "used", .title = "LAST USED", .weight = 4},
                                              {.name = "state", .title = "STATE", .weight = 6},
                                              {.name = "note", .title = "NOTE", .weight = 5},
                                              {.name = "expires", .title = "EXPIRES", .weight = 3},
                                              {.name = "nodes", .title = "NODES", .weight = 3}};
    struct token_rows to = {.r = ROWS_OF(cols)};
    struct err err = {0};
    AUTO_BUF out = BUF_INIT(64 << 20);
    zone_load(NULL, &to.zone, NULL); /* none: UTC */
    int code = store_each(s, EACH_TOKEN(add_row, &to), &err);
    if (code < 0)
        code = cli_fail(&token_help, EXIT_REACH, "%s", err.msg);
    else if (conf->json)
        render_rows_json(&out, &to.r);
    else
        render_rows_text(&out, &to.r, &(struct term){.width = cli_width(160), .colour = false});
    zone_free(to.zone);
    rows_fini(&to.r);
    return code > 0 ? code : cli_print(&token_help, &out);
}

static int revoke_token(struct store *s, const char *id)
{
    struct store_token t = {0};
    struct err err = {0};
    int r = store_get(s, GET_TOKEN(id, &t), &err);
    if (r == 0)
        return cli_fail(&token_help, EXIT_NO, "there is no token '%s'", id);
    if (r > 0 && !t.revoked_ms) {
        t.revoked_ms = clock_wall_ms();
        r = store_put_now(s, STORE_TOKEN, &t, &err);
        if (r == 0)
            r = audit_command(s, "token revoke", 200, t.id, t.role, &err);
    }
    return r < 0 ? cli_fail(&token_help, EXIT_REACH, "%s", err.msg) : EXIT_OK;
}

int cmd_token(struct cmd_call *c)
{
    const struct token_conf *conf = c->conf;
    const char *verb = c->argc ? c->argv[0] : "";
    struct store *s = NULL;
    char dir[DATA_FOLDER_MAX];

    bool is_new = strcmp(verb, "new") == 0, is_list = strcmp(verb, "list") == 0,
         is_revoke = strcmp(verb, "revoke") == 0;
    if (!(is_new || is_list || is_revoke) || c->argc != (is_revoke ? 2 : 1))
        return err_set(&c->err, -EINVAL, "expected new, list, or revoke ID");
    int role = is_new ? check_new(conf, &c->err) : 0;
    if (role < 0)
        return role;
    AUTO_FREE char *place = conf->store ? place_of(conf->store, conf->password_file, &c->err) : NULL;
    int r = place || conf->store ? 0 : data_folder(conf->data, conf->hub, dir, &c->err); /* no hub's: nobody gets in */
    if (r == 0)
        r = conf->store && !place ? -EINVAL : store_open_tools(&s, place ? place : dir, NULL, &c->err);
    if (r < 0)
        return cli_fail(&token_help, EXIT_REACH, "%s", c->err.msg);
    r = is_new ? new_token(s, conf, role, &c->err) : is_list ? list(s, conf) : revoke_token(s, c->argv[1]);
    store_close(s);
    return r;
}
