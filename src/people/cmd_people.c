/* cmd_people.c: `muster people`: current and recent GPU usage per user; `muster idle`: users of idle GPUs. */
#include <errno.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "cli/listing.h"
#include "model/metric.h"

struct people_conf {
    struct client_conf client;
    char *filter, *longer;
    bool json, csv;
};

static const struct opt people_opts[] = {
    CLIENT_OPTS(people_conf, client),
    OPT(people_conf, filter, 'f', OPT_STR, NULL, "FILTER", "only GPUs that match, e.g. 'host:dgx*'"),
    OPT(people_conf, json, 0, OPT_BOOL, NULL, NULL, "print JSON"),
    OPT(people_conf, csv, 0, OPT_BOOL, NULL, NULL, "print CSV"),
    {0},
};
const struct opt_cmd people_help = {
    .name = "muster people",
    .summary = "list users by the GPUs they hold now and held recently",
    .args = "",
    .about = "Prints a line per user: GPUs in use, idle ones of these, booked ones, used ones (a shared GPU counts by "
             "memory), and moving averages over 2 hours, a day and a week. Exit status 1: no user found.",
    .examples = "muster people\n"
                "muster people --filter model:h200",
    .opts = people_opts,
    .conf_size = sizeof(struct people_conf),
};

static const struct opt idle_opts[] = {
    CLIENT_OPTS(people_conf, client),
    OPT(people_conf, longer, 'l', OPT_STR, "30m", "TIME", "idle for at least this long"),
    OPT(people_conf, filter, 'f', OPT_STR, NULL, "FILTER", "only GPUs that match, e.g. 'model:h200 not user:kim'"),
    OPT(people_conf, json, 0, OPT_BOOL, NULL, NULL, "print JSON"),
    OPT(people_conf, csv, 0, OPT_BOOL, NULL, NULL, "print CSV"),
    {0},
};
const struct opt_cmd idle_help = {
    .name = "muster idle",
    .summary = "list held and idle GPUs with their users",
    .args = "",
    .about =
        "Lists the GPUs that have been idle longest first, with the cost if the hub has prices (usage.price). Exit "
        "status 1: no such GPU.",
    .examples = "muster idle --longer 2h\n"
                "muster idle --filter model:h200 --csv > idle.csv",
    .opts = idle_opts,
    .conf_size = sizeof(struct people_conf),
};

static const struct column_spec people_columns[] = {
    {"person", "USER", CELL_TEXT, .weight = 100},
    {"gpus", "GPUS", CELL_INT, .right = true, .weight = 90},
    {"idle", "IDLE", CELL_INT, .right = true, .weight = 60},
    {"booked", "BOOKED", CELL_INT, .right = true, .weight = 70},
    {"used", "USED", CELL_FIXED, .per = 100, .right = true, .weight = 80},
    {"ema_2h", "2 H", CELL_FIXED, .per = 100, .right = true, .weight = 50},
    {"ema_24h", "24 H", CELL_FIXED, .per = 100, .right = true, .weight = 45},
    {"ema_1w", "1 WEEK", CELL_FIXED, .per = 100, .right = true, .weight = 40},
};
static const struct column_spec idle_columns[] = {
    {"person", "USER", CELL_TEXT, .weight = 100},
    {"node", "NODE", CELL_TEXT, .weight = 95},
    {"index", "GPU", CELL_INT, .right = true, .weight = 95},
    {"idle", "IDLE", CELL_TEXT, .right = true, .weight = 100},
    {"memory", "MEMORY", CELL_TEXT, .right = true, .weight = 50},
    {"program", "PROGRAM", CELL_TEXT, .weight = 60},
    {"model", "MODEL", CELL_TEXT, .weight = 40},
    {"cost", "COST", CELL_TEXT, .right = true, .weight = 70},
};

/* Hundredths, with two digits on a screen. */
static void put_amount(struct cell *c, json_t *v)
{
    if (!json_is_number(v))
        return;
    cell_int(c, (int64_t)(json_number_value(v) * 100 + 0.5));
    cell_screen(c, "%.2f", json_number_value(v));
}

static void fill_person(struct cell *c, json_t *o, UNUSED const struct listing_at *at)
{
    json_t *ema = json_object_get(o, "ema");

    if (c[0].absent) {
        c[0].absent = false;
        cell_screen(&c[0], "(unknown)");
    }
    put_amount(&c[4], json_object_get(o, "used"));
    put_amount(&c[5], json_object_get(ema, "2h"));
    put_amount(&c[6], json_object_get(ema, "24h"));
    put_amount(&c[7], json_object_get(ema, "1w"));
}

static double score(const json_t *o)
{
    return (double)int_of(o, "booked") + 1.5 * json_number_value(json_object_get(o, "used")) +
           0.15 * json_number_value(json_object_get(json_object_get(o, "ema"), "2h"));
}

/* Weighs booked, current and recent usage like the page that this table is from. */
COMPARE(by_score, json_t *const, ORDER(score(*y), score(*x)))

static void fill_idle(struct cell *c, json_t *o, UNUSED const struct listing_at *at)
{
    json_t *mem = json_object_get(o, "memory"), *cost = json_object_get(o, "cost");
    char span[24], money[32];
    AUTO_BUF b = BUF_INIT(100);

    cell_text(&c[3], str_of(clock_span((int64_t)(json_number_value(json_object_get(o, "idle")) * 1000), span)));
    if (json_is_integer(mem)) {
        metric_human(&b, M_mem_used, json_integer_value(mem));
        cell_text(&c[4], buf_str(&b));
    }
    snprintf(money, sizeof(money), "%.2f", json_number_value(cost));
    if (json_is_number(cost))
        cell_text(&c[7], str_of(money));
}

static int ask_hub(struct cmd_call *c, struct hub_listing *l, const char *path, const char *recent)
{
    const struct people_conf *conf = c->conf;
    AUTO_BUF ask = BUF_INIT(65536);

    buf_adds(&ask, path);
    client_param(&ask, "filter", conf->filter);
    client_param(&ask, "longer", conf->longer);
    client_param(&ask, "recent", conf->filter ? NULL : recent);
    if (conf->json && conf->csv)
        return err_set(&c->err, -EINVAL, "--json and --csv exclude each other");
    l->path = ask.err ? NULL : ask.p;
    return listing_fetch(l, &conf->client, conf->json ? LIST_JSON : conf->csv ? LIST_CSV : LIST_TABLE, NULL, &c->err);
}

int cmd_people(struct cmd_call *c)
{
    struct hub_listing l = {LISTING(people_help, people_columns, fill_person, "no GPU is in use or was recently"),
                            .order = by_score, .no = true};

    return ask_hub(c, &l, "/api/v1/people", "1");
}

int cmd_idle(struct cmd_call *c)
{
    struct hub_listing l = {LISTING(idle_help, idle_columns, fill_idle, "no GPU is held and idle for that long"),
                            .no = true};

    return ask_hub(c, &l, "/api/v1/idle", NULL);
}
