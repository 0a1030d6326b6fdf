/* client.c: one HTTP request to a hub through libcurl. */
#include "cmd/client.h"

#include <curl/curl.h>
#include <errno.h>
#include <jansson.h>

#include "base/file.h"
#include "base/mem.h"

enum { ANSWER_MAX = 256 << 20, CONNECT_MS = 5000, TOTAL_MS = 30000 };

const char *client_url(const struct client_conf *conf)
{
    return conf->hub && conf->hub[0] ? conf->hub : "http://127.0.0.1:8765";
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
    char path[512];
    if (!(conf->hub && conf->hub[0]) && file_state_dir("admin.token", path, sizeof(path)) == 0 &&
        access(path, R_OK) == 0)
        return file_read_secret(path, ret, err);
    return 0;
}

/* What went wrong, in the hub's words when it sent a problem, in HTTP's when not. */
static int problem(const struct client_conf *conf, long status, const struct buf *body, struct err *err)
{
    int code = status == 404 ? -ENOENT : status == 401 || status == 403 ? -EACCES : -EREMOTEIO;
    json_t *j = body->len ? json_loadb(body->p, body->len, 0, NULL) : NULL;
    const char *detail = json_string_value(json_object_get(j, "detail"));
    if (detail)
        err_set(err, code, "%s", detail);
    else
        err_set(err, code, "'%s' answered HTTP %ld", client_url(conf), status);
    json_decref(j);
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

/* own_token NULL: the configured one. *ret_status: HTTP's, 0 without an answer. */
static int ask(const struct client_conf *conf, const char *own_token, const char *method, const char *path,
               const char *type, struct str body, struct buf *ret, int *ret_status, struct err *err)
{
    AUTO_BUF token = BUF_INIT(4096);
    AUTO_BUF kind = BUF_INIT(256);
    AUTO_BUF url = BUF_INIT(8192);
    AUTO_BUF auth = BUF_INIT(8192);
    AUTO_BUF answer = BUF_INIT(ANSWER_MAX);
    int r = own_token ? buf_adds(&token, own_token) : find_token(conf, &token, err);
    if (r < 0)
        return r;
    struct str base = str_of(client_url(conf));
    while (str_ends(base, "/"))
        base.len--;
    buf_addstr(&url, base);
    buf_adds(&url, path);
    CURL *c = curl_easy_init();
    if (!c)
        return err_set(err, -ENOMEM, "cannot start an HTTP request");
    buf_addf(&kind, "Content-Type:%s%s", body.len ? " " : "", body.len ? type : "");
    struct curl_slist *headers = curl_slist_append(NULL, kind.p);
    if (token.len) {
        buf_addf(&auth, "Authorization: Bearer %s", token.p);
        headers = curl_slist_append(headers, auth.p);
    }
    char why[CURL_ERROR_SIZE] = "";
    curl_easy_setopt(c, CURLOPT_URL, url.p);
    curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c, CURLOPT_USERAGENT, "muster/" MUSTER_VERSION);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, conf->limit_ms ? (long)conf->limit_ms : (long)TOTAL_MS);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "gzip");
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, &answer);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, why);
    set_trust(c, conf);
    if (body.len) {
        curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
        curl_easy_setopt(c, CURLOPT_POSTFIELDS, body.p);
    }
    CURLcode rc = curl_easy_perform(c);
    long status = 0;
    curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
    *ret_status = rc == CURLE_OK ? (int)status : 0;
    curl_slist_free_all(headers);
    curl_easy_cleanup(c);
    if (rc != CURLE_OK)
        return err_set(err, -EHOSTUNREACH, "cannot reach the hub at '%s': %s", client_url(conf),
                       why[0] ? why : curl_easy_strerror(rc));
    if (status < 200 || status > 299)
        return problem(conf, status, &answer, err);
    *ret = answer;
    answer = (struct buf){0};
    return 0;
}

void client_param(struct buf *path, const char *name, const char *value)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~:*,";

    if (!value || !value[0])
        return;
    buf_addf(path, "%c%s=", strchr(path->p, '?') ? '&' : '?', name);
    for (; *value; value++) {
        if (strchr(plain, *value))
            buf_addc(path, *value);
        else
            buf_addf(path, "%%%02X", (unsigned)(unsigned char)*value);
    }
}

int client_ask(const struct client_conf *conf, const char *method, const char *path, struct str body, struct buf *ret,
               struct err *err)
{
    int status;

    return ask(conf, NULL, method, path, "application/json", body, ret, &status, err);
}

int client_post(const struct client_conf *conf, const char *token, const char *path, const char *type, struct str body,
                struct buf *ret, int *ret_status, struct err *err)
{
    return ask(conf, token, "POST", path, type, body, ret, ret_status, err);
}
