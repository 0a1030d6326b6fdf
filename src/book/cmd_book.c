/* cmd_book.c: `muster book`: books GPUs at a hub, lists bookings, extends and releases them. */
#include <errno.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/plain.h"
#include "base/time_text.h"
#include "base/zone.h"
#include "book/cmd_me.h"
#include "cli/listing.h"

struct book_conf {
    struct client_conf client;
    char *for_, *from, *until, *comment, *person, *model, *node, *release, *extend, *change;
    int64_t count;
    bool list, all, json, csv;
};

static const struct opt book_opts[] = {
    CLIENT_OPTS(book_conf, client),
    OPTN(book_conf, "for", for_, 'f', OPT_STR, NULL, "TIME", "duration: 2d 4h, 90m, 1w", .verbs = "new extend change"),
    OPT(book_conf, until, 'u', OPT_STR, NULL, "WHEN", "end: 2026-11-20 14:00, tomorrow 18:00, friday",
        .verbs = "new extend change"),
    OPT(book_conf, from, 0, OPT_STR, NULL, "WHEN", "start", .default_text = "now", .verbs = "new extend change"),
    OPT(book_conf, comment, 'm', OPT_STR, NULL, "TEXT", "purpose of the booking", .verbs = "new extend change"),
    OPT(book_conf, person, 'p', OPT_STR, NULL, "NAME",
        "user to book for (admins, or with bookings.auth: open); with --list: only this user's bookings"),
    OPT(book_conf, count, 'n', OPT_INT, "0", "N", "number of GPUs to book, instead of GPUS", .min = 0, .max = 256,
        .default_text = "", .verbs = "new"),
    OPT(book_conf, model, 0, OPT_STR, NULL, "PATTERN", "with --count: only this model, e.g. H200", .verbs = "new"),
    OPT(book_conf, node, 0, OPT_STR, NULL, "PATTERN",
        "with --count: only these nodes, e.g. 'dgx*'; with --list: only bookings there", .verbs = "new list"),
    OPT(book_conf, list, 'l', OPT_BOOL, NULL, NULL, "list bookings", .verb = true),
    OPT(book_conf, all, 'a', OPT_BOOL, NULL, NULL, "with --list: also bookings that ended or were cancelled",
        .verbs = "list"),
    OPT(book_conf, release, 0, OPT_STR, NULL, "ID", "release a booking: cancel it, or end it if it is active",
        .verb = true),
    OPT(book_conf, extend, 0, OPT_STR, NULL, "ID", "extend a booking: muster book --extend 7 2h", .verb = true),
    OPT(book_conf, change, 0, OPT_STR, NULL, "ID", "change the --from, --until, --for, --comment or GPUs of a booking",
        .verb = true),
    OPT(book_conf, json, 0, OPT_BOOL, NULL, NULL, "print the hub's response as JSON"),
    OPT(book_conf, csv, 0, OPT_BOOL, NULL, NULL, "with --list: print CSV", .verbs = "list"),
    {0},
};
const struct opt_cmd book_help = {
    .name = "muster book",
    .summary = "book GPUs, list bookings, extend and release them",
    .args = "[GPUS | TIME]",
    .about =
        "GPUS are named NODE:INDEX, e.g. dgx2:0,1 or dgx2:0-3 dgx3:*. Times are in your time zone; docs/bookings.md "
        "describes their formats. Bookings are not enforced: muster stops no process. Exit status 1: the GPUs are "
        "already booked, or the booking does not exist or is not yours.",
    .examples = "muster book dgx2:0,1 --for 2d --comment 'paper deadline'\n"
                "muster book --count 2 --model H200 --for 4h  # any two that are free\n"
                "muster book dgx2:* --from 'friday 18:00' --until 'monday 8:00'\n"
                "muster book --list\n"
                "muster book --extend 7 2h\n"
                "muster book --release 7",
    .opts = book_opts,
    .verb = "new",
    .conf_size = sizeof(struct book_conf),
    .no = (const int[]){EEXIST, EACCES, ENOENT, 0},
};

/* ---- the request ---- */

static int add_when(struct json *j, const char *key, const char *text, const struct zone *zone, struct err *err)
{
    int64_t at_ms;
    int r = text ? time_parse(str_of(text), key, clock_wall_ms(), zone, &at_ms, err) : 0;
    if (text && r == 0)
        json_int(j, key, at_ms);
    return r;
}

static int add_span(struct json *j, const char *key, const char *text, struct err *err)
{
    int64_t ms;
    int r = text ? duration_parse(str_of(text), key, &ms, err) : 0;
    if (text && r == 0)
        json_int(j, key, ms);
    return r;
}

static int body_of(const struct book_conf *conf, const char *gpus, const char *more, const char *person,
                   struct buf *body, struct err *err)
{
    struct zone *zone = NULL;
    struct json j = json_on(body);
    int r = zone_load(NULL, &zone, err);
    json_obj(&j, NULL);
    r = r ?: add_when(&j, "from", conf->from, zone, err);
    r = r ?: add_when(&j, "until", conf->until, zone, err);
    r = r ?: add_span(&j, "for", conf->for_, err);
    r = r ?: add_span(&j, "extend", more, err);
    json_some(&j, "comment", conf->comment);
    json_some(&j, "person", person);
    json_some(&j, "gpus", gpus);
    if (conf->count > 0 && !conf->change && !conf->extend)
        json_int(&j, "count", conf->count);
    json_some(&j, "model", conf->model);
    json_some(&j, "node", conf->node);
    json_end_obj(&j);
    zone_free(zone);
    return r;
}

/* " on dgx2:0": where the others are, unless that is everywhere. */
static void put_taken(struct buf *b, json_t *row)
{
    json_t *places = json_object_get(row, "places"), *one;
    const char *node = "";
    size_t i, taken = 0;

    json_array_foreach (places, i, one)
        taken += json_array_size(json_object_get(one, "others")) > 0;
    if (!taken || taken == json_array_size(places))
        return;
    json_array_foreach (places, i, one) {
        if (!json_array_size(json_object_get(one, "others")))
            continue;
        if (strcmp(node, text_of(one, "node")) == 0)
            buf_addf(b, ",%lld", (long long)int_of(one, "index"));
        else
            buf_addf(b, "%s%s:%lld", node[0] ? " " : " on ", text_of(one, "node"), (long long)int_of(one, "index"));
        node = text_of(one, "node");
    }
}

static void say(const char *what, json_t *row, struct buf *out)
{
    char until[MOMENT_TEXT], from[MOMENT_TEXT];
    struct zone *zone = NULL;
    if (zone_load(NULL, &zone, NULL) < 0)
        zone = zone_utc();
    buf_addf(out, "%s %lld: %s for %s", what, (long long)int_of(row, "id"), text_of(row, "where"),
             text_of(row, "person"));
    if (strcmp(text_of(row, "state"), "planned") == 0)
        buf_addf(out, " from %s", time_text(int_of(row, "from"), zone, from));
    if (strcmp(text_of(row, "state"), "released") != 0)
        buf_addf(out, " until %s", time_text(int_of(row, "until"), zone, until));
    buf_addc(out, '\n');
    json_t *others = json_object_get(row, "others"), *one;
    size_t i;
    json_array_foreach (others, i, one)
        buf_addf(out, "%s%s", i ? ", " : "in use now by ", json_string_value(one));
    if (json_array_size(others)) {
        put_taken(out, row);
        buf_addc(out, '\n');
    }
    zone_free(zone);
}

/* ---- the four things it does ---- */

static int change(struct cmd_call *c, const char *method, const char *id, const char *what, const char *gpus,
                  const char *more)
{
    const struct book_conf *conf = c->conf;
    AUTO_BUF path = BUF_INIT(4096), body = BUF_INIT(1 << 20), raw = {0}, out = BUF_INIT(1 << 20);
    char person[BOOKING_PERSON_MAX];
    json_auto_t *row = NULL;
    int64_t number;
    int r = id && (!str_int(str_of(id), &number) || number < 1)
                ? err_set(&c->err, -EINVAL, "'%s' is not a booking's number: `muster book --list` shows them", id)
                : me_at_hub(&conf->client, conf->person, person, &c->err);
    buf_adds(&path, "/api/v1/bookings");
    if (r == 0 && id)
        buf_addf(&path, "/%lld", (long long)number);
    if (r == 0 && id)
        client_param(&path, "person", person);
    if (r == 0 && strcmp(method, "DELETE") != 0)
        r = body_of(conf, gpus, more, id ? "" : person, &body, &c->err);
    if (r == 0)
        r = client_request_object(&conf->client, method, path.p, buf_str(&body), &row, &raw, &c->err);
    if (r < 0)
        return r;
    if (conf->json)
        plain_json(&out, buf_str(&raw));
    else
        say(what, row, &out);
    return cli_print(&book_help, &out);
}

enum { C_ID, C_PERSON, C_GPUS, C_STATE, C_FROM, C_UNTIL, C_USE, C_COMMENT };
static const struct column_spec columns[] = {
    [C_ID] = {"id", "ID", CELL_INT, .right = true, .weight = 90},
    [C_PERSON] = {"person", "USER", CELL_TEXT, .weight = 100},
    [C_GPUS] = {"where", "GPUS", CELL_TEXT, .weight = 99},
    [C_STATE] = {"state", "STATE", CELL_TEXT, .weight = 50},
    [C_FROM] = {"from", "FROM", CELL_TEXT, .weight = 60},
    [C_UNTIL] = {"until", "UNTIL", CELL_TEXT, .weight = 95},
    [C_USE] = {"use", "IN USE", CELL_TEXT, .weight = 40},
    [C_COMMENT] = {"comment", "COMMENT", CELL_TEXT, .weight = 30},
};

/* "no", "by kim", "by tom, lee", "by tom on dgx2:0" */
static void put_use(struct cell *c, json_t *row)
{
    AUTO_BUF b = BUF_INIT(8192);
    const char *use = text_of(row, "use");
    json_t *one;
    size_t i;
    if (!use[0])
        return;
    if (strcmp(use, "unused") == 0)
        buf_adds(&b, "no");
    else
        buf_addf(&b, "by %s", strcmp(use, "others") == 0 ? "" : text_of(row, "person"));
    json_array_foreach (json_object_get(row, "others"), i, one)
        buf_addf(&b, "%s%s", i || strcmp(use, "others") != 0 ? ", " : "", json_string_value(one));
    put_taken(&b, row);
    cell_text(c, buf_str(&b));
}

static void fill_row(struct cell *c, json_t *row, const struct listing_at *at)
{
    char text[MOMENT_TEXT];
    json_t *released = json_object_get(row, "released"), *end = released ? released : json_object_get(row, "until");

    cell_text(&c[C_FROM], str_of(time_text(int_of(row, "from"), at->zone, text)));
    cell_text(&c[C_UNTIL], str_of(time_text(json_integer_value(end), at->zone, text)));
    put_use(&c[C_USE], row);
}

static int list_bookings(struct cmd_call *c)
{
    const struct book_conf *conf = c->conf;
    AUTO_BUF path = BUF_INIT(16384);
    buf_adds(&path, "/api/v1/bookings");
    client_param(&path, "person", conf->person);
    client_param(&path, "node", conf->node);
    client_param(&path, "all", conf->all ? "1" : NULL);
    client_param(&path, "format", conf->csv ? "csv" : NULL);
    struct hub_listing l = {LISTING(book_help, columns, fill_row, "no bookings"), .path = path.p, .member = "rows",
                            .no = true};
    return listing_fetch(&l, &conf->client, conf->csv ? LIST_SENT : conf->json ? LIST_JSON : LIST_TABLE, NULL, &c->err);
}

int cmd_book(struct cmd_call *c)
{
    const struct book_conf *conf = c->conf;
    AUTO_BUF gpus = BUF_INIT(65536);
    if (conf->list)
        return c->argc ? err_set(&c->err, -EINVAL, "'%s' is not expected with --list", c->argv[0]) : list_bookings(c);
    if (conf->release)
        return c->argc ? err_set(&c->err, -EINVAL, "'%s' is not expected with --release", c->argv[0])
                       : change(c, "DELETE", conf->release, "released", "", NULL);
    for (int i = 0; i < c->argc; i++)
        buf_addf(&gpus, "%s%s", i ? " " : "", c->argv[i]);
    if (conf->extend)
        return gpus.len ? change(c, "PATCH", conf->extend, "extended", "", gpus.p)
                        : err_set(&c->err, -EINVAL, "by how much? muster book --extend %s 2h", conf->extend);
    if (conf->change)
        return change(c, "PATCH", conf->change, "changed", buf_str(&gpus).p, NULL);
    if (!gpus.len && !conf->count && !conf->model && !conf->node)
        return cli_fail(&book_help, EXIT_USAGE,
                        "which GPUs? muster book dgx2:0,1 --for 2d, or --count 2 --model H200; --list shows what is "
                        "booked");
    if (!conf->for_ && !conf->until)
        return err_set(&c->err, -EINVAL, "how long? --for 2d, or --until 'tomorrow 18:00'");
    return change(c, "POST", NULL, "booked", buf_str(&gpus).p, NULL);
}
