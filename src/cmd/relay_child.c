/*
 * relay_child.c: starts and ends the hub's own relay. Its list of machines goes through a file, so that a reload does
 * not end the connections there are.
 */
#include "cmd/relay_child.h"

#include <event2/event.h>
#include <signal.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "cli/child_process.h"
#include "cli/local_token.h"
#include "cmd/relay.h"
#include "compat/files.h"
#include "relay/finder.h"

#define LOOK_MS    500l
#define CONFIG_MAX (4u << 20)

struct relay_child {
    struct hub *hub;
    char *data, *config;
    struct child_process part;
    struct event *look;
    char *url;
    char pin[64];
};

int relay_child_check(const struct hub_conf *c, struct err *err)
{
    struct target_list l = {0};
    char *key = NULL;
    int r = target_list_of(&c->ssh, &l, &key, err);
    target_list_fini(&l);
    free(key);
    if (r == 0)
        r = finder_check(&c->ssh, err);
    return r < 0 ? r : files_check(&c->files, &c->ssh, err);
}

static bool wanted(const struct hub_conf *c)
{
    return c->ssh.nodes.n || c->ssh.ini || c->ssh.sources.n || files_wanted(&c->files);
}

/* The hub's first address as this machine reaches it. */
static char *own_url(const struct hub *h)
{
    static const struct {
        const char *any, *here;
    } all[] = {{"://0.0.0.0:", "://127.0.0.1:"}, {"://[::]:", "://[::1]:"}};
    AUTO_BUF text = BUF_INIT(64u << 10);
    struct str rest, line = str_n("", 0);
    hub_addresses(h, &text);
    rest = buf_str(&text);
    str_line(&rest, &line);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        int at = str_find(line, all[i].any);
        size_t skip = strlen(all[i].any);
        if (at >= 0)
            return mem_fmt("%.*s%s%.*s", at, line.p, all[i].here, (int)(line.len - (size_t)at - skip),
                           line.p + at + skip);
    }
    return mem_strn(line.p, line.len);
}

static int write_config(const struct relay_child *t, struct err *err)
{
    const struct hub_conf *hub = hub_settings(t->hub);
    struct relay_conf c = {.ssh = hub->ssh, /* borrowed */
                           .files = hub->files,
                           .log_level = hub->log_level,
                           .log_format = hub->log_format};
    AUTO_BUF text = BUF_INIT(CONFIG_MAX);
    opt_write(relay_opts, &c, &text);
    return file_write(t->config, 0600, text.p, text.len, err);
}

static void set_args(struct relay_child *t)
{
    static const struct process_env needs = {.needs =
                                                 NEEDS_NET | NEEDS_SSH | NEEDS_SLURM}; /* all else is in its file */
    AUTO_FREE char *token = mem_fmt("%s/relay.token", t->data);
    const char *const args[] = {"muster",
                                "relay",
                                "--config",
                                t->config,
                                "--hub",
                                t->url,
                                "--token-file",
                                token,
                                "--proxy",
                                "none",
                                t->pin[0] ? "--pin" : NULL,
                                t->pin};
    child_process_fini(&t->part);
    t->part = (struct child_process){.what = "relay", .area = "hub", .out = -1, .env = &needs};
    for (size_t i = 0; i < ARRAY_LEN(args) && args[i]; i++)
        child_process_arg(&t->part, args[i]);
}

static void start(struct relay_child *t)
{
    struct err err = {0};
    set_args(t);
    if (local_token(t->data, "relay.token", ROLE_RELAY, "this hub's own relay", &err) < 0 ||
        child_process_start(&t->part, false, &err) < 0)
        log_error("hub", "machines without an agent are not read: %s", err.msg);
}

void relay_child_renew(struct relay_child *t)
{
    struct err err = {0};
    char pin[64] = "";
    char *url = own_url(t->hub);
    hub_own_pin(t->hub, pin);
    bool moved = !t->url || strcmp(url, t->url) != 0 || strcmp(pin, t->pin) != 0;
    free(t->url);
    t->url = url;
    memcpy(t->pin, pin, sizeof(pin));
    bool runs = t->part.pid > 0 || t->part.again_ms;
    if (!wanted(hub_settings(t->hub)) && !runs)
        return;
    if (write_config(t, &err) < 0) {
        log_error("hub", "machines without an agent are not read: %s", err.msg);
        return;
    }
    if (runs && !moved) {
        if (t->part.pid > 0)
            kill(t->part.pid, SIGHUP);
        return;
    }
    child_process_stop(&t->part);
    start(t);
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
    struct relay_child *t = arg;
    (void)fd, (void)what;
    child_process_tend(&t->part);
}

struct relay_child *relay_child_new(struct hub *h, const char *data)
{
    struct relay_child *t = mem_zero(1, sizeof(*t));
    struct timeval tv = {.tv_usec = LOOK_MS * 1000};
    t->hub = h;
    t->data = mem_str(data);
    t->config = mem_fmt("%s/relay.yaml", data);
    t->part.out = -1;
    t->look = event_new(hub_loop(h), -1, EV_PERSIST, on_look, t);
    event_add(t->look, &tv);
    relay_child_renew(t);
    return t;
}

void relay_child_free(struct relay_child *t)
{
    if (!t)
        return;
    event_free(t->look);
    child_process_stop(&t->part);
    child_process_fini(&t->part);
    free(t->data);
    free(t->config);
    free(t->url);
    free(t);
}
