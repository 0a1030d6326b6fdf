/* line.c: runs one child for Socket Mode, and asks Slack for one address at a time. */
#include "slack/line.h"

#include <jansson.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "slack/conf.h"
#include "slack/socket.h"
#include "slack/web_api.h"

#define LINE_MAX_BYTES (2u << 20)
#define SILENT_MS      45000 /* it says every 10 s that it is there */
#define DOWN_MS        30000 /* without a connection for so long is an error */

struct slack_line {
    struct event_base *loop;
    void (*envelope)(void *arg, struct str json);
    void *arg;
    struct slack *link;
    const struct slack_conf *conf;
    struct process *child;
    struct buf out;
    bool disabled, open, wants;
    struct slack_request *ask; /* for an address */
    unsigned tries_child, tries_url;
    int64_t heard_mono, start_mono, ask_mono; /* when it was last heard; when to start it, to ask, next */
    int64_t down_mono, down_ms;               /* without a connection since */
    char why[200], error[260];
    int64_t since_ms;
};

struct slack_line *slack_line_new(struct event_base *loop, void (*envelope)(void *arg, struct str json), void *arg)
{
    return NEW(struct slack_line, .loop = loop, .envelope = envelope, .arg = arg, .out = BUF_INIT(LINE_MAX_BYTES));
}

static void fail(struct slack_line *l, const char *error)
{
    if (strcmp(l->error, error) == 0)
        return;
    if (!l->error[0])
        l->since_ms = clock_wall_ms();
    if (error[0])
        log_warn("slack", "%s", error);
    else
        log_info("slack", "Socket Mode works again");
    mem_copy_str(l->error, sizeof(l->error), error);
}

static void went_down(struct slack_line *l, const char *why)
{
    mem_copy_str(l->why, sizeof(l->why), why);
    if (!l->open && l->down_mono)
        return;
    l->open = false;
    l->down_mono = clock_mono_ms();
    l->down_ms = clock_wall_ms();
}

/* ---- addresses ---- */

static void tell(struct slack_line *l, const char *name, const char *value)
{
    AUTO_BUF b = BUF_INIT(16384);

    json_print(&b, "{%s:%s}\n", name, value);
    if (l->child && !b.err)
        process_write(l->child, buf_str(&b)); /* one that does not read is found out by its silence */
}

static void on_url(void *arg, const struct slack_result *r)
{
    struct slack_line *l = arg;
    const char *url = slack_text(r->body, "url");

    l->ask = NULL;
    if (r->how == SLACK_DONE && str_starts(str_of(url), "wss://")) {
        l->wants = false;
        l->tries_url = 0;
        tell(l, "url", url);
        return;
    }
    l->ask_mono = clock_mono_ms() + MAX(socket_back_off(&l->tries_url), r->wait_ms);
    went_down(l, r->error[0] ? r->error : "Slack's response has no address");
    if (r->how == SLACK_REFUSED || str_of(r->word).len) /* that will not mend itself */
        l->down_mono -= DOWN_MS;
}

static void ask_url(struct slack_line *l)
{
    AUTO_BUF token = {0};
    struct err err = {0};
    int r = slack_conf_secret(l->conf, SLACK_APP_TOKEN, &token, &err);

    if (r == 0)
        r = slack_request(&l->ask, l->link, "apps.connections.open", buf_str(&token), NULL, NULL, on_url, l, &err);
    if (r == 0)
        return;
    l->ask_mono = clock_mono_ms() + socket_back_off(&l->tries_url);
    went_down(l, err.msg);
    l->down_mono -= DOWN_MS;
}

/* ---- the child ---- */

static void state_in(struct slack_line *l, json_t *o, const char *state)
{
    const char *why = json_string_value(json_object_get(o, "error"));

    if (strcmp(state, "want") == 0) {
        l->wants = true;
    } else if (strcmp(state, "open") == 0) {
        l->open = true;
        l->down_mono = 0;
        l->tries_child = 0;
        log_info("slack", "Socket Mode is connected");
    } else if (strcmp(state, "closed") == 0) {
        went_down(l, why ? why : "the connection was closed");
    } else if (strcmp(state, "disabled") == 0) {
        l->disabled = true;
        l->open = false;
        fail(l, "Socket Mode is switched off in the settings of the app: the bot receives nothing (switch it on, then "
                "reload the hub)");
    }
}

static void line_in(struct slack_line *l, struct str line)
{
    json_auto_t *o = json_loadb(line.p, line.len, 0, NULL);
    const char *state = json_string_value(json_object_get(o, "socket"));

    l->heard_mono = clock_mono_ms();
    if (state)
        state_in(l, o, state);
    else if (json_object_get(o, "envelope_id"))
        l->envelope(l->arg, line);
}

static void on_out(void *arg, struct str bytes)
{
    struct slack_line *l = arg;
    const char *end;

    while (bytes.len) {
        end = memchr(bytes.p, '\n', bytes.len);
        size_t n = end ? (size_t)(end - bytes.p) : bytes.len;
        buf_add(&l->out, bytes.p, n);
        bytes = str_n(bytes.p + n + !!end, bytes.len - n - !!end);
        if (end && !l->out.err)
            line_in(l, buf_str(&l->out));
        if (end)
            buf_reset(&l->out);
    }
}

static void drop_ask(struct slack_line *l)
{
    slack_request_free(l->ask);
    l->ask = NULL;
    l->wants = false;
}

static void on_ended(void *arg, int status)
{
    struct slack_line *l = arg;
    char said[150], why[200];

    process_last_words(process_stderr(l->child), said, sizeof(said));
    l->child = NULL;
    drop_ask(l);
    buf_reset(&l->out);
    l->start_mono = clock_mono_ms() + socket_back_off(&l->tries_child);
    if (l->disabled || !l->conf)
        return;
    bool said_why = said[0] && WIFEXITED(status);
    if (said_why)
        snprintf(why, sizeof(why), "%s", said);
    else
        snprintf(why, sizeof(why), "its process ended %s %d", WIFSIGNALED(status) ? "by signal" : "with status",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    went_down(l, why);
    if (said_why || l->tries_child > 2) /* that will not mend itself */
        l->down_mono -= DOWN_MS;
}

static void start(struct slack_line *l)
{
    static const struct process_calls calls = {.out = on_out, .ended = on_ended};
    const char *ca = l->conf->server.ca_file;
    char self[512];
    const char *argv[] = {file_self(self, sizeof(self)), "slack-socket", ca ? "--ca-file" : NULL, ca, NULL};
    struct err err = {0};

    l->heard_mono = clock_mono_ms();
    if (process_start(&l->child, l->loop, argv, &(struct process_env){.needs = NEEDS_NET}, STR(""), &calls, l, &err) <
        0) {
        l->child = NULL;
        l->start_mono = clock_mono_ms() + socket_back_off(&l->tries_child);
        went_down(l, err.msg);
    }
}

void slack_line_ack(struct slack_line *l, const char *envelope_id)
{
    tell(l, "ack", envelope_id);
}

/* ---- from outside ---- */

void slack_line_set(struct slack_line *l, struct slack *link, const struct slack_conf *conf)
{
    bool on = conf && slack_conf_has(conf, SLACK_APP_TOKEN);

    drop_ask(l);
    l->link = link;
    l->conf = on ? conf : NULL;
    l->disabled = false;
    l->tries_child = l->tries_url = 0;
    l->start_mono = l->ask_mono = 0;
    l->open = false;
    l->down_mono = clock_mono_ms();
    l->down_ms = clock_wall_ms();
    mem_copy_str(l->why, sizeof(l->why), "there was no connection yet");
    l->error[0] = 0;
    if (l->child)
        process_stop(l->child); /* the next one begins with what is so now */
}

void slack_line_keep(struct slack_line *l, const struct slack_conf *conf)
{
    l->conf = l->conf ? conf : NULL;
}

void slack_line_tick(struct slack_line *l)
{
    int64_t now = clock_mono_ms();
    char error[260];

    if (!l->conf || l->disabled)
        return;
    if (!l->child && now >= l->start_mono)
        start(l);
    if (l->child && now - l->heard_mono > SILENT_MS) {
        went_down(l, "its process no longer responds");
        l->heard_mono = now;
        process_stop(l->child);
    }
    if (l->child && l->wants && !l->ask && now >= l->ask_mono)
        ask_url(l);
    if (l->open) {
        fail(l, "");
    } else if (now - l->down_mono >= DOWN_MS) {
        snprintf(error, sizeof(error), "Slack is not connected, the bot receives nothing: %.190s", l->why);
        fail(l, error);
    }
}

const char *slack_line_error(const struct slack_line *l, int64_t *ret_since_ms)
{
    if (l->error[0])
        *ret_since_ms = l->since_ms;
    return l->error;
}

void slack_line_free(struct slack_line *l)
{
    if (!l)
        return;
    drop_ask(l);
    if (l->child)
        process_drop(l->child);
    buf_fini(&l->out);
    free(l);
}
