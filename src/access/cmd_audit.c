/* cmd_audit.c: `muster audit`: prints the audit log of a hub. */
#include <errno.h>

#include "base/buf.h"
#include "base/time_text.h"
#include "cli/listing.h"

struct audit_conf {
    struct client_conf client;
    char *last, *from, *to, *person;
    int64_t limit;
    bool json;
};

static const struct opt audit_opts[] = {
    CLIENT_OPTS(audit_conf, client),
    OPT(audit_conf, last, 'l', OPT_STR, NULL, "TIME", "only entries of the last TIME, e.g. 7d"),
    OPT(audit_conf, from, 0, OPT_STR, NULL, "WHEN", "only entries from this time on: 2026-11-01, or -7d"),
    OPT(audit_conf, to, 0, OPT_STR, NULL, "WHEN", "only entries before this time"),
    OPT(audit_conf, person, 'p', OPT_STR, NULL, "LOGIN", "only entries of this user"),
    OPT(audit_conf, limit, 'n', OPT_INT, "1000", "N", "maximum number of entries, the newest first", .min = 1,
        .max = 100000),
    OPT(audit_conf, json, 0, OPT_BOOL, NULL, NULL, "print the entries as JSON lines"),
    {0},
};
const struct opt_cmd audit_help = {
    .name = "muster audit",
    .summary = "print the audit log of the hub: changes and logins",
    .args = "",
    .about =
        "Prints the audit log of a hub, the newest entry first: each write over HTTP, each login and logout, with "
        "time, user, role, token, address, route, object and status; refused ones, too. Also tokens made and revoked "
        "with `muster token`. Needs an admin's token. docs/security.md describes the entries.",
    .examples = "muster audit --last 7d\n"
                "muster audit --person kim\n"
                "muster audit --last 1d --json > audit.jsonl",
    .opts = audit_opts,
    .conf_size = sizeof(struct audit_conf),
};

enum { C_AT, C_PERSON, C_ROLE, C_TOKEN, C_ADDRESS, C_STATUS, C_WHAT, C_OBJECT, C_DETAIL, C_SKIPPED, C_COUNT };
static const struct column_spec columns[C_COUNT] = {
    [C_AT] = {"time", "TIME", CELL_TEXT, .weight = 100},
    [C_PERSON] = {"person", "USER", CELL_TEXT, .weight = 95},
    [C_ROLE] = {"role", "ROLE", CELL_TEXT, .weight = 60},
    [C_TOKEN] = {"token", "TOKEN", CELL_TEXT, .weight = 70},
    [C_ADDRESS] = {"address", "FROM", CELL_TEXT, .weight = 80},
    [C_STATUS] = {"status", "STATUS", CELL_INT, .right = true, .weight = 90},
    [C_WHAT] = {"what", "WHAT", CELL_TEXT, .weight = 99},
    [C_OBJECT] = {"object", "OBJECT", CELL_TEXT, .weight = 85},
    [C_DETAIL] = {"detail", "DETAIL", CELL_TEXT, .weight = 50},
    [C_SKIPPED] = {"skipped", "SKIPPED", CELL_INT, .right = true, .weight = 30},
};

static void fill_row(struct cell *c, json_t *o, const struct listing_at *at)
{
    char when[MOMENT_TEXT], what[200];

    snprintf(what, sizeof(what), "%s %s", text_of(o, "method"), text_of(o, "route"));
    cell_text(&c[C_AT], str_of(time_text(int_of(o, "at"), at->zone, when)));
    cell_text(&c[C_WHAT], str_of(what));
}

int cmd_audit(struct cmd_call *c)
{
    const struct audit_conf *conf = c->conf;
    AUTO_BUF path = BUF_INIT(4096), from = BUF_INIT(200);

    if (conf->last && conf->from)
        return err_set(&c->err, -EINVAL, "--last and --from exclude each other");
    if (conf->last)
        buf_addf(&from, "-%s", conf->last);
    buf_adds(&path, "/api/v1/audit");
    client_param(&path, "from", conf->last ? from.p : conf->from);
    client_options(&path, audit_opts, conf, "to person limit");
    client_param(&path, "format", conf->json ? "jsonl" : NULL);
    struct hub_listing l = {.path = path.err ? NULL : path.p,
                            .member = "rows",
                            LISTING(audit_help, columns, fill_row, "the audit log has no such entry")};
    return listing_fetch(&l, &conf->client, conf->json ? LIST_SENT : LIST_TABLE, NULL, &c->err);
}
