/*
 * cmd_vesta_settings.c: `muster vesta settings`: vesta's local_settings.yaml as a muster.yaml. Every key of it gets a
 * line that says what became of it. Secrets go into files of their own and are printed nowhere; Python that the file
 * holds (SCHEDULE_FUNCTION) is compared with the one line everybody has there, and never run.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "compat/cmd_vesta.h"
#include "compat/vesta_flags.h"
#include "format/template.h"
#include "notify/channel.h"
#include "parse/ytree.h"

enum { USUAL_DOWN = 60, SETTINGS_MAX = 1 << 20, OUT_MAX = 1 << 20, SECRET_MAX = 2000, KEYS_MAX = 1000 };
#define FOLDER        "/etc/muster"
#define DAILY         "schedule.every().day.at("
#define DAILY_WHAT    ").do(self.send_hosts_statuses"
#define USUAL_TOKEN   "0000"      /* of vesta's server and senders where nothing says another */
#define USUAL_NETWORK "127.0.0.1" /* who could read there where nothing says another */
#define READERS_ARE                                                                                                    \
    "read: open and read_from: addresses in %s read without a token, as with vesta; others cannot read, even with one"
#define TOKEN_KNOWN "It is " USUAL_TOKEN ", which is public: choose another, here and for the senders"
#define CHANNEL     "vesta"     /* the webhook */
#define BOT_CHANNEL "vesta-bot" /* where there is no webhook */

struct vesta_settings_conf {
    char *into;
};

static const struct opt settings_opts[] = {
    OPT(vesta_settings_conf, into, 0, OPT_PATH, NULL, "DIR",
        "folder for muster.yaml and the secrets, which must not exist there", .default_text = "nothing is written"),
    {0},
};
const struct opt_cmd vesta_settings_help = {
    .name = "muster vesta settings",
    .summary = "make a muster.yaml from vesta's local_settings.yaml",
    .args = "[FILE] [-- FLAG...]",
    .about = "FLAGs are the flags of gpu_status_server.py; the file takes precedence over them, as in vesta. Prints "
             "the muster.yaml, and on standard error for each key what it became or why it was left out. With --into "
             "it writes the file and the secrets (token, webhook, bot token); only you may read the files with "
             "secrets. Secrets are never printed. Python in the settings is not executed.",
    .examples = "muster vesta settings local_settings.yaml\n"
                "muster vesta settings local_settings.yaml --into /etc/muster\n"
                "muster vesta settings -- --port_num 8080 --token lab --down_th 90 -quiet",
    .opts = settings_opts,
    .conf_size = sizeof(struct vesta_settings_conf),
};

enum secret_kind { SECRET_TOKEN, SECRET_WEBHOOK, SECRET_BOT, SECRETS };
static const char *const secret_files[SECRETS] = {"vesta.token", "slack.url", "slack-bot.token"};

struct settings {
    struct ytree t, flags; /* what the file has, and what only the command line had */
    struct ynode all;      /* both */
    const char *folder;
    struct buf out;
    struct buf lines[KEYS_MAX]; /* what became of each key; empty: nothing yet */
    struct str secrets[SECRETS];
    bool hook, bot;
};

/* What vesta tells; usual: what it says where its settings do not. NULL: not all versions of it do. */
enum { TOLD_NEW, TOLD_DOWN, TOLD_BACK, TOLD_UP, TOLDS };
static const struct notified {
    const char *key, *rule, *member, *usual;
} told[TOLDS] = {
    {"REGISTER_UPLINK_MSG", "node-new", "text", "⬆︎⬆︎⬆︎ `Uplink` Detected - New uplink from `{}`. Hello!"},
    {"HOST_DOWN_MSG", "node-down", "text",
     "⬇︎⬇︎⬇︎ ` Down ` Detected - Connection from `{host_name}` has been lost more than {lost_th} sec. "
     "Check network and machine."},
    {"RE_UPLINK_MSG", "node-down", "resolved_text",
     "⬆︎⬆︎⬆︎ `  Up  ` Detected - Uplink from `{}`. Welcome back!"},
    {"SERVER_UP_MSG", "hub-up", "text", NULL},
};

/* Keys that nothing here corresponds to. */
static const struct {
    const char *key, *why;
} unused_keys[] = {
    {"TERM_WIDTH", "set in each request: curl 'hub:8080/?width=120' (default: 80)"},
    {"SORT_BY", "hosts are sorted by name, host2 before host10"},
    {"SERVER_SLEEP_TIME", "not needed: hosts are checked every second"},
    {"WS_RECEIVE_TIMEOUT", "not needed: the page gets changes as they come"},
    {"SLACK_BOT_SLEEP_TIME", "not needed: the bot waits for messages"},
    {"SAVE_INTERVAL", "every sample is kept; keep_raw, keep_minute and keep_hour say for how long"},
    {"SERVER_INFO_MSG", "WHERE answers in the hub's own words"},
    {"SLACKBOT_MEMBER_JOINED_CHANNEL_MSG", "the bot greets nobody; HELP says what it does"},
    {"SSL_CERT", "vesta never used it; tls_cert is what the hub has for it"},
    {"SSL_KEY", "vesta never used it; tls_key is what the hub has for it"},
    {"NVIDIA_SMI_PARSE_VER", "a matter of the senders"},
    {"NVIDIA_SMI_PARSE_VERSION", "a matter of the senders"},
};

/* ---- keys ---- */

static int index_of(const struct settings *s, const char *key)
{
    const struct ynode *root = s->t.root;
    size_t n = root ? root->n : 0, at = FIRST(n, i, str_eq(root->keys[i].text, key));

    return at < n ? (int)at : -1;
}

static bool has(const struct settings *s, const char *key)
{
    return index_of(s, key) >= 0;
}

/* "" where it is not there, nothing, or no text. */
static struct str value(const struct settings *s, const char *key)
{
    const struct ynode *v = s->t.root ? ynode_get(s->t.root, key) : NULL;

    return v && v->kind == YNODE_TEXT && !v->null ? v->text : STR("");
}

__attribute__((format(printf, 3, 4))) static void became(struct settings *s, const char *key, const char *fmt, ...)
{
    int i = index_of(s, key);
    va_list ap;

    if (i < 0)
        return;
    AUTO_FREE char *line = NULL;
    va_start(ap, fmt);
    int n = vasprintf(&line, fmt, ap);
    va_end(ap);
    buf_addf(&s->lines[i], "%s%s", s->lines[i].len ? "; " : "", n < 0 ? "" : line);
}

static bool printable(struct str v)
{
    return v.len && v.len <= SECRET_MAX && str_utf8_ok(v);
}

/* A text between two pieces of YAML. */
static void add_text(struct settings *s, const char *before, struct str v, const char *behind)
{
    buf_adds(&s->out, before);
    json_escape(&s->out, v); /* what JSON has in quotes YAML has too */
    buf_adds(&s->out, behind);
}

/* A secret's file; the value is kept for later. */
static void add_secret(struct settings *s, const char *before, enum secret_kind kind, struct str v, const char *behind)
{
    s->secrets[kind] = str_trim(v);
    AUTO_FREE char *path = mem_fmt("%s/%s", s->folder, secret_files[kind]);
    add_text(s, before, str_of(path), behind);
}

/* ---- file and flags ---- */

/* What the file has not is the flags'; a key given twice has its last value, as with Python's yaml and argparse. */
static void join_flags(struct settings *s)
{
    const struct ynode *parts[] = {s->t.root, s->flags.root};
    size_t most = 0;

    for (int i = 0; i < 2; i++)
        most += parts[i] ? parts[i]->n : 0;
    struct ynode *keys = arena_alloc(&s->t.arena, most + 1, sizeof(*keys));
    struct ynode *v = arena_alloc(&s->t.arena, most + 1, sizeof(*v));
    s->all = (struct ynode){.kind = YNODE_MAP, .keys = keys, .v = v};
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; parts[i] && k < parts[i]->n; k++) {
            AUTO_FREE char *key = mem_strn(parts[i]->keys[k].text.p, parts[i]->keys[k].text.len);
            bool again = ANY(parts[i]->n - k - 1, more, str_eq(parts[i]->keys[k + 1 + more].text, key));
            if (again || (i == 1 && s->t.root && ynode_get(s->t.root, key)))
                continue;
            keys[s->all.n] = parts[i]->keys[k];
            v[s->all.n++] = parts[i]->v[k];
        }
    s->t.root = &s->all;
}

/* ---- sections ---- */

static void put_listen(struct settings *s)
{
    struct str host = str_trim(value(s, "BIND_HOST")), port = str_trim(value(s, "PORT_NUM"));
    uint64_t n = 8080;
    bool host_ok = host.len && host.len < 200 && str_visible(host, "");
    bool port_ok = port.len && str_uint(port, &n) && n > 0 && n < 65536;

    if (!host_ok)
        host = STR("0.0.0.0");
    bool six = memchr(host.p, ':', host.len) && host.p[0] != '[';
    AUTO_FREE char *all =
        mem_fmt("%s%.*s%s:%d", six ? "[" : "", STR_ARG(host), six ? "]" : "", (int)(port_ok ? n : 8080));
    add_text(s, "# where vesta's senders and readers expect it\nlisten: [", str_of(all), "]\n");
    became(s, "BIND_HOST", host_ok ? "listen" : "left out: not an address; listen has 0.0.0.0");
    became(s, "PORT_NUM", port_ok ? "listen" : "left out: not a port; listen has 8080");
}

static void put_names(struct settings *s)
{
    struct str title = str_trim(value(s, "MAIN_PAGE_TITLE")), server = str_trim(value(s, "SERVER_NAME")),
               ip = str_trim(value(s, "IP"));
    bool by_title = printable(title), by_server = !by_title && printable(server);
    bool is_name = ANY(ip.len, i, (ip.p[i] | 32) >= 'g' && (ip.p[i] | 32) <= 'z');

    if (by_title || by_server)
        add_text(s, "name: ", by_title ? title : server, "\n");
    became(s, "MAIN_PAGE_TITLE", by_title ? "name" : "left out: it is empty");
    became(s, "SERVER_NAME",
           by_server  ? "name"
           : by_title ? "left out: MAIN_PAGE_TITLE is the name"
                      : "left out: it is empty");
    if (is_name && printable(ip))
        add_text(s, "host_names: [", ip, "]\n");
    became(s, "IP", is_name ? "host_names" : "not needed: the hub answers under every address it has");
}

/* "^192\.168\." is 192.168.0.0/16, "^10\.0\.0\.7$" 10.0.0.7/32: a beginning that ends where a number does. */
static bool read_block(struct str re, struct buf *out)
{
    int64_t octets[4] = {0};
    struct str digits;
    int n = 0;

    if (!str_skip(&re, "^"))
        return false;
    while (n < 4) {
        for (digits = str_n(re.p, 0); digits.len < re.len && isdigit((unsigned char)re.p[digits.len]);)
            digits.len++;
        if (!digits.len || digits.len > 3 || (digits.len > 1 && *digits.p == '0') || !str_int(digits, &octets[n]) ||
            octets[n] > 255)
            return false;
        n++;
        re = str_drop(re, digits.len);
        bool dot = n < 4 && (str_skip(&re, "\\.") || str_skip(&re, "[.]"));
        if (n < 4 && !dot)
            return false;
        if (!re.len || *re.p < '0' || *re.p > '9')
            break;
    }
    if (n == 4 ? !str_eq(re, "$") : re.len && !str_eq(re, ".*") && !str_eq(re, ".*$"))
        return false;
    buf_addf(out, "%s%d.%d.%d.%d/%d", out->len ? ", " : "", (int)octets[0], (int)octets[1], (int)octets[2],
             (int)octets[3], 8 * n);
    return true;
}

/* One or several of them, with | between. */
static bool read_blocks(struct str re, struct buf *out)
{
    struct str one;

    while (str_cut(&re, '|', &one))
        if (!read_block(one, out))
            return false;
    return out->len > 0;
}

/* Who may read. vesta answered the addresses of VALID_NETWORK without a token. */
static void put_readers_from(struct settings *s)
{
    static const char *const all[] = {"", ".", ".*", "^", "^.*", "^.*$", ".+"};
    bool given = has(s, "VALID_NETWORK");
    struct str net = given ? str_trim(value(s, "VALID_NETWORK")) : STR(USUAL_NETWORK);
    bool open = given && ANY(ARRAY_LEN(all), i, str_eq(net, all[i]));
    AUTO_BUF blocks = BUF_INIT(SECRET_MAX);

    if (str_eq(net, USUAL_NETWORK))
        buf_adds(&blocks, USUAL_NETWORK);
    else if (!open && !read_blocks(net, &blocks))
        buf_reset(&blocks);
    if (blocks.len)
        buf_addf(&s->out,
                 "# addresses of read_from read without a token; others cannot read, even with one\n"
                 "read: open\nread_from: [%s]\n",
                 blocks.p);
    else
        buf_addf(&s->out, "read: %s\n", open ? "open" : "token");
    if (open)
        became(s, "VALID_NETWORK", "read: open, everybody may read without a token");
    else if (blocks.len)
        became(s, "VALID_NETWORK", READERS_ARE, blocks.p);
    else
        became(s, "VALID_NETWORK",
               "left out: only anchored beginnings of addresses, as ^192\\.168\\., are understood. read: token: "
               "every reader needs a token; for the readers that vesta had write read: open and read_from: [CIDR]");
}

static void put_token(struct settings *s)
{
    struct str token = has(s, "TOKEN") ? str_trim(value(s, "TOKEN")) : STR(USUAL_TOKEN);

    if (token.len) {
        add_secret(s, "# what vesta's senders give\nvesta_token_file: ", SECRET_TOKEN, token, "\n");
        became(s, "TOKEN", "vesta_token_file%s", str_eq(token, USUAL_TOKEN) ? ". " TOKEN_KNOWN : "");
    } else {
        became(s, "TOKEN",
               "left out: it is empty. vesta took every sender then; the hub takes none without "
               "vesta_token_file");
    }
}

static bool is_true(const struct settings *s, const char *key)
{
    struct str v = str_trim(value(s, key));
    bool on = false;

    return str_bool(v, &on) ? on : str_eq(v, "True");
}

static void put_rule(struct settings *s)
{
    struct str th = str_trim(value(s, "DOWN_TH"));
    int64_t scaled = 0;
    bool fine = str_fixed(th, 1000, &scaled) && scaled > 0 && scaled <= 86400000;

    buf_addf(&s->out, "rule:\n  down_after: %ds\n  down_exact: true\n",
             fine ? (int)((scaled + 999) / 1000) : USUAL_DOWN);
    if (fine)
        became(s, "DOWN_TH", "rule.down_after, to the second: a sender that posts less often is down in between");
    else
        became(s, "DOWN_TH", "left out: not a number of seconds; rule.down_after has vesta's own, %d s", USUAL_DOWN);
    bool quiet = is_true(s, "QUIET"), debug = is_true(s, "DEBUG");
    if (quiet || debug)
        buf_addf(&s->out, "log_level: %s\n", debug ? "debug" : "warn");
    became(s, "QUIET", quiet ? (debug ? "left out: DEBUG counts" : "log_level: warn") : "not needed");
    became(s, "DEBUG", debug ? "log_level: debug" : "not needed");
}

/* Titles and descriptions, in the section they belong to. */
static void put_texts(struct settings *s, const char *section, const char *const (*all)[2], size_t n)
{
    bool any = false;

    for (size_t i = 0; i < n; i++) {
        struct str v = str_trim(value(s, all[i][0]));
        bool fine = printable(v);
        if (fine && !any)
            buf_addf(&s->out, "%s:\n", section);
        any = any || fine;
        if (fine) {
            buf_addf(&s->out, "  %s", all[i][1]);
            add_text(s, ": ", v, "\n");
        }
        became(s, all[i][0], "%s%s%s", fine ? section : "left out: it is empty", fine ? "." : "",
               fine ? all[i][1] : "");
    }
}

static void put_readers(struct settings *s)
{
    static const char *const page[][2] = {{"MAIN_PAGE_DESCRIPTION", "about"}};
    static const char *const table[][2] = {{"TABLE_PAGE_TITLE", "title"}, {"TABLE_PAGE_DESCRIPTION", "about"}};
    static const char *const forms[] = {"YMD", "MDY", "DMY"};

    uint64_t n = 0;
    bool fine = str_uint(str_trim(value(s, "PAGE_PER_HOST_NUM")), &n) && n > 0 && n <= 100000;

    if (fine)
        buf_addf(&s->out, "vesta_page_hosts: %d\n", (int)n);
    struct str form = str_trim(value(s, "TIMESTAMP_FORMAT"));
    size_t which = FIRST(ARRAY_LEN(forms), i, str_eq_nocase(form, forms[i]));
    bool known = which < ARRAY_LEN(forms);
    if (has(s, "TIMESTAMP_FORMAT"))
        buf_addf(&s->out, "vesta_timestamp_format: %s\n", known ? forms[which] : "MDY");
    became(s, "TIMESTAMP_FORMAT",
           "vesta_timestamp_format%s, for /states/ and the terminal; the page writes times as "
           "the reader's browser does",
           known ? "" : ": MDY, as vesta took what is none of YMD, MDY and DMY");
    put_texts(s, "page", page, ARRAY_LEN(page));
    put_texts(s, "vesta_table", table, ARRAY_LEN(table));
    became(s, "PAGE_PER_HOST_NUM", fine ? "vesta_page_hosts, for /?term&page=N" : "left out: not a number of hosts");
}

static void put_slack(struct settings *s)
{
    static const struct {
        const char *key, *name, *none;
    } texts[] = {{"SLACK_BOT_POST_CHANNEL", "channel", "left out: it is empty"},
                 {"KEYWORD_CMD_PREFIX", "prefix", "not needed: it is empty"}};
    static const struct {
        const char *key, *name;
    } words[] = {{"KEYWORD_PRINT_HOSTS", "hosts"},
                 {"KEYWORD_PRINT_ALL_HOSTS", "all"},
                 {"KEYWORD_PRINT_ALL_HOSTS_CMD", "all_cmd"},
                 {"KEYWORD_PRINT_ALL_HOSTS_DETAIL", "all_detail"},
                 {"KEYWORD_PRINT_HELP", "help"},
                 {"KEYWORD_PRINT_HOST_INFO", "where"}};
    const char *no_bot = s->bot ? NULL : "left out: there is no SLACK_BOT_TOKEN, so there is no bot";
    size_t n = 0;

    if (s->bot) {
        add_secret(s, "slack:\n  token_file: ", SECRET_BOT, value(s, "SLACK_BOT_TOKEN"),
                   "\n  # to receive commands it needs a token for Socket Mode, too (docs/slack.md):\n");
        buf_addf(&s->out, "  # app_token_file: %s/slack-app.token\n", s->folder);
        buf_adds(&s->out,
                 "  open: true # every Slack user may send commands, as before; false: only people of `people:`\n");
    }
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct str v = str_trim(value(s, texts[i].key));
        bool fine = s->bot && printable(v);
        if (fine) {
            buf_addf(&s->out, "  %s", texts[i].name);
            add_text(s, ": ", v, "\n");
        }
        became(s, texts[i].key, "%s%s", fine ? "slack." : no_bot ?: texts[i].none, fine ? texts[i].name : "");
    }
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        struct str v = str_trim(value(s, words[i].key));
        bool fine = s->bot && has(s, words[i].key) && (!v.len || printable(v));
        if (fine) {
            buf_addf(&s->out, "%s%s", n++ ? ", " : "  keywords: {", words[i].name);
            add_text(s, ": ", v, "");
        }
        became(s, words[i].key, "%s%s", fine ? "slack.keywords." : no_bot ?: "left out: not a word",
               fine ? words[i].name : "");
    }
    buf_adds(&s->out, n ? "}\n" : "");
}

static void put_channels(struct settings *s)
{
    struct str hook = str_trim(value(s, "SLACK_WEBHOOK")), bot = str_trim(value(s, "SLACK_BOT_TOKEN"));

    s->hook =
        printable(hook) && str_starts(hook, "http") && !memchr(hook.p, '<', hook.len) && !memchr(hook.p, ' ', hook.len);
    s->bot = printable(bot) && !memchr(bot.p, ' ', bot.len);
    became(s, "SLACK_WEBHOOK",
           s->hook    ? "channels." CHANNEL
           : hook.len ? "left out: not an address"
                      : "not needed: it is empty");
    became(s, "SLACK_BOT_TOKEN",
           s->bot ? "slack.token_file. Slack ended the interface that vesta's bot used: make an app with Socket Mode "
                    "and put its tokens there (docs/migrating/vesta.md)"
           : bot.len ? "left out: not a token"
                     : "not needed: it is empty");
    if (!s->hook && !s->bot)
        return;
    buf_adds(&s->out, "channels:\n");
    if (s->hook)
        add_secret(s, "  " CHANNEL ": {type: slack, url_file: ", SECRET_WEBHOOK, hook,
                   ", severity: warning, each: true} # what else is wrong, too; critical: less\n");
    else /* else the bot has its own channel, slack-bot, where nothing is told but what names it */
        buf_adds(&s->out, "  " BOT_CHANNEL ": {type: slack-bot, severity: critical, each: true}\n");
}

/* What the file itself says, or vesta's own would: {ip}, {port} and {bind_host} are fixed. */
static struct str fixed_hole(const struct settings *s, struct str *rest)
{
    static const struct {
        const char *hole, *key;
        struct str usual;
    } all[] = {{"{ip}", "IP", STR("127.0.0.1")},
               {"{port}", "PORT_NUM", STR("8080")},
               {"{bind_host}", "BIND_HOST", STR("0.0.0.0")}};

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (str_skip(rest, all[i].hole))
            return has(s, all[i].key) ? str_trim(value(s, all[i].key)) : all[i].usual;
    return STR("");
}

/* A text of vesta's that works here, without ends of lines. False: why it does not is said. */
static bool message(struct settings *s, const struct notified *t, struct buf *ret)
{
    struct str v = has(s, t->key) ? value(s, t->key) : str_of(t->usual), rest = v;
    struct err bad = {0};

    while (rest.len) {
        struct str fixed = fixed_hole(s, &rest);
        if (fixed.len) {
            buf_addstr(ret, fixed);
            continue;
        }
        buf_addc(ret, strchr("\n\r\t", rest.p[0]) ? ' ' : rest.p[0]);
        rest = str_drop(rest, 1);
    }
    if (!str_trim(v).len) {
        became(s, t->key, "left out: it is empty");
        return false;
    }
    if (template_check(str_trim(buf_str(ret)), &bad) < 0) {
        became(s, t->key, "left out: %s", bad.msg);
        return false;
    }
    became(s, t->key, "alerts.%s.%s", t->rule, t->member);
    return true;
}

/* The rule of these texts. tells: it is sent even where the settings have no text. */
static void put_rule_texts(struct settings *s, const struct notified *t, size_t n, const char *more, bool tells)
{
    AUTO_BUF members = BUF_INIT(SETTINGS_MAX);

    buf_adds(&members, more);
    for (size_t i = 0; i < n; i++) {
        AUTO_BUF text = BUF_INIT(SETTINGS_MAX);
        if (!(has(s, t[i].key) || (tells && t[i].usual)) || !message(s, &t[i], &text))
            continue;
        buf_addf(&members, "%s%s: ", members.len ? ", " : "", t[i].member);
        json_escape(&members, str_trim(buf_str(&text)));
        tells = true;
    }
    if (tells)
        buf_addf(&s->out, "  %s: {%s}\n", t->rule, members.p);
}

static void put_alerts(struct settings *s)
{
    const char *where = s->hook ? "channel: " CHANNEL : s->bot ? "channel: " BOT_CHANNEL : "";
    size_t before = s->out.len;

    buf_adds(&s->out, "alerts:\n");
    size_t head = s->out.len;
    put_rule_texts(s, &told[TOLD_NEW], 1, where, where[0]);
    /* one alert has both texts: each down is followed by one up */
    put_rule_texts(s, &told[TOLD_DOWN], 2, "clear: 0s, remind: off", where[0]);
    put_rule_texts(s, &told[TOLD_UP], 1, where, false);
    if (s->out.len == head)
        buf_cut(&s->out, before);
}

/* The one statement that vesta's example has. 0, or -EINVAL: another. */
static int daily_at(struct str line, char out[6])
{
    line = str_trim(line);
    if (!str_skip(&line, DAILY) || line.len < 7 || (line.p[0] != '"' && line.p[0] != '\'') || line.p[6] != line.p[0])
        return -EINVAL;
    for (int i = 0; i < 5; i++)
        if (i == 2 ? line.p[1 + i] != ':' : line.p[1 + i] < '0' || line.p[1 + i] > '9')
            return -EINVAL;
    memcpy(out, line.p + 1, 5);
    out[5] = 0;
    line = str_drop(line, 7);
    return str_starts(line, DAILY_WHAT) && memcmp(out, "24", 2) < 0 && out[3] < '6' ? 0 : -EINVAL;
}

static void put_reports(struct settings *s)
{
    const struct ynode *v = s->t.root ? ynode_get(s->t.root, "SCHEDULE_FUNCTION") : NULL;
    size_t n = v && v->kind == YNODE_LIST ? v->n : v && v->kind == YNODE_TEXT && !v->null ? 1 : 0, made = 0, other = 0;

    for (size_t i = 0; i < n; i++) {
        const struct ynode *one = v->kind == YNODE_LIST ? &v->v[i] : v;
        char at[6];
        if (one->kind == YNODE_TEXT && daily_at(one->text, at) == 0 && s->bot) {
            buf_adds(&s->out, made ? "" : "reports:\n");
            buf_addf(&s->out, "  vesta%s%.0d: {every: day, at: \"%s\", what: processes, channel: %s}\n",
                     made ? "-" : "", (int)made, at, s->hook ? CHANNEL_BOT : BOT_CHANNEL);
            made++;
        } else {
            other++;
        }
    }
    if (made)
        became(s, "SCHEDULE_FUNCTION", "reports.vesta");
    if (other)
        became(s, "SCHEDULE_FUNCTION", "%zu of its statements left out: %s", other,
               s->bot
                   ? "Python is not run here; only a daily self.send_hosts_statuses is known (docs/reports.md says how "
                     "reports are written)"
                   : "there is no SLACK_BOT_TOKEN, so nobody to send it");
    if (!n)
        became(s, "SCHEDULE_FUNCTION", "not needed: it is empty");
}

static void put_history(struct settings *s)
{
    struct str dir = str_trim(value(s, "DB_DIR")), name = str_trim(value(s, "DB_NAME"));

    if (!printable(dir))
        dir = STR("data");
    if (!printable(name))
        name = STR("gpu_states.db");
    buf_addf(&s->out, "# history: muster vesta history %.*s/%.*s --data DIR\n", STR_ARG(dir), STR_ARG(name));
    became(s, "DB_DIR", "not needed: `muster vesta history %.*s/%.*s` brings it in", STR_ARG(dir), STR_ARG(name));
    became(s, "DB_NAME", "not needed: as DB_DIR");
}

static void put_all(struct settings *s)
{
    buf_adds(&s->out, "# made of vesta's settings by `muster vesta settings`; docs/migrating/vesta.md\n");
    put_listen(s);
    put_names(s);
    put_readers_from(s);
    put_token(s);
    put_rule(s);
    put_readers(s);
    put_channels(s);
    put_slack(s);
    put_alerts(s);
    put_reports(s);
    put_history(s);
    for (size_t i = 0; i < ARRAY_LEN(unused_keys); i++)
        became(s, unused_keys[i].key, "left out: %s", unused_keys[i].why);
}

static void say_keys(const struct settings *s)
{
    for (size_t i = 0; s->t.root && i < s->t.root->n; i++) {
        struct str key = s->t.root->keys[i].text;
        fprintf(stderr, "%.*s: %s\n", str_utf8_ok(key) ? (int)MIN(key.len, 60u) : 0, key.p,
                s->lines[i].len ? s->lines[i].p : "left out: vesta has no such key");
    }
    if (!has(s, "TOKEN"))
        fprintf(stderr, "TOKEN: not set, so vesta's own: vesta_token_file. %s\n", TOKEN_KNOWN);
    if (!has(s, "VALID_NETWORK"))
        fprintf(stderr, "VALID_NETWORK: not set, so vesta's own: " READERS_ARE "\n", USUAL_NETWORK);
    if (!has(s, "DOWN_TH"))
        fprintf(stderr, "DOWN_TH: not set, so vesta's own: rule.down_after: %d s\n", USUAL_DOWN);
    for (const struct notified *e = told; e < told + TOLDS && (s->hook || s->bot); e++)
        if (e->usual && !has(s, e->key))
            fprintf(stderr, "%s: not set, so vesta's own: alerts.%s.%s\n", e->key, e->rule, e->member);
}

/* ---- files ---- */

/* An absolute path: the paths in muster.yaml must not depend on where the hub starts. The caller owns it. */
static char *whole_path(const char *path)
{
    char here[PATH_MAX];

    while (str_starts(str_of(path), "./"))
        path += 2;
    return path[0] == '/' || !getcwd(here, sizeof(here)) ? mem_str(path) : mem_fmt("%s/%s", here, path);
}

static int write_one(const char *folder, const char *name, mode_t mode, struct str v, struct err *err)
{
    AUTO_FREE char *path = mem_fmt("%s/%s", folder, name);

    return file_write(path, mode, v.p, v.len, err);
}

static int is_free(const char *folder, const char *name, struct err *err)
{
    AUTO_FREE char *path = mem_fmt("%s/%s", folder, name);
    struct stat st;

    return lstat(path, &st) == 0 ? err_set(err, -EEXIST, "'%s' is there already; nothing was written", path) : 0;
}

static int write_all(const struct settings *s, const char *folder, struct err *err)
{
    int r = is_free(folder, "muster.yaml", err);

    for (int i = 0; i < SECRETS && r == 0; i++)
        if (s->secrets[i].len)
            r = is_free(folder, secret_files[i], err);
    r = r ?: file_mkdirs(folder, 0755, err);
    for (int i = 0; i < SECRETS && r == 0; i++) {
        AUTO_BUF line = BUF_INIT(SECRET_MAX + 100);
        buf_addf(&line, "%.*s\n", STR_ARG(s->secrets[i]));
        if (s->secrets[i].len)
            r = write_one(folder, secret_files[i], 0600, buf_str(&line), err);
    }
    return r == 0 ? write_one(folder, "muster.yaml", 0644, buf_str(&s->out), err) : r;
}

static int convert(const struct vesta_settings_conf *conf, const char *path, struct str flags, struct settings *s,
                   struct err *err)
{
    AUTO_BUF text = BUF_INIT(SETTINGS_MAX);
    int r = path ? file_read(path, SETTINGS_MAX, &text, err) : 0;

    r = r ?: ytree_read(flags, &(struct ytree_params){.path = "flags"}, &s->flags, err);
    if (r == 0 && path)
        r = ytree_read(buf_str(&text), &(struct ytree_params){.path = path}, &s->t, err);
    if (r == 0 && s->t.root && (s->t.root->kind != YNODE_MAP || s->t.root->n > KEYS_MAX))
        r = ytree_fail(&s->t, s->t.root, err, "expected keys and values, as PORT_NUM: 8080");
    if (r < 0)
        return r;
    join_flags(s);
    if (s->all.n > KEYS_MAX)
        return err_set(err, -EINVAL, "more than %d settings", KEYS_MAX);
    for (size_t i = 0; i < s->all.n; i++)
        s->lines[i] = BUF_INIT(4096);
    AUTO_FREE char *into = conf->into ? whole_path(conf->into) : NULL;
    s->folder = into ?: FOLDER;
    put_all(s);
    say_keys(s);
    if (into)
        return write_all(s, into, err);
    return cli_print(&vesta_settings_help, &s->out) ? -EIO : 0;
}

int cmd_vesta_settings(struct cmd_call *c)
{
    AUTO_BUF flags = BUF_INIT(SETTINGS_MAX);
    const char *file = NULL;

    if (!c->argc)
        return err_set(&c->err, -EINVAL, "expected one FILE: vesta's local_settings.yaml");
    if (vesta_flags_read(c->argc, c->argv, &flags, &file, &c->err) < 0)
        return -EINVAL;
    struct settings *s = NEW(struct settings, .out = BUF_INIT(OUT_MAX));
    int r = convert(c->conf, file, buf_str(&flags), s, &c->err);
    for (size_t i = 0; i < KEYS_MAX; i++)
        buf_fini(&s->lines[i]);
    buf_fini(&s->out);
    ytree_fini(&s->t);
    ytree_fini(&s->flags);
    free(s);
    return r == -EINVAL || r == -EMSGSIZE ? cli_fail(&vesta_settings_help, EXIT_NO, "%s", c->err.msg) : MIN(r, EXIT_OK);
}
