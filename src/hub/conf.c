/* conf.c: the hub's table of options, and the checks across several of them. */
#include "hub/conf.h"

#include <errno.h>

#include "base/file.h"
#include "base/mem.h"
#include "book/may.h"
#include "http/address.h"

static const char *const colour_words[] = {"muster", "gpu-monitor", NULL};
static const char *const read_words[] = {"open", "token", NULL};
static const char *const slurm_words[] = {"auto", "on", "off", NULL};
static const char *const log_levels[] = {"error", "warn", "info", "debug", NULL};
static const char *const log_formats[] = {"text", "json", NULL};

#define DAY_MS 86400000ll

/* clang-format off */
const struct opt hub_opts[] = {
    OPT(hub_conf, config, 'c', OPT_PATH, NULL, "FILE", "muster.yaml to read; /etc/muster/muster.yaml when it is there", .no_file = true),
    OPT(hub_conf, listen, 'l', OPT_LIST, "127.0.0.1:8765", "ADDR:PORT", "where to listen, may be repeated; port 0 takes a free one; 0.0.0.0:8765 is the whole network"),
    OPT(hub_conf, data, 'd', OPT_PATH, NULL, "DIR", "folder for history, records and tokens; $XDG_STATE_HOME/muster, or /var/lib/muster for root"),
    OPT(hub_conf, start_empty, 0, OPT_BOOL, NULL, NULL, "where muster.db is lost or damaged: set everything aside in the data folder and begin anew; where it is sound this does nothing", .no_file = true),
    OPT(hub_conf, name, 'n', OPT_STR, "muster", "NAME", "the cluster's name on screens"),
    OPT(hub_conf, names, 0, OPT_LIST, NULL, "REAL=SHOWN", "what screens call a host or a model of GPU: REAL=SHOWN or REAL=SHOWN=SHORTER, patterns too; in muster.yaml a map, names: {gpu01: Vision, 'Tesla V100*': [V100, V1]}"),
    OPTN(hub_conf, "page.colours", page_colours, 0, OPT_CHOICE, "muster", "WHOSE", "colours of the page: muster (by state), or gpu-monitor: bars, RAM, CPU and disks by that page's limits", .choices = colour_words),
    OPT(hub_conf, tls, 0, OPT_BOOL, NULL, NULL, "speak TLS with a certificate made here and kept in the data folder; prints the pin for agents"),
    OPT(hub_conf, tls_cert, 0, OPT_PATH, NULL, "FILE", "certificate chain (PEM) to speak TLS with"),
    OPT(hub_conf, tls_key, 0, OPT_PATH, NULL, "FILE", "its private key (PEM)"),
    OPT(hub_conf, read, 0, OPT_CHOICE, "open", "WHO", "who may read: open (everybody who reaches the hub) or token (whoever has one of role reader, member or admin; on this machine, too)", .choices = read_words),
    OPT(hub_conf, host_names, 0, OPT_LIST, NULL, "NAME", "names this hub is asked by (patterns; this machine's own name, localhost and addresses always count)"),
    OPT(hub_conf, show_cmdlines, 0, OPT_BOOL, NULL, NULL, "show command lines to everybody, not only to their owner and admins"),
    OPTN(hub_conf, "rule.preset", rule_preset, 0, OPT_STR, "muster", "NAME", "when a device counts as busy or held: muster, web-gpu-monitor, gpu-monitor or strict"),
    OPTN(hub_conf, "rule.util", rule_util, 0, OPT_STR, NULL, "PERCENT", "at or above this utilisation it is busy (the preset's unless told)"),
    OPTN(hub_conf, "rule.mem_util", rule_mem_util, 0, OPT_STR, NULL, "PERCENT", "above this use of the memory controller it is busy; off: not asked"),
    OPTN(hub_conf, "rule.held_mem", rule_held_mem, 0, OPT_STR, NULL, "BYTES", "above this much memory without a visible process it is held; off: not asked"),
    OPTN(hub_conf, "rule.graphics_mem", rule_graphics_mem, 0, OPT_STR, NULL, "BYTES", "a graphics process below this does not hold it"),
    OPTN(hub_conf, "rule.stale_after", rule_stale_after, 0, OPT_STR, NULL, "TIME", "no sample for this long: stale"),
    OPTN(hub_conf, "rule.down_after", rule_down_after, 0, OPT_STR, NULL, "TIME", "no news of a node for this long: down"),
    OPTN(hub_conf, "rule.hung_after", rule_hung_after, 0, OPT_STR, NULL, "TIME", "a driver that has not answered for this long: hung"),
    OPT(hub_conf, keep_raw, 0, OPT_DURATION, "14d", "TIME", "keep every sample this long; 0: for ever", .min = 0, .max = 36525 * DAY_MS, .fixed = true),
    OPT(hub_conf, keep_minute, 0, OPT_DURATION, "400d", "TIME", "keep count, sum, least, most and newest of each minute this long; 0: for ever", .min = 0, .max = 36525 * DAY_MS, .fixed = true),
    OPT(hub_conf, keep_hour, 0, OPT_DURATION, "0", "TIME", "the same of each hour; 0: for ever", .min = 0, .max = 36525 * DAY_MS, .fixed = true),
    OPT(hub_conf, keep_records, 0, OPT_DURATION, "400d", "TIME", "keep processes, events, jobs and bookings this long after their end; 0: for ever", .min = 0, .max = 36525 * DAY_MS, .fixed = true),
    OPT(hub_conf, keep_bytes, 0, OPT_BYTES, "0", "BYTES", "drop the oldest history beyond this; 0: no limit", .min = 0, .max = 1ll << 60, .fixed = true),
    OPT(hub_conf, rotate, 0, OPT_DURATION, "0", "TIME", "what came in becomes compact history after this long; 0: ten minutes, sooner when little is kept", .min = 0, .max = DAY_MS, .fixed = true),
    OPT(hub_conf, commit, 0, OPT_DURATION, "200ms", "TIME", "write to disk this often; agents wait for it", .min = 10, .max = 10000, .fixed = true),
    OPT(hub_conf, interval, 'i', OPT_DURATION, "5s", "TIME", "agents send this often", .min = 1000, .max = 600000),
    OPT(hub_conf, watch_interval, 0, OPT_DURATION, "1s", "TIME", "and this often while anybody watches", .min = 200, .max = 600000),
    OPT(hub_conf, max_connections, 0, OPT_INT, "65536", "N", "connections at once, as far as the limit on open files allows", .min = 16, .max = 1000000),
    OPT(hub_conf, max_per_address, 0, OPT_INT, "8192", "N", "of these from one address; more where a proxy stands in front of more agents", .min = 1, .max = 1000000),
    OPT(hub_conf, max_streams, 0, OPT_INT, "512", "N", "live readers at once", .min = 0, .max = 100000),
    OPT(hub_conf, max_streams_per_address, 0, OPT_INT, "64", "N", "of these from one address; behind a proxy of proxy.from from each address it forwards for", .min = 1, .max = 100000),
    OPT(hub_conf, max_nodes, 0, OPT_INT, "65536", "N", "nodes ever", .min = 1, .max = 10000000),
    SSH_OPTS(hub_conf, ssh),
    FILES_OPTS(hub_conf, files),
    OPT(hub_conf, vesta_token, 0, OPT_SECRET, NULL, "TOKEN", "the token vesta's senders use; without one they are refused"),
    OPT(hub_conf, vesta_token_file, 0, OPT_PATH, NULL, "FILE", "file that holds it"),
    OPTN(hub_conf, "proxy.header", proxy_header, 0, OPT_STR, NULL, "NAME", "header in which a proxy that logs people in names them, as X-Remote-User"),
    OPTN(hub_conf, "proxy.from", proxy_from, 0, OPT_LIST, NULL, "CIDR", "addresses of such proxies; the header counts from nowhere else"),
    OPTN(hub_conf, "proxy.admins", proxy_admins, 0, OPT_LIST, NULL, "LOGIN", "people who are admins when the proxy names them"),
    OPTN(hub_conf, "bookings.auth", bookings_auth, 0, OPT_CHOICE, "token", "HOW", "who may book: token (members and admins), proxy (also whom proxy.header names), or open (whoever may read types a name: for a trusted lab)", .choices = book_auth_words),
    OPT(hub_conf, people, 0, OPT_SECTION, NULL, NULL, "persons: logins, uids, name, mail, slack of each"),
    OPT(hub_conf, teams, 0, OPT_SECTION, NULL, NULL, "teams and their members, with dates"),
    OPT(hub_conf, projects, 0, OPT_SECTION, NULL, NULL, "projects and their members, with dates"),
    OPT(hub_conf, companies, 0, OPT_SECTION, NULL, NULL, "companies: teams, nodes, and how many nodes are assigned from which day on"),
    OPT(hub_conf, alerts, 0, OPT_SECTION, NULL, NULL, "rules of alerts: those built in changed or off, and one's own"),
    OPT(hub_conf, channels, 0, OPT_SECTION, NULL, NULL, "who is told of alerts: Slack, a webhook, ntfy, a command (docs/alerts.md)", .secret = true),
    OPT(hub_conf, reports, 0, OPT_SECTION, NULL, NULL, "reports that go out by themselves, every day, week or month (docs/reports.md)"),
    OPT(hub_conf, slack, 0, OPT_SECTION, NULL, NULL, "the Slack bot: files or variables with its tokens, its channel and words (docs/slack.md)", .secret = true),
    OPT(hub_conf, people_aliases, 0, OPT_PATH, NULL, "FILE", "aliases.csv of GPU Monitor: names with commas between, the last one of a line is the person"),
    OPT(hub_conf, people_companies, 0, OPT_PATH, NULL, "FILE", "config.yaml of a W&B dashboard, for its companies"),
    OPT(hub_conf, people_unix_groups, 0, OPT_LIST, NULL, "GROUP", "groups of the system (LDAP and SSSD too) that are teams; patterns too"),
    OPT(hub_conf, people_ignore, 0, OPT_LIST, NULL, "LOGIN", "logins that are nobody, as root or gdm; patterns too"),
    OPTN(hub_conf, "wandb.config", wandb_config, 0, OPT_PATH, NULL, "FILE", "config.yaml of a W&B dashboard: what is pulled from W&B (docs/wandb.md), and its companies where people_companies names no other file"),
    OPTN(hub_conf, "wandb.schedule", wandb_schedule, 0, OPT_LIST, NULL, "TIME", "when runs are pulled from W&B every day, as 00:15 in the zone of wandb.config; may be repeated; none: never"),
    OPTN(hub_conf, "wandb.push", wandb_push, 0, OPT_BOOL, NULL, NULL, "then put the tables back to W&B"),
    OPTN(hub_conf, "wandb.check", wandb_check, 0, OPT_LIST, NULL, "TIME", "when what is there is checked, as 09:00; none: never"),
    OPTN(hub_conf, "wandb.key_file", wandb_key_file, 0, OPT_PATH, NULL, "FILE", "file that holds the key of W&B; WANDB_API_KEY or netrc where there is none"),
    OPTN(hub_conf, "wandb.base_url", wandb_base_url, 0, OPT_STR, NULL, "URL", "a W&B server of one's own", .url = true),
    OPT(hub_conf, keep_usage, 0, OPT_DURATION, "0", "TIME", "keep who held what, hour by hour, this long; 0: for ever", .min = 0, .max = 36525 * DAY_MS, .fixed = true),
    OPTN(hub_conf, "usage.zone", usage_zone, 0, OPT_STR, NULL, "ZONE", "whose days usage is counted in, as Europe/Berlin; this machine's unless told", .fixed = true),
    OPTN(hub_conf, "usage.zones", usage_zones, 0, OPT_LIST, NULL, "ZONE", "other zones whose days are kept ready, so that a year by their days is answered as fast", .fixed = true),
    OPTN(hub_conf, "usage.split", usage_split, 0, OPT_CHOICE, "memory", "RULE", "whose part of a shared GPU is how large: by memory, equal, or by sm (share of the multiprocessors, where known)", .choices = usage_split_words),
    OPTN(hub_conf, "usage.idle_spell", usage_idle_spell, 0, OPT_DURATION, "30m", "TIME", "held without work for so long at a stretch is counted apart", .min = 60000, .max = DAY_MS),
    OPTN(hub_conf, "usage.every", usage_every, 0, OPT_DURATION, "1m", "TIME", "the hour under way is counted this often", .min = 1000, .max = 3600000),
    OPTN(hub_conf, "usage.price", usage_price, 0, OPT_LIST, NULL, "MODEL=PRICE", "what an hour of a GPU costs, by part of its model's name, as H200=2.50; may be repeated"),
    OPTN(hub_conf, "usage.currency", usage_currency, 0, OPT_STR, "EUR", "NAME", "of these prices"),
    OPTN(hub_conf, "usage.co2", usage_co2, 0, OPT_STR, NULL, "GRAMS", "of CO2 per kWh"),
    OPT(hub_conf, slurm, 0, OPT_CHOICE, "auto", "WHEN", "ask squeue who has which GPUs, so that they count as held; auto: where there is a squeue", .choices = slurm_words),
    OPT(hub_conf, slurm_every, 0, OPT_DURATION, "60s", "TIME", "so often", .min = 30000, .max = DAY_MS),
    OPTN(hub_conf, "bookings.mirror", bookings_mirror, 0, OPT_PATH, NULL, "FILE", "GPU Monitor's data/comments.json, kept in step with the bookings both ways (docs/bookings.md)"),
    OPT(hub_conf, session, 0, OPT_DURATION, "30d", "TIME", "a browser stays logged in this long", .min = 60000, .max = 3660 * DAY_MS),
    OPT(hub_conf, log_level, 0, OPT_CHOICE, "info", "LEVEL", "error, warn, info or debug", .choices = log_levels),
    OPT(hub_conf, log_format, 0, OPT_CHOICE, "text", "FORMAT", "text or json", .choices = log_formats),
    OPT(hub_conf, demo, 0, OPT_BOOL, NULL, NULL, "mark every screen as a demo"),
    {0},
};
/* clang-format on */

/* One threshold of the rule: NULL leaves it, "off" is -1. */
static int threshold(const char *name, const char *text, enum opt_type type, bool can_be_off, int64_t *ret,
                     struct err *err)
{
    struct opt o = {.name = name, .type = type, .max = INT64_MAX / 4};
    int64_t v;
    if (!text || !text[0])
        return 0;
    if (can_be_off && strcmp(text, "off") == 0) {
        *ret = -1;
        return 0;
    }
    int r = opt_set(&o, &v, str_of(text), err);
    if (r < 0)
        return r;
    *ret = v;
    return 0;
}

int hub_conf_rule(const struct hub_conf *conf, struct state_rule *ret, struct err *err)
{
    struct state_rule rule;
    const char *preset = conf->rule_preset && conf->rule_preset[0] ? conf->rule_preset : "muster";
    if (state_rule_preset(preset, &rule) < 0)
        return err_set(err, -EINVAL,
                       "rule.preset '%s' is not known: there are muster, web-gpu-monitor, gpu-monitor and strict",
                       preset);
    const struct {
        const char *name, *text;
        enum opt_type type;
        bool off;
        int64_t *to;
    } all[] = {
        {"rule.util", conf->rule_util, OPT_PERCENT, false, &rule.busy_util},
        {"rule.mem_util", conf->rule_mem_util, OPT_PERCENT, true, &rule.busy_mem_util},
        {"rule.held_mem", conf->rule_held_mem, OPT_BYTES, true, &rule.held_mem},
        {"rule.graphics_mem", conf->rule_graphics_mem, OPT_BYTES, false, &rule.graphics_mem},
        {"rule.stale_after", conf->rule_stale_after, OPT_DURATION, false, &rule.stale_after_ms},
        {"rule.down_after", conf->rule_down_after, OPT_DURATION, false, &rule.down_after_ms},
        {"rule.hung_after", conf->rule_hung_after, OPT_DURATION, false, &rule.hung_after_ms},
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        int r = threshold(all[i].name, all[i].text, all[i].type, all[i].off, all[i].to, err);
        if (r < 0)
            return err_prefix(err, r, "%s", all[i].name);
    }
    *ret = rule;
    return 0;
}

void hub_conf_count(const struct hub_conf *conf, const struct state_rule *rule, struct count_rule *ret)
{
    *ret = (struct count_rule){.split = (enum usage_split)conf->usage_split,
                               .busy_util = rule->busy_util,
                               .held_mem = rule->held_mem,
                               .graphics_mem = rule->graphics_mem,
                               .spell_ms = conf->usage_idle_spell};
}

int hub_conf_tariff(const struct hub_conf *conf, struct tariff *ret, struct err *err)
{
    return tariff_parse(conf->usage_price.v, conf->usage_price.n, conf->usage_currency, conf->usage_co2, ret, err);
}

int hub_conf_data(const struct hub_conf *conf, char *out, size_t size, struct err *err)
{
    if (conf->data && conf->data[0])
        return mem_copy_str(out, size, conf->data) ? 0 : err_set(err, -ENAMETOOLONG, "data: the path is too long");
    int r = file_state_dir(NULL, out, size);
    return r < 0 ? err_set(err, r, "no folder for data: HOME is not set; use --data") : 0;
}

int hub_conf_check(const struct hub_conf *conf, struct err *err)
{
    struct state_rule rule;
    if (!conf->listen.n)
        return err_set(err, -EINVAL, "listen: there must be an address");
    if (!conf->tls_cert != !conf->tls_key)
        return err_set(err, -EINVAL, "tls_cert and tls_key belong together: one of them is missing");
    if (conf->tls && conf->tls_cert)
        return err_set(err, -EINVAL, "tls makes a certificate of its own; with tls_cert and tls_key leave it out");
    if (conf->proxy_header && !conf->proxy_from.n)
        return err_set(err, -EINVAL, "proxy.header needs proxy.from: the addresses it is believed from");
    for (size_t i = 0; i < conf->proxy_from.n; i++)
        if (!address_block_ok(conf->proxy_from.v[i]))
            return err_set(err, -EINVAL, "proxy.from '%s' is not an address or a block as 10.0.0.0/8",
                           conf->proxy_from.v[i]);
    if (conf->bookings_auth == BOOK_PROXY && !conf->proxy_header)
        return err_set(err, -EINVAL, "bookings.auth: proxy needs proxy.header, in which the proxy names people");
    if (conf->vesta_token && conf->vesta_token_file)
        return err_set(err, -EINVAL, "vesta_token and vesta_token_file say the same thing twice: leave one out");
    struct tariff tariff;
    int r = hub_conf_tariff(conf, &tariff, err);
    tariff_fini(&tariff);
    return r < 0 ? r : hub_conf_rule(conf, &rule, err);
}
