/* client.c: one HTTP request to a hub through libcurl. */
#include "cli/client.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/secret.h"
#include "cli/local_hub.h"
#include "collect/collect.h"

enum { THERE_MS = 1000, FOLDER_MS = 2000, ANSWER_MAX = 256 << 20, TOTAL_MS = 30000 };

/* The hub of commands without a hub option: searched once. */
static struct {
    pthread_once_t once;
    char url[1024], pin[128];
    bool found;
} local = {.once = PTHREAD_ONCE_INIT};

static void find_local(void)
{
    AUTO_BUF url = BUF_INIT(sizeof(local.url)), pin = BUF_INIT(sizeof(local.pin));
    local.found = local_hub_find(&url, &pin);
    mem_copy_str(local.url, sizeof(local.url), local.found ? url.p : "http://127.0.0.1:8765");
    mem_copy_str(local.pin, sizeof(local.pin), local.found && pin.len ? pin.p : "");
}

bool client_named(const struct client_conf *conf)
{
    return conf->hub && conf->hub[0];
}

bool client_known(const struct client_conf *conf)
{
    pthread_once(&local.once, find_local);
    return client_named(conf) || local.found;
}

static const char *hub_of(const struct client_conf *conf)
{
    if (client_named(conf))
        return conf->hub;
    pthread_once(&local.once, find_local);
    return local.url;
}

/* A local hub's own certificate is trusted without --pin. */
static const char *pin_of(const struct client_conf *conf)
{
    bool told = (conf->pin && conf->pin[0]) || (conf->ca_file && conf->ca_file[0]);
    if (told || client_named(conf))
        return conf->pin;
    pthread_once(&local.once, find_local);
    return local.pin;
}

bool client_shows_hub(const struct client_conf *conf)
{
    return client_named(conf) ||
           (client_known(conf) && !collector_nvml.present(&(struct collect_conf){.tick_ms = 1000}));
}

bool client_hub_responds(const struct client_conf *conf)
{
    struct client_conf quick = *conf;
    AUTO_BUF raw = {0};

    if (client_named(conf))
        return true;
    quick.limit_ms = THERE_MS;
    return client_request(&quick, "GET", "/healthz", str_of(""), &raw, NULL) == 0;
}

const char *client_url(const struct client_conf *conf)
{
    static _Thread_local char shown[1024];
    AUTO_BUF b = BUF_INIT(65536);

    if (!secret_url(&b, str_of(hub_of(conf))))
        return hub_of(conf);
    mem_copy_str(shown, sizeof(shown), b.p ? b.p : "");
    return shown;
}

/* Status and headers of a response. */
struct client_answer {
    int status;       /* 0: no response */
    uint32_t damaged; /* X-Muster-Damaged */
};

static size_t take_head(char *p, size_t size, size_t n, void *arg)
{
    struct str line = str_n(p, size * n), value;
    int colon = str_find(line, ":");
    uint64_t damaged;

    if (colon > 0 && str_eq_nocase(str_n(p, (size_t)colon), "X-Muster-Damaged")) {
        value = str_trim(str_drop(line, (size_t)colon + 1));
        if (str_uint(value, &damaged))
            ((struct client_answer *)arg)->damaged = (uint32_t)MIN(damaged, UINT32_MAX);
    }
    return size * n;
}

static size_t take(char *p, size_t size, size_t n, void *arg)
{
    return buf_add(arg, p, size * n) == 0 ? size * n : 0;
}

int client_token(const struct client_conf *conf, struct buf *ret, struct err *err)
{
    if (conf->token && conf->token[0]) {
        buf_adds(ret, conf->token);
        return 0;
    }
    if (conf->token_file && conf->token_file[0])
        return file_read_secret(conf->token_file, ret, err);
    return local_hub_token(hub_of(conf), !client_named(conf), ret, err);
}

int client_no_hub(const struct client_conf *conf, struct err *err)
{
    return err_set(err, -EREMOTEIO, "'%s' sent an unexpected response; is it a muster hub?", client_url(conf));
}

int client_request_object(const struct client_conf *conf, const char *method, const char *path, struct str body,
                          json_t **ret, struct buf *raw, struct err *err)
{
    int r = client_request(conf, method, path, body, raw, err);

    if (r < 0)
        return r;
    *ret = client_json(buf_str(raw));
    return json_is_object(*ret) ? 0 : client_no_hub(conf, err);
}

struct hub_request_conf client_hub_conf(const struct client_conf *conf)
{
    return (struct hub_request_conf){.url = hub_of(conf),
                                     .shown = client_url(conf),
                                     .ca_file = conf->ca_file,
                                     .pin = pin_of(conf)};
}

/* own_token NULL: the configured one. */
static int ask_once(const struct client_conf *conf, const char *own_token, const char *method, const char *path,
                    const char *type, struct str body, struct buf *ret, struct client_answer *ret_answer,
                    struct err *err)
{
    AUTO_BUF answer = BUF_INIT(ANSWER_MAX);
    AUTO_BUF token = BUF_INIT(4096);
    struct hub_request q = {0};
    int r = own_token ? buf_adds(&token, own_token) : client_token(conf, &token, err);
    if (r < 0)
        return r;
    struct hub_request_conf whom = client_hub_conf(conf);
    whom.token = token.p;
    r = hub_request_init(&q, &whom, method, path, type, body, err);
    if (r < 0)
        return r;
    q.lib->easy_setopt(q.c, CURLOPT_TIMEOUT_MS, conf->limit_ms ? (long)conf->limit_ms : (long)TOTAL_MS);
    q.lib->easy_setopt(q.c, CURLOPT_WRITEFUNCTION, take);
    q.lib->easy_setopt(q.c, CURLOPT_WRITEDATA, &answer);
    q.lib->easy_setopt(q.c, CURLOPT_HEADERFUNCTION, take_head);
    q.lib->easy_setopt(q.c, CURLOPT_HEADERDATA, ret_answer);
    *ret_answer = (struct client_answer){0};
    CURLcode rc = q.lib->easy_perform(q.c);
    long status = 0;
    q.lib->easy_getinfo(q.c, CURLINFO_RESPONSE_CODE, &status);
    ret_answer->status = rc == CURLE_OK ? (int)status : 0;
    if (rc != CURLE_OK)
        r = hub_request_unreachable(&whom, &q, rc, err);
    else if (status < 200 || status > 299)
        r = hub_request_refused(&whom, status, buf_str(&answer), err);
    hub_request_fini(&q);
    if (r < 0)
        return r;
    *ret = answer;
    answer = (struct buf){0};
    return 0;
}

bool client_folder(const struct client_conf *conf, char ret[4096])
{
    struct client_conf quick = *conf;
    AUTO_BUF answer = {0};
    struct err ignored = {0};
    struct client_answer said;
    quick.limit_ms = FOLDER_MS;
    if (!local_hub_is_local(hub_of(conf)) ||
        ask_once(&quick, "", "GET", "/api/v1/folder", "", str_of(""), &answer, &said, &ignored) < 0)
        return false;
    json_auto_t *o = json_loadb(answer.p, answer.len, 0, NULL);
    const char *dir = json_string_value(json_object_get(o, "data"));
    return dir && dir[0] == '/' && local_hub_is_trusted(dir) && mem_copy_str(ret, 4096, dir);
}

/* A hub that requires a token may be this user's own, with a folder that only the hub knows. */
static int ask(const struct client_conf *conf, const char *own_token, const char *method, const char *path,
               const char *type, struct str body, struct buf *ret, struct client_answer *ret_answer, struct err *err)
{
    bool told = own_token || (conf->token && conf->token[0]) || (conf->token_file && conf->token_file[0]);
    AUTO_BUF token = BUF_INIT(4096);
    char dir[4096];
    struct err ignored = {0};
    int r = ask_once(conf, own_token, method, path, type, body, ret, ret_answer, err);
    if (r != -EACCES || ret_answer->status != 401 || told || !client_folder(conf, dir) ||
        local_hub_token_in(dir, hub_of(conf), &token, &ignored) < 0 || !token.len)
        return r;
    return ask_once(conf, token.p, method, path, type, body, ret, ret_answer, err);
}

void client_param(struct buf *path, const char *name, const char *value)
{
    if (!value || !value[0])
        return;
    buf_addf(path, "%c%s=", strchr(path->p, '?') ? '&' : '?', name);
    buf_addurl(path, str_of(value));
}

void client_options(struct buf *path, const struct opt *opts, const void *conf, const char *names)
{
    struct str rest = str_of(names), word;

    while (str_word(&rest, &word)) {
        const struct opt *o = opt_find(opts, word);
        const void *v = (const char *)conf + o->offset;
        char name[OPT_FLAG_MAX], number[24];
        snprintf(number, sizeof(number), "%lld", o->type == OPT_INT ? (long long)*(const int64_t *)v : 0);
        client_param(path, opt_flag(o, name),
                     o->type == OPT_STR      ? *(char *const *)v
                     : o->type == OPT_CHOICE ? o->choices[*(const int *)v]
                     : o->type == OPT_INT    ? number
                     : *(const bool *)v      ? "true"
                                             : NULL);
    }
}

int client_request(const struct client_conf *conf, const char *method, const char *path, struct str body,
                   struct buf *ret, struct err *err)
{
    struct client_answer said;

    return ask(conf, NULL, method, path, "application/json", body, ret, &said, err);
}

int client_get(const struct client_conf *conf, int64_t limit_ms, const struct buf *path, struct buf *ret,
               struct err *err)
{
    struct client_conf own = *conf;

    if (path->err)
        return err_set(err, -EINVAL, "the request is too long");
    own.limit_ms = limit_ms;
    return client_request(&own, "GET", path->p, str_of(""), ret, err);
}

int client_get_history(const struct client_conf *conf, const struct buf *path, struct buf *ret, uint32_t *ret_damaged,
                       struct err *err)
{
    struct client_answer said = {0};
    int r = path->err ? err_set(err, -EINVAL, "the request is too long")
                      : ask(conf, NULL, "GET", path->p, "", str_of(""), ret, &said, err);

    *ret_damaged = said.damaged;
    return r;
}

int client_post(const struct client_conf *conf, const char *token, const char *path, const char *type, struct str body,
                struct buf *ret, int *ret_status, struct err *err)
{
    struct client_answer said = {0};
    int r = ask(conf, token, "POST", path, type, body, ret, &said, err);

    *ret_status = said.status;
    return r;
}
