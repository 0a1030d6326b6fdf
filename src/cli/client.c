/* client.c: one HTTP request to a hub through libcurl. */
#include "cli/client.h"

#include <curl/curl.h>
#include <errno.h>
#include <jansson.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/plain.h"
#include "base/secret.h"
#include "cli/local_hub.h"

enum { FOLDER_MS = 2000, ANSWER_MAX = 256 << 20, CONNECT_MS = 5000, TOTAL_MS = 30000 };

static const char *hub_of(const struct client_conf *conf)
{
    return conf->hub && conf->hub[0] ? conf->hub : "http://127.0.0.1:8765";
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

static size_t take(char *p, size_t size, size_t n, void *arg)
{
    return buf_add(arg, p, size * n) == 0 ? size * n : 0;
}

/* The token to send: flag or environment, file, or what a local hub left for its own user. Empty when there is none. */
static int find_token(const struct client_conf *conf, struct buf *ret, struct err *err)
{
    if (conf->token && conf->token[0]) {
        buf_adds(ret, conf->token);
        return 0;
    }
    if (conf->token_file && conf->token_file[0])
        return file_read_secret(conf->token_file, ret, err);
    return local_hub_token(hub_of(conf), !(conf->hub && conf->hub[0]), ret, err);
}

json_t *client_json(struct str answer)
{
    AUTO_BUF clean = BUF_INIT(plain_room(answer));

    plain_answer(&clean, answer);
    return clean.len ? json_loadb(clean.p, clean.len, 0, NULL) : NULL;
}

int client_no_hub(const struct client_conf *conf, struct err *err)
{
    return err_set(err, -EREMOTEIO, "'%s' answered something else than a hub would", client_url(conf));
}

int client_ask_object(const struct client_conf *conf, const char *method, const char *path, struct str body,
                      json_t **ret, struct buf *raw, struct err *err)
{
    int r = client_ask(conf, method, path, body, raw, err);

    if (r < 0)
        return r;
    *ret = client_json(buf_str(raw));
    return json_is_object(*ret) ? 0 : client_no_hub(conf, err);
}

/* What went wrong, in the hub's words when it sent a problem, in HTTP's when not. */
static int problem(const struct client_conf *conf, long status, const struct buf *body, struct err *err)
{
    int code = status == 404                    ? -ENOENT
               : status == 401 || status == 403 ? -EACCES
               : status == 409                  ? -EEXIST
               : status == 400                  ? -EINVAL
                                                : -EREMOTEIO;
    json_auto_t *j = client_json(buf_str(body));
    const char *detail = json_string_value(json_object_get(j, "detail"));
    AUTO_BUF line = BUF_INIT(65536);
    plain_line(&line, str_of(detail));
    if (detail)
        err_set(err, code, "%s", line.p ? line.p : "");
    else
        err_set(err, code, "'%s' answered HTTP %ld", client_url(conf), status);
    return code;
}

static void set_trust(CURL *c, const struct client_conf *conf)
{
    if (conf->ca_file && conf->ca_file[0])
        curl_easy_setopt(c, CURLOPT_CAINFO, conf->ca_file);
    if (conf->pin && conf->pin[0]) { /* the pin alone is the trust: a self-signed hub has no other */
        curl_easy_setopt(c, CURLOPT_PINNEDPUBLICKEY, conf->pin);
        curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 0L);
    }
}

/* A request's handle and what it points to, ended with asking_fini. */
struct asking {
    CURL *c;
    struct curl_slist *headers;
    char why[CURL_ERROR_SIZE];
};

static void asking_fini(struct asking *q)
{
    curl_slist_free_all(q->headers);
    curl_easy_cleanup(q->c);
}

/* own_token NULL: the configured one. */
static int asking_init(struct asking *q, const struct client_conf *conf, const char *own_token, const char *method,
                       const char *path, const char *type, struct str body, struct err *err)
{
    AUTO_BUF token = BUF_INIT(4096);
    AUTO_BUF kind = BUF_INIT(256);
    AUTO_BUF url = BUF_INIT(8192);
    AUTO_BUF auth = BUF_INIT(8192);
    int r = own_token ? buf_adds(&token, own_token) : find_token(conf, &token, err);
    if (r < 0)
        return r;
    struct str base = str_of(hub_of(conf));
    while (str_ends(base, "/"))
        base.len--;
    buf_addstr(&url, base);
    buf_adds(&url, path);
    CURL *c = curl_easy_init();
    if (!c)
        return err_set(err, -ENOMEM, "cannot start an HTTP request");
    q->c = c;
    buf_addf(&kind, "Content-Type:%s%s", body.len ? " " : "", body.len ? type : "");
    q->headers = curl_slist_append(NULL, kind.p);
    if (token.len) {
        buf_addf(&auth, "Authorization: Bearer %s", token.p);
        q->headers = curl_slist_append(q->headers, auth.p);
    }
    q->why[0] = 0;
    curl_easy_setopt(c, CURLOPT_URL, url.p);
    curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, q->headers);
    curl_easy_setopt(c, CURLOPT_USERAGENT, "muster/" MUSTER_VERSION);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "gzip");
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, q->why);
    set_trust(c, conf);
    if (body.len) {
        curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
        curl_easy_setopt(c, CURLOPT_POSTFIELDS, body.p);
    }
    return 0;
}

static int unreachable(const struct client_conf *conf, const struct asking *q, CURLcode rc, struct err *err)
{
    return err_set(err, -EHOSTUNREACH, "cannot reach the hub at '%s': %s", client_url(conf),
                   q->why[0] ? q->why : curl_easy_strerror(rc));
}

/* *ret_status: HTTP's, 0 without an answer. */
static int ask_once(const struct client_conf *conf, const char *own_token, const char *method, const char *path,
                    const char *type, struct str body, struct buf *ret, int *ret_status, struct err *err)
{
    AUTO_BUF answer = BUF_INIT(ANSWER_MAX);
    struct asking q = {0};
    int r = asking_init(&q, conf, own_token, method, path, type, body, err);
    if (r < 0)
        return r;
    curl_easy_setopt(q.c, CURLOPT_TIMEOUT_MS, conf->limit_ms ? (long)conf->limit_ms : (long)TOTAL_MS);
    curl_easy_setopt(q.c, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(q.c, CURLOPT_WRITEDATA, &answer);
    CURLcode rc = curl_easy_perform(q.c);
    long status = 0;
    curl_easy_getinfo(q.c, CURLINFO_RESPONSE_CODE, &status);
    *ret_status = rc == CURLE_OK ? (int)status : 0;
    if (rc != CURLE_OK)
        r = unreachable(conf, &q, rc, err);
    else if (status < 200 || status > 299)
        r = problem(conf, status, &answer, err);
    asking_fini(&q);
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
    int status;
    quick.limit_ms = FOLDER_MS;
    if (!local_hub_is_here(hub_of(conf)) ||
        ask_once(&quick, "", "GET", "/api/v1/folder", "", str_of(""), &answer, &status, &ignored) < 0)
        return false;
    json_auto_t *o = json_loadb(answer.p, answer.len, 0, NULL);
    const char *dir = json_string_value(json_object_get(o, "data"));
    return dir && dir[0] == '/' && local_hub_is_ours(dir) && mem_copy_str(ret, 4096, dir);
}

/* A hub that wants a token may be our own, with a folder that only it knows. */
static int ask(const struct client_conf *conf, const char *own_token, const char *method, const char *path,
               const char *type, struct str body, struct buf *ret, int *ret_status, struct err *err)
{
    bool told = own_token || (conf->token && conf->token[0]) || (conf->token_file && conf->token_file[0]);
    AUTO_BUF token = BUF_INIT(4096);
    char dir[4096];
    struct err ignored = {0};
    int r = ask_once(conf, own_token, method, path, type, body, ret, ret_status, err);
    if (r != -EACCES || *ret_status != 401 || told || !client_folder(conf, dir) ||
        local_hub_token_in(dir, hub_of(conf), &token, &ignored) < 0 || !token.len)
        return r;
    return ask_once(conf, token.p, method, path, type, body, ret, ret_status, err);
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

int client_ask(const struct client_conf *conf, const char *method, const char *path, struct str body, struct buf *ret,
               struct err *err)
{
    int status;

    return ask(conf, NULL, method, path, "application/json", body, ret, &status, err);
}

int client_get(const struct client_conf *conf, int64_t limit_ms, const struct buf *path, struct buf *ret,
               struct err *err)
{
    struct client_conf own = *conf;

    if (path->err)
        return err_set(err, -EINVAL, "that is too much to ask for at once");
    own.limit_ms = limit_ms;
    return client_ask(&own, "GET", path->p, str_of(""), ret, err);
}

int client_post(const struct client_conf *conf, const char *token, const char *path, const char *type, struct str body,
                struct buf *ret, int *ret_status, struct err *err)
{
    return ask(conf, token, "POST", path, type, body, ret, ret_status, err);
}

/* ---- an answer that lasts ---- */

struct client_line {
    const struct client_conf *conf;
    CURLM *multi;
    atomic_bool stop;
    /* of the request that is followed */
    struct asking q;
    struct buf refusal; /* the body of an answer other than 200 */
    int (*take)(void *arg, struct str piece);
    void *arg;
    int taken; /* what take said when it said no */
    int64_t news_ms;
};

struct client_line *client_line_new(const struct client_conf *conf)
{
    return NEW(struct client_line, .conf = conf, .multi = curl_multi_init());
}

void client_line_free(struct client_line *l)
{
    if (!l)
        return;
    curl_multi_cleanup(l->multi);
    free(l);
}

static size_t take_line(char *p, size_t size, size_t n, void *arg)
{
    struct client_line *l = arg;
    long status = 0;
    l->news_ms = clock_mono_ms();
    curl_easy_getinfo(l->q.c, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200)
        return buf_add(&l->refusal, p, size * n) == 0 ? size * n : 0;
    l->taken = l->take(l->arg, str_n(p, size * n));
    return l->taken < 0 ? 0 : size * n;
}

/* Why it ended; every end is one. */
static int line_end(struct client_line *l, CURLcode rc, struct err *err)
{
    long status = 0;
    curl_easy_getinfo(l->q.c, CURLINFO_RESPONSE_CODE, &status);
    if (l->taken < 0)
        return err_set(err, l->taken, "'%s' answered something else than a hub would", client_url(l->conf));
    if (status && status != 200)
        return problem(l->conf, status, &l->refusal, err);
    return rc != CURLE_OK ? unreachable(l->conf, &l->q, rc, err)
                          : err_set(err, -EPIPE, "the hub at '%s' ended the connection", client_url(l->conf));
}

int client_line_follow(struct client_line *l, const char *path, int64_t quiet_ms,
                       int (*take_piece)(void *arg, struct str piece), void (*tick)(void *arg), void *arg,
                       struct err *err)
{
    int r = asking_init(&l->q, l->conf, NULL, "GET", path, "", str_of(""), err), running = 1;
    if (r < 0)
        return r;
    l->refusal = BUF_INIT(65536);
    l->take = take_piece;
    l->arg = arg;
    l->taken = 0;
    l->news_ms = clock_mono_ms();
    curl_easy_setopt(l->q.c, CURLOPT_WRITEFUNCTION, take_line);
    curl_easy_setopt(l->q.c, CURLOPT_WRITEDATA, l);
    curl_multi_add_handle(l->multi, l->q.c);
    int64_t ticked = l->news_ms;
    while (running && !l->stop && clock_mono_ms() - l->news_ms < quiet_ms) {
        if (curl_multi_perform(l->multi, &running) != CURLM_OK)
            break;
        if (clock_mono_ms() - ticked >= 1000) {
            ticked = clock_mono_ms();
            tick(arg);
        }
        if (running && !l->stop)
            curl_multi_poll(l->multi, NULL, 0, 1000, NULL);
    }
    CURLcode rc = CURLE_OPERATION_TIMEDOUT;
    int left;
    for (CURLMsg *m; (m = curl_multi_info_read(l->multi, &left));)
        if (m->msg == CURLMSG_DONE)
            rc = m->data.result;
    curl_multi_remove_handle(l->multi, l->q.c);
    r = l->stop ? -ECANCELED : line_end(l, rc, err);
    asking_fini(&l->q);
    buf_fini(&l->refusal);
    return r;
}

void client_line_sleep(struct client_line *l, int64_t ms)
{
    int64_t until = clock_mono_ms() + ms;
    for (int64_t now; !l->stop && (now = clock_mono_ms()) < until;)
        curl_multi_poll(l->multi, NULL, 0, (int)MIN(until - now, 1000), NULL);
}

void client_line_stop(struct client_line *l)
{
    l->stop = true;
    curl_multi_wakeup(l->multi);
}

bool client_line_stopped(const struct client_line *l)
{
    return l->stop;
}
