/* conf.c: the agent's table of options, and the checks that no table can make. Reads nothing but the env file. */
#include "agent/conf.h"

#include <errno.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/plain.h"
#include "model/fact.h"
#include "uplink/hubs.h"

#define HUB_TEXT_MAX 4096 /* of the addresses of redundant hubs */

static const char *const spool_modes[] = {"auto", "always", NULL};

#define SETTING(...) OPT_ROW(agent_conf, __VA_ARGS__)
const struct opt agent_opts[] = {
#include "agent/settings.def"
    {0}};

void conf_fini(struct agent_conf *c)
{
    opt_fini(agent_opts, c);
    *c = (struct agent_conf){0};
}

/* One address, clean, onto out. */
static int conf_add_hub(struct str s, struct buf *out, struct err *err)
{
    struct str rest = s = str_trim(s);
    bool tls = str_skip(&rest, "https://");
    bool plain = !tls && str_skip(&rest, "http://");

    if (!tls && !plain && str_find(s, "://") >= 0)
        return err_set(err, -EINVAL, "hub '%.*s': only http:// and https:// are spoken", STR_ARG(s));
    while (str_ends(rest, "/"))
        rest.len--;
    if (rest.len == 0 || !str_utf8_ok(rest) || str_find(rest, " ") >= 0 || str_find(rest, "?") >= 0 ||
        str_find(rest, "#") >= 0)
        return err_set(err, -EINVAL, "hub '%.*s': not an address such as https://hub.example:8765", STR_ARG(s));
    if (str_find(rest, "@") >= 0) /* it would show in ps and in logs */
        return err_set(err, -EINVAL, "a hub's address holds no user or password; use a token");
    buf_addf(out, "%s%s://%.*s", out->len ? "," : "", tls ? "https" : "http", STR_ARG(rest));
    return 0;
}

/* Checks a list of redundant hubs. */
static int conf_check_hub(char **list, struct err *err)
{
    AUTO_BUF clean = BUF_INIT(HUB_TEXT_MAX);
    struct str rest = str_of(*list), one = STR("");
    size_t n = 0;
    int r = 0;

    do {
        str_cut(&rest, ',', &one);
        r = conf_add_hub(one, &clean, err);
    } while (r == 0 && ++n <= HUBS_MAX && rest.len);
    if (r < 0)
        return r;
    if (n > HUBS_MAX || clean.err)
        return err_set(err, -EINVAL, "more than %d alternative hubs in one group", HUBS_MAX);
    free(*list);
    *list = mem_str(clean.p);
    return 0;
}

/* True if both lists have a hub in common: each hub needs its own folder. */
static bool conf_hubs_meet(const char *a, const char *b)
{
    struct str rest_a = str_of(a), one_a;

    while (str_cut(&rest_a, ',', &one_a)) {
        struct str rest_b = str_of(b), one_b;
        AUTO_BUF leaf_a = BUF_INIT(1024);
        hub_leaf(one_a, &leaf_a);
        while (str_cut(&rest_b, ',', &one_b)) {
            AUTO_BUF leaf_b = BUF_INIT(1024);
            hub_leaf(one_b, &leaf_b);
            if (one_a.p != one_b.p && str_eq_str(buf_str(&leaf_a), buf_str(&leaf_b)))
                return true;
        }
    }
    return false;
}

/* One hub's: any of several keys. */
static int conf_check_pins(const char *pin, struct str rest, struct err *err)
{
    struct str one;

    if (rest.len == 0)
        return err_set(err, -EINVAL, "pin '%s': expected one for all hubs, or one per hub, comma-separated", pin);
    while (str_cut(&rest, ';', &one)) {
        size_t digits = 0;
        bool ok = str_skip(&one, "sha256//") && one.len == 44 && one.p[43] == '=';
        while (ok && digits < 43 &&
               ((one.p[digits] >= 'a' && one.p[digits] <= 'z') || (one.p[digits] >= 'A' && one.p[digits] <= 'Z') ||
                (one.p[digits] >= '0' && one.p[digits] <= '9') || one.p[digits] == '+' || one.p[digits] == '/'))
            digits++;
        if (!ok || digits != 43)
            return err_set(err, -EINVAL,
                           "pin '%s': expected sha256// and 44 characters of base64, as the hub prints it", pin);
    }
    return 0;
}

static int conf_check_pin(const struct agent_conf *c, struct err *err)
{
    struct str rest = str_of(c->pin), one;
    size_t n = 0;
    int r = 0;

    for (; r == 0 && str_cut(&rest, ',', &one); n++)
        r = conf_check_pins(c->pin, one, err);
    for (size_t i = 0; r == 0 && n > 1 && i < c->hub.n; i++)
        if (hubs_count(c->hub.v[i]) != n)
            r = err_set(err, -EINVAL, "%zu pins for %zu hubs: give one for all, or one each", n,
                        hubs_count(c->hub.v[i]));
    return r;
}

static int conf_check(struct agent_conf *c, struct err *err)
{
    struct collect_choice choice;
    char path[4096];
    int r;

    for (size_t i = 0; i < c->hub.n; i++) {
        if ((r = conf_check_hub(&c->hub.v[i], err)) < 0)
            return r;
        for (size_t k = 0; k <= i; k++)
            if (conf_hubs_meet(c->hub.v[k], c->hub.v[i]))
                return err_set(err, -EINVAL, "hub '%s' is given twice", c->hub.v[i]);
    }
    if (c->hub.n > HUBS_MAX)
        return err_set(err, -EINVAL, "%zu hubs given, at most %d are possible", c->hub.n, HUBS_MAX);
    if (c->pin && (r = conf_check_pin(c, err)) < 0)
        return r;
    if (c->name && (!name_ok(str_of(c->name), NAME_MAX_LEN - 1) || !plain_typed(str_of(c->name))))
        return err_set(err, -EINVAL, "name '%s': at most %d bytes without quotes, slashes, " CONTROLS, c->name,
                       NAME_MAX_LEN - 1);
    if ((r = collect_choose(collectors, c->collector, &choice, err)) < 0)
        return r;
    if (c->token && c->token_file)
        return err_set(err, -EINVAL, "give token or token_file, not both");
    if (c->token && (strlen(c->token) > 120 || !str_utf8_ok(str_of(c->token)) || strpbrk(c->token, " \t")))
        return err_set(err, -EINVAL, "the token contains whitespace or is too long");
    if (!c->state_dir && file_state_dir("agent", path, sizeof(path)) == 0)
        c->state_dir = mem_str(path);
    return 0;
}

/* Finds the default env file: the user's own, else the machine's. Returns false if neither is readable. */
static bool conf_find_env_file(char *out, size_t size)
{
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    bool own = xdg && xdg[0] == '/';
    int n = 0;

    if (geteuid() != 0 && (own || (home && home[0] == '/'))) {
        n = snprintf(out, size, "%s%s/muster/agent.env", own ? xdg : home, own ? "" : "/.config");
        if (n > 0 && (size_t)n < size && access(out, R_OK) == 0)
            return true;
    }
    snprintf(out, size, "%s", CONF_ENV_FILE);
    return access(out, R_OK) == 0;
}

enum source { FROM_FILE, FROM_ENV, FROM_FLAGS };

/* A source that sets one of token and token_file overrides both, so that a flag has priority over either in a file. */
static int conf_source(struct agent_conf *c, enum source from, const char *file, int argc, char **argv, int *ret_argi,
                       struct err *err)
{
    char *token = c->token, *token_file = c->token_file;
    int r;

    c->token = c->token_file = NULL;
    if (from == FROM_FILE)
        r = opt_env_file(agent_opts, c, file, err);
    else if (from == FROM_ENV)
        r = opt_env(agent_opts, c, err);
    else
        r = opt_args_mixed(agent_opts, c, argc, argv, ret_argi, err);
    if (c->token || c->token_file) {
        free(token);
        free(token_file);
    } else {
        c->token = token;
        c->token_file = token_file;
    }
    return r;
}

int conf_load(struct agent_conf *ret, int argc, char **argv, int *ret_argi, struct err *err)
{
    struct agent_conf flags = {0}, c = {0};
    char found[4096] = "";
    int argi = 0;

    /* Flags come last in weight but name the env file, so they are read twice. */
    opt_defaults(agent_opts, &flags);
    opt_defaults(agent_opts, &c);
    int r = opt_args_mixed(agent_opts, &flags, argc, argv, &argi, err);
    if (r == 0 && flags.child_fd < 0) { /* the child gets all it needs as flags */
        const char *env = getenv("MUSTER_ENV_FILE");
        const char *file = flags.env_file ? flags.env_file : env && *env ? env : NULL;
        if (file || conf_find_env_file(found, sizeof(found)))
            r = conf_source(&c, FROM_FILE, file ? file : found, 0, NULL, NULL, err);
        if (r == 0)
            r = conf_source(&c, FROM_ENV, NULL, 0, NULL, NULL, err);
    }
    if (r == 0)
        r = conf_source(&c, FROM_FLAGS, NULL, argc, argv, &argi, err);
    if (r == 0)
        r = conf_check(&c, err);
    conf_fini(&flags);
    if (r != 0) {
        conf_fini(&c);
        return r;
    }
    *ret = c;
    *ret_argi = argi;
    return 0;
}

int conf_default(struct agent_conf *ret, struct err *err)
{
    struct agent_conf c = {0};

    opt_defaults(agent_opts, &c);
    int r = conf_check(&c, err);
    if (r < 0)
        conf_fini(&c);
    else
        *ret = c;
    return r;
}
