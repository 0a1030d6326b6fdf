/*
 * relay_child.c: the relay that a hub starts for its `nodes`, `sources` and `files`: a separate process, so that the
 * hub never parses data of machines, with its own token in the hub's data folder. Its list of machines is in a file,
 * so that a reload keeps connections.
 */
#include <signal.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "cli/child_process.h"
#include "cmd/local_token.h"
#include "cmd/relay.h"
#include "compat/files.h"
#include "hub/hub.h"
#include "hub/server.h"
#include "relay/finder.h"

#define CONFIG_MAX (4u << 20)

struct relay_child {
    struct hub *hub;
    char *config;
    struct child_process part;
    char *url; /* the hub's; NULL: not started yet */
    char pin[64];
};

static int check_settings(UNUSED void *self, const struct hub_conf *conf, UNUSED void **next, struct err *err)
{
    const struct relay_settings *c = feature_settings(conf, &relay_feature);
    struct target_list l = {0};
    char *key = NULL;
    int r = target_list_of(c, &l, &key, err);
    target_list_fini(&l);
    free(key);
    if (r == 0)
        r = finder_check(c, err);
    return r < 0 ? r : files_check(c, err);
}

static bool wanted(const struct relay_settings *c)
{
    return c->nodes.n || c->ini || c->sources.n || files_wanted(c);
}

/* The hub's first address as reachable from this machine. */
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
    const struct hub_conf *conf = &t->hub->conf;
    const struct relay_settings *machines = feature_settings(conf, &relay_feature);
    struct relay_conf c = {.machines = *machines, /* borrowed */
                           .log_level = conf->log_level,
                           .log_format = conf->log_format};
    AUTO_BUF text = BUF_INIT(CONFIG_MAX);
    opt_write(relay_cmd_opts, &c, &text);
    return file_write(t->config, 0600, text.p, text.len, err);
}

static void set_args(struct relay_child *t)
{
    static const struct process_env needs = {.needs =
                                                 NEEDS_NET | NEEDS_SSH | NEEDS_SLURM}; /* the rest is in its file */
    AUTO_FREE char *token = mem_fmt("%s/relay.token", t->hub->data);
    const char *pin = t->pin[0] ? "--pin" : NULL;
    const char *const args[] = {"muster", "relay",   "--config", t->config, "--hub", t->url, "--token-file",
                                token,    "--proxy", "none",     pin,       t->pin,  NULL};
    child_process_fini(&t->part);
    t->part = (struct child_process){.what = "relay", .area = "hub", .out = -1, .env = &needs};
    child_process_args(&t->part, args);
}

static void start(struct relay_child *t)
{
    struct err err = {0};
    set_args(t);
    if (local_token(t->hub->place, t->hub->data, "relay.token", ROLE_RELAY, "this hub's own relay", &err) < 0 ||
        child_process_start(&t->part, false, &err) < 0)
        log_error("hub", "machines without an agent are not read: %s", err.msg);
}

static void renew(struct relay_child *t)
{
    struct err err = {0};
    char pin[64] = "";
    char *url = own_url(t->hub);
    hub_local_pin(t->hub, pin);
    bool moved = !t->url || strcmp(url, t->url) != 0 || strcmp(pin, t->pin) != 0;
    free(t->url);
    t->url = url;
    memcpy(t->pin, pin, sizeof(pin));
    bool runs = t->part.pid > 0 || t->part.again_ms;
    if (!wanted(feature_settings(&t->hub->conf, &relay_feature)) && !runs)
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

/* ---- the feature ---- */

static void *open_relay(struct hub *h)
{
    struct relay_child *t = NEW(struct relay_child, .hub = h, .config = mem_fmt("%s/relay.yaml", h->data));
    t->part.out = -1;
    return t;
}

static void take_settings(void *self, UNUSED void *next)
{
    struct relay_child *t = self;
    if (t->url)
        renew(t);
}

/* Starts after all other features. */
static int begin(void *self, UNUSED struct err *err)
{
    renew(self);
    return 0;
}

static void tend(void *self, UNUSED int64_t now_ms)
{
    child_process_tend(&((struct relay_child *)self)->part);
}

static void stop(void *self)
{
    child_process_stop(&((struct relay_child *)self)->part);
}

static void close_relay(void *self)
{
    struct relay_child *t = self;
    child_process_fini(&t->part);
    FREE_ALL(t->config, t->url, t);
}

const struct feature relay_feature = {.name = "relay",
                                      FEATURE_SETTINGS(relay),
                                      .open = open_relay,
                                      .prepare = check_settings,
                                      .take = take_settings,
                                      .load = begin,
                                      .tick = tend,
                                      .stop = stop,
                                      .close = close_relay};
